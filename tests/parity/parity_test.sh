#!/usr/bin/env bash
# usage: parity_test.sh PRECISION OPTIMIZER -- repeats a run of our trainer in PyTorch and compares.
set -euo pipefail
reference="${MUSTER_CACHE:-$HOME/.cache/muster}/sdk/pytorch-2.11.0-reference-1"
[ -e "$reference/.complete" ] || { echo "PyTorch for reference is missing: run tools/setup --reference" >&2; exit 1; }
dump="$TEST_TMPDIR/dump"
tests/parity/dump_run "$dump" "$1" "$2"
LD_LIBRARY_PATH="$reference/stubs:$reference/torch/lib:$reference/nvidia/cu13/lib" PYTHONPATH="$reference" \
  /usr/bin/python3 tests/parity/parity.py "$dump"
