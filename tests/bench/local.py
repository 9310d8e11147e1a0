"""Shared by the start, recovery, bitwise and elastic benchmarks and the soak: `muster run` in a folder of its own, and torchrun."""
import calendar
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).absolute().parent

MANIFEST = """
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {{name: bench}}
spec:
  workers: {{count: {count}, ranks: 1, min: 1, max: {most}, spares: {spares}}}
  trainer:
    model: {{{model}, dropout: {dropout}}}
    parallelism: {parallelism}
    data: {{uri: {folder}/text.txt, format: Text, tokenizer: {{kind: Byte}}}}
    train: {{steps: {steps}, globalBatch: {batch}, microBatch: {micro}, sequence: 64, deterministic: {deterministic}}}
    optimizer: {{learningRate: 3.0e-4, warmupSteps: 10}}
  checkpoint: {{uri: {folder}/checkpoints, interval: {{mode: Steps, steps: {every}}}{copies}}}
  failurePolicy: {{maxFailures: 100, window: {window}, onRankFailure: {policy}}}
  elastic: {{rankDeadline: 2s, stepDeadline: 20s}}
"""


def environment():
    return dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", MUSTER_LOG_LEVEL="INFO")


def wait_for(what, find, run, seconds=60, every=0.01):
    """Looks until find() returns something, and returns that; ends the program with the run's output if it does not."""
    deadline = time.time() + seconds
    while time.time() < deadline:
        if (found := find()) is not None:
            return found
        if run.process.poll() is not None:
            sys.exit(f"the run ended before {what} was seen:\n{run.output.read_text()[-4000:]}")
        time.sleep(every)
    sys.exit(f"{what} was not seen within {seconds} s:\n{run.output.read_text()[-4000:]}")


def wait_for_step(run, step, timeout):
    """Waits until `step` was reported, and returns all steps."""
    def reached():
        steps = run.steps()
        return steps if steps and steps[-1][0] >= step else None

    return wait_for(f"step {step}", reached, run, timeout)


def tensors(checkpoint):
    """Name -> type, shape and digest of the bytes of each of its parts, over all files of a checkpoint."""
    found = {}
    for path in sorted(checkpoint.glob("*.safetensors")):
        data = path.read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        for name, entry in json.loads(data[8 : 8 + length]).items():
            if name != "__metadata__":
                begin, end = (8 + length + offset for offset in entry["data_offsets"])
                part = (entry["dtype"], tuple(entry["shape"]), hashlib.sha256(data[begin:end]).hexdigest())
                found.setdefault(name, []).append(part)
    return found


class Muster:
    """One `muster run`, of the nano model on two ranks unless told otherwise."""

    def __init__(self, bin_dir, folder, steps, policy="RestartRank", **changes):
        self.bin_dir = bin_dir
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        words = "the gang of ranks meets again and goes on from where it was ".split()
        (self.folder / "text.txt").write_text(" ".join(words[(i * i) % len(words)] for i in range(40000)))
        self.values = dict(every=100000, count=2, batch=8, micro=4, dropout=0, deterministic="false", window="1h", copies="",
                           model="preset: gpt2-nano", parallelism="{}", spares=0)
        self.values.update(changes, folder=folder, steps=steps, policy=policy)
        self.output = self.folder / "out.log"
        self.log = open(self.output, "a")
        self.start()

    def start(self, **changes):
        """Starts `muster run`, perhaps once more, with these changes to the manifest."""
        self.values.update(changes)
        most = max(self.values["count"], self.values.get("most", 0))
        (self.folder / "job.yaml").write_text(MANIFEST.format(**dict(self.values, most=most)))
        self.submitted = time.time()
        self.process = subprocess.Popen(
            [f"{self.bin_dir}/cli/muster", "run", str(self.folder / "job.yaml"), "--state-dir", str(self.folder / "state")],
            stdout=self.log, stderr=self.log, env=environment(),
        )

    def status(self):
        """The job's status as `muster get` shows it; empty while it does not."""
        told = subprocess.run([f"{self.bin_dir}/cli/muster", "get", "bench", "--json", "--state-dir", str(self.folder / "state")],
                              capture_output=True, text=True)
        return json.loads(told.stdout).get("status", {}) if told.returncode == 0 else {}

    def rows(self):
        """Reports of steps seen so far, in their order."""
        path = self.folder / "state/bench/steps.jsonl"
        out = []
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                out.append(json.loads(line))
            except ValueError:  # a line that is being written, or that a kill cut off
                continue
        return out

    def losses(self):
        """Step -> loss and norm, as reported last: a step that was lost was done again."""
        return {row["step"]: (row["loss"], row["gradientNorm"]) for row in self.rows()}

    def steps(self):
        """Steps seen so far: [(step, attempt, wall clock at its end)]."""
        return [(row["step"], row["attempt"], row["finishedAtMicros"] / 1e6) for row in self.rows()]

    def wait_for_step(self, step, timeout=60):
        return wait_for_step(self, step, timeout)

    def agents(self):
        """Pids of the agents that run."""
        found = []
        for record in sorted((self.folder / "state/bench/pods").glob("*/process.json")):
            try:
                agent = json.loads(record.read_text())
                stat = pathlib.Path(f"/proc/{agent['pid']}/stat").read_text()
            except (OSError, ValueError):
                continue
            if int(stat.rsplit(")", 1)[1].split()[19]) == agent["startTime"]:  # else the pid is another program's by now
                found.append(agent["pid"])
        return found

    def trainers(self):
        """Pids of the trainers that run, in the order of their agents."""
        found = []
        for agent in self.agents():
            for thread in pathlib.Path(f"/proc/{agent}/task").glob("*/children"):
                try:
                    found += [int(pid) for pid in thread.read_text().split()]
                except OSError:  # the thread has ended
                    continue
        return found

    def logged(self, log, message):
        """Lines with `message` in the pods' logs of that name: [(wall clock, pod, line)], ordered by time."""
        out = []
        for path in (self.folder / "state/bench/pods").glob(f"*/logs/{log}"):
            for line in path.read_text(errors="replace").splitlines():
                stamp = re.match(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)Z \w+ ", line)
                if stamp and line[stamp.end():].startswith(message):
                    at = calendar.timegm(time.strptime(stamp[1], "%Y-%m-%dT%H:%M:%S")) + float(stamp[2])
                    out.append((at, path.parent.parent.name, line))
        return sorted(out)

    def stop(self):
        for _ in range(2):
            self.process.send_signal(2)
            time.sleep(0.2)
        self.process.wait(timeout=30)


class Torchrun:
    """Runs the same model with torchrun; its steps are read from its output."""

    def __init__(self, folder, steps, restarts=0, checkpoint=""):
        self.output = pathlib.Path(folder) / "torchrun.log"
        self.output.parent.mkdir(parents=True, exist_ok=True)
        log = open(self.output, "w")
        self.submitted = time.time()
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        command += ["--max-restarts", str(restarts), str(HERE / "peer_train.py"), str(steps)]
        # Without this a restarted rank may find the addresses of its predecessors in the store and fail again.
        own_store = dict(environment(), TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1")
        self.process = subprocess.Popen(command + ([checkpoint] if checkpoint else []), stdout=log, stderr=log, env=own_store)

    def steps(self):
        return [
            (int(m[1]), int(m[2]), float(m[3]))
            for m in re.finditer(r"step (\d+) pid (\d+) at ([\d.]+)", self.output.read_text())
        ]

    def wait_for_step(self, step, timeout=120):
        return wait_for_step(self, step, timeout)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
