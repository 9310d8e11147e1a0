"""The operators that Prometheus scrapes here: one whose job trains, and one with TLS. `programs` are the paths of muster,
muster-agent, muster-trainer and muster-operator."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess

import prometheus_stack as stack

MANIFEST = """
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: watched}
spec:
  workers: {count: 2, ranks: 1}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: FOLDER/text.txt, format: Text, tokenizer: {kind: Byte}}
    train: {steps: 1000000, globalBatch: 4, microBatch: 2, sequence: 64, validateEvery: 20, validateBatches: 2}
  checkpoint: {uri: FOLDER/checkpoints, interval: {mode: Steps, steps: 20}}
"""

# A rule for each receiver of docs/monitoring.md. The trainers take a step in milliseconds.
ALERTS = """
  alerts:
  - {name: hangs, kind: Stalled, stalled: {for: 4s}, receiver: mail}
  - {name: quiet, kind: Stalled, stalled: {for: 4s}, receiver: chat}
"""


TEXT = "".join(f"{number % 7} In the beginning was the round, and every rank was in it.\n" for number in range(700))


class TrainingOperator:
    """`muster run` with its agents and trainers: an operator, its embedded API server, and a job of two workers. With
    `receivers`, the path of a list of them, the job has alert rules."""

    def __init__(self, folder, programs, text=TEXT, receivers=None):
        self.folder = folder
        self.state = folder / "state/watched"
        self.token = self.state / "http.token"
        (folder / "text.txt").write_text(text)
        (folder / "manifest.yaml").write_text(MANIFEST.replace("FOLDER", str(folder)) + (ALERTS if receivers else ""))
        muster, agent, trainer, _ = programs
        with open(folder / "muster.log", "wb") as out:
            self.process = subprocess.Popen(
                [muster, "run", "manifest.yaml", f"--state-dir={folder}/state", f"--agent={agent}", f"--trainer={trainer}", "--http=127.0.0.1:0",
                 *([f"--alert-receivers={receivers}"] if receivers else [])],
                cwd=folder, stdout=out, stderr=subprocess.STDOUT,
                env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"})
        self.address = stack.wait_for("the operator's address", self.find_address, stack.LONG, self.text)

    def find_address(self):
        file = self.state / "operator.json"
        return json.loads(file.read_text())["http"] if file.exists() else None

    def agents(self):
        return [json.loads(file.read_text())["pid"] for file in self.state.glob("pods/*/process.json")]

    def trainers(self):
        """Pids of the trainers; the kernel lists children under the thread that started them."""
        files = [file for agent in self.agents() for file in pathlib.Path(f"/proc/{agent}/task").glob("*/children")]
        return [int(pid) for file in files for pid in file.read_text().split()]

    def signal_trainers(self, number):
        for pid in self.trainers():
            os.kill(pid, number)

    def text(self):
        logs = [log for log in (self.folder / "muster.log", self.state / "operator.log") if log.exists()]
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-6000:]}" for log in logs)

    def kill(self):
        """Ends everything at once, as a machine that loses its power."""
        for pid in [self.process.pid, *self.trainers(), *self.agents()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


class TlsOperator:
    """`muster-operator` with an embedded API server: agents reach it over TLS, as on a cluster. It has no jobs."""

    def __init__(self, folder, programs, receivers):
        self.token = folder / "state/http.token"
        self.daemon = stack.Daemon(folder, "operator", [programs[3], f"--state-dir={folder}/state", "--http=127.0.0.1:0",
                                                        "--coordinator=127.0.0.1:0", "--probes=", f"--alert-receivers={receivers}"])
        self.kill, self.text = self.daemon.stop, self.daemon.text
        said = stack.wait_for("the operator's addresses", self.find_addresses, stack.LONG, self.text)
        self.coordinator, self.address = said

    def find_addresses(self):
        found = re.search(r"(?m)^coordinator (\S+)\nhttp (\S+)$", self.daemon.log.read_text())
        return found.groups() if found else None

    def knock(self):
        """Dials the coordinator without TLS, as somebody would who is no agent."""
        host, port = self.coordinator.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=stack.LONG) as dialled:
            dialled.sendall(b"GET / HTTP/1.1\r\n\r\n")
            dialled.recv(1)
