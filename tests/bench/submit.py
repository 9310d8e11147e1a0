"""usage: submit.py OPERATOR PEERS SCALE -- jobs submitted at once until all their pods exist, against the server's own
rate of creates and kube-controller-manager's CPU time for the same pods as Jobs."""
import os
import pathlib
import sys

import control_plane as plane


def controller_manager():
    """kube-controller-manager with its job controllers alone, at their most parallel."""
    binary = pathlib.Path(os.environ["MUSTER_TESTENV_BIN"]) / "kube-controller-manager"
    return plane.Program(
        binary, f"--kubeconfig={os.environ['KUBECONFIG']}", "--controllers=job", "--leader-elect=false", "--secure-port=0",
        f"--kube-api-qps={plane.QPS}", f"--kube-api-burst={plane.BURST}", "--concurrent-job-syncs=50")


def measure(program, peers, namespace, kind, jobs):
    """(pods per second, CPU seconds per pod)"""
    before = plane.settled_cpu(program.pid)
    answer = plane.peer(peers, "submit", f"--namespace={namespace}", f"--kind={kind}", f"--jobs={jobs}")
    return answer["perSecond"], (plane.settled_cpu(program.pid) - before) / answer["pods"]


def main():
    operator, peers, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
    jobs = max(1, int(500 * scale))
    pods = 4 * jobs
    plane.prepare(("warm", "raw", "batch", "training"))
    plane.peer(peers, "populate", "--nodes=100")
    # Put on every new node; no controller runs that would take it away.
    plane.run("kubectl", "taint", "nodes", "--all", "node.kubernetes.io/not-ready-")
    plane.peer(peers, "create", "--namespace=warm", f"--pods={pods}", "--clients=16")  # warms the server
    run = plane.peer(peers, "create", "--namespace=raw", f"--pods={pods}", "--clients=16")
    raw = run["perSecond"]
    with plane.operator(operator, "--workers=16") as ours:
        ours.wait_for("http ", timeout=60)
        before = plane.requests(ours)
        rate, cpu = measure(ours, peers, "training", "TrainingJob", jobs)
        made = plane.requests(ours) - before
    with controller_manager() as theirs:
        peer_rate, peer_cpu = measure(theirs, peers, "batch", "Job", jobs)
    plane.table(
        f"{jobs} jobs of 4 workers submitted at once by 16 clients",
        f"limits {plane.QPS}/{plane.BURST} everywhere; ours with 16 reconcilers, its CPU time includes binding and status; theirs with 50 job syncs",
        [
            ("pods/s, against raw creates of 16 clients", f"{rate:.0f}", f"{raw:.0f}", f"{rate / raw:.2f}", ">= 0.8", rate >= 0.8 * raw),
            ("pods/s, against Jobs", f"{rate:.0f}", f"{peer_rate:.0f}", f"{rate / peer_rate:.2f}", "-", True),
            ("CPU per pod, ms, against Jobs", f"{1000 * cpu:.2f}", f"{1000 * peer_cpu:.2f}", f"{cpu / peer_cpu:.2f}", "<= 0.4", cpu <= 0.4 * peer_cpu),
        ])
    print("  our requests per pod: " + ", ".join(f"{what} {count / pods:.2f}" for what, count in made.most_common(8)))


main()
