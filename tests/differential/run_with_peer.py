#!/usr/bin/python3
"""usage: run_with_peer.py PROGRAM [ARGUMENT...]

Runs a test with MUSTER_FILTER_PEER set to the program of peer/, which is built once per version of
its sources, with the test environment's Go and its cached packages.
"""
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "testenv"))
import build  # noqa: E402
import place  # noqa: E402

SOURCES = HERE / "peer"
FOLDER = place.CACHE / "differential"


def _peer():
    digest = hashlib.sha256()
    for file in sorted(SOURCES.glob("*")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return FOLDER / f"peer-{digest.hexdigest()[:12]}"


def _build(peer):
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if peer.exists():
            return
        for old in FOLDER.glob("peer-*"):
            old.unlink()
        subprocess.run([build.find_go(), "build", "-p", "2", *build.COMPILE, "-ldflags", "-s -w", "-o", f"{peer}.tmp", "."],
                       cwd=SOURCES, env=build.go_environment(), check=True)
        pathlib.Path(f"{peer}.tmp").rename(peer)


try:
    found = _peer()
    if not found.exists():
        _build(found)
except (place.Failure, subprocess.CalledProcessError) as failure:
    sys.exit(f"error: {failure}")
program = os.path.abspath(sys.argv[1])
os.execve(program, [program, *sys.argv[2:]], {**os.environ, "MUSTER_FILTER_PEER": str(found)})
