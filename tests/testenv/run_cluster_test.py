#!/usr/bin/python3
"""usage: run_cluster_test.py [--private [flags of 'tools/testenv up']] -- PROGRAM [ARGUMENT...]

Runs a test inside the shared control plane (started when it is not up, and left up) or, with
--private, inside one of its own, which is gone when this ends however the test ends.
"""
import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import command_line  # noqa: E402
import environment  # noqa: E402
import network  # noqa: E402
import place as places  # noqa: E402


def _private_name():
    """The same at every run of a target in a checkout, so that a run finds what a killed one left."""
    target = re.sub(r"[^a-z0-9]+", "-", os.environ.get("TEST_TARGET", "test").rpartition(":")[2])
    return f"{target[:28].strip('-')}-{hashlib.sha256(os.environ.get('TEST_SRCDIR', '').encode()).hexdigest()[:6]}"


def _terminated(number, frame):
    raise places.Failure(f"the test was ended by signal {number}")


def _run(place, command):
    signal.signal(signal.SIGTERM, _terminated)
    child = subprocess.Popen(network.inside(place.namespace, command, environment.environment(place)))
    try:
        return child.wait()
    finally:
        child.kill()


def main(arguments):
    split = arguments.index("--")
    flags, command = arguments[:split], arguments[split + 1:]
    private = flags[:1] == ["--private"]
    command[0] = os.path.abspath(command[0])
    if not private:
        place = places.Place()
        environment.up(place, command_line.wanted([]))
        return _run(place, command)
    place = places.Place(_private_name())
    with environment.used_by_this_process(place):
        environment.down(place)
        try:
            environment.up(place, command_line.wanted(flags[1:]))
            return _run(place, command)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            environment.down(place)


try:
    sys.exit(main(sys.argv[1:]))
except places.Failure as failure:
    sys.exit(f"error: {failure}")
