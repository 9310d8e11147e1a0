"""usage: cluster.py IMAGES PYTORCH SERIES -- muster on two nodes with real kubelets, installed by Helm, against Indexed
Jobs whose pods run torchrun: from kubectl's start to the first step, and from a pod's deletion to the next one.

IMAGES is what tools/images wrote, SERIES the result of series.py. Three runs each, interleaved, after one that warms the
file cache. Every image is on both nodes. The peer's image has Debian's python3; PyTorch, with its compiled byte code, is
mounted from PYTORCH, a folder of the machine's disk that both nodes see: so its files are in memory once, where an image
would be unpacked, and read, once for each node. The pod of index
1 is taken away, which does not hold torchrun's store.
"""
import json
import os
import pathlib
import re
import statistics
import sys
import time
import urllib.request

import control_plane as plane
import gangs
import operator_pages
from figures import spread

ROOT = gangs.HERE.parent.parent
RUNS, SYSTEM, AGENTS = 3, "muster-system", "muster-node-agents"
REPOSITORY, TAG = "muster.test", "bench"
NODE_AGENT_SECONDS = 60
MB = 1e6
# A pod is taken away after this many steps, in the middle between two checkpoints of both sides.
TRAINED = 3 * gangs.SAVE_EVERY + 12


def import_image(archive):
    plane.run(os.environ["MUSTER_TESTENV_TOOL"], "image", f"--name={os.environ['MUSTER_TESTENV_NAME']}", "all", archive)


def install(images):
    # kubectl keeps what it learnt of a server under its address, which is the same for all control planes here.
    os.environ["KUBECACHEDIR"] = f"{images}/kubectl"
    os.environ.update({f"HELM_{kind}_HOME": f"{images}/helm" for kind in ("CACHE", "CONFIG", "DATA")})
    for name in ("operator", "agent", "trainer", "node-agent"):
        import_image(images / f"{name}.tar")
    python = images / "python.tar"
    plane.run("/usr/bin/python3", "-B", ROOT / "tests/testenv/python_image.py", gangs.PYTHON_IMAGE, python)
    import_image(python)
    # An image's value in the chart, and its name.
    values = [f"{value}.repository={REPOSITORY}/{name},{value}.tag={TAG}" for value, name in (
        ("image", "operator"), ("workerImage", "trainer"), ("agentImage", "agent"), ("nodeAgent.image", "node-agent"))]
    plane.run("helm", "install", "muster", ROOT / "charts/muster", f"--namespace={SYSTEM}", "--create-namespace",
              f"--set={','.join(values)},resources.requests.cpu=10m,resources.requests.memory=64Mi")
    plane.run("kubectl", "rollout", "status", "deployment/muster-operator", f"--namespace={SYSTEM}", "--timeout=180s")
    plane.run("kubectl", "apply", "-f", "-", input=gangs.RENDEZVOUS)
    gangs.prepare_shared_folder()


def leader():
    """The host of the operator that leads, which is its pod's address."""
    held = lambda: plane.run("kubectl", "get", "lease", "muster-operator", f"--namespace={SYSTEM}", "--ignore-not-found",
                             r"--output=jsonpath={.metadata.annotations.muster\.dev/coordinator}") or None
    return gangs.wait_for("a leader", held).rpartition(":")[0]


class Measured:
    """What one gang took, in seconds: to its first step, its timeline, and the recovery from the loss of a pod."""

    def __init__(self, gang):
        gang.apply()
        self.first = gang.first_step()[0] - gang.applied
        self.timeline = [(what, at - gang.applied) for what, at in gang.timeline()]
        gangs.wait_for(f"step {TRAINED} of {gang.name}", lambda: next((True for _, step in gang.steps() if step >= TRAINED), None))
        deleted = gang.delete_pod()
        self.recovery = gangs.wait_for(f"the next step of {gang.name}", lambda: gang.resumed(deleted)) - deleted
        replaced = gang.sandboxes(made=False, since=deleted)
        # A gang may go on before its new pod is there.
        self.replacement = replaced - deleted if replaced else None
        gang.end()


def interleaved(pages, pytorch):
    """{name of the side: its runs}"""
    kinds = {"muster": lambda run: gangs.TrainingJob(f"muster-{run}", pages),
             "smaller": lambda run: gangs.TrainingJob(f"smaller-{run}", pages, gangs.WORKERS - 1, "Shrink"),
             "torchrun": lambda run: gangs.IndexedJob(f"torchrun-{run}", pytorch)}
    measured = {side: [] for side in kinds}
    for run in range(RUNS + 1):
        for side, make in kinds.items():
            one = Measured(make(run))
            print(f"  run {run or 'to warm the cache'}, {side}: first step {one.first:.2f} s, recovery {one.recovery:.2f} s, "
                  f"load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
            if run > 0:
                measured[side].append(one)
    return measured


def node_agents():
    """(share of a core, resident MB) of the node agent that costs most."""
    address = plane.run("kubectl", "get", "service", "muster-operator", f"--namespace={SYSTEM}", "--output=jsonpath={.spec.clusterIP}")
    plane.run("helm", "upgrade", "muster", ROOT / "charts/muster", f"--namespace={SYSTEM}", "--reuse-values",
              f"--set=nodeAgent.enabled=true,nodeAgent.openMetrics=true,nodeAgent.coordinator={address}:7443")
    plane.run("kubectl", "rollout", "status", "daemonset/muster-node-agent", f"--namespace={AGENTS}", "--timeout=180s")
    pods = plane.run("kubectl", "get", "pods", f"--namespace={AGENTS}", "--output=jsonpath={.items[*].status.podIP}").split()
    gangs.wait_for("a stream of each node agent", lambda: all(figure(pod, "connected") == 1 for pod in pods) or None)
    before, start = [figure(pod, "cpu_seconds_total") for pod in pods], time.monotonic()
    time.sleep(NODE_AGENT_SECONDS)
    spent = [figure(pod, "cpu_seconds_total") - cpu for pod, cpu in zip(pods, before)]
    return max(spent) / (time.monotonic() - start), max(figure(pod, "resident_bytes") for pod in pods) / MB


def figure(address, name):
    """A value of a node agent about itself."""
    with urllib.request.urlopen(f"http://{address}:9402/metrics", timeout=10) as page:
        return float(re.search(rf"^muster_node_agent_{name} (\S+)$", page.read().decode(), re.M)[1])


def compressed(images, name):
    return sum(blob.stat().st_size for blob in (images / name / "blobs/sha256").iterdir()) / MB


def compared(what, ours, theirs, reach):
    # Runs of both sides follow each other, so a pair had about the same load.
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    return (what, spread(ours), spread(theirs), f"{ratio:.2f}", f"<= {reach}" if reach else "-", not reach or ratio <= reach)


def limited(what, value, limit, shown="{:.1f}"):
    return (what, shown.format(value), "-", "-", f"<= {limit}", value <= limit)


def print_timeline(measured):
    print("from kubectl's start, s, medians; of the last pod")
    theirs = {what: statistics.median(dict(run.timeline)[what] for run in measured["torchrun"]) for what, _ in measured["torchrun"][0].timeline}
    for what, _ in measured["muster"][0].timeline:
        ours = statistics.median(dict(run.timeline)[what] for run in measured["muster"])
        print(f"  {what:<40}{ours:18.2f}" + (f"{theirs[what]:16.2f}" if what in theirs else ""))


def main():
    images, pytorch, series = pathlib.Path(sys.argv[1]), sys.argv[2], json.loads(pathlib.Path(sys.argv[3]).read_text())
    install(images)
    measured = interleaved(operator_pages.Pages(leader(), 8443, SYSTEM), pytorch)
    cpu, memory = node_agents()
    of = lambda side, name: [getattr(run, name) for run in measured[side]]
    after = lambda side: [run.recovery - run.replacement for run in measured[side]]
    plane.table(
        f"{gangs.WORKERS} pods on 2 nodes with real kubelets, images present, nano model; median (least..most) of {RUNS}",
        "the peer is an Indexed Job of torchrun, whose controller waits 10 s before it replaces a failed pod; both save every\n"
        f"  25 steps; the job of {series['ranks']} ranks is played by simulated agents",
        [
            limited("operator's image, MB compressed", compressed(images, "operator"), 40),
            limited("worker agent's image, MB compressed", compressed(images, "agent"), 7),
            compared("job applied to first step, s", of("muster", "first"), of("torchrun", "first"), 0.5),
            compared("pod deleted to next step, s", of("muster", "recovery"), of("torchrun", "recovery"), 0.3),
            compared("  onRankFailure: Shrink, goes on with two, s", of("smaller", "recovery"), of("torchrun", "recovery"), None),
            compared("  pod deleted to its successor's sandbox, s", of("muster", "replacement"), of("torchrun", "replacement"), None),
            compared("  from there to the next step, s", after("muster"), after("torchrun"), None),
            limited("node agent's CPU, % of a core", 100 * cpu, 0.5, "{:.2f}"),
            limited("node agent, MB resident", memory, 40),
            limited(f"series of a job of {series['ranks']} ranks", series["series"], 2000, "{}"),
            limited(f"scrape of {series['page']} series, ms", 1e3 * series["scrape"], 50),
        ])
    print_timeline(measured)


main()
