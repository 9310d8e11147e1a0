#!/usr/bin/python3
"""usage: package_versions.py PACKAGE... -- prints a digest of what is installed of these Debian packages and of all that
they need, directly or not, with the packages that every system has (Essential)."""
import hashlib
import re
import sys

STATUS = "/var/lib/dpkg/status"


def installed(text):
    """{name: (version, names of the packages that it needs, whether it is essential)}, and {name: providers}."""
    packages, providers = {}, {}
    for stanza in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Z][\w-]*): *(.*)$", stanza, re.M))
        if fields.get("Status") != "install ok installed":
            continue
        needs = names_in(fields.get("Pre-Depends", "")) | names_in(fields.get("Depends", ""))
        packages[fields["Package"]] = (fields["Version"], needs, fields.get("Essential") == "yes")
        for name in names_in(fields.get("Provides", "")):
            providers.setdefault(name, set()).add(fields["Package"])
    return packages, providers


def names_in(field):
    """The package names of a dependency field; of alternatives all, because any that is installed may be used."""
    return set(re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", field))


def versions(text, wanted):
    """Sorted lines "NAME VERSION" of the installed packages among `wanted` and their needs."""
    packages, providers = installed(text)
    found, unseen = set(), set(wanted) | {name for name, (_, _, essential) in packages.items() if essential}
    while unseen:
        name = unseen.pop()
        if name in found:
            continue
        if name in packages:
            found.add(name)
            unseen |= packages[name][1] - found
        unseen |= providers.get(name, set()) - found
    return sorted(f"{name} {packages[name][0]}" for name in found)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with open(STATUS) as file:
        print(hashlib.sha256("\n".join(versions(file.read(), sys.argv[1:])).encode()).hexdigest()[:16])


if __name__ == "__main__":
    main()
