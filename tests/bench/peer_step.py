"""usage: peer_step.py CONFIG_JSON RANK WORLD STORE

The peer of the step benchmark: training steps of GPT-2 or LLaMA in PyTorch eager, GPT-2 data parallel over gloo when WORLD > 1: with
DDP, or with FSDP2 (fully_shard of each layer), as the config's `peer` says, and LLaMA with TP: DTensors, of column and row parallel layers and a
parallel loss. Ranks have micro-batches of their own, but with TP. For each line on stdin it runs one step on random tokens and prints its seconds.
`device` is cpu or cuda, `precision` fp32 or bf16 (autocast), `tf32` allows TF32 in fp32, `compile` is a mode of torch.compile.
A line "memory" is answered with the most bytes that tensors on the card had at one time since the last such line.
"""
import contextlib
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent.parent / "parity"))
import torch  # noqa: E402
from torch.distributed.tensor.parallel import loss_parallel  # noqa: E402

import gpt2_reference as reference  # noqa: E402
import llama_reference  # noqa: E402


def make_model(shape):
    fields = {name: value for name, value in shape.items() if name != "family"}
    return (llama_reference.Llama if shape.get("family") == "llama" else reference.Gpt2)(**fields)


def take_peak():
    peak = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    return json.dumps({"peak": peak})


def tensor_parallel(model, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (world,))
    columns = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj")
    rows = ("self_attn.o_proj", "mlp.down_proj")
    for layer in model.model["layers"]:
        parallelize_module(layer, mesh, {name: ColwiseParallel() for name in columns} | {name: RowwiseParallel() for name in rows})
    parallelize_module(model.model, mesh, {"embed_tokens": RowwiseParallel(input_layouts=Replicate())})
    return parallelize_module(model, mesh, {"lm_head": ColwiseParallel(use_local_output=False)})


def clip(parameters):
    """Clips by the norm of all gradients; some of them may be DTensors, of which every rank then has the whole norm."""
    whole = lambda norm: norm.full_tensor() if hasattr(norm, "full_tensor") else norm
    norm = torch.stack([whole(p.grad.norm()) for p in parameters]).norm()
    factor = float((1.0 / (norm + 1e-6)).clamp(max=1.0))
    for p in parameters:
        p.grad.mul_(factor)


def parallel(model, peer, world):
    if peer == "TP":
        return tensor_parallel(model, world)
    if peer == "DDP":
        return torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (world,))
    for layer in model.transformer["h"]:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    config, rank, world, store = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    torch.set_num_threads(1)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = config.get("tf32", False)
    shape, device = config["shape"], config.get("device", "cpu")
    with torch.device(device):
        model = make_model(shape)
    trained = torch.compile(model, mode=config["compile"]) if "compile" in config else model
    bf16 = config.get("precision", "fp32") == "bf16"
    finish = torch.cuda.synchronize if device == "cuda" else lambda: None
    if world > 1:
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
        trained = parallel(model, config["peer"], world)
    optimizer = torch.optim.AdamW(reference.parameter_groups(model, 0.1), lr=3e-4, betas=(0.9, 0.95), fused=True)
    tensor = world > 1 and config["peer"] == "TP"
    micro_batches = config["globalBatch"] // config["microBatch"] // (1 if tensor else world)
    together = loss_parallel if tensor else contextlib.nullcontext
    size = (micro_batches, config["microBatch"], config["sequence"] + 1)
    step = 0
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "memory\n":
            print(take_peak(), flush=True)
            continue
        if tensor:  # the same tokens on every rank
            torch.manual_seed(step)
        step += 1
        tokens = torch.randint(shape["vocabulary"], size)
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        for i in range(micro_batches):
            last = i == micro_batches - 1
            if world > 1 and config["peer"] == "DDP":
                trained.require_backward_grad_sync = last
            with together():
                with torch.autocast(device, torch.bfloat16, enabled=bf16):
                    loss = trained(tokens[i, :, :-1].to(device), tokens[i, :, 1:].contiguous().to(device))
                (loss / micro_batches).backward()
        if tensor:
            clip(list(model.parameters()))
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        finish()
        print(time.perf_counter() - start, flush=True)


main()
