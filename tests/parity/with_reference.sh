#!/usr/bin/env bash
# usage: with_reference.sh SCRIPT [ARGUMENT...] -- runs a Python script with the reference build of PyTorch.
set -euo pipefail
reference="${MUSTER_CACHE:-$HOME/.cache/muster}/sdk/pytorch-2.11.0-reference-1"
[ -e "$reference/.complete" ] || { echo "PyTorch for reference is missing: run tools/setup --reference" >&2; exit 1; }
LD_LIBRARY_PATH="$reference/stubs:$reference/torch/lib:$reference/nvidia/cu13/lib" PYTHONPATH="$reference${PYTHONPATH:+:$PYTHONPATH}" \
  exec /usr/bin/python3 "$@"
