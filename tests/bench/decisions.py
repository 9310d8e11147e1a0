"""usage: decisions.py embedded|server BIN SCALE -- streams jobs through the real operator, with their kubelets and
agents simulated in its own process: a gang that cannot be placed, and the load of Kueue's performance test
(examples/simulate/generator.yaml: 15,000 jobs, 640 nodes, 30 queues in 5 cohorts). SCALE takes fewer queues, and the
real server gets a tenth of them, because the server is the bottleneck.

`server` runs inside a control plane of tools/testenv. Kueue's figures are published ones: it admits Workload objects
and creates no pods.
"""
import json
import os
import pathlib
import sys

import control_plane as plane

TRACE = plane.HERE.parent.parent / "examples/simulate/generator.yaml"
KUEUE = "401 s on its CI; 621 s on 2 cores with 120 s of CPU (published or reported; 15,000 Workloads, no pods)"


def api_server():
    """The kube-apiserver of this network namespace."""
    here = os.readlink("/proc/self/ns/net")
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            name = (process / "comm").read_text().strip()
            if name == "kube-apiserver" and os.readlink(process / "ns/net") == here:
                return int(process.name)
        except OSError:
            continue  # it has ended
    sys.exit("there is no kube-apiserver here")


def stream(binary, queues, *more):
    result = plane.peer(binary / "tests/bench/stream/decisions_bench", TRACE, max(1, round(queues)), *more)
    if result["finished"] != result["jobs"]:
        print(f"  only {result['finished']} of {result['jobs']} jobs came to their end in time: {result['error']}")
        print(json.dumps(result["unfinished"], indent=1))
    return result


def describe(result):
    waits = "; ".join(f"{name} {one['median']:.2f} ({one['p95']:.2f})" for name, one in sorted(result["waits"].items()))
    print(f"  wait from submission to work, s, median (95 %): {waits}")
    print(f"  CPU: operator {result['operatorCpuSeconds']:.1f} s = {1e3 * result['operatorCpuSeconds'] / result['pods']:.2f} ms a pod; "
          f"load and kubelets {result['harnessCpuSeconds']:.1f} s")


def title(result):
    return f"{result['jobs']} jobs, {result['pods']} pods, {result['queues']} queues, {result['nodes']} nodes"


def embedded(binary, scale):
    told = plane.peer(binary / "tests/bench/stream/impossible_gang", max(64, int(5000 * scale)))
    most, wall = told["mostSeconds"], None
    result = stream(binary, 30 * scale)
    wall, bound = result["wallSeconds"], result["quotaSeconds"]
    plane.table(
        f"decisions on the embedded API: {title(result)}",
        f"load {os.getloadavg()[0]:.1f}; 'peer' of the second is the bound that quota alone sets",
        [
            (f"impossible gang told, {told['nodes']} nodes, s", f"{told['medianSeconds']:.3f} (most {most:.3f})", "-", "-", "<= 0.5", most <= 0.5),
            ("first submission to last end, s", f"{wall:.1f}", f"{bound:.1f}", f"{wall / bound:.2f}", "<= 1.1", wall <= 1.1 * bound),
        ])
    describe(result)


def server(binary, scale):
    plane.prepare(("stream",))
    plane.run("kubectl", "apply", "--server-side", "-f", plane.CRD / "muster.dev_trainingqueues.yaml")
    pid = api_server()
    before = plane.cpu_seconds(pid)
    result = stream(binary, 3 * scale, os.environ["KUBECONFIG"])
    theirs, ours = plane.cpu_seconds(pid) - before, result["operatorCpuSeconds"]
    wall = result["wallSeconds"]
    plane.table(
        f"the same over the real API server: {title(result)}",
        f"load {os.getloadavg()[0]:.1f}; pods created, bound, run and ended; Kueue 0.20-dev: {KUEUE}",
        [
            ("first submission to last end, s", f"{wall:.1f}", f"{result['quotaSeconds']:.1f}", f"{wall / result['quotaSeconds']:.2f}", "-", True),
            ("jobs/s; Kueue's 15,000 in 401 s", f"{result['finished'] / wall:.1f}", "37.4", f"{result['finished'] / wall / 37.4:.2f}", "-", True),
            ("CPU s, operator against API server", f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2f}", "<= 0.2", ours <= 0.2 * theirs),
        ])
    describe(result)


def main():
    where, binary, scale = sys.argv[1], pathlib.Path(sys.argv[2]), float(sys.argv[3])
    {"embedded": embedded, "server": server}[where](binary, scale)


main()
