"""usage: memory.py STEP_SERVER

Compares the memory of four ranks, as an allocator counts it, with what the planner expects: the state by class, and the
peak of three steps. The planner's share of the peak is that of the state and of what is whole for a while; what a step
keeps besides is taken from ranks that divide nothing.
"""
import json
import sys
import tempfile

from step import Side, environment

SHAPE = dict(layers=12, heads=8, width=256, positions=64, vocabulary=1024)
RANKS = 4
REACH = 0.03
CLASSES = ("values", "gradients", "optimizer")


def measure(server, zero, shards):
    """The bytes of the rank with the most."""
    config = dict(shape=SHAPE, globalBatch=RANKS, microBatch=1, sequence=16, zero=zero, shards=shards, countMemory=True)
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


def main():
    print(f"bytes of one of {RANKS} ranks, {SHAPE}, FP32, AdamW; reach: the planner is off by at most {REACH:.0%}")
    print(f"{'layout':18}" + "".join(f"{name:>14}" for name in CLASSES) + f"{'peak':>14}{'expected':>14}{'off by':>9}")
    beside = None
    for name, zero, shards in [("data parallel", 0, 1), *((f"ZeRO {z}", z, RANKS) for z in (1, 2, 3)), ("ZeRO 3 x 2 copies", 3, 2)]:
        bytes = measure(sys.argv[1], zero, shards)
        if beside is None:
            beside = bytes["peak"] - sum(bytes[each] for each in CLASSES)
        expected = beside + sum(bytes["expected"][each] for each in CLASSES)
        off = expected / bytes["peak"] - 1
        missed = "" if abs(off) <= REACH else "  MISSED"
        print(f"{name:18}" + "".join(f"{bytes[each]:14,}" for each in CLASSES) + f"{bytes['peak']:14,}{expected:14,}{off:9.1%}{missed}")


main()
