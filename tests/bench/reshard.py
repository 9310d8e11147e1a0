"""usage: reshard.py RESHARD_BENCH FOLDER -- compares the loading of a checkpoint under another layout than it was saved
by with the copying of the same bytes from the same files to memory, both out of the page cache."""
import os
import statistics
import sys

import control_plane as plane
from figures import spread
from step import unfit

REACH = 2.0


def main():
    load = os.getloadavg()[0]
    answer = plane.peer(sys.argv[1], sys.argv[2])
    ratios = sorted(a / b for a, b in zip(answer["loads"], answer["copies"]))
    ratio = statistics.median(ratios)
    gigabytes = answer["bytes"] / 1e9
    plane.table(
        f"GPT-2 124M, saved by {answer['savers']} ranks with zero: 3, loaded by {answer['loaders']} data-parallel ranks",
        f"medians (lowest..highest) of {len(ratios)} turns; each rank reads and each peer copies {gigabytes:.2f} GB; one thread each",
        [("load, s", spread(answer["loads"]), spread(answer["copies"]), f"{ratio:.2f}", f"<= {REACH:.0f}", ratio <= REACH)])
    print(f"  10th..90th percentile of the ratio: {ratios[len(ratios) // 10]:.2f}..{ratios[-len(ratios) // 10 - 1]:.2f}{unfit(ratios, load)}")


main()
