"""Finds the shared libraries that a program needs, by the dynamic loader's own rules, without running it."""
import os
import pathlib
import re
import subprocess

DEFAULT_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")


class Failure(Exception):
    """Says what was wrong, where, and what would be right."""


class Elf:
    """The dynamic section of one ELF file: `needed` names, `rpath`, `runpath`, and the loader it asks for, or None."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        done = subprocess.run(["readelf", "-dlW", str(path)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        if done.returncode != 0 or "Error:" in done.stderr:
            raise Failure(f"{path}: is not a program or library: {done.stderr.strip() or done.stdout.strip()}")
        self.needed = re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", done.stdout)
        self.rpath = self._folders("RPATH", done.stdout)
        self.runpath = self._folders("RUNPATH", done.stdout)
        loader = re.search(r"\[Requesting program interpreter: (.+)\]", done.stdout)
        self.loader = loader and loader[1]

    def _folders(self, kind, text):
        found = re.search(rf"\({kind}\)\s+Library \w+: \[(.*)\]", text)
        origin = str(self.path.resolve().parent)
        links = str(self.path.absolute().parent)
        folders = [folder for folder in (found[1].split(":") if found else []) if folder]
        expand = lambda folder, place: folder.replace("${ORIGIN}", place).replace("$ORIGIN", place)
        # Bazel runs programs through links, beside which their libraries stand; the loader sees the file itself.
        return list(dict.fromkeys(expand(folder, place) for folder in folders for place in (origin, links)))


def _find(name, user, chain):
    """The file that `user` gets as `name`; `chain` are the objects that led to it, whose RPATH counts unless the user
    has a RUNPATH."""
    if "/" in name:
        raise Failure(f"{user.path}: needs the library {name} by a path, which no image has; link it by its name")
    inherited = [] if user.runpath else [folder for elf in (user, *reversed(chain)) if not elf.runpath for folder in elf.rpath]
    looked = list(dict.fromkeys([*inherited, *user.runpath, *DEFAULT_FOLDERS]))
    for folder in looked:
        if (pathlib.Path(folder) / name).is_file():
            return pathlib.Path(folder) / name
    raise Failure(f"{user.path}: needs the library {name}, which is in none of {', '.join(looked)}; "
                  "install its package or build it")


def default_library(name):
    """The file of a library of this machine that belongs to the loader."""
    for folder in DEFAULT_FOLDERS:
        if (pathlib.Path(folder) / name).is_file():
            return pathlib.Path(folder) / name
    raise Failure(f"the library {name} is in none of {', '.join(DEFAULT_FOLDERS)}")


def closure(programs, loads=(), absent=()):
    """All that `programs`, and the libraries `loads` that they open at run time, need: {name: file}. The loader itself
    is among them under the path that the programs ask for; names in `absent` are not. Raises Failure with the name of
    what is missing."""
    found = {pathlib.Path(path).name: pathlib.Path(path) for path in loads}
    waiting = [(Elf(path), []) for path in (*programs, *found.values())]
    while waiting:
        user, chain = waiting.pop(0)
        if user.loader:
            found.setdefault(user.loader, pathlib.Path(user.loader))
        for name in [name for name in user.needed if name not in absent]:
            # The loader gives a name to everybody as it found it for the first who asked.
            if name not in found and not any(pathlib.Path(known).name == name for known in found):
                found[name] = _find(name, user, chain)
                waiting.append((Elf(found[name]), [*chain, user]))
    return _with_loader_once(found)


def _with_loader_once(found):
    """Libraries need the loader by its bare name; it is the file that the programs name by its path."""
    loaders = [name for name in found if "/" in name]
    for loader in loaders:
        bare = found.pop(pathlib.Path(loader).name, None)
        if bare and bare.resolve() != found[loader].resolve():
            raise Failure(f"{loader}: the programs ask for this loader, and their libraries for {bare}")
    return found
