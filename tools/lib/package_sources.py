"""Finds the package that each file of an image came from: Debian's, a Python wheel's, or muster itself."""
import dataclasses
import pathlib
import re
import subprocess

from shared_libraries import Failure

# Debian's short names (DEP 5) and the identifiers of SPDX's list that mean the same.
SPDX_NAMES = {
    "apache-2": "Apache-2.0", "apache-2.0": "Apache-2.0", "apache": "Apache-2.0", "expat": "MIT", "mit": "MIT", "isc": "ISC",
    "zlib": "Zlib", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause",
    "cc0-1.0": "CC0-1.0", "cc0": "CC0-1.0", "bsl-1.0": "BSL-1.0", "mpl-2.0": "MPL-2.0", "curl": "curl", "0bsd": "0BSD", "x11": "X11",
    "gpl-1": "GPL-1.0-only", "gpl-1+": "GPL-1.0-or-later", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
    "gpl-3": "GPL-3.0-only", "gpl-3+": "GPL-3.0-or-later", "lgpl-2": "LGPL-2.0-only", "lgpl-2+": "LGPL-2.0-or-later",
    "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later", "lgpl-3": "LGPL-3.0-only", "lgpl-3+": "LGPL-3.0-or-later",
}


@dataclasses.dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    supplier: str
    url: str  # a package URL, https://github.com/package-url/purl-spec
    license: str = "NOASSERTION"
    license_comment: str = ""
    copyright: str = "NOASSERTION"


def _dpkg(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout


def debian_owners(files):
    """{file: name of the Debian package that installed it}; a file that none did is left out."""
    spellings = {}
    for file in map(pathlib.Path, files):
        for path in (str(file), str(file.resolve())):
            # dpkg knows a file by the path in its package, and folders of / have been links into /usr since then.
            spellings.update({path: file, path.removeprefix("/usr"): file, f"/usr{path}": file})
    owners = {}
    for line in _dpkg("dpkg", "-S", *spellings)[1].splitlines() if spellings else []:
        found = re.fullmatch(r"(?!diversion )([^ ,]+)[^/]*: (/.*)", line)
        if found and found[2] in spellings:
            owners.setdefault(spellings[found[2]], found[1])
    return owners


def debian_package(name):
    fields = "${Package}\t${Version}\t${Architecture}"
    status, text = _dpkg("dpkg-query", "-W", f"-f={fields}", name)
    if status != 0:
        raise Failure(f"the Debian package {name} is not installed: install it")
    package, version, architecture = text.split("\t")
    file = pathlib.Path("/usr/share/doc", package, "copyright")
    text = file.read_text(errors="replace") if file.is_file() else ""
    license, comment = licenses(text)
    url = f"pkg:deb/debian/{package}@{version}?arch={architecture}".replace("+", "%2B").replace("@1:", "@1%3A")
    return Package(package, version, "Organization: Debian", url, license, comment, text or "NOASSERTION")


def licenses(text):
    """The SPDX expression of a Debian copyright file and a remark. The expression is NOASSERTION where the file has
    no fields, or names a licence that SPDX's list does not have under that meaning."""
    if not text.startswith("Format:"):
        return "NOASSERTION", "Debian's copyright file is free text; it is quoted as the copyright text"
    names = sorted({name.strip() for block in re.split(r"\n\s*\n", text) if re.search(r"^Files:", block, re.M)
                    for name in re.findall(r"^License:[ \t]*(\S[^\n]*)", block, re.M)})
    remark = f"Debian's copyright file names: {', '.join(names)}"
    terms = [_spdx_term(name) for name in names]
    if not names or None in terms:
        return "NOASSERTION", remark
    return " AND ".join(sorted({f"({term})" if " " in term and len(names) > 1 else term for term in terms})), remark


def _spdx_term(name):
    """SPDX's expression for one `License:` of Debian's, or None."""
    words = re.split(r"\s+(and|or)\s+", name.lower())
    known = [word.upper() if word in ("and", "or") else SPDX_NAMES.get(word) for word in words]
    return " ".join(known) if all(known) else None


def wheel_of(file, sdks, wheels):
    """The name of the wheel in `wheels`, of tools/images.toml, that `file` in one of the folders came from, and that
    folder; None, None for other files."""
    file = pathlib.Path(file).resolve()
    for sdk in (pathlib.Path(sdk).resolve() for sdk in sdks):
        for name, wheel in wheels.items():
            if any(file == sdk / place or sdk / place in file.parents for place in wheel["libraries"]):
                return name, sdk
    return None, None


def wheel_package(name, sdk, wheel):
    found = sorted(pathlib.Path(sdk).glob(wheel["information"]))
    if len(found) != 1:
        raise Failure(f"{sdk}: has {len(found)} folders {wheel['information']}, where the wheel {name} leaves one: "
                      "run tools/setup")
    version = found[0].name.removesuffix(".dist-info").rpartition("-")[2]
    texts = [file.read_text(errors="replace") for file in sorted((found[0] / "licenses").glob("*"))]
    return Package(name, version, wheel["supplier"], f"pkg:pypi/{name}@{version}", wheel.get("license", "NOASSERTION"),
                   "" if "license" in wheel else "the wheel's licence is quoted as the copyright text",
                   "\n".join(texts) or "NOASSERTION")


def muster_package(version):
    return Package("muster", version, "NOASSERTION", f"pkg:generic/muster@{version}", "Apache-2.0")


class Sources:
    """Answers for many files; the packages are looked up once each."""

    def __init__(self, sdks, wheels, version):
        self.sdks, self.wheels, self.muster = sdks, wheels, muster_package(version)
        self.known = {}

    def debian(self, name):
        if name not in self.known:
            self.known[name] = debian_package(name)
        return self.known[name]

    def of_libraries(self, files):
        """{file: Package}. Raises Failure naming a file that came from no known package."""
        owners, answer = debian_owners(files), {}
        for file in map(pathlib.Path, files):
            wheel, sdk = wheel_of(file, self.sdks, self.wheels)
            if wheel and wheel not in self.known:
                self.known[wheel] = wheel_package(wheel, sdk, self.wheels[wheel])
            if not wheel and file not in owners:
                raise Failure(f"{file}: belongs to no Debian package and to no wheel of tools/images.toml: add it there")
            answer[file] = self.known[wheel] if wheel else self.debian(owners[file])
        return answer
