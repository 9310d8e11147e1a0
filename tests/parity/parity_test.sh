#!/usr/bin/env bash
# usage: parity_test.sh PRECISION OPTIMIZER RANKS FAMILY SHARD ZERO -- repeats a run of muster's trainer in PyTorch and compares
# the two. The family torchscript is the model of the example.
set -euo pipefail
dump="$TEST_TMPDIR/dump"
model=()
if [ "$4" = torchscript ]; then
  model=("$TEST_TMPDIR/model.pt")
  tests/parity/with_reference.sh examples/torchscript/export.py "${model[0]}" --vocabulary 96 --positions 64 --layers 3
fi
tests/parity/dump_run "$dump" "$@" "${model[@]}"
exec tests/parity/with_reference.sh tests/parity/parity.py "$dump"
