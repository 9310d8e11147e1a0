#!/usr/bin/python3
"""usage: run_s3_test.py PROGRAM [ARGUMENT...] -- runs a test that starts the S3 server, which is built if it is missing."""
import os
import sys

sys.dont_write_bytecode = True
# Bazel runs this file under the name of a test in another folder.
sys.path.insert(0, os.path.abspath("tests/testenv"))
import build  # noqa: E402
import place  # noqa: E402

try:
    build.build()
except place.Failure as failure:
    sys.exit(f"error: {failure}")
os.execve(os.path.abspath(sys.argv[1]), sys.argv[1:], {**os.environ, "MUSTER_TESTENV_BIN": str(build.bin_folder())})
