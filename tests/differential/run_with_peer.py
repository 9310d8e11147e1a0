#!/usr/bin/python3
"""usage: run_with_peer.py PROGRAM [ARGUMENT...]

Runs a test with MUSTER_FILTER_PEER set to the program of tests/testenv/modules/controlplane/filters, which
is built with the test environment's others.
"""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent.parent / "testenv"))
import build  # noqa: E402
import place  # noqa: E402

try:
    build.build()
except place.Failure as failure:
    sys.exit(f"error: {failure}")
program = os.path.abspath(sys.argv[1])
os.execve(program, [program, *sys.argv[2:]], {**os.environ, "MUSTER_FILTER_PEER": str(build.bin_folder() / "scheduler-filters")})
