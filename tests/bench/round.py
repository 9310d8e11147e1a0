"""usage: round.py ROUND_BENCH SCALE -- measures a round from Prepare to Go through the real operator and its
coordinator, beyond the time of the ranks themselves, by the number of members."""
import statistics
import sys

import control_plane as plane

ROUNDS = 5
REACH = {512: 500}  # ms


def main():
    binary, scale = sys.argv[1], float(sys.argv[2])
    rows = []
    for members in (64, 512, 2048, 5000):
        members = max(2, int(members * scale))
        answer = plane.peer(binary, members, ROUNDS)
        overhead = answer["overheadMs"]
        middle, reach = statistics.median(overhead), REACH.get(members)
        rows.append((
            f"{members} members, ms", f"{middle:.0f} ({min(overhead):.0f}..{max(overhead):.0f})", f"{answer['ranksMs']:.0f}", "-",
            f"<= {reach}" if reach else "-", reach is None or middle <= reach))
        decided = statistics.median(answer["failureToPrepareMs"])
        spread = statistics.median(answer["prepareSpreadMs"])
        rows.append((f"  a rank's end to the first Prepare, ms", f"{decided:.0f}", "-", "-", "-", True))
        rows.append((f"  the first Prepare to the last, ms", f"{spread:.0f}", "-", "-", "-", True))
    plane.table(
        "Prepare -> Go beyond the ranks' own time",
        f"median (lowest..highest) of {ROUNDS} rounds; 'peer' is what the ranks take; embedded API, TLS, the agents in the operator's own process",
        rows)


main()
