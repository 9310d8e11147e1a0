#!/usr/bin/env bash
# usage: curve_test.sh PRECISION LIMIT -- judges the curve of a small model on the CPU. In FP32 it must be far nearer to
# PyTorch's than BF16 is; in BF16 and FP16 as near as autocast, but for the chance in so few steps.
set -euo pipefail
shape='{"layers": 3, "heads": 4, "width": 64, "positions": 64, "vocabulary": 128}'
tests/parity/curve_run "$TEST_TMPDIR/run" \
  "{\"shape\": $shape, \"sequence\": 32, \"microBatch\": 12, \"steps\": 100, \"symbols\": 96, \"precision\": \"$1\"}"
exec tests/parity/with_reference.sh tests/parity/curve.py "--limit=$2" "$TEST_TMPDIR/run"
