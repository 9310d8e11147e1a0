"""usage: series.py OPERATOR AGENTS RESULT -- a job of 64 workers of one rank each, played by simulated agents with the
real agent's client, trains under a real operator over a real API server: the series that carry the job's name, and the
time of a scrape over TLS with a token, on a new connection. Writes the figures to RESULT as JSON.

Worker agents serve no metrics of their own, so these are all series of the job.
"""
import contextlib
import json
import os
import pathlib
import statistics
import sys
import time

import agents
import control_plane as plane
import operator_pages

RANKS, SCRAPES = 64, 20


def operator(binary, coordinator, pages):
    return plane.Program(
        binary, f"--kubeconfig={os.environ['KUBECONFIG']}", "--leader-elect=false", f"--coordinator={coordinator.address}",
        f"--pod-coordinator={coordinator.address}", f"--http={pages.address}", "--probes=", f"--lease-namespace={agents.NAMESPACE}")


def lines_of(text):
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def measure(binary, swarm_binary, programs):
    ports = [agents.ReservedPort(), agents.ReservedPort()]
    programs.enter_context(operator(binary, *ports)).wait_for("http ", timeout=60)
    swarm = programs.enter_context(agents.Swarm(
        swarm_binary, f"--kubeconfig={os.environ['KUBECONFIG']}", f"--namespace={agents.NAMESPACE}", "--nodes=1"))
    agents.submit(RANKS, count=1)
    swarm.wait_until("an active round of all ranks", lambda now: now["active"] == RANKS, timeout=180)
    pages = operator_pages.Pages("127.0.0.1", ports[1].number, agents.NAMESPACE)
    steps = f'muster_job_last_step_timestamp_seconds{{training_job="{agents.NAMESPACE}/job-0"}}'
    while steps not in pages.timed("/metrics")[1]:
        time.sleep(0.1)
    scrapes = [pages.timed("/metrics") for _ in range(SCRAPES)]
    lines = lines_of(scrapes[-1][1])
    own = [line for line in lines if f'training_job="{agents.NAMESPACE}/job-0"' in line]
    seconds = [taken for taken, _ in scrapes]
    return {"ranks": RANKS, "series": len(own), "page": len(lines), "scrape": statistics.median(seconds), "slowest": max(seconds)}


def main():
    plane.prepare((agents.NAMESPACE,))
    with contextlib.ExitStack() as programs:
        pathlib.Path(sys.argv[3]).write_text(json.dumps(measure(sys.argv[1], sys.argv[2], programs)))


main()
