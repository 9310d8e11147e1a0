"""usage: parity.py DUMP_DIR

Repeats in PyTorch a run that muster's trainer dumped, from the same initial weights on the same
tokens, and compares losses, every gradient tensor, the global norm and the final weights.

DUMP_DIR holds run.json {shape, precision, optimizer, steps, losses, gradientNorms}, initial.safetensors,
tokens.safetensors (tokens and labels, [step, sequence, position]), gradients-<step>.safetensors before
clipping, final.safetensors.
"""
import json
import pathlib
import sys

import torch

import gpt2_reference as reference

# Relative: FP64 everywhere; FP32 at the first step and at the last, where rounding has grown.
LOSS_LIMITS = {"fp64": (1e-10, 1e-10), "fp32": (1e-5, 1e-4)}
GRADIENT_LIMITS = {"fp64": (1e-8, 1e-7), "fp32": (1e-4, 2e-2)}


def relative(ours, theirs):
    scale = theirs.norm().item()
    return (ours.double() - theirs.double()).norm().item() / max(scale, 1e-30)


class Check:
    def __init__(self):
        self.failed = False

    def __call__(self, what, error, limit):
        verdict = "ok  " if error <= limit else "FAIL"
        self.failed |= not error <= limit
        print(f"{verdict} {what}: {error:.3g} (limit {limit:g})")


def make_optimizer(model, o):
    if o["name"] == "sgd":
        return torch.optim.SGD(model.parameters(), lr=o["learningRate"], momentum=o["momentum"])
    groups = reference.parameter_groups(model, o["weightDecay"])
    return torch.optim.AdamW(groups, lr=o["learningRate"], betas=(o["beta1"], o["beta2"]), eps=o["epsilon"])


def compare_gradients(check, model, dump, step, limit):
    worst, name_of_worst = 0.0, ""
    for name, theirs in model.named_parameters():
        error = relative(dump[name], theirs.grad)
        if error > worst:
            worst, name_of_worst = error, name
    check(f"gradients of step {step}, the worst of {len(dump)} is {name_of_worst}", worst, limit)


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    run = json.loads((folder / "run.json").read_text())
    precision, o, check = run["precision"], run["optimizer"], Check()
    torch.set_default_dtype(torch.float64 if precision == "fp64" else torch.float32)
    model = reference.Gpt2(**run["shape"])
    initial = reference.read_safetensors(folder / "initial.safetensors")
    missing = model.load_state_dict(initial, strict=True)
    assert not missing.missing_keys
    data = reference.read_safetensors(folder / "tokens.safetensors")
    optimizer = make_optimizer(model, o)
    losses = []
    for step in range(1, run["steps"] + 1):
        optimizer.zero_grad(set_to_none=True)
        loss = model(data["tokens"][step - 1].long(), data["labels"][step - 1].long())
        loss.backward()
        losses.append(loss.item())
        dumped = folder / f"gradients-{step}.safetensors"
        first = step == 1
        if dumped.exists():
            limit = GRADIENT_LIMITS[precision][0 if first else 1]
            compare_gradients(check, model, reference.read_safetensors(dumped), step, limit)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), o["clipNorm"] or float("inf")).item()
        if dumped.exists():
            ours = run["gradientNorms"][step - 1]
            check(f"gradient norm of step {step}", abs(ours - norm) / norm, GRADIENT_LIMITS[precision][0 if first else 1])
        for group in optimizer.param_groups:
            group["lr"] = reference.learning_rate(
                step, o["learningRate"], o["warmupSteps"], run["steps"], o["finalFraction"], o["schedule"]
            )
        optimizer.step()
    errors = [abs(a - b) / abs(b) for a, b in zip(run["losses"], losses)]
    check("loss of step 1", errors[0], LOSS_LIMITS[precision][0])
    check(f"loss of every step to {run['steps']}", max(errors), LOSS_LIMITS[precision][1])
    fall = 1 - losses[-1] / losses[0]
    check(f"the loss falls from {losses[0]:.4f} to {losses[-1]:.4f}: 10 % less the fall", 0.10 - fall, 0.0)
    sys.exit(1 if check.failed else 0)


main()
