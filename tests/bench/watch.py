"""usage: watch.py OPERATOR PEERS SCALE -- memory and cold start of the operator's caches, against client-go informers."""
import statistics
import sys
import time

import control_plane as plane


def start_operator(binary):
    """(seconds to synced, resident MB at rest, highest MB)"""
    with plane.operator(binary) as run:
        seconds = run.wait_for("http ", timeout=120)
        plane.settled_cpu(run.pid, quiet=1.0)
        return (seconds, *plane.memory_mb(run.pid))


def start_informers(peers):
    started = time.monotonic()
    answer = plane.peer(peers, "informers")
    return answer["seconds"], answer["residentBytes"] / 1e6, time.monotonic() - started


def main():
    operator, peers, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
    nodes, pods, jobs = (int(count * scale) for count in (5000, 50000, 1000))
    plane.prepare()
    filled = plane.peer(peers, "populate", f"--nodes={nodes}", f"--pods={pods}", f"--jobs={jobs}")
    received = plane.peer(peers, "bytes")["total"] / 1e6
    ours, theirs = [], []
    for i in range(6):
        pair = start_operator(operator), start_informers(peers)
        if i > 0:  # the first pair warms the server
            ours.append(pair[0])
            theirs.append(pair[1])
    median = [statistics.median(column) for column in zip(*ours)]
    peer_seconds, peer_memory, _ = (statistics.median(column) for column in zip(*theirs))
    highest = max(run[2] for run in ours)
    plane.table(
        f"watching {nodes} nodes, {pods} pods, {jobs} jobs (filled in {filled['seconds']:.0f} s)",
        "median of 5 interleaved cold starts each; client-go's core types in protobuf, its jobs and all of ours in JSON; ours from exec on",
        [
            ("resident against JSON received, MB", f"{median[1]:.0f}", f"{received:.0f}", f"{median[1] / received:.2f}",
             "<= 0.3, <= 300 MB", median[1] <= 0.3 * received and median[1] <= 300),
            ("resident against client-go's, MB", f"{median[1]:.0f}", f"{peer_memory:.0f}", f"{median[1] / peer_memory:.2f}", "-", True),
            ("highest resident, MB", f"{highest:.0f}", "-", "-", "-", True),
            ("cold start to synced, s", f"{median[0]:.2f}", f"{peer_seconds:.2f}", f"{median[0] / peer_seconds:.2f}",
             "<= 0.6", median[0] <= 0.6 * peer_seconds),
        ])


main()
