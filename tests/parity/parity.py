"""usage: parity.py [--device=cuda] DUMP_DIR...

Repeats in PyTorch runs that muster's trainer dumped, from the same initial weights on the same tokens, and compares
losses, every gradient tensor, the global norm and the final weights.

DUMP_DIR holds run.json {config, script, precision, optimizer, steps, losses, gradientNorms}, initial.safetensors,
tokens.safetensors (tokens and labels, [step, sequence, position]), gradients-<step>.safetensors of the
first and the last step, before clipping, final.safetensors, and logits.safetensors with the final weights' logits of
the tokens after the first step's sequences. config is Hugging Face's config.json: GPT-2 is compared with
gpt2_reference.py, the other families with transformers, and a file of TorchScript, script, with itself, without logits. bf16 means matrix products in bfloat16, as
autocast has it, fp16 the same in float16 with a GradScaler, fp8 the same with the linear layers of fp8_linear.py, and tf32 that a card may round the inputs of products in fp32 to TF32. With --device=cuda PyTorch trains on a card.
"""
import contextlib
import json
import pathlib
import sys

import torch

import comparison
import fp8_linear
import gpt2_reference as reference

# Relative errors, at the first step and at the last one, where rounding errors have grown.
LOSS_LIMITS = {"fp64": (1e-10, 1e-10), "fp32": (1e-5, 1e-4), "tf32": (1e-4, 1e-3), "bf16": (1e-3, 2e-3), "fp16": (2e-4, 4e-4), "fp8": (1e-3, 2e-3)}
GRADIENT_LIMITS = {"fp64": (1e-10, 1e-10), "fp32": (1e-4, 2e-2), "tf32": (5e-3, 5e-2), "bf16": (2e-2, 5e-2), "fp16": (4e-3, 1e-2), "fp8": (2e-1, 3e-1)}
# Relative to the change of each tensor over the run.
LOGITS_LIMITS = {"fp64": 1e-10, "fp32": 1e-5, "tf32": 1e-2, "bf16": 1e-1, "fp16": 2e-2, "fp8": 1e-1}
MOVEMENT_LIMITS = {"fp64": 1e-10, "fp32": 1e-3, "tf32": 1e-1, "bf16": 1e-1, "fp16": 5e-2, "fp8": 3e-1}
# One rounding to BF16 that differs gives a matrix another scale, and all its FP8 numbers are rounded otherwise. So two correct
# runs are as far from each other as from FP32, and how far from FP32 they are is what can be compared: at most so many times
# as far as PyTorch.
FP8_FACTOR = 1.1


def make_optimizer(model, o):
    if o["name"] == "sgd":
        return torch.optim.SGD(model.parameters(), lr=o["learningRate"], momentum=o["momentum"])
    groups = reference.parameter_groups(model, o["weightDecay"])
    return torch.optim.AdamW(groups, lr=o["learningRate"], betas=(o["beta1"], o["beta2"]), eps=o["epsilon"])


def read_dump(verdicts, folder, name):
    """The tensors of a required file, or None if it is missing."""
    path = folder / f"{name}.safetensors"
    return verdicts.require(path.name, reference.read_safetensors(path) if path.exists() else None)


def compare_gradients(verdicts, folder, model, step, limit):
    dump = read_dump(verdicts, folder, f"gradients-{step}")
    if dump is not None:
        theirs = {name: parameter.grad.cpu() for name, parameter in model.named_parameters()}
        verdicts.equal_tensors(f"gradients of step {step}", dump, theirs, limit)


def all_gradients(model):
    return {name: parameter.grad.cpu().double() for name, parameter in model.named_parameters()}


def gradients_in_fp32(model, data, device):
    """Of the first step, outside of autocast."""
    tokens, labels = (data[name][0].long().to(device) for name in ("tokens", "labels"))
    model(tokens, labels).backward()
    exact = all_gradients(model)
    model.zero_grad(set_to_none=True)
    return exact


def compare_distances(verdicts, folder, model, exact):
    """How far the whole gradients of the first step are from FP32's, on both sides."""
    dump = read_dump(verdicts, folder, "gradients-1")
    if dump is not None:
        whole = lambda tensors: torch.cat([tensors[name].double().flatten() for name in sorted(exact)])
        ours, theirs = (comparison.relative(whole(side), whole(exact)) for side in (dump, all_gradients(model)))
        print(f"     FP8 changes the gradients of step 1 by {ours:.3g}, in PyTorch by {theirs:.3g}")
        verdicts.within("distance of step 1's gradients from FP32's, as a multiple of PyTorch's", ours / theirs, FP8_FACTOR)


def without_key_bias(name, tensor, heads):
    """Softmax ignores the bias of the keys: its gradient is only rounding error, which AdamW scales to full steps."""
    if name.endswith("attn.c_attn.bias"):
        query, _, value = tensor.chunk(3)
        return torch.cat((query, value))
    if name.endswith("self_attention.query_key_value.bias"):
        return tensor.view(heads, 3, -1)[:, [0, 2]]
    return tensor


def compare_movement(verdicts, initial, ours, theirs, limit, heads=None):
    """Final weights minus the initial ones, because most of a weight is its initial value."""
    moved = lambda final: {name: without_key_bias(name, final[name] - initial[name], heads) for name in final.keys() & initial.keys()}
    verdicts.equal_tensors("final weights less initial ones", moved(ours), moved(theirs), limit)


def train(run, model, data, at_step, device):
    """(losses, norms before clipping); at_step(step) is called while a step's gradients are there."""
    o, losses, norms = run["optimizer"], [], []
    optimizer = make_optimizer(model, o)
    narrow = {"bf16": torch.bfloat16, "fp8": torch.bfloat16, "fp16": torch.float16}.get(run["precision"])
    scaler = torch.amp.GradScaler(device, init_scale=2.0**16, growth_interval=2000, enabled=narrow == torch.float16)
    for step in range(1, run["steps"] + 1):
        optimizer.zero_grad(set_to_none=True)
        tokens, labels = (data[name][step - 1].long().to(device) for name in ("tokens", "labels"))
        with torch.autocast(device, narrow) if narrow else contextlib.nullcontext():
            loss = model(tokens, labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        losses.append(loss.item())
        at_step(step)
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), o["clipNorm"] or float("inf")).item())
        for group in optimizer.param_groups:
            group["lr"] = reference.learning_rate(
                step, o["learningRate"], o["warmupSteps"], run["steps"], o["finalFraction"], o["schedule"]
            )
        scaler.step(optimizer)
        scaler.update()
    return losses, norms


def make_model(run):
    config, precision = run["config"], run["precision"]
    if config["model_type"] == "torchscript":
        import script_model

        return script_model.ScriptModel(run["script"], precision)
    if config["model_type"] == "gpt2":
        names = ("n_layer", "n_head", "n_embd", "n_positions", "vocab_size")
        return reference.Gpt2(*(config[name] for name in names))
    import transformers_model

    return transformers_model.LanguageModel(config)


@torch.no_grad()
def compare_logits(verdicts, folder, model, data, final, precision, device):
    """Of muster's final weights, which theirs become: so that the logits are those of the same weights."""
    dump = read_dump(verdicts, folder, "logits")
    if dump is None:
        return
    model.load_state_dict(final, strict=True)
    theirs = model.logits(data["tokens"][0].long().to(device))[:, -1].cpu()
    error = (dump["logits"] - theirs).abs().max().item()
    verdicts.within(f"logits of the same weights, the worst of {theirs.numel()}", error, LOGITS_LIMITS[precision])


def in_precision(run):
    """The context in which a run's model is made and trained."""
    wide = run["precision"] == "fp64"
    torch.set_default_dtype(torch.float64 if wide else torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = run["precision"] == "tf32"
    if not wide or run["config"]["model_type"] in ("gpt2", "torchscript"):
        return contextlib.nullcontext()
    import transformers_model

    return transformers_model.widened()


def compare_run(verdicts, folder, run, device):
    precision, steps, config = run["precision"], run["steps"], run["config"]
    model = make_model(run)
    if precision == "fp8":
        fp8_linear.replace(model, {torch.nn.Linear: False, reference.Linear: True})
    initial = reference.read_safetensors(folder / "initial.safetensors")
    model.load_state_dict(initial, strict=True)
    model.to(device)
    limits = {1: GRADIENT_LIMITS[precision][0], steps: GRADIENT_LIMITS[precision][1]}

    data = reference.read_safetensors(folder / "tokens.safetensors")
    exact = gradients_in_fp32(model, data, device) if precision == "fp8" else None

    def at_step(step):
        if step in limits:
            compare_gradients(verdicts, folder, model, step, limits[step])
        if step == 1 and exact is not None:
            compare_distances(verdicts, folder, model, exact)

    losses, norms = train(run, model, data, at_step, device)
    verdicts.equal_curves("loss of step 1", run["losses"][:1], losses[:1], LOSS_LIMITS[precision][0])
    verdicts.equal_curves(f"loss of every step to {steps}", run["losses"], losses, LOSS_LIMITS[precision][1])
    verdicts.equal_curves("gradient norm of step 1", run["gradientNorms"][:1], norms[:1], limits[1])
    verdicts.equal_curves(f"gradient norm of every step to {steps}", run["gradientNorms"], norms, limits[steps])
    final = read_dump(verdicts, folder, "final")
    if final is not None:
        theirs = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
        compare_movement(verdicts, initial, final, theirs, MOVEMENT_LIMITS[precision], config.get("n_head"))
        if not run["script"]:
            compare_logits(verdicts, folder, model, data, final, precision, device)
    fall = 1 - losses[-1] / losses[0]
    verdicts.within(f"the loss falls from {losses[0]:.4f} to {losses[-1]:.4f}: 10 % less the fall", 0.10 - fall, 0.0)


def compare(verdicts, folder, device):
    run = json.loads((folder / "run.json").read_text())
    print("row", folder.name, flush=True)
    with in_precision(run):
        compare_run(verdicts, folder, run, device)


def main():
    torch.set_num_threads(1)
    verdicts = comparison.Verdicts()
    arguments = sys.argv[1:]
    device = "cuda" if "--device=cuda" in arguments else "cpu"
    for folder in (argument for argument in arguments if not argument.startswith("--")):
        compare(verdicts, pathlib.Path(folder), device)
    sys.exit(1 if verdicts.failed else 0)


if __name__ == "__main__":
    main()
