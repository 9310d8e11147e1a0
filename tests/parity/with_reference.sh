#!/usr/bin/env bash
# usage: with_reference.sh SCRIPT [ARGUMENT...] -- runs a Python script with the reference build of PyTorch, and with
# Hugging Face's tokenizers and transformers.
set -euo pipefail
installed="$(dirname "${BASH_SOURCE[0]}")/../../third_party/installed"
folder_of() {
  dirname "$(realpath -e "$installed/$1")" || { echo "$1 is missing: run tools/setup --reference" >&2; exit 1; }
}
reference="$(folder_of pytorch)"
peers="$(folder_of transformers):$(folder_of tokenizers)"
LD_LIBRARY_PATH="$reference/stubs:$reference/torch/lib:$reference/nvidia/cu13/lib" HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false \
  PYTHONPATH="$reference:$peers${PYTHONPATH:+:$PYTHONPATH}" exec /usr/bin/python3 "$@"
