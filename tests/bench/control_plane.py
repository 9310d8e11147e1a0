"""Shared by the control plane's benchmarks: the peers in Go, the operator as a process, CPU time and memory.

Runs inside the test environment's network namespace; $KUBECONFIG names the server.
"""
import collections
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).absolute().parent
CRD = HERE.parent.parent / "deploy/crd"
TICKS = os.sysconf("SC_CLK_TCK")
# The API server of the test environment, in its own network namespace.
ETCD = "http://127.0.0.1:2379"
# The client-side limits, the same for every client that is compared.
QPS, BURST = 5000, 10000


def run(*command, **kwargs):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed ({done.returncode}): {done.stderr.strip()[-2000:]}")
    return done.stdout


def prepare(namespaces=()):
    """Installs the CRD and the service accounts that a controller would create: pods are refused without them."""
    run("kubectl", "apply", "--server-side", "-f", CRD / "muster.dev_trainingjobs.yaml")
    # `kubectl wait` fails on a CRD that has no conditions yet.
    while subprocess.run(["kubectl", "get", "trainingjobs"], capture_output=True).returncode != 0:
        time.sleep(0.2)
    for name in namespaces:
        run("kubectl", "create", "namespace", name)
    for name in ("default", *namespaces):
        run("kubectl", "create", "serviceaccount", "default", f"--namespace={name}")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def settled_cpu(pid, quiet=3.0):
    """Waits until the process has been almost idle for a while and returns its CPU seconds."""
    last = cpu_seconds(pid)
    while True:
        time.sleep(quiet)
        now = cpu_seconds(pid)
        if now - last <= 0.02 * quiet:
            return now
        last = now


def memory_mb(pid):
    """(resident memory now, its highest value so far)"""
    words = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return tuple(int(words[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))


class Program:
    """A process whose output goes to a file; it is ended on exit from the `with` block."""

    def __init__(self, *command):
        self.folder = tempfile.TemporaryDirectory()
        self.output = pathlib.Path(self.folder.name) / "out"
        self.started = time.monotonic()
        with open(self.output, "w") as out, open(self.output.with_suffix(".err"), "w") as err:
            self.process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=err)
        self.pid = self.process.pid

    def wait_for(self, text, timeout):
        """Waits until `text` is printed and returns the seconds since the start."""
        while text not in self.output.read_text():
            if self.process.poll() is not None or time.monotonic() - self.started > timeout:
                sys.exit(f"{self.process.args[0]} did not print '{text}':\n{self.output.with_suffix('.err').read_text()[-2000:]}")
            time.sleep(0.005)
        return time.monotonic() - self.started

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.folder.cleanup()


def operator(binary, *flags):
    """Starts a single muster-operator with the same client-side limits as its peers."""
    sockets = f"unix:{tempfile.mkdtemp(prefix='muster-bench-')}"
    return Program(binary, f"--kubeconfig={os.environ['KUBECONFIG']}", "--leader-elect=false",
                   f"--coordinator={sockets}/c.sock", f"--http={sockets}/http.sock", "--probes=",
                   f"--qps={QPS}", f"--burst={BURST}", *flags)


def page(address, path):
    """The answer of an operator's HTTP socket."""
    connection = http.client.HTTPConnection("localhost", timeout=30)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(address.removeprefix("unix:"))
    connection.request("GET", path)
    return connection.getresponse().read().decode()


def requests(program):
    """The number of requests that an operator has made, by verb and resource."""
    address = program.output.read_text().split("http ", 1)[1].split()[0]
    text = page(address, "/metrics")
    counts = collections.Counter()
    for labels, value in re.findall(r"^muster_api_requests_total\{([^}]*)\} (\S+)", text, re.M):
        label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        counts[f"{label['verb']} {label['resource']}"] += float(value)
    return counts


def print_requests(counts, pods):
    print("  our requests per pod: " + ", ".join(f"{what} {count / pods:.2f}" for what, count in counts.most_common(8)))


def peer(binary, *arguments):
    return json.loads(run(binary, *arguments))


def table(title, conditions, rows):
    """rows: (figure, ours, peer, ratio or value, reach, whether it holds)"""
    print(f"{title}\n  {conditions}")
    width = max(40, *(len(row[0]) + 1 for row in rows))
    left, right = (max(least, *(len(row[column]) + 2 for row in rows)) for column, least in ((1, 18), (2, 16)))
    print(f"  {'figure':<{width}}{'muster':>{left}}{'peer':>{right}}{'ratio':>8}  reach")
    for figure, ours, theirs, ratio, reach, holds in rows:
        print(f"  {figure:<{width}}{ours:>{left}}{theirs:>{right}}{ratio:>8}  {reach}{'' if holds else '  MISSED'}")
