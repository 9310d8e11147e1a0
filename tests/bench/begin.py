"""usage: begin.py BEGIN_BENCH FOLDER -- measures what the start of a round of 1,024 ranks and the opening of a file of
tokens take on one rank besides waiting for others."""
import os
import statistics
import sys

import control_plane as plane
from step import unfit

REACH = 50  # ms, for the tables of a round


def main():
    load = os.getloadavg()[0]
    answer = plane.peer(sys.argv[1], sys.argv[2])
    rows, notes = [], []

    def add(name, times, reach, limit):
        times = sorted(times)
        middle = statistics.median(times)
        note = unfit(times, load)
        if note:
            notes.append(f"  {name}:{note}")
        rows.append((name, f"{middle:.2f} ({times[0]:.2f}..{times[-1]:.2f})", "-", "-", reach, middle <= limit))
        return middle

    for row in answer["rounds"]:
        name = f"round, {answer['ranks']} ranks, ZeRO {row['zero']}, {row['microBatches']} micro-batches each, ms"
        add(name, row["ms"], f"<= {REACH}", REACH)
    smallest = None
    for row in answer["files"]:
        # Noise of the machine is no dependence on size; a scan of the larger file would take 100 times as long.
        limit = float("inf") if smallest is None else 2 * smallest
        middle = add(f"open {row['gigabytes']} GB of tokens, ms", row["ms"], "-" if smallest is None else "<= 2 x 1 GB", limit)
        smallest = smallest or middle
    plane.table(
        "the start of a round, and of the data, on one rank",
        f"median (lowest..highest) of {len(answer['rounds'][0]['ms'])}; a model of 126 layers; files with holes instead of tokens",
        rows)
    print("\n".join(notes))


main()
