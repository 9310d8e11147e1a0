"""usage: hidden.py HIDDEN_BENCH -- measures how much of the communication of two data-parallel ranks is hidden behind
computation, against what the task graph allows to hide."""
import os
import statistics
import sys

import control_plane as plane
from step import unfit

REACH = 0.9


def main():
    load = os.getloadavg()[0]
    answer = plane.peer(sys.argv[1])
    rows, notes = [], []
    for row in answer:
        free, slow, bound, carried = (statistics.median(row[name]) for name in ("free", "slow", "bound", "carried"))
        hidden, possible = 1 - (slow - free) / carried, 1 - (bound - free) / carried
        name = f"communication of {row['share']:.0%} of a step: hidden"
        note = unfit(sorted(a / b for a, b in zip(row["slow"], row["free"])), load)
        if note:
            notes.append(f"  {name}:{note}")
        rows.append((name, f"{hidden:.2f}", f"{possible:.2f}", f"{hidden / possible:.2f}", f">= {REACH}", hidden / possible >= REACH))
    plane.table(
        "communication hidden behind computation, 2 data-parallel ranks (threads), against the bound of the task graph",
        f"medians of {len(answer[0]['free'])} pairs of steps of a 10M GPT-2: on a free link, and on one that sleeps",
        rows)
    print("\n".join(notes))


main()
