"""Locations: the cache of built programs, and the folder and network namespace of each control plane."""
import hashlib
import os
import pathlib
import pwd
import re

HERE = pathlib.Path(__file__).absolute().parent
ROOT = HERE.parent.parent
CACHE = pathlib.Path(os.environ.get("MUSTER_CACHE") or pathlib.Path.home() / ".cache/muster")
RUN = CACHE / "testenv/run"
SHARED = "shared"


class Failure(Exception):
    """An error that is shown to the user as one sentence."""


def _machine_suffix():
    """Empty for root with the usual cache; else a suffix that keeps this user and cache apart from others."""
    usual = pathlib.Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache/muster"
    if os.getuid() == 0 and CACHE == usual:
        return ""
    return "-" + hashlib.sha256(f"{os.getuid()}:{CACHE}".encode()).hexdigest()[:6]


class Place:
    """The folder and names of a control plane. `shared` is the one that all tests use."""

    def __init__(self, name=SHARED):
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name):
            raise Failure(f"'{name}' is no name for a control plane: use up to 40 of a-z, 0-9 and -")
        self.name = name
        self.folder = RUN / name
        self.namespace = "muster-testenv" + _machine_suffix() + ("" if name == SHARED else "-" + name)
        self.pki = self.folder / "pki"
        self.logs = self.folder / "log"
        self.ready = self.folder / "ready"
        self.options = self.folder / "options.json"
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self.env_file = RUN / "env" if name == SHARED else self.folder / "env"
        self.lock = RUN / f".{name}.lock"
        # Locked by the test that owns a private control plane, as long as the test runs.
        self.use = RUN / f".{name}.use"
        self.kept_logs = CACHE / "logs" / f"testenv-{name}"


def all_places():
    folders = sorted(RUN.iterdir()) if RUN.is_dir() else []
    return [Place(f.name) for f in folders if f.is_dir()]
