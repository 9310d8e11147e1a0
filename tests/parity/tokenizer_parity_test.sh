#!/usr/bin/env bash
# Compares muster's tokenizer with Hugging Face's on real and nasty text.
set -euo pipefail
peer="${MUSTER_CACHE:-$HOME/.cache/muster}/sdk/tokenizers-0.22.1"
[ -e "$peer/.complete" ] || { echo "Hugging Face's tokenizers are missing: run tools/setup --reference" >&2; exit 1; }
PYTHONPATH="$peer" TOKENIZERS_PARALLELISM=false PATH="$PATH:/usr/games" \
  /usr/bin/python3 tests/parity/tokenizer_parity.py tests/parity/tokenize "$TEST_TMPDIR"
