"""usage: bind.py OPERATOR PEERS SCALE NODES -- measures how fast pending pods are bound: the API server's own rate,
kube-scheduler with single pods, muster with gangs of 8; and one gang of 512 from its creation to its last binding.

The gang comes first, alone on as many nodes as it has workers; its figure includes the creation of its pods on both
sides. For the others all pods are pending before the scheduler starts, so that no figure includes their creation.
Muster comes last: it sees twice as many pods as it binds.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

import control_plane as plane

GANG = 8


def scheduler():
    """kube-scheduler with its default profile."""
    binary = pathlib.Path(os.environ["MUSTER_TESTENV_BIN"]) / "kube-scheduler"
    return plane.Program(binary, f"--kubeconfig={os.environ['KUBECONFIG']}", "--leader-elect=false", "--secure-port=0",
                         f"--kube-api-qps={plane.QPS}", f"--kube-api-burst={plane.BURST}")


class Existing:
    """Watches a namespace until it has the expected pods."""

    def __init__(self, peers, namespace, pods, *flags):
        self.pods = pods
        self.process = subprocess.Popen([peers, "existing", f"--namespace={namespace}", f"--pods={pods}", *flags],
                                        stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline():
            sys.exit("peers existing did not open its watch")

    def wait(self):
        out = self.process.stdout.read()
        if self.process.wait() != 0:
            sys.exit("peers existing failed")
        seen = json.loads(out)
        seen["rate"] = self.pods / max(seen["last"] - seen["first"], 1e-9)  # pods per second
        return seen


def operator(binary):
    return plane.operator(binary, "--workers=16")


def make_waiting(binary, peers, pods):
    """Creates the same number of pending pods in each namespace."""
    plane.peer(peers, "pending", "--namespace=raw", f"--pods={pods}", "--clients=16")
    plane.peer(peers, "pending", "--namespace=single", f"--pods={pods}", "--scheduler=default-scheduler", "--clients=16")
    with operator(binary) as ours:  # creates the pods, which stay pending because there are no nodes yet
        ours.wait_for("http ", timeout=60)
        made = Existing(peers, "gangs", pods)
        plane.peer(peers, "gangs", "--namespace=gangs", f"--jobs={pods // GANG}", f"--workers={GANG}")
        made.wait()
        plane.settled_cpu(ours.pid)


def timed(program, peers, namespace, pods, count=False):
    """Pods per second from the first binding to the last, seconds since the program's start, its CPU seconds per pod,
    and the requests that a muster-operator has made."""
    bound = Existing(peers, namespace, pods, "--bound")
    start = time.time()
    with program() as running:
        end = bound.wait()
        cpu = plane.cpu_seconds(running.pid)
        asked = plane.requests(running) if count else None
    return {"rate": end["rate"], "total": end["last"] - start, "cpu": cpu / pods, "asked": asked}


def raw_binds(peers, pods, nodes):
    """Pods per second, from the first binding to the last, as the same watch sees them."""
    bound = Existing(peers, "raw", pods, "--bound")
    plane.peer(peers, "bind", "--namespace=raw", f"--pods={pods}", f"--nodes={nodes}", "--clients=16")
    return bound.wait()["rate"]


def one_gang(binary, peers, size):
    """Seconds from creation to the last binding of a gang, (muster, kube-scheduler), each alone on as many nodes."""
    seconds = []
    for namespace, program, wanted in (
            ("gang-theirs", scheduler, ["pending", f"--pods={size}", "--scheduler=default-scheduler", "--clients=16"]),
            ("gang-ours", lambda: operator(binary), ["gangs", "--jobs=1", f"--workers={size}"])):
        plane.peer(peers, "nodes", f"--nodes={size}")
        with program() as running:
            plane.settled_cpu(running.pid, quiet=1.0)
            bound = Existing(peers, namespace, size, "--bound")
            start = plane.peer(peers, *wanted, "--gpus=8", f"--namespace={namespace}")["start"]
            seconds.append(bound.wait()["last"] - start)
            # Otherwise the next operator would create the pods again. No kubelet ends them, so a node of the same name
            # would still have them.
            plane.run("kubectl", "delete", "trainingjobs", "--all", "--wait=false", f"--namespace={namespace}")
            plane.run("kubectl", "delete", "pods", "--all", "--force", "--grace-period=0", f"--namespace={namespace}")
            plane.run("kubectl", "delete", "trainingjobs", "--all", "--timeout=60s", f"--namespace={namespace}")
        plane.run("kubectl", "delete", "nodes", "--all")
    theirs, ours = seconds
    return ours, theirs


def main():
    binary, peers, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
    pods, nodes, size = int(10000 * scale) // GANG * GANG, int(int(sys.argv[4]) * scale), int(512 * scale)
    plane.prepare(("raw", "single", "gangs", "gang-ours", "gang-theirs"))
    gang, singles = one_gang(binary, peers, size)
    make_waiting(binary, peers, pods)
    plane.peer(peers, "nodes", f"--nodes={nodes}")
    raw = raw_binds(peers, pods, nodes)
    theirs = timed(scheduler, peers, "single", pods)
    ours = timed(lambda: operator(binary), peers, "gangs", pods, count=True)
    rate = ours["rate"]
    plane.table(
        f"{pods} pods that wait, {nodes} nodes of 3 levels, and a gang of {size}",
        f"limits {plane.QPS}/{plane.BURST} everywhere; ours in gangs of {GANG} with 16 reconcilers; raw with 16 clients; kube-scheduler with single pods",
        [
            ("pods bound/s, against raw binds", f"{rate:.0f}", f"{raw:.0f}", f"{rate / raw:.2f}", ">= 0.8", rate >= 0.8 * raw),
            ("pods bound/s, against kube-scheduler", f"{rate:.0f}", f"{theirs['rate']:.0f}", f"{rate / theirs['rate']:.2f}", ">= 2.5",
             rate >= 2.5 * theirs["rate"]),
            ("start to last binding, s", f"{ours['total']:.1f}", f"{theirs['total']:.1f}", f"{ours['total'] / theirs['total']:.2f}", "-", True),
            ("CPU per pod, ms", f"{1e3 * ours['cpu']:.2f}", f"{1e3 * theirs['cpu']:.2f}", f"{ours['cpu'] / theirs['cpu']:.2f}", "-", True),
            (f"gang of {size}, created to last binding, s", f"{gang:.2f}", f"{singles:.2f}", f"{gang / singles:.2f}", "<= 0.5",
             gang <= 0.5 * singles),
        ])
    plane.print_requests(ours["asked"], pods)


main()
