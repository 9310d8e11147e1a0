"""usage: recovery.py BIN_DIR -- from the kill of a rank to the first step after it, 2 ranks, nano model.

muster: both policies. torchrun: --max-restarts, with a checkpoint every 25 steps, as its users have.
"""
import os
import signal
import statistics
import sys
import tempfile
import time

import local

ROUNDS = 5


def first_step_after(run, moment, step):
    while True:
        for number, _, at in run.steps():
            if at > moment and number > step:
                return at - moment
        if time.time() > moment + 60:
            sys.exit("no step within 60 s of the kill")
        time.sleep(0.005)




def muster(bin_dir, policy, how):
    recovered = []
    with tempfile.TemporaryDirectory() as folder:
        run = local.Muster(bin_dir, f"{folder}/muster", steps=1000000, policy=policy)
        run.wait_for_step(20)
        for i in range(ROUNDS):
            reached = run.steps()[-1][0]
            run.wait_for_step(reached + 60)
            time.sleep(1.5)
            reached = run.steps()[-1][0]
            moment = time.time()
            os.kill(run.trainers()[-1], how)
            recovered.append(first_step_after(run, moment, reached))
        run.stop()
    return recovered


def torchrun():
    recovered = []
    with tempfile.TemporaryDirectory() as folder:
        run = local.Torchrun(folder, steps=1000000, restarts=ROUNDS + 1, checkpoint=f"{folder}/checkpoint.pt")
        for i in range(ROUNDS):
            reached = run.steps()[-1][0] if run.steps() else 0
            steps = run.wait_for_step(reached + 60)
            moment = time.time()
            os.kill(steps[-1][1], signal.SIGKILL)
            number = steps[-1][0]
            while not any(at > moment + 0.2 for _, _, at in run.steps()):
                time.sleep(0.01)
            recovered.append(next(at - moment for _, _, at in run.steps() if at > moment + 0.2))
        run.stop()
    return recovered


def show(name, seconds):
    print(f"  {name:34} {statistics.median(seconds):7.3f} s   (min {min(seconds):.3f}, max {max(seconds):.3f})", flush=True)


def main():
    print(f"kill of a rank -> end of the first step after it, 2 ranks, nano, median of {ROUNDS}")
    show("muster, RestartRank, SIGKILL", muster(sys.argv[1], "RestartRank", signal.SIGKILL))
    show("muster, Shrink, SIGKILL", muster(sys.argv[1], "Shrink", signal.SIGKILL))
    show("muster, RestartRank, SIGSTOP (2 s)", muster(sys.argv[1], "RestartRank", signal.SIGSTOP))
    show("torchrun --max-restarts, SIGKILL", torchrun())


main()
