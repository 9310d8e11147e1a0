"""Shared by the cluster benchmark: a gang of three pods on nodes with real kubelets, as a TrainingJob and as an Indexed
Job whose pods run torchrun. Both train the nano model, 4 sequences a rank, and save every 25 steps to the same disk.

Moments are wall clocks that the programs wrote themselves: the nodes share the clock of one machine. Logs are read where
the kubelets keep them, because kubectl would take the cores from those who are measured.
"""
import calendar
import json
import os
import pathlib
import re
import sys
import time

import control_plane as plane

HERE = pathlib.Path(__file__).absolute().parent
WORKERS, SAVE_EVERY, STEPS = 3, 25, 1000000
PATIENCE = 180
# Folders below it are on all nodes.
FOLDER = pathlib.Path(os.environ["MUSTER_TESTENV_FOLDER"])
SHARED = FOLDER / "shared"
PYTHON_IMAGE = "muster.test/python:1"
SPREAD = """topologySpreadConstraints:
      - {{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{{label}}}}}}}
"""
TRAINING_JOB = """
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {{name: {name}}}
spec:
  workers: {{count: {workers}, min: {least}}}
  failurePolicy: {{onRankFailure: {policy}}}
  trainer:
    model: {{preset: gpt2-nano, dropout: 0}}
    data: {{uri: /shared/text.txt, tokenizer: {{kind: Byte}}}}
    train: {{steps: {steps}, globalBatch: {batch}, microBatch: 4, sequence: 64}}
    optimizer: {{learningRate: 3.0e-4, warmupSteps: 10}}
  checkpoint: {{uri: /shared/{name}, interval: {{mode: Steps, steps: {every}}}}}
  template:
    spec:
      {spread}
      containers:
      - {{name: worker, volumeMounts: [{{name: shared, mountPath: /shared}}]}}
      volumes:
      - {{name: shared, hostPath: {{path: {shared}}}}}
"""
# The store of the rendezvous is in the pod of index 0. The others find it by a Service, by its address: there is no DNS,
# which spares them a look-up. The Service is there before the first Job.
RENDEZVOUS = """
apiVersion: v1
kind: Service
metadata: {name: rendezvous}
spec:
  publishNotReadyAddresses: true
  selector: {app: torchrun, batch.kubernetes.io/job-completion-index: "0"}
  ports: [{name: store, port: 29400}]
"""
INDEXED_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  completionMode: Indexed
  completions: {workers}
  parallelism: {workers}
  backoffLimit: 100
  template:
    metadata: {{labels: {{app: torchrun}}}}
    spec:
      restartPolicy: Never
      {spread}
      containers:
      - name: torchrun
        image: {image}
        command: [/bin/sh, -c]
        args:
        - >-
          if [ "$JOB_COMPLETION_INDEX" = 0 ]; then store=$POD_IP; else store=$RENDEZVOUS_SERVICE_HOST; fi;
          exec python3 -m torch.distributed.run --nnodes={workers} --nproc-per-node=1 --max-restarts=100
          --rdzv-backend=c10d --rdzv-id={name} --rdzv-endpoint=$store:29400 --local-addr=$POD_IP
          /source/bench/peer_train.py {steps} /shared/{name}.pt
        env:
        - {{name: POD_IP, valueFrom: {{fieldRef: {{fieldPath: status.podIP}}}}}}
        - {{name: PYTHONPATH, value: /pytorch}}
        - {{name: LD_LIBRARY_PATH, value: "/pytorch/stubs:/pytorch/torch/lib:/pytorch/nvidia/cu13/lib"}}
        - {{name: OMP_NUM_THREADS, value: "1"}}
        - {{name: OMP_WAIT_POLICY, value: passive}}
        # Without this a restarted rank may find the addresses of its predecessors in the store and fail again.
        - {{name: TORCH_DISABLE_SHARE_RDZV_TCP_STORE, value: "1"}}
        volumeMounts:
        - {{name: shared, mountPath: /shared}}
        - {{name: source, mountPath: /source, readOnly: true}}
        - {{name: pytorch, mountPath: /pytorch, readOnly: true}}
      volumes:
      - {{name: shared, hostPath: {{path: {shared}}}}}
      - {{name: source, hostPath: {{path: {source}}}}}
      - {{name: pytorch, hostPath: {{path: {pytorch}}}}}
"""


def wait_for(what, find):
    """Looks until find() returns something, and returns that."""
    deadline = time.monotonic() + PATIENCE
    while (found := find()) is None:
        if time.monotonic() > deadline:
            sys.exit(f"{PATIENCE} s were too few until: {what}\n" + plane.run("kubectl", "get", "pods,trainingjobs,jobs", "--output=wide"))
        time.sleep(0.2)
    return found


def moment(stamp):
    """Seconds since the epoch of a time in UTC, as 2026-11-21T04:05:06.123456Z."""
    whole, _, fraction = stamp.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction or 0}")


def pod_lines(prefix, namespace="default"):
    """[(pod, line)] of the logs of pods whose names begin so, in order of pods. A pod that is gone has none."""
    found = []
    for path in sorted(FOLDER.glob(f"log/node-*/pods/{namespace}_{prefix}*/*/*.log")):
        try:
            text = path.read_text(errors="replace")
        except OSError:
            continue
        # The runtime puts its own time, the stream and a mark of whole lines in front.
        found += [(path.parent.parent.name.split("_")[1], line.split(" ", 3)[3]) for line in text.splitlines() if line.count(" ") >= 3]
    return found


def logged(prefix, message, namespace="default", **fields):
    """[(when, pod, line)] of muster's log lines that begin with this message and have these fields, in order of time."""
    found = []
    for pod, line in pod_lines(prefix, namespace):
        stamp = re.search(r"(\d{4}-\d\d-\d\dT[\d:.]+Z) [A-Z]+ (.*)", line)
        if stamp and stamp[2].startswith(message) and all(re.search(rf"\b{key}={re.escape(str(value))}(?![\w-])", stamp[2]) for key, value in fields.items()):
            found.append((moment(stamp[1]), pod, stamp[2]))
    return sorted(found)


def runtime_moments(text):
    """[(when, line)] of the nodes' container runtimes that hold this text."""
    lines = [line for path in sorted(FOLDER.glob("log/containerd-*.log")) for line in path.read_text(errors="replace").splitlines()]
    return sorted((moment(re.search(r'time="([^"]+)"', line)[1]), line) for line in lines if text in line and line.startswith("time="))


class Gang:
    """Three pods that train; `kind` is the name of their object's kind."""

    def __init__(self, name, kind, manifest):
        self.name, self.kind, self.manifest = name, kind, manifest

    def apply(self):
        """Returns the moment before kubectl started."""
        self.applied = time.time()
        plane.run("kubectl", "apply", "-f", "-", input=self.manifest)

    def first_step(self):
        return wait_for(f"the first step of {self.name}", lambda: next(iter(self.steps()), None))

    def pods(self):
        """The names of its pods."""
        names = plane.run("kubectl", "get", "pods", "--output=name").split()
        return [name.removeprefix("pod/") for name in names if name.startswith(f"pod/{self.name}-")]

    def delete_pod(self):
        """Takes the pod of index 1 away, which does not hold torchrun's store; returns the moment before."""
        victim = next(pod for pod in self.pods() if pod.startswith(f"{self.name}-1-"))
        at = time.time()
        plane.run("kubectl", "delete", "pod", victim, "--wait=false")
        return at

    def sandboxes(self, made, since=0):
        """When the runtimes last began to make a sandbox for a pod of the gang, or had made it; None if never since then."""
        lines = runtime_moments(f"RunPodSandbox for &PodSandboxMetadata{{Name:{self.name}-")
        return max((when for when, line in lines if ("returns sandbox id" in line) == made and when > since), default=None)

    def end(self):
        plane.run("kubectl", "delete", self.kind, self.name, "--cascade=foreground", "--timeout=120s")
        wait_for(f"the end of the pods of {self.name}", lambda: None if self.pods() else True)


class TrainingJob(Gang):
    def __init__(self, name, pages, least=WORKERS, policy="RestartRank"):
        self.pages = pages
        super().__init__(name, "trainingjob", TRAINING_JOB.format(
            name=name, workers=WORKERS, least=least, policy=policy, steps=STEPS, batch=4 * WORKERS, every=SAVE_EVERY, shared=SHARED,
            spread=SPREAD.format(label=f"muster.dev/job: {name}")))

    def steps(self):
        """[(end of a step, step)] that the trainers reported, the first 4096."""
        status, text = self.pages.get(f"/api/v1/jobs/default/{self.name}?since=0&limit=4096")
        steps = json.loads(text).get("steps", []) if status == 200 else []
        return [(step["finishedAtMicros"] / 1e6, step["step"]) for step in steps]

    def resumed(self, since):
        """The end of the first step of the first round whose ranks all joined after `since`."""
        joined = [line for line in logged(self.name, "joined") if line[0] > since]
        if not joined:
            return None
        whole = logged(self.name, "joined", round=re.search(r"round=(\d+) ", joined[0][2])[1])
        if len(whole) < int(re.search(r"world_size=(\d+)", whole[0][2])[1]):
            return None
        return next((at for at, _ in self.steps() if at > whole[-1][0]), None)

    def timeline(self):
        """[(what, when it was so for the last pod)] from the operator's, the agents' and the trainers' logs."""
        own = f"default/{self.name}"
        of_operator = lambda message, **fields: logged("muster-operator", message, "muster-system", **fields)
        last = lambda lines: lines[-1][0]
        return [
            ("pods created", last(of_operator("pod created", job=own))),
            ("pods bound", last([line for line in of_operator("pod bound") if f"pod={self.name}-" in line[2]])),
            ("sandboxes begun", self.sandboxes(made=False)),
            ("sandboxes made", self.sandboxes(made=True)),
            ("agents attached", last(of_operator("agent attached", job=own))),
            ("round prepared", of_operator("decided", job=own, reason="PreparingRound")[0][0]),
            ("rank processes started", last(logged(self.name, "rank started"))),
            ("ranks prepared", last(logged(self.name, "prepared", round=1))),
            ("Go", of_operator("decided", job=own, reason="JoiningRound")[0][0]),
            ("ranks joined", last(logged(self.name, "joined", round=1))),
            ("first step", self.first_step()[0]),
        ]


class IndexedJob(Gang):
    def __init__(self, name, pytorch):
        super().__init__(name, "job", INDEXED_JOB.format(
            name=name, workers=WORKERS, steps=STEPS, image=PYTHON_IMAGE, shared=SHARED, source=SHARED / "source", pytorch=pytorch,
            spread=SPREAD.format(label="app: torchrun")))

    def steps(self):
        """[(end of a step, step)] in order of time; the process that is rank 0 prints them, whichever pod it is in."""
        return sorted((at, step) for at, step, _ in self._printed())

    def _printed(self):
        lines = ((pod, re.match(r"step (\d+) pid (\d+) at ([\d.]+)", line)) for pod, line in pod_lines(self.name))
        return [(float(found[3]), int(found[1]), (pod, found[2])) for pod, found in lines if found]

    def resumed(self, since):
        """The end of the first step that a process printed which had printed none before `since`."""
        printed = self._printed()
        old = {process for at, _, process in printed if at <= since}
        return min((at for at, _, process in printed if process not in old and at > since), default=None)

    def timeline(self):
        return [("sandboxes begun", self.sandboxes(made=False)), ("sandboxes made", self.sandboxes(made=True)),
                ("first step", self.first_step()[0])]


def prepare_shared_folder():
    """The text, the peer's program and room for checkpoints, which any user may write: pods have users of their own."""
    for folder in (SHARED, SHARED / "source/bench", SHARED / "source/parity"):
        folder.mkdir(parents=True)
    SHARED.chmod(0o777)
    words = "the gang of ranks meets again and goes on from where it was ".split()
    (SHARED / "text.txt").write_text(" ".join(words[(i * i) % len(words)] for i in range(40000)))
    for file in ("bench/peer_train.py", "parity/gpt2_reference.py"):
        (SHARED / "source" / file).write_bytes((HERE.parent / file).read_bytes())
