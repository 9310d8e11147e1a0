"""usage: agents.py OPERATOR AGENTS SCALE -- attaches thousands of simulated worker agents to a real operator over TLS
and measures its CPU time, memory and threads, and how soon all are back after a change of leader.

Two replicas of muster-operator run against a real API server. The agents are one process with the real agent's client;
each has a token of its own pod, which the server reviews, and its own certificate. The leader changes once cleanly
(SIGTERM) and once by a crash (SIGKILL)."""
import contextlib
import json
import os
import pathlib
import sys
import time
import types

import control_plane as plane

sys.path.append(str(pathlib.Path(__file__).absolute().parent.parent.parent / "tools/lib"))
from reserved_port import ReservedPort  # noqa: E402

NAMESPACE = "swarm"
JOBS = 10
LEASE = 15  # seconds, the default
REACH_CPU, REACH_MEMORY, REACH_BACK = 0.30, 300, 10


def replica(binary, own, ports):
    """One of two replicas; agents are given both addresses."""
    everyone = ",".join(port.address for port in ports)
    return plane.Program(
        binary, f"--kubeconfig={os.environ['KUBECONFIG']}", f"--coordinator={own.address}", f"--advertise={own.address}",
        f"--pod-coordinator={everyone}", "--http=", "--probes=", f"--lease-namespace={NAMESPACE}", f"--lease-duration={LEASE}s",
        f"--qps={plane.QPS}", f"--burst={plane.BURST}", "--workers=4")


def logged(program, text):
    return text in program.output.with_suffix(".err").read_text()


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


class Swarm(plane.Program):
    def now(self):
        """The newest complete line of its output."""
        with open(self.output, "rb") as out:
            out.seek(max(0, out.seek(0, 2) - 4096))
            lines = out.read().decode().split("\n")[:-1]
        return json.loads(lines[-1]) if lines else {"agents": 0, "attached": 0, "active": 0, "streamsLost": 0}

    def wait_until(self, what, done, timeout):
        """Waits until done(now) and returns the seconds that took."""
        start = time.monotonic()
        while not done(self.now()):
            if self.process.poll() is not None or time.monotonic() - start > timeout:
                errors = self.output.with_suffix(".err").read_text()[-1000:]
                sys.exit(f"timed out waiting for: {what}; {self.now()} {errors}")
            time.sleep(0.02)
        return time.monotonic() - start


def submit(agents, count=JOBS):
    workers = agents // count
    jobs = [{
        "apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": f"job-{i}", "namespace": NAMESPACE},
        "spec": {"workers": {"count": workers}, "trainer": {
            "model": {"preset": "gpt2-nano"}, "data": {"uri": "/data/text"},
            "train": {"steps": 1000000, "globalBatch": 8192, "microBatch": 1}}}} for i in range(count)]
    plane.run("kubectl", "apply", "--server-side", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": jobs}))


def steady(pid, seconds):
    """(share of a core, resident MB)"""
    before, start = plane.cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (plane.cpu_seconds(pid) - before) / (time.monotonic() - start), plane.memory_mb(pid)[0]


def change_leader(swarm, agents, old, new, kill):
    """(seconds from the signal, and from the new leader's first second, until every agent is attached again)"""
    lost = swarm.now()["streamsLost"]
    start = time.monotonic()
    (old.process.kill if kill else old.process.terminate)()
    while not logged(new, "INFO leading"):
        if time.monotonic() - start > 120:
            sys.exit("no replica became the leader")
        time.sleep(0.01)
    leads = time.monotonic() - start
    swarm.wait_until("all agents back", lambda now: now["attached"] == agents and now["streamsLost"] >= lost + agents,
                     timeout=max(120, agents // 20))
    total = time.monotonic() - start
    return total, total - leads


def measure(binary, swarm_binary, agents, programs):
    """The figures of the table, by name."""
    ports = [ReservedPort(), ReservedPort()]
    first, second = (programs.enter_context(replica(binary, port, ports)) for port in ports)
    for one in (first, second):
        one.wait_for("http ", timeout=60)
    while not logged(first, "INFO leading") and not logged(second, "INFO leading"):
        time.sleep(0.05)
    if logged(second, "INFO leading"):
        first, second, ports = second, first, ports[::-1]
    bare, bare_threads = plane.memory_mb(first.pid)[0], threads(first.pid)
    swarm = programs.enter_context(Swarm(
        swarm_binary, f"--kubeconfig={os.environ['KUBECONFIG']}", f"--namespace={NAMESPACE}", f"--nodes={agents // 200 + 1}"))
    submit(agents)
    attached = swarm.wait_until("all agents attached", lambda now: now["attached"] == agents, timeout=900)
    swarm.wait_until("all rounds active", lambda now: now["active"] == agents, timeout=120)
    time.sleep(5)
    cpu, memory = steady(first.pid, 20)
    highest, full_threads = plane.memory_mb(first.pid)[1], threads(first.pid)
    clean, clean_led = change_leader(swarm, agents, first, second, kill=False)
    first.process.wait(timeout=60)
    time.sleep(5)
    next_cpu, next_memory = steady(second.pid, 10)
    third = programs.enter_context(replica(binary, ports[0], ports))
    third.wait_for("http ", timeout=60)
    crash, crash_led = change_leader(swarm, agents, second, third, kill=True)
    return dict(locals())


def main():
    binary, swarm_binary, scale = sys.argv[1], sys.argv[2], float(sys.argv[3])
    agents = max(JOBS, int(5000 * scale) // JOBS * JOBS)
    plane.prepare((NAMESPACE,))
    with contextlib.ExitStack() as programs:
        got = types.SimpleNamespace(**measure(binary, swarm_binary, agents, programs))
    plane.table(
        f"{agents} agents of {JOBS} jobs, TLS, a heartbeat a second each and a step report a second of each job",
        f"attached in {got.attached:.0f} s from nothing; the agents' side is one process on the same cores; lease of {LEASE} s",
        [
            ("operator's CPU, share of a core", f"{got.cpu:.3f}", "-", "-", f"<= {REACH_CPU}", got.cpu <= REACH_CPU),
            ("CPU per report, microseconds", f"{1e6 * got.cpu / agents:.0f}", "-", "-", "-", True),
            ("resident, MB", f"{got.memory:.0f}", "-", "-", f"<= {REACH_MEMORY}", got.memory <= REACH_MEMORY),
            ("highest resident so far, MB", f"{got.highest:.0f}", "-", "-", "-", True),
            (f"resident per agent, KB ({got.bare:.0f} MB without)", f"{(got.memory - got.bare) * 1e3 / agents:.0f}", "-", "-", "-", True),
            ("threads, without and with them", f"{got.bare_threads}, {got.full_threads}", "-", "-", "none a stream",
             got.full_threads < got.bare_threads + 32),
            ("all back after SIGTERM, s", f"{got.clean:.1f}", "-", "-", f"<= {REACH_BACK}", got.clean <= REACH_BACK),
            ("  from the next leader's start on", f"{got.clean_led:.1f}", "-", "-", "-", True),
            ("  that leader's CPU and resident MB", f"{got.next_cpu:.3f}, {got.next_memory:.0f}", "-", "-", "-", True),
            ("all back after SIGKILL, s", f"{got.crash:.1f}", "-", "-", f"<= {LEASE} + {REACH_BACK}", got.crash <= LEASE + REACH_BACK),
            ("  from the next leader's start on", f"{got.crash_led:.1f}", "-", "-", f"<= {REACH_BACK}", got.crash_led <= REACH_BACK),
        ])


if __name__ == "__main__":
    main()
