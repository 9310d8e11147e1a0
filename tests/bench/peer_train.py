"""Run by torchrun: GPT-2 nano with DDP over gloo; prints the wall clock after each step.

usage: torchrun --nproc-per-node 2 peer_train.py STEPS [CHECKPOINT]
With CHECKPOINT it saves every 25 steps and resumes from it, as torchrun's users do.
"""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent.parent / "parity"))
import torch  # noqa: E402

import gpt2_reference as reference  # noqa: E402


def main():
    steps, checkpoint = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    model = reference.Gpt2(layers=3, heads=4, width=64, positions=256, vocabulary=320)
    optimizer = torch.optim.AdamW(reference.parameter_groups(model, 0.1), lr=3e-4, betas=(0.9, 0.95), fused=True)
    first = 1
    if checkpoint and os.path.exists(checkpoint):
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"]), optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"] + 1
    trained = torch.nn.parallel.DistributedDataParallel(model)
    for step in range(first, steps + 1):
        tokens = torch.randint(320, (4, 65))
        optimizer.zero_grad(set_to_none=True)
        trained(tokens[:, :-1], tokens[:, 1:].contiguous()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if rank == 0:
            print(f"step {step} pid {os.getpid()} at {time.time():.6f}", flush=True)
            if checkpoint and step % 25 == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, checkpoint + ".tmp")
                os.replace(checkpoint + ".tmp", checkpoint)
    torch.distributed.destroy_process_group()


main()
