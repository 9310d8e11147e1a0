"""usage: draw_tree.py OPERATOR MUSTER SVG -- draws, with `muster tree`, 64 nodes of 8 GPUs that are partly in use and
four training jobs that the real operator places on them. Runs inside a control plane of tools/testenv.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

CRDS = pathlib.Path(__file__).absolute().parent.parent.parent / "deploy/crd"
LABEL = "network.topology.nvidia.com/"
# name, workers, GPUs of each, topology
JOBS = (("llama", 16, 8, {"require": "spine"}), ("gpt", 4, 8, {"require": "leaf"}), ("bert", 6, 4, {"prefer": "leaf"}),
        ("probe", 5, 1, {}))
# The deadlines of these jobs.
DEADLINES = {"llama": "40m", "gpt": "3h"}


def kubectl(*words, objects=None):
    text = None if objects is None else json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    done = subprocess.run(["kubectl", *words], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def node(i):
    has = {"cpu": "192", "memory": "2Ti", "pods": "110", "nvidia.com/gpu": "8"}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"node-{i:02}", "labels": {LABEL + "leaf": f"leaf-{i // 8}", LABEL + "spine": f"spine-{i // 32}"}},
            "status": {"allocatable": has, "capacity": has, "conditions": [{"type": "Ready", "status": "True"}]}}


def other_pod(i, gpus):
    """Creates the pods of another scheduler, which were there before."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"other-{i}", "namespace": "default"},
            "spec": {"nodeName": f"node-{i:02}", "containers": [{
                "name": "it", "image": "none", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}}


def job(name, workers, gpus, topology, **more):
    return {"apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name, "namespace": "default"},
            "spec": {"workers": {"count": workers, "gpus": gpus}, "topology": topology,
                     **{field: value for field, value in more.items() if value is not None}, "template": {
                "spec": {"containers": [{"name": "worker", "image": "none", "command": ["train"]}]}}}}


def prepare():
    kubectl("apply", "--server-side", "-f", str(CRDS))
    while subprocess.run(["kubectl", "get", "trainingjobs"], capture_output=True).returncode != 0:
        time.sleep(0.2)
    kubectl("create", "serviceaccount", "default", "--namespace=default")
    nodes = [node(i) for i in range(64)]
    kubectl("create", "-f", "-", objects=nodes)
    kubectl("replace", "--subresource=status", "-f", "-", objects=nodes)
    kubectl("taint", "nodes", "--all", "node.kubernetes.io/not-ready-")
    dice = random.Random(5)
    kubectl("create", "-f", "-", objects=[other_pod(i, dice.choice((1, 2, 4, 6, 8))) for i in range(64) if dice.random() < 0.4])
    kubectl("cordon", "node-45")


def wait_placed():
    for _ in range(300):
        jobs = json.loads(kubectl("get", "trainingjobs", "-o", "json"))["items"]
        if all(one.get("status", {}).get("placement", {}).get("reason") == "Placed" for one in jobs):
            return
        time.sleep(0.1)
    sys.exit("the jobs are not placed")


def wait_told(name):
    for _ in range(300):
        told = json.loads(kubectl("get", "trainingjob", name, "-o", "json")).get("status", {}).get("placement", {})
        if told.get("reason"):
            return
        time.sleep(0.1)
    sys.exit(f"the status of {name} does not say why it waits")


def session(muster, server, folder):
    """Prints the quotations of docs/placement.md: a waiting job, a hypothetical one, and the decisions."""
    def ask(*words):
        print("$ muster", " ".join(words), flush=True)
        subprocess.run([muster, *words, *([] if words[0] == "replay" else [f"--server={server}"])], cwd=folder)
        print(flush=True)

    kubectl("create", "-f", "-", objects=[{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                           "metadata": {"name": "urgent"}, "value": 1000}])
    waits = job("next", 7, 8, {"require": "leaf"}, priorityClassName="nromal")
    kubectl("create", "-f", "-", objects=[waits])
    wait_told("next")
    ask("explain", "next")
    for name, workers, more in (("small", 2, {}), ("urgent", 7, {"priorityClassName": "urgent"})):
        (pathlib.Path(folder) / f"{name}.yaml").write_text(json.dumps(job(name, workers, 8, {"require": "leaf"}, **more)))
        ask("whatif", "-f", f"{name}.yaml")
    ask("tree", "--depth=2")
    ask("queue")
    last = json.loads(subprocess.run([muster, "explain", "next", "--json", f"--server={server}"],
                                     check=True, capture_output=True, text=True).stdout)["decision"]
    ask("replay", str(last), "--dir=decisions")


def main():
    operator, muster, svg = sys.argv[1:]
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        with open(out, "w") as log:
            running = subprocess.Popen([operator, f"--kubeconfig={os.environ['KUBECONFIG']}", "--leader-elect=false",
                                        f"--decision-log-dir={folder}/decisions", f"--coordinator=unix:{folder}/c.sock",
                                        f"--http=unix:{folder}/http.sock", "--probes="], stdout=log, stderr=subprocess.STDOUT)
        while "http=" not in (text := out.read_text()):
            if running.poll() is not None:
                sys.exit(text)
            time.sleep(0.05)
        server = text.split("http=", 1)[1].split()[0]
        for one in JOBS:  # one after the other: the picture is always the same
            kubectl("create", "-f", "-", objects=[job(*one, activeDeadline=DEADLINES.get(one[0]))])
            wait_placed()
        for name, *_ in JOBS:
            subprocess.run([muster, "explain", name, f"--server={server}"], check=True)
        subprocess.run([muster, "tree", f"--svg={svg}", f"--server={server}"], check=True)
        session(muster, server, folder)
        running.terminate()
        running.wait()


main()
