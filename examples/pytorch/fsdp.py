"""Trains a small character model with fully sharded data parallelism, as torchrun would run it.

Weights, gradients and optimizer state are spread over the ranks (FSDP2), and every rank writes its part of a
checkpoint (torch.distributed.checkpoint) below $MUSTER_CHECKPOINT_DIR, or --checkpoints. A checkpoint can be read by
any number of ranks. The calls of `muster` show progress and hear of a save that is wanted; without muster they do
nothing, so this runs alike under

    PYTHONPATH=agent/client torchrun --nproc-per-node 2 examples/pytorch/fsdp.py --checkpoints /tmp/fsdp
"""
import argparse
import os
import pathlib

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

import muster

from ddp import CONTEXT, GLOBAL_BATCH, CharacterModel, batch


def newest(folder):
    """The complete checkpoint with the highest step, or None: a folder without `.tmp` is complete."""
    return max((path for path in folder.glob("step-*") if path.suffix != ".tmp"), default=None)


def save(folder, step, model, optimizer):
    """Every rank writes its part; the folder gets its name once all parts are there. Returns that name."""
    path = folder / f"step-{step:09}"
    parts = path.with_suffix(".tmp")
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": moments, "step": step}, checkpoint_id=parts)
    if dist.get_rank() == 0:
        parts.rename(path)
    dist.barrier()
    return path.name


def load(path, model, optimizer):
    """Reads a checkpoint into the model and the optimizer, and returns its step."""
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "step": 0}
    dcp.load(state, checkpoint_id=path)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    return state["step"]


def mean_over_ranks(value):
    """The mean over all ranks: the loss of the whole batch, however many ranks share it."""
    mean = value.detach().clone()
    dist.all_reduce(mean, dist.ReduceOp.SUM)
    return mean / dist.get_world_size()


def all_agree(wanted, device):
    """True on every rank if it is on one: ranks hear of a notice at different times, but must save together."""
    flag = torch.tensor(float(wanted), device=device)
    dist.all_reduce(flag, dist.ReduceOp.MAX)
    return bool(flag.item())


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--steps", type=int, default=300)
    flags.add_argument("--save-every", type=int, default=20)
    flags.add_argument("--checkpoints", default=os.environ.get("MUSTER_CHECKPOINT_DIR", "checkpoints"))
    options = flags.parse_args()
    folder = pathlib.Path(options.checkpoints)

    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)

    torch.manual_seed(1)
    model = CharacterModel().to(device)
    for part in (model.embedding, model.memory, model.head):
        fully_shard(part)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    step = 0
    checkpoint = newest(folder)
    if checkpoint is not None:
        step = load(checkpoint, model, optimizer)
        if rank == 0:
            print(f"continues from step {step} on {world_size} ranks", flush=True)

    while step < options.steps:
        inputs, targets = (part.to(device) for part in batch(step, rank, world_size))
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        loss = mean_over_ranks(loss)
        leaves = all_agree(muster.leaving_in() is not None, device)
        wanted = all_agree(muster.should_checkpoint(), device)
        saved = None
        if step % options.save_every == 0 or step == options.steps or leaves or wanted:
            saved = save(folder, step, model, optimizer)
            if rank == 0:
                print(f"step {step} loss {loss.item():.6f}", flush=True)
        muster.report(step, loss, tokens=GLOBAL_BATCH * CONTEXT, steps=options.steps, checkpoint=saved)
        if leaves:
            muster.wait_to_leave()
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
