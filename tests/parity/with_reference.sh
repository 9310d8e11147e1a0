#!/usr/bin/env bash
# usage: with_reference.sh SCRIPT [ARGUMENT...] -- runs a Python script with the reference build of PyTorch, and with
# Hugging Face's tokenizers and transformers.
set -euo pipefail
sdk="${MUSTER_CACHE:-$HOME/.cache/muster}/sdk"
reference="$sdk/pytorch-2.11.0-reference-1"
peers="$sdk/transformers-4.57.1:$sdk/tokenizers-0.22.1"
for folder in "$reference" ${peers/:/ }; do
  [ -e "$folder/.complete" ] || { echo "$folder is missing: run tools/setup --reference" >&2; exit 1; }
done
LD_LIBRARY_PATH="$reference/stubs:$reference/torch/lib:$reference/nvidia/cu13/lib" HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false \
  PYTHONPATH="$reference:$peers${PYTHONPATH:+:$PYTHONPATH}" exec /usr/bin/python3 "$@"
