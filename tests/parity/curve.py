"""usage: curve.py [--device=cuda] [--limit=RATIO] DIR

Judges the loss curve of a run in BF16 or FP16 that curve_run has written to DIR. Trains the same model from the same weights
on the same tokens in PyTorch twice, in FP32, which counts as the truth, and in the run's type by autocast, BF16 for FP32. It passes if the mean distance of
muster's losses from those of FP32, over the last four fifths of the steps, is at most RATIO (1.1) times autocast's, and the
loss has fallen. The first fifth, in which curves hardly differ yet, is left out.
"""
import json
import pathlib
import sys

import torch

import comparison
import gpt2_reference as reference
import parity


def distance(losses, truth):
    """The mean distance of two curves over the last four fifths of their steps."""
    if len(losses) != len(truth):
        raise ValueError(f"{len(losses)} losses of {len(truth)} steps")
    differences = [abs(a - b) for a, b in zip(losses, truth)][len(truth) // 5 :]
    return sum(differences) / len(differences)


def curve(run, folder, data, precision, device):
    model = parity.make_model(run)
    model.load_state_dict(reference.read_safetensors(folder / "initial.safetensors"), strict=True)
    return parity.train({**run, "precision": precision}, model.to(device), data, lambda step: None, device)[0]


def judge(verdicts, losses, autocast, truth, limit):
    ours, theirs = distance(losses, truth), distance(autocast, truth)
    print(f"mean distance from FP32 over {len(truth) - len(truth) // 5} steps: muster {ours:.3g}, autocast {theirs:.3g}")
    ratio = ours / theirs if theirs else float("inf")
    verdicts.within("muster's distance by autocast's", ratio, limit)
    print(f"losses: FP32 from {truth[0]:.4f} to {truth[-1]:.4f}, muster to {losses[-1]:.4f}, autocast to {autocast[-1]:.4f}")
    verdicts.within("the last loss by the first", truth[-1] / truth[0], 0.9)


def main():
    torch.set_num_threads(1)
    flags = dict(a.removeprefix("--").split("=") for a in sys.argv[1:] if a.startswith("--"))
    folder = pathlib.Path(next(a for a in sys.argv[1:] if not a.startswith("--")))
    run, device = json.loads((folder / "run.json").read_text()), flags.get("device", "cpu")
    data = reference.read_safetensors(folder / "tokens.safetensors")
    narrow = "fp16" if run["precision"] == "fp16" else "bf16"
    truth, autocast = (curve(run, folder, data, precision, device) for precision in ("fp32", narrow))
    verdicts = comparison.Verdicts()
    judge(verdicts, run["losses"], autocast, truth, float(flags.get("limit", "1.1")))
    sys.exit(1 if verdicts.failed else 0)


if __name__ == "__main__":
    main()
