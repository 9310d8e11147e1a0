"""usage: generate_parity.py DIR PROMPT TOKENIZERS

Computes in PyTorch the log probability of every token that `muster generate` chose, from the files of
the checkpoint as Hugging Face names them, and whether the greedy ones are the most likely.

DIR holds checkpoints/ and the lines of `muster generate --json`: greedy.jsonl and sampled.jsonl.
TOKENIZERS is the folder of that package.
"""
import json
import pathlib
import sys

import torch

import comparison
import gpt2_reference as reference

sys.path.append(sys.argv[3])
import tokenizers

LIMIT = 2e-5  # of a natural logarithm


def load(checkpoint):
    config = json.loads((checkpoint / "config.json").read_text())
    model = reference.Gpt2(
        config["n_layer"], config["n_head"], config["n_embd"], config["n_positions"], config["vocab_size"]
    )
    tensors = {}
    index = json.loads((checkpoint / "model.safetensors.index.json").read_text())
    for name in sorted(set(index["weight_map"].values())):
        tensors |= reference.read_safetensors(checkpoint / name)
    model.load_state_dict(tensors)
    return model.eval()


def encode(checkpoint, text):
    return tokenizers.Tokenizer.from_file(str(checkpoint / "tokenizer.json")).encode(text).ids


@torch.no_grad()
def judge(verdicts, what, model, positions, prompt, lines, greedy):
    tokens, errors, regrets = list(prompt), [], []
    for line in lines:
        scores = model.logits(torch.tensor([tokens[-positions:]]))[0, -1].log_softmax(0)
        errors.append(abs(scores[line["token"]].item() - line["logProbability"]))
        regrets.append((scores.max() - scores[line["token"]]).item())
        tokens.append(line["token"])
    verdicts.require(f"{what}: tokens", lines or None)
    verdicts.within(f"{what}: log probability, the worst of {len(errors)}", comparison.worst_of(dict(enumerate(errors)))[1], LIMIT)
    if greedy:
        worst = comparison.worst_of(dict(enumerate(regrets)))[1]
        verdicts.within(f"{what}: how much more likely another token was", worst, LIMIT)


def main(folder, prompt):
    verdicts = comparison.Verdicts()
    checkpoint = max((folder / "checkpoints").glob("step-*"))
    model = load(checkpoint)
    ids = encode(checkpoint, prompt)
    positions = model.transformer["wpe"].weight.size(0)
    for name in ("greedy", "sampled"):
        lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        judge(verdicts, name, model, positions, ids, lines, greedy=name == "greedy")
    return verdicts.failed


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
