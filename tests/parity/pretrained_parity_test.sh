#!/usr/bin/env bash
# usage: pretrained_parity_test.sh FAMILY
# Starts a run of muster's trainer, whose ranks hold parts of the weights, from weights that transformers saved, and
# compares what it started with.
set -euo pipefail
weights="$TEST_TMPDIR/weights" dump="$TEST_TMPDIR/dump"
tests/parity/with_reference.sh tests/parity/pretrained_parity.py save "$1" "$weights"
tests/parity/dump_run "$dump" fp32 adamw 2 "$1" 2 3 "$weights"
exec tests/parity/with_reference.sh tests/parity/pretrained_parity.py compare "$weights" "$dump"
