#!/usr/bin/env bash
# usage: trains_test.sh EXAMPLE -- trains the first steps of examples/EXAMPLE.yaml on this machine, on a text of random words.
set -euo pipefail
example="$1"
dir="$TEST_TMPDIR"
mkdir -p "$dir/data"
awk 'BEGIN {
  srand(7)
  for (w = 0; w < 300; ++w) for (l = 2 + int(rand() * 6); l > 0; --l) word[w] = word[w] sprintf("%c", 97 + int(rand() * 26))
  for (i = 0; i < 40000; ++i) printf "%s%s", word[int(300 * rand() * rand())], (i % 12 == 11 ? ".\n" : " ")
}' >"$dir/data/bible.txt"
sed -E -e "s|\.muster/|$dir/|" -e 's/ steps: [0-9]+/ steps: 6/; s/warmupSteps: [0-9]+/warmupSteps: 2/; s/decaySteps: [0-9]+/decaySteps: 2/' \
  -e 's/validateEvery: [0-9]+/validateEvery: 3/' "examples/$example.yaml" >"$dir/job.yaml"
cli/muster run "$dir/job.yaml" --state-dir "$dir/state" --agent agent/muster-agent --trainer trainer/muster-trainer |
  tee "$dir/output.txt"
grep -E '^job +\S+: Succeeded' "$dir/output.txt"
grep -E '^steps +6 of 6$' "$dir/output.txt"
for checkpoint in "$dir"/checkpoints/*/step-000000006; do
  [ -e "$checkpoint/manifest.json" ] || { echo "there is no checkpoint of the last step: $checkpoint" >&2; exit 1; }
done
