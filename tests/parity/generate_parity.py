"""usage: generate_parity.py DIR PROMPT

Computes in transformers the log probability of every token that `muster generate` chose, from the files of
the checkpoint as they are, and whether the greedy ones are the most likely. Then loads the same weights with
PyTorch's distributed checkpointing.

DIR holds checkpoints/ and the lines of `muster generate --json`: greedy.jsonl and sampled.jsonl.
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


def compare_with_dcp(verdicts, checkpoint, model):
    names = json.loads((checkpoint / "model.safetensors.index.json").read_text())["weight_map"]
    loaded = {name: torch.full_like(model.state_dict()[name], float("nan")) for name in names}
    dcp.load(loaded, storage_reader=dcp.HuggingFaceStorageReader(str(checkpoint)), no_dist=True)
    verdicts.equal_tensors("weights by DCP", loaded, {name: model.state_dict()[name] for name in names}, 0.0)


def main(folder, prompt):
    verdicts = comparison.Verdicts()
    checkpoint = max((folder / "checkpoints").glob("step-*"))
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    ids = encode(checkpoint, prompt)
    config = json.loads((checkpoint / "config.json").read_text())
    positions = next(config[name] for name in ("n_positions", "max_position_embeddings", "seq_length") if name in config)
    for name in ("greedy", "sampled"):
        lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        judge(verdicts, name, model, positions, ids, lines, greedy=name == "greedy")
    compare_with_dcp(verdicts, checkpoint, model)
    return verdicts.failed


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
