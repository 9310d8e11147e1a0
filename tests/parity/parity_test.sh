#!/usr/bin/env bash
# usage: parity_test.sh PRECISION OPTIMIZER RANKS FAMILY SHARD -- repeats a run of muster's trainer in PyTorch and compares the two.
set -euo pipefail
dump="$TEST_TMPDIR/dump"
tests/parity/dump_run "$dump" "$@"
exec tests/parity/with_reference.sh tests/parity/parity.py "$dump"
