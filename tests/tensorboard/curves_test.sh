#!/usr/bin/env bash
# Trains with ranks that are killed, and reads the curves with TensorBoard's own reader.
set -euo pipefail
tensorboard="$(dirname "$(realpath -e third_party/installed/tensorboard)")" ||
  { echo "tensorboard is missing: run tools/setup --reference" >&2; exit 1; }
tests/tensorboard/disturbed_runs
PYTHONPATH="$tensorboard" exec /usr/bin/python3 tests/tensorboard/curves.py "$TEST_TMPDIR"
