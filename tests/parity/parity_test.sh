#!/usr/bin/env bash
# usage: parity_test.sh FAMILY PRECISION OPTIMIZER:RANKS:SHARD:ZERO[:offload]... -- repeats runs of muster's trainer in
# PyTorch and compares the two. The family torchscript is the model of the example.
set -euo pipefail
family="$1" precision="$2"
model=()
if [ "$family" = torchscript ]; then
  model=("$TEST_TMPDIR/model.pt")
  tests/parity/with_reference.sh examples/torchscript/export.py "${model[0]}" --vocabulary 96 --positions 64 --layers 3
fi
dumps=()
for row in "${@:3}"; do
  IFS=: read -r optimizer ranks shard zero offload <<<"$row"
  dumps+=("$TEST_TMPDIR/$row")
  scratch=()
  [ -z "$offload" ] || scratch=("--offload=$TEST_TMPDIR/scratch")
  tests/parity/dump_run "${dumps[-1]}" "$precision" "$optimizer" "$ranks" "$family" "$shard" "$zero" "${model[@]}" \
    "${scratch[@]}"
done
exec tests/parity/with_reference.sh tests/parity/parity.py "${dumps[@]}"
