"""usage: recovery.py BIN_DIR -- measures the recovery from the loss of one of 2 ranks, nano model.

Per kill, all read from logs with microseconds:
  detected   kill -> the agent's line that the rank ended (for SIGSTOP: less the deadline of 2 s)
  rejoined   the survivor's step is interrupted -> the last rank has joined the new round and takes its first task
  step       kill -> end of the first step after it
muster runs with both policies, torchrun with --max-restarts and a checkpoint every 25 steps, as is usual.
"""
import os
import signal
import statistics
import sys
import tempfile
import time

import local
from local import wait_for

ROUNDS = 5
DEADLINE = 2.0  # elastic.rankDeadline of the manifest


def whole(run):
    """Returns True if the newest round has both ranks and two trainers run."""
    joined = run.logged("rank-0.log", "joined")
    return True if joined and "world_size=2" in joined[-1][2] and len(run.trainers()) == 2 else None


def one_kill(run, how):
    wait_for("a round of both ranks", lambda: whole(run), run)
    run.wait_for_step(run.steps()[-1][0] + 30)
    time.sleep(1.2)  # the restart of a rank that ends soon after its start is delayed
    victim = run.trainers()[-1]
    moment = time.time()
    os.kill(victim, how)
    after = lambda lines, since: [line for line in lines if line[0] > since]
    ended = wait_for("the rank's end", lambda: next(
        (e for e in after(run.logged("agent.log", "rank ended"), moment) if f"pid={victim} " in e[2]), None), run)
    broke = wait_for("the survivor's abort", lambda: min((e for name in ("step broke off", "prepared") for e in after(
        run.logged("rank-0.log", name), moment) if e[1] != ended[1]), default=None), run)
    first = wait_for("the new round", lambda: next(iter(after(run.logged("rank-0.log", "joined"), broke[0])), None), run)
    this_round = first[2].split("round=")[1].split()[0]
    time.sleep(0.3)  # until its last rank has ended
    joined = max(e[0] for e in run.logged("rank-0.log", "joined") if f"round={this_round} " in e[2])
    step = wait_for("a step", lambda: next((t for _, _, t in run.steps() if t > joined), None), run)
    return ended[0] - moment, joined - broke[0], step - moment


def muster(name, bin_dir, policy, how):
    with tempfile.TemporaryDirectory() as folder:
        run = local.Muster(bin_dir, f"{folder}/muster", steps=1000000, policy=policy)
        run.wait_for_step(20)
        kills = [one_kill(run, how) for _ in range(ROUNDS)]
        run.stop()
    detected, rejoined, step = zip(*kills)
    show(name, [d - (DEADLINE if how == signal.SIGSTOP else 0) for d in detected], rejoined, step)


def torchrun(name):
    recovered = []
    with tempfile.TemporaryDirectory() as folder:
        run = local.Torchrun(folder, steps=1000000, restarts=4 * ROUNDS, checkpoint=f"{folder}/checkpoint.pt")
        for _ in range(ROUNDS):
            steps = run.wait_for_step((run.steps()[-1][0] if run.steps() else 0) + 60)
            moment, victim = time.time(), steps[-1][1]
            os.kill(victim, signal.SIGKILL)
            recovered.append(wait_for("a step", lambda: next(
                (at for _, pid, at in run.steps() if at > moment and pid != victim), None), run, 120) - moment)
        run.stop()
    show(name, None, None, recovered)


def show(name, *columns):
    cells = []
    for seconds in columns:
        if not seconds:
            cells.append(f"{'-':>24}")
            continue
        low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
        cells.append(f"{middle * 1e3:7.0f} ({low * 1e3:.0f}..{high * 1e3:.0f})".rjust(24))
    print(f"{name:30}" + "".join(cells), flush=True)


def main():
    print(f"loss of one of 2 ranks, nano; ms, median (least..most) of {ROUNDS}; SIGSTOP: detection beyond the deadline")
    print(f"{'':30}" + "".join(t.rjust(24) for t in ("detected", "abort -> first task", "kill -> first step")))
    muster("muster RestartRank, SIGKILL", sys.argv[1], "RestartRank", signal.SIGKILL)
    muster("muster Shrink, SIGKILL", sys.argv[1], "Shrink", signal.SIGKILL)
    muster("muster RestartRank, SIGSTOP", sys.argv[1], "RestartRank", signal.SIGSTOP)
    torchrun("torchrun --max-restarts")


main()
