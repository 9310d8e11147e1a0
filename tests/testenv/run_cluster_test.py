#!/usr/bin/python3
"""usage: run_cluster_test.py [--private [flags of 'tools/testenv up']] -- PROGRAM [ARGUMENT...]

Runs a test inside the shared control plane (started if it is not up, and left up) or, with
--private, inside one of its own, which is removed at the end however the test ends.
"""
import hashlib
import os
import re
import sys

sys.dont_write_bytecode = True
# Bazel runs this file under the name of a test in another folder.
sys.path.insert(0, os.path.abspath("tests/testenv"))
import command_line  # noqa: E402
import environment  # noqa: E402
import place as places  # noqa: E402


def _private_name():
    """A name that is the same at every attempt of a target in a checkout, so that an attempt finds what a killed one
    left, but differs between runs that Bazel makes side by side (--runs_per_test)."""
    target = re.sub(r"[^a-z0-9]+", "-", os.environ.get("TEST_TARGET", "test").rpartition(":")[2])
    return f"{target[:28].strip('-')}-{hashlib.sha256(os.environ.get('TEST_TMPDIR', '').encode()).hexdigest()[:6]}"


def main(arguments):
    split = arguments.index("--")
    flags, command = arguments[:split], arguments[split + 1:]
    command[0] = os.path.abspath(command[0])
    if flags[:1] == ["--private"]:
        return environment.run_in_new(places.Place(_private_name()), command_line.wanted(flags[1:]), command)
    environment.up(places.Place(), command_line.wanted([]))
    return environment.run(places.Place(), command)


try:
    sys.exit(main(sys.argv[1:]))
except places.Failure as failure:
    sys.exit(f"error: {failure}")
