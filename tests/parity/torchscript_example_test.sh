#!/usr/bin/env bash
# usage: torchscript_example_test.sh
# Exports the model of the example, trains it on two ranks as its manifest says, goes on under another layout, and reads the
# weights with PyTorch. Whoever asks for text is told why there is none.
set -euo pipefail
dir="$TEST_TMPDIR"
for i in $(seq 400); do echo "In the beginning was the word, and it was said $i times."; done >"$dir/text.txt"
tests/parity/with_reference.sh examples/torchscript/export.py "$dir/model.pt" --layers 2 --width 64 --dropout 0.1
sed -e "s|\.muster/models/gpt.pt|$dir/model.pt|; s|\.muster/data/bible.txt|$dir/text.txt|" \
  -e "s|\.muster/checkpoints/torchscript|$dir/checkpoints|" \
  -e 's/steps: 300/steps: 40/; s/steps: 100/steps: 40/; s/warmupSteps: 30/warmupSteps: 5/; s/sequence: 128/sequence: 64/' \
  examples/torchscript.yaml >"$dir/job.yaml"
muster() { cli/muster "$@" --state-dir "$dir/state"; }
train() { muster run "$dir/job.yaml" --agent agent/muster-agent --trainer trainer/muster-trainer; }
train
sed -i 's/steps: 40$/steps: 50/; s/zero: 3/zero: 1, shard: 2/' "$dir/job.yaml"
train
history_of() { grep -o '"history":"[^"]*"' "$dir/checkpoints/step-0000000$1/manifest.json"; }
[ "$(history_of 40)" = "$(history_of 50)" ] || { echo "the second run did not go on from the first" >&2; exit 1; }
muster generate --generator trainer/generate/muster-generate --prompt word --max-tokens 3 2>"$dir/generate.err" &&
  { echo "there are no logits" >&2; exit 1; }
grep -F "torchscript" "$dir/generate.err"
muster checkpoints export --generator trainer/generate/muster-generate --dir "$dir/checkpoints" --out "$dir/exported"
exec tests/parity/with_reference.sh tests/parity/torchscript_example.py "$dir"
