"""usage: vocabulary.py STEP_SERVER

Compares the memory of muster's engine with that of PyTorch eager at GPT-2's vocabulary of 50,304: the peak of one rank's
resident memory over a few steps, less the peak of the same program with a model of 0.2M parameters and a vocabulary of 512,
which is what its libraries and kernels take. The two run one after the other, one thread each.
"""
import json
import statistics
import sys
import tempfile

from step import HERE, Side, environment

STEPS = 2  # the optimizer of PyTorch makes its state in the first
RUNS = 3
TARE = (dict(layers=3, heads=4, width=64, positions=256, vocabulary=512), 8, 64)
MODELS = [
    ("10M", dict(layers=6, heads=6, width=384, positions=256, vocabulary=50304), 8, 256),
    ("124M", dict(layers=12, heads=12, width=768, positions=1024, vocabulary=50304), 4, 1024),
]


def peak(command, model):
    """The peak of a process's resident memory, in MB."""
    shape, batch, sequence = model
    config = dict(shape=shape, globalBatch=batch, microBatch=batch, sequence=sequence, zero=0, peer="eager")
    with tempfile.TemporaryDirectory() as folder:
        side = Side([command + [json.dumps(config), "0", "1", f"{folder}/store"]], environment())
        for _ in range(STEPS):
            side.step()
        with open(f"/proc/{side.ranks[0].pid}/status") as status:
            kilobytes = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
        side.close()
    return kilobytes * 1024 / 1e6


def main():
    ours, eager = [sys.argv[1]], [sys.executable, f"{HERE}/peer_step.py"]
    print(f"peak memory, 1 rank, FP32, AdamW, less that of a model of 0.2M; medians of {RUNS} runs of {STEPS} steps")
    print(f"{'model':6} {'micro-batch':>12} {'muster':>10} {'PyTorch eager':>14} {'ratio':>7}")
    tares = [statistics.median(peak(command, TARE) for _ in range(RUNS)) for command in (ours, eager)]
    print(f"{'0.2M':6} {'':12} {tares[0]:7.0f} MB {tares[1]:11.0f} MB   (libraries)", flush=True)
    for name, *model in MODELS:
        a, b = (
            statistics.median(peak(command, model) - tare for _ in range(RUNS))
            for command, tare in zip((ours, eager), tares)
        )
        print(f"{name:6} {f'{model[1]} x {model[2]:,}':>12} {a:7.0f} MB {b:11.0f} MB {a / b:7.2f}", flush=True)


if __name__ == "__main__":
    main()
