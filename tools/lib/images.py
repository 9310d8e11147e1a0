"""usage: images.py --bin=DIR [--out=DIR] [--tag=TAG] [--repository=NAME] IMAGE... -- see tools/images --help

Writes, for each image, OUT/IMAGE (an OCI layout), OUT/IMAGE.tar (the same as an archive) and OUT/IMAGE.spdx.json (its
bill of materials). tools/images.toml says what stands in which image.
"""
import argparse
import json
import pathlib
import re
import sys
import tomllib

import oci_layout
import sbom
import shared_libraries
from package_sources import Sources
from shared_libraries import Failure

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = ROOT / "tools/images.toml"
# The folders in which tools/setup unpacks wheels; those for GPUs are there only if they were asked for. libmuster_cuda.so is
# linked to libraries of the last one.
SDK = ROOT / "third_party/torch_sdk"
GPU_SDK = ROOT / "third_party/gpu_sdk"
CUDA_SDK = ROOT / "third_party/cuda_sdk"
CERTIFICATES = pathlib.Path("/usr/share/ca-certificates/mozilla")
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
REPOSITORY = re.compile(r"[a-z0-9]+([._:/-]+[a-z0-9]+)*")
MIB = 1 << 20


def version():
    found = re.search(r'kVersion\[\] = "(.+)"', (ROOT / "base/version.h").read_text())
    return found[1]


class Image:
    """What one image holds: its layers, from the one that moves least to the one that moves with each release, and the
    package of each file."""

    def __init__(self, name, table, programs_folder, sources):
        if name not in table["image"]:
            raise Failure(f"there is no image '{name}': tools/images.toml has {', '.join(table['image'])}")
        self.name, self.table, self.sources = name, table, sources
        self.description = table["image"][name]
        self.origins = {}
        listed = [program.partition(":") for program in self.description["programs"]]
        # The built file by the name that it has in the image.
        self.programs = {name or pathlib.Path(file).name: pathlib.Path(programs_folder) / file for file, _, name in listed}
        for program in self.programs.values():
            if not program.is_file():
                raise Failure(f"{program}: is not built; tools/images builds it when it is called without --bin")
        sdk = GPU_SDK if self.description.get("sdk") == GPU_SDK.name else SDK
        loads = [sdk / path for path in self.description.get("loads", [])]
        for library in loads:
            if not library.is_file():
                raise Failure(f"{library}: is not there; run tools/setup --gpu-libraries")
        self.libraries = shared_libraries.closure([*self.programs.values()], loads, self.description.get("driver", []))
        self.layers = [self._base(), *([self._rest()] if self._rest_names() else []), self._programs()]

    def _rest_names(self):
        return sorted(name for name in self.libraries if "/" not in name and name not in self.table["base"]["libraries"])

    def _base(self):
        layer = oci_layout.Layer("users, certificates, the loader and libc")
        user = self.table["user"]
        self._made(layer, "etc/passwd", f"root:x:0:0:root:/:/sbin/nologin\n"
                   f"{user['name']}:x:{user['id']}:{user['id']}:{user['name']}:/tmp:/sbin/nologin\n", self.sources.muster)
        self._made(layer, "etc/group", f"root:x:0:\n{user['name']}:x:{user['id']}:\n", self.sources.muster)
        self._made(layer, self.table["base"]["certificates"], authorities(), self.sources.debian("ca-certificates"))
        layer.folder("tmp", mode=0o1777)
        if self.libraries:
            self._add_loader(layer)
        return layer

    def _add_loader(self, layer):
        """Adds libc even to an image whose programs need less of it, so that the layer is the same in all images."""
        loaders = {name: file for name, file in self.libraries.items() if "/" in name}
        names = self.table["base"]["libraries"]
        # Other libraries may be installed wherever; these belong to the loader, and stand where Debian's loader looks.
        libraries = {name: self.libraries.get(name) or shared_libraries.default_library(name) for name in names}
        self._install(layer, libraries)
        owned = self.sources.of_libraries(loaders.values())
        for path, file in loaders.items():
            self._put(layer, path, file, owned[file], 0o755)

    def _rest(self):
        layer = oci_layout.Layer("shared libraries")
        self._install(layer, {name: self.libraries[name] for name in self._rest_names()})
        return layer

    def _programs(self):
        layer = oci_layout.Layer("muster's programs")
        for name, program in self.programs.items():
            self._put(layer, f"usr/bin/{name}", program, self.sources.muster, 0o755)
        return layer

    def _install(self, layer, libraries):
        owned = self.sources.of_libraries(libraries.values())
        for name, file in libraries.items():
            self._put(layer, f"{self.table['libraries']['folder']}/{name}", file, owned[file], 0o644)

    def _put(self, layer, path, file, package, mode):
        layer.file(path, file.resolve(), mode)
        self.origins[path.strip("/")] = package

    def _made(self, layer, path, text, package):
        layer.text(path, text)
        self.origins[path.strip("/")] = package

    def config(self):
        user = self.table["user"]["id"]
        environment = ["PATH=/usr/bin", f"SSL_CERT_FILE={self.table['base']['certificates']}"]
        return {"User": f"{user}:{user}", "Entrypoint": self.description["entrypoint"], "WorkingDir": "/",
                "Env": [*environment, *self.description.get("environment", [])]}

    def annotations(self, tag):
        return {"org.opencontainers.image.title": f"muster {self.name}",
                "org.opencontainers.image.description": self.description["description"],
                "org.opencontainers.image.version": tag, "org.opencontainers.image.licenses": "Apache-2.0"}


def authorities():
    """The certificate authorities of Debian's package. The machine's own list may hold some that its admin added."""
    files = sorted(CERTIFICATES.glob("*.crt"))
    if not files:
        raise Failure(f"{CERTIFICATES}: has no certificates; install the Debian package ca-certificates")
    return "".join(file.read_text().rstrip("\n") + "\n" for file in files)


def write(image, out, repository, tag):
    """Writes the three results and returns the line that tells of them."""
    name = f"{repository}/{image.name}"
    layout = oci_layout.Layout(out / image.name, name, tag)
    descriptor = layout.write(image.layers, image.config(), image.annotations(tag))
    layout.write_archive(out / f"{image.name}.tar")
    document = sbom.document(name, tag, descriptor["digest"], image.layers, image.origins)
    (out / f"{image.name}.spdx.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    size = sum(file.stat().st_size for file in layout.blobs.iterdir())
    return f"{name}:{tag} {descriptor['digest']} {size / MIB:.1f} MiB compressed, in {out / image.name}.tar"


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"muster: error: {message}; tools/images --help\n")


def _matching(pattern, what):
    def check(text):
        if not pattern.fullmatch(text):
            raise argparse.ArgumentTypeError(f"'{text}' is no {what}")
        return text
    return check


def main(arguments):
    parser = _Parser(add_help=False)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--tag", type=_matching(TAG, "tag: use up to 128 letters, digits, _, . and -"), default=version())
    parser.add_argument("--repository", type=_matching(REPOSITORY, "repository: use lower case, as in HOST/muster"), default="muster")
    options = parser.parse_args(arguments)
    table = tomllib.loads(TABLE.read_text())
    try:
        sources = Sources([SDK, GPU_SDK, CUDA_SDK], table["wheel"], version())
        images = [Image(name, table, options.bin, sources) for name in dict.fromkeys(options.names)]
        options.out.mkdir(parents=True, exist_ok=True)
        for image in images:
            print(write(image, options.out, options.repository, options.tag), flush=True)
    except (Failure, OSError) as failure:
        print(f"muster: error: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
