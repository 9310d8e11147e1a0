#!/usr/bin/env bash
# Compares muster's tokenizer with Hugging Face's on real and nasty text.
set -euo pipefail
PYTHONPATH="$(dirname "$(realpath -e third_party/installed/tokenizers)")" TOKENIZERS_PARALLELISM=false PATH="$PATH:/usr/games" \
  /usr/bin/python3 tests/parity/tokenizer_parity.py tests/parity/tokenize "$TEST_TMPDIR"
