"""usage: watch.py OPERATOR PEERS SCALE -- compares memory and cold start of the operator's caches with client-go's."""
import statistics
import sys

import control_plane as plane

PAIRS = 5


def start_operator(binary):
    """(seconds to synced, resident MB at rest, highest MB, CPU seconds)"""
    with plane.operator(binary) as run:
        seconds = run.wait_for("http ", timeout=300)
        cpu = plane.cpu_seconds(run.pid)
        plane.settled_cpu(run.pid, quiet=1.0)
        return (seconds, *plane.memory_mb(run.pid), cpu)


def start_informers(peers):
    """(seconds to synced, resident MB after a collection)"""
    answer = plane.peer(peers, "informers")
    return answer["seconds"], answer["residentBytes"] / 1e6


def main():
    operator, peers, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
    nodes, pods, jobs = (int(count * scale) for count in (5000, 50000, 1000))
    plane.prepare()
    filled = plane.peer(peers, "populate", f"--nodes={nodes}", f"--pods={pods}", f"--jobs={jobs}", f"--etcd={plane.ETCD}")
    received = plane.peer(peers, "bytes")["total"] / 1e6
    ours, theirs = [], []
    for i in range(1 + PAIRS):
        pair = start_operator(operator), start_informers(peers)
        if i > 0:  # the first pair warms the server and writes the jobs' first status
            ours.append(pair[0])
            theirs.append(pair[1])
    seconds, memory, _, cpu = (statistics.median(column) for column in zip(*ours))
    peer_seconds, peer_memory = (statistics.median(column) for column in zip(*theirs))
    ratios = [mine[0] / other[0] for mine, other in zip(ours, theirs)]
    highest = max(run[2] for run in ours)
    plane.table(
        f"watching {nodes} nodes, {pods} pods ({filled['workers']} of training jobs), {jobs} jobs: "
        f"{received:.0f} MB of JSON (filled in {filled['seconds']:.0f} s)",
        f"median of {PAIRS} interleaved cold starts each, of the pairs' ratios {min(ratios):.2f} to {max(ratios):.2f}; both stream their lists, "
        "core types in protobuf, jobs in JSON;\n  ours from exec on, client-go's from the informers' start; ours keeps what "
        "scheduling needs, client-go's whole objects",
        [
            ("resident against JSON received, MB", f"{memory:.0f}", f"{received:.0f}", f"{memory / received:.2f}",
             "<= 0.3, <= 300 MB", memory <= 0.3 * received and memory <= 300),
            ("resident against client-go's, MB", f"{memory:.0f}", f"{peer_memory:.0f}", f"{memory / peer_memory:.2f}", "-", True),
            ("highest resident, MB", f"{highest:.0f}", "-", "-", "-", True),
            ("cold start to synced, s", f"{seconds:.2f}", f"{peer_seconds:.2f}", f"{statistics.median(ratios):.2f}",
             "<= 0.6", statistics.median(ratios) <= 0.6),
            ("CPU seconds of it", f"{cpu:.2f}", "-", "-", "-", True),
        ])


main()
