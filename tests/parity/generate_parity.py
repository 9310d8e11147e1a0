"""usage: generate_parity.py DIR PROMPT

Computes in transformers the log probability of every token that `muster generate` chose, from the files of
the checkpoint as they are, and whether the greedy ones are the most likely. Then loads the same weights with
PyTorch's distributed checkpointing, and judges the model of a later checkpoint as it was exported, twice.

DIR holds checkpoints/ and the lines of `muster generate --json`: greedy.jsonl and sampled.jsonl of step 20, and
exported.jsonl of the model in exported/ and shards/, and divided.jsonl of the one in divided/.
"""
import json
import pathlib
import sys

import tokenizers
import torch
import torch.distributed.checkpoint as dcp
import transformers

import comparison

LIMIT = 1e-5  # of a natural logarithm


def encode(checkpoint, text):
    return tokenizers.Tokenizer.from_file(str(checkpoint / "tokenizer.json")).encode(text).ids


@torch.no_grad()
def judge(verdicts, what, model, positions, prompt, lines, greedy):
    tokens, errors, regrets = list(prompt), [], []
    for line in lines:
        scores = model(torch.tensor([tokens[-positions:]])).logits[0, -1].log_softmax(0)
        errors.append(abs(scores[line["token"]].item() - line["logProbability"]))
        regrets.append((scores.max() - scores[line["token"]]).item())
        tokens.append(line["token"])
    verdicts.require(f"{what}: tokens", lines or None)
    verdicts.within(f"{what}: log probability, the worst of {len(errors)}", comparison.worst_of(dict(enumerate(errors)))[1], LIMIT)
    if greedy:
        worst = comparison.worst_of(dict(enumerate(regrets)))[1]
        verdicts.within(f"{what}: how much more likely another token was", worst, LIMIT)


def judge_file(verdicts, model, checkpoint, prompt, path, greedy):
    config = json.loads((checkpoint / "config.json").read_text())
    positions = next(config[name] for name in ("n_positions", "max_position_embeddings", "seq_length") if name in config)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    judge(verdicts, path.stem, model, positions, encode(checkpoint, prompt), lines, greedy)


def load(verdicts, checkpoint):
    """The model; fails if transformers found a weight of it missing, which it would make up, or one too many."""
    model, info = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32, output_loading_info=True)
    odd = {what: sorted(names) for what, names in info.items() if names}
    verdicts.require(f"{checkpoint.name}: all weights and no others, but for {odd}", None if odd else True)
    return model.eval()


def compare_with_dcp(verdicts, checkpoint, model):
    names = json.loads((checkpoint / "model.safetensors.index.json").read_text())["weight_map"]
    loaded = {name: torch.full_like(model.state_dict()[name], float("nan")) for name in names}
    dcp.load(loaded, storage_reader=dcp.HuggingFaceStorageReader(str(checkpoint)), no_dist=True)
    verdicts.equal_tensors("weights by DCP", loaded, {name: model.state_dict()[name] for name in names}, 0.0)


def main(folder, prompt):
    verdicts = comparison.Verdicts()
    checkpoint = folder / "checkpoints" / "step-000000020"
    model = load(verdicts, checkpoint)
    judge_file(verdicts, model, checkpoint, prompt, folder / "greedy.jsonl", greedy=True)
    judge_file(verdicts, model, checkpoint, prompt, folder / "sampled.jsonl", greedy=False)
    compare_with_dcp(verdicts, checkpoint, model)
    exported, shards = (load(verdicts, folder / name) for name in ("exported", "shards"))
    judge_file(verdicts, exported, folder / "exported", prompt, folder / "exported.jsonl", greedy=True)
    divided = load(verdicts, folder / "divided")
    judge_file(verdicts, divided, folder / "divided", prompt, folder / "divided.jsonl", greedy=True)
    verdicts.require("shards", (folder / "shards" / "model.safetensors.index.json").exists() or None)
    verdicts.equal_tensors("weights in shards", shards.state_dict(), exported.state_dict(), 0.0)
    return verdicts.failed


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
