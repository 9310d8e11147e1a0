"""usage: memory.py STEP_SERVER

Compares the memory of four ranks, as an allocator counts it, with what the planner expects: the state by class, and the
peak of three steps. What a step keeps besides the state, activations and buffers, is measured on ranks that divide nothing,
and expected of a layout in the ratio in which the planner's formulas change.
"""
import json
import sys
import tempfile

from step import Side, environment

SHAPE = dict(layers=12, heads=8, width=256, positions=512, vocabulary=1024)
RANKS = 4
REACH = 0.03
CLASSES = ("values", "gradients", "optimizer")


LAYOUTS = {
    "data parallel": {},
    "ZeRO 1": dict(zero=1),
    "ZeRO 2": dict(zero=2),
    "ZeRO 3": dict(zero=3),
    "ZeRO 3 x 2 copies": dict(zero=3, shards=2),
}
# Activations count for more in these: the sequence is longer.
AXES = {
    "data parallel": {},
    "tensor 2": dict(tensor=2),
    "ZeRO 3, tensor 2": dict(zero=3, tensor=2),
    "pipeline 2": dict(pipeline=2),
    "context 2, heads": dict(context=2),
    "context 2, ring": dict(context=2, ring=True),
}
# Blocks keep less of a forward pass in these.
KEPT = {
    "data parallel": {},
    "recompute": dict(recomputeEvery=1),
    "recompute 1 of 2": dict(recomputeEvery=2),
    "recompute, pipeline 2": dict(recomputeEvery=1, pipeline=2),
    "BF16": dict(compress="BF16"),
    "INT8": dict(compress="INT8"),
    "INT8, tensor 2": dict(compress="INT8", tensor=2),
}


def measure(server, sequence, layout):
    """The bytes of the rank with the most."""
    config = dict(shape=SHAPE, globalBatch=2 * RANKS, microBatch=1, sequence=sequence, countMemory=True, **layout)
    with tempfile.TemporaryDirectory() as folder:
        side = Side([[server, json.dumps(config), str(r), str(RANKS), f"{folder}/store"] for r in range(RANKS)], environment())
        for _ in range(3):
            side.step()
        answers = []
        for rank in side.ranks:
            rank.stdin.write("memory\n")
            rank.stdin.flush()
            answers.append(json.loads(rank.stdout.readline()))
        side.close()
    return max(answers, key=lambda answer: answer["peak"])


def besides(bytes):
    """The bytes of activations and buffers: all but the state."""
    return bytes["peak"] - sum(bytes[each] for each in CLASSES)


def table(server, sequence, layouts):
    print(f"\nsequence {sequence}")
    print(f"{'layout':21}" + "".join(f"{name:>14}" for name in CLASSES) + f"{'peak':>14}{'expected':>14}{'off by':>9}{'besides':>14}")
    beside = None
    for name, layout in layouts.items():
        bytes = measure(server, sequence, layout)
        if beside is None:
            beside = besides(bytes) / bytes["expected"]["step"]
        expected = round(beside * bytes["expected"]["step"]) + sum(bytes["expected"][each] for each in CLASSES)
        off = expected / bytes["peak"] - 1
        missed = "" if abs(off) <= REACH else "  MISSED"
        print(f"{name:21}" + "".join(f"{bytes[each]:14,}" for each in CLASSES) + f"{bytes['peak']:14,}{expected:14,}{off:9.1%}{besides(bytes):14,}{missed}")


def main():
    print(f"bytes of one of {RANKS} ranks, {SHAPE}, FP32, AdamW; reach: the planner is off by at most {REACH:.0%}")
    table(sys.argv[1], 16, LAYOUTS)
    table(sys.argv[1], 512, AXES)
    table(sys.argv[1], 512, KEPT)


main()
