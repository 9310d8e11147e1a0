#!/usr/bin/env bash
# usage: generate_parity_test.sh FAMILY
# Trains briefly on two ranks that divide the state, continues a text with `muster generate`, and compares each token
# with transformers'. Then trains on with weights in parts, and does the same with the exported model, in one file and in
# several; and at last with ranks that divide the model.
set -euo pipefail
dir="$TEST_TMPDIR"
for i in $(seq 400); do echo "In the beginning was the word, and it was said $i times."; done >"$dir/text.txt"
cat >"$dir/job.yaml" <<YAML
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: generate}
spec:
  workers: {count: 1, ranks: 2}
  trainer:
    model: {preset: $1-nano}
    data: {uri: $dir/text.txt, format: Text, tokenizer: {kind: Bpe, vocabulary: 300}}
    train: {steps: 20, globalBatch: 8, microBatch: 4, sequence: 64}
    parallelism: {zero: 1}
  checkpoint: {uri: $dir/checkpoints}
YAML
muster() { cli/muster "$@" --state-dir "$dir/state"; }
muster run "$dir/job.yaml" --agent agent/muster-agent --trainer trainer/muster-trainer
generate() { muster generate --generator trainer/generate/muster-generate "$@"; }
prompt="In the beginning was the "
generate --prompt "$prompt" --max-tokens 40 --json >"$dir/greedy.jsonl"
generate --dir "$dir/checkpoints" --prompt "$prompt" --max-tokens 40 --json \
  --temperature 0.8 --top-k 50 --top-p 0.95 --seed 3 >"$dir/sampled.jsonl"
generate --prompt "$prompt" --max-tokens 3 >"$dir/text.out"
head -c "${#prompt}" "$dir/text.out" | cmp - <(printf %s "$prompt")

sed -i 's/steps: 20/steps: 24/; s/zero: 1/zero: 3/' "$dir/job.yaml"
muster run "$dir/job.yaml" --agent agent/muster-agent --trainer trainer/muster-trainer
[ ! -e "$dir/checkpoints/step-000000024/model.safetensors.index.json" ] || { echo "the weights are not in parts" >&2; exit 1; }
generate --step 24 --prompt "$prompt" --max-tokens 40 --json >"$dir/exported.jsonl"
export_model() { muster checkpoints export --generator trainer/generate/muster-generate --dir "$dir/checkpoints" "$@"; }
export_model --out "$dir/exported"
export_model --out "$dir/shards" --step 24 --max-shard-bytes 100000
export_model --out "$dir/exported" 2>"$dir/again.err" && { echo "it wrote over a directory" >&2; exit 1; }
grep -F "$dir/exported is there already" "$dir/again.err"
export_model --out "$dir/other" --step 7 2>"$dir/other.err" && { echo "there is no step 7" >&2; exit 1; }
grep -F "but of: 24, 20" "$dir/other.err"

sed -i 's/steps: 24/steps: 28/; s/zero: 3/tensor: 2/' "$dir/job.yaml"
muster run "$dir/job.yaml" --agent agent/muster-agent --trainer trainer/muster-trainer
generate --step 28 --prompt "$prompt" --max-tokens 40 --json >"$dir/divided.jsonl"
export_model --out "$dir/divided" --step 28
exec tests/parity/with_reference.sh tests/parity/generate_parity.py "$dir" "$prompt"
