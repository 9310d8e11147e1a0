#!/usr/bin/env bash
# usage: parity_test.sh PRECISION OPTIMIZER RANKS -- repeats a run of our trainer in PyTorch and compares.
set -euo pipefail
dump="$TEST_TMPDIR/dump"
tests/parity/dump_run "$dump" "$@"
exec tests/parity/with_reference.sh tests/parity/parity.py "$dump"
