#!/usr/bin/env bash
# Runs the benchmark of kernels over the emulated ones, and expects a positive rate of each.
set -euo pipefail
lines="$(trainer/cuda/kernels/kernel_benchmark_emulated 4096 1)"
printf '%s\n' "$lines"
[ "$(wc -l <<<"$lines")" -eq 21 ] || { echo "there should be 21 lines"; exit 1; }
awk '!($NF > 0) { print "no rate: " $0; wrong = 1 } END { exit wrong }' <<<"$lines"
if trainer/cuda/kernels/kernel_benchmark_emulated 100; then
  echo "took 100 elements"
  exit 1
fi
