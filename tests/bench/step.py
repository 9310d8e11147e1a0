"""usage: step.py STEP_SERVER [RANKS [ZERO]]
       step.py STEP_SERVER tensor

Compares the step time of muster's engine with PyTorch eager (RANKS 1) or DDP over gloo (RANKS 2): the two take steps in
turn, in separate processes, one thread per rank, and the ratio is the median over the pairs. With ZERO, muster's ranks
divide the state as that stage says, and FSDP2 is a second peer. With tensor two ranks divide the layers of a LLaMA, and the
peer is PyTorch's tensor parallelism with DTensors.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = [
    ("gpt2-nano", dict(layers=3, heads=4, width=64, positions=256, vocabulary=512), 8, 64, 60),
    ("10M", dict(layers=6, heads=6, width=384, positions=256, vocabulary=512), 4, 128, 24),
    ("124M", dict(layers=12, heads=12, width=768, positions=1024, vocabulary=50304), 2, 64, 20),
]

LLAMA = dict(family="llama", layers=6, heads=6, width=384, positions=256, vocabulary=512, keyValueHeads=6, feedForwardWidth=1024, ropeTheta=10000)
# The micro-batches are so small that communication counts.
DIVIDED = [("10M, 4 x 64", LLAMA, 4, 64, 24), ("10M, 1 x 64", LLAMA, 1, 64, 40)]


class Side:
    """A group of rank processes that take one step per line written to them."""

    def __init__(self, commands, env):
        self.ranks = [
            subprocess.Popen(c, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) for c in commands
        ]
        for rank in self.ranks:
            line = rank.stdout.readline().strip()
            if line != "ready":
                sys.exit(f"a peer did not start: {line!r}")

    def step(self):
        for rank in self.ranks:
            rank.stdin.write("step\n")
            rank.stdin.flush()
        return max(float(rank.stdout.readline()) for rank in self.ranks)

    def close(self):
        for rank in self.ranks:
            rank.stdin.close()
            rank.wait(timeout=60)


def environment():
    env = dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    return env


def measure(server, world, zero, peer, model):
    """The times of interleaved pairs of steps, (ours, the peer's)."""
    _, shape, batch, sequence, pairs = model
    config = dict(shape=shape, globalBatch=batch * world, microBatch=batch, sequence=sequence, zero=zero, peer=peer)
    if peer == "TP":
        config["tensor"] = world
    text = json.dumps(config)
    with tempfile.TemporaryDirectory() as folder:
        ours = Side([[server, text, str(r), str(world), f"{folder}/ours"] for r in range(world)], environment())
        command = [sys.executable, f"{HERE}/peer_step.py", text]
        theirs = Side([command + [str(r), str(world), f"{folder}/peer"] for r in range(world)], environment())
        for _ in range(3):
            ours.step(), theirs.step()
        times = [(ours.step(), theirs.step()) for _ in range(pairs)]
        ours.close(), theirs.close()
    return times


def unfit(ratios, load):
    """Why a row must not be published; empty if it may."""
    spread = ratios[-len(ratios) // 10 - 1] - ratios[len(ratios) // 10]
    reasons = [f"the load was {load:.2f} before"] if load > 0.5 else []
    if spread > 0.2 * statistics.median(ratios):
        reasons.append("the percentiles are wider than 20 %")
    return f"   NOT FOR PUBLICATION: {', '.join(reasons)}" if reasons else ""


def main():
    load = os.getloadavg()[0]
    server, tensor = sys.argv[1], sys.argv[2:] == ["tensor"]
    world = 2 if tensor else int(sys.argv[2]) if len(sys.argv) > 2 else 1
    zero = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    peers = ["TP"] if tensor else ["DDP", "FSDP2"] if zero else ["DDP" if world > 1 else "eager"]
    stage = ", tensor 2" if tensor else f", ZeRO {zero}" if zero else ""
    print(f"step time, {world} rank(s){stage}, FP32, one thread per rank, AdamW, clipping at 1.0; medians of interleaved pairs")
    print(f"{'model':12} {'pairs':>5} {'muster':>10} {'PyTorch':>17} {'ratio':>7}   10th..90th percentile of the ratio")
    for model in DIVIDED if tensor else MODELS:
        for peer in peers:
            times = measure(server, world, zero, peer, model)
            ratios = sorted(a / b for a, b in times)
            print(
                f"{model[0]:12} {len(times):5} {statistics.median(a for a, _ in times) * 1e3:7.1f} ms"
                f" {peer:>6} {statistics.median(b for _, b in times) * 1e3:7.1f} ms"
                f" {statistics.median(ratios):7.3f}   {ratios[len(ratios) // 10]:.3f}..{ratios[-len(ratios) // 10 - 1]:.3f}{unfit(ratios, load)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
