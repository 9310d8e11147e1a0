"""Trains a small character model with DistributedDataParallel, as torchrun would run it: nothing here knows muster.

The process group comes from the environment (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT). Checkpoints go to
$MUSTER_CHECKPOINT_DIR, or to --checkpoints, and a run that finds one continues from the newest:

    torchrun --nproc-per-node 2 examples/pytorch/ddp.py --checkpoints /tmp/ddp
"""
import argparse
import os
import pathlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TEXT = pathlib.Path(__file__).read_text()  # any text will do
WIDTH = 128
CONTEXT = 32
GLOBAL_BATCH = 24  # of all ranks: 1, 2, 3, 4, 6, 8, 12 or 24 of them


class CharacterModel(nn.Module):
    """Predicts each byte of a text from the bytes before it."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(256, WIDTH)
        self.memory = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, 256)

    def forward(self, bytes_):
        states, _ = self.memory(self.embedding(bytes_))
        return self.head(states)


def batch(step, rank, world_size, size=GLOBAL_BATCH):
    """A rank's part of the batch of a step, which follows from the step's number alone: a run that is resumed, with
    any number of ranks that divides `size`, sees the same data."""
    generator = torch.Generator().manual_seed(step)
    text = torch.tensor(list(TEXT.encode()))
    starts = torch.randint(len(text) - CONTEXT - 1, (size,), generator=generator)
    rows = torch.stack([text[start:start + CONTEXT + 1] for start in starts[rank::world_size]])
    return rows[:, :-1], rows[:, 1:]


def newest(folder):
    """The checkpoint with the highest step, or None."""
    return max(folder.glob("step-*.pt"), default=None)


def save(folder, step, model, optimizer):
    """A reader sees a whole file or none: it is written under another name first."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{step:09}.pt"
    state = {"step": step, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


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
    model = DistributedDataParallel(CharacterModel().to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    step = 0
    checkpoint = newest(folder)
    if checkpoint is not None:
        state = torch.load(checkpoint, map_location=device)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
        if rank == 0:
            print(f"continues from step {step}", flush=True)

    while step < options.steps:
        inputs, targets = (part.to(device) for part in batch(step, rank, world_size))
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if rank == 0 and (step % options.save_every == 0 or step == options.steps):
            save(folder, step, model, optimizer)
            print(f"step {step} loss {loss.item():.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
