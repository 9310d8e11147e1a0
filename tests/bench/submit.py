"""usage: submit.py OPERATOR PEERS SCALE -- measures the time from submitting many jobs at once until all their pods
exist, against the server's own rate of creates and kube-controller-manager's CPU time for the same pods as Jobs."""
import os
import pathlib
import sys

import control_plane as plane


def controller_manager():
    """kube-controller-manager with only its job controllers, at maximum parallelism."""
    binary = pathlib.Path(os.environ["MUSTER_TESTENV_BIN"]) / "kube-controller-manager"
    return plane.Program(
        binary, f"--kubeconfig={os.environ['KUBECONFIG']}", "--controllers=job", "--leader-elect=false", "--secure-port=0",
        f"--kube-api-qps={plane.QPS}", f"--kube-api-burst={plane.BURST}", "--concurrent-job-syncs=50")


class Run:
    """Submits jobs at once to a running controller; returns how fast their pods appeared and its CPU cost."""

    def __init__(self, program, peers, namespace, kind, jobs):
        before = plane.settled_cpu(program.pid)
        answer = plane.peer(peers, "submit", f"--namespace={namespace}", f"--kind={kind}", f"--jobs={jobs}")
        created = plane.cpu_seconds(program.pid)
        self.rate = answer["perSecond"]
        self.cpu_until_created = (created - before) / answer["pods"]
        self.cpu = (plane.settled_cpu(program.pid) - before) / answer["pods"]


def ratio_row(figure, ours, theirs, scale, digits, reach="-", holds=lambda ratio: True):
    ratio = ours / theirs
    return (figure, f"{ours * scale:.{digits}f}", f"{theirs * scale:.{digits}f}", f"{ratio:.2f}", reach, holds(ratio))


def main():
    operator, peers, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
    jobs = max(1, int(500 * scale))
    pods = 4 * jobs
    plane.prepare(("warm", "raw", "lean", "batch", "training"))
    plane.peer(peers, "populate", "--nodes=100")
    # The taint of every new node; no controller runs that would remove it.
    plane.run("kubectl", "taint", "nodes", "--all", "node.kubernetes.io/not-ready-")
    plane.peer(peers, "create", "--namespace=warm", f"--pods={pods}", "--clients=16")  # warms the server
    raw = plane.peer(peers, "create", "--namespace=raw", f"--pods={pods}", "--clients=16")["perSecond"]
    lean = plane.peer(peers, "submit", "--namespace=lean", "--kind=Lean", f"--jobs={jobs}")["perSecond"]
    plane.run("kubectl", "delete", "trainingjobs", "--all", "--namespace=lean")
    with plane.operator(operator, "--workers=16") as ours:
        ours.wait_for("http ", timeout=60)
        before = plane.requests(ours)
        run_ours = Run(ours, peers, "training", "TrainingJob", jobs)
        made = plane.requests(ours) - before
    with controller_manager() as theirs:
        run_theirs = Run(theirs, peers, "batch", "Job", jobs)
    plane.table(
        f"{jobs} jobs of 4 workers submitted at once by 16 clients",
        f"limits {plane.QPS}/{plane.BURST} everywhere; ours with 16 reconcilers, theirs with 50 job syncs; load {os.getloadavg()[0]:.1f}\n"
        "  a lean client makes only the necessary requests: it creates the job, writes its status, creates its pods\n"
        "  CPU until created: ours includes the binds and status writes until then; theirs binds nothing\n"
        "  CPU all in: ours also binds every pod and writes the gangs' status; theirs also writes the Jobs' status",
        [
            ratio_row("pods/s, against raw creates of 16 clients", run_ours.rate, raw, 1, 0, ">= 0.8", lambda ratio: ratio >= 0.8),
            ratio_row("pods/s, against a lean client", run_ours.rate, lean, 1, 0),
            ratio_row("  a lean client, against raw creates", lean, raw, 1, 0),
            ratio_row("pods/s, against Jobs", run_ours.rate, run_theirs.rate, 1, 0),
            ratio_row("CPU ms per pod until created", run_ours.cpu_until_created, run_theirs.cpu_until_created, 1000, 2, "<= 0.4",
                      lambda ratio: ratio <= 0.4),
            ratio_row("CPU ms per pod, all in", run_ours.cpu, run_theirs.cpu, 1000, 2),
        ])
    plane.print_requests(made, pods)


main()
