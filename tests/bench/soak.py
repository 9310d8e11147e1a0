"""usage: soak.py BIN_DIR MINUTES [SEED] -- disturbs a job on this machine for so long, a fault each 15 s.

The job is deterministic and has 2 to 6 ranks of the nano model. Its processes, chosen at random, are killed or stopped,
and its size is changed. Then it runs to its end: the loss of every step that was reported (a rank that is killed takes its
last reports with it) and every tensor of the last checkpoint must be those of a run of two ranks that nobody disturbed,
exactly. That run goes on beside it, so that both take the given time. Prints what was done and where the time went.
"""
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import local

EVERY = 15.0  # seconds from one fault to the next
# The steps of the job are those that two undisturbed ranks would do in this part of the time: two jobs share the machine,
# and one of them is disturbed.
SHARE = 0.4
SETTINGS = dict(micro=1, most=6, dropout=0.1, deterministic="true", every=200, window="5m",
                copies=", memory: {everySteps: 10, size: 256Mi}")


def signal_all(pids, what):
    for pid in pids:
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            pass  # it has ended by itself
    return len(pids)


class Disturbed:
    def __init__(self, run, chance):
        self.run = run
        self.chance = chance

    def kill_rank(self):
        return signal_all(self.some(self.run.trainers()), signal.SIGKILL)

    def kill_all_ranks(self):
        return signal_all(self.run.trainers(), signal.SIGKILL)

    def stop_rank(self):
        return signal_all(self.some(self.run.trainers()), signal.SIGSTOP)

    def kill_agent(self):
        return signal_all(self.some(self.run.agents()), signal.SIGKILL)

    def pause_operator(self):
        self.run.process.send_signal(signal.SIGSTOP)
        time.sleep(self.chance.uniform(0.5, 6))
        self.run.process.send_signal(signal.SIGCONT)
        return 1

    def kill_operator(self):
        return self.begin_again()

    def resize(self):
        return self.begin_again(count=self.chance.randint(2, 6))

    def begin_again(self, **changes):
        self.run.process.kill()
        self.run.process.wait()
        time.sleep(self.chance.uniform(0, 3))
        self.run.start(**changes)
        return 1

    def some(self, pids):
        return [self.chance.choice(pids)] if pids else []


FAULTS = ("kill_rank", "kill_rank", "kill_all_ranks", "stop_rank", "kill_agent", "pause_operator", "kill_operator",
          "resize", "resize")


def results(run, steps):
    """What must be equal: the losses, and the tensors of the last checkpoint."""
    return run.losses(), local.tensors(run.folder / f"checkpoints/step-{steps:09}")


def await_end(name, run, seconds):
    try:
        code = run.process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        code = "no end"
    if code != 0:
        sys.exit(f"{name}: {code} after step {run.steps()[-1][0] if run.steps() else 0}\n"
                 f"{run.output.read_text()[-8000:]}")


def seconds_of_a_step(bin_dir, folder):
    run = local.Muster(bin_dir, folder, 1000000, **SETTINGS)
    run.wait_for_step(20)
    begin, end = run.steps()[0], run.wait_for_step(120)[-1]
    run.stop()
    return (end[2] - begin[2]) / (end[0] - begin[0])


def disturb(run, chance, minutes):
    done = collections.Counter()
    disturbed = Disturbed(run, chance)
    end = time.time() + 60 * minutes
    while time.time() + EVERY < end:
        try:
            run.process.wait(timeout=EVERY)
            break  # it has reached its last step
        except subprocess.TimeoutExpired:
            pass
        fault = chance.choice(FAULTS)
        before = run.steps()[-1][0] if run.steps() else 0
        hit = getattr(disturbed, fault)()
        done[fault] += 1 if hit else 0
        print(f"  {60 * minutes - (end - time.time()):6.0f} s  step {before:6}  {run.values['count']} workers wanted  {fault}"
              f"{'' if hit else ': nobody was there'}", flush=True)
    return done


def print_ledger(run):
    status = run.status()
    uses = {use: seconds for use, seconds in status["ledger"].items() if use not in ("since", "until", "newestStep")}
    total = sum(uses.values())
    trained = sum(uses.get(use, 0) for use in ("productive", "communication", "stragglerWait", "dataStall"))
    print(f"{100 * trained / total:.1f} % of {total:.0f} s of ranks went into new steps, in {status['round']} rounds:")
    for use, seconds in sorted(uses.items(), key=lambda item: -item[1]):
        print(f"  {use:16} {seconds:8.0f} s  {100 * seconds / total:5.1f} %")


def compare(disturbed, undisturbed, steps):
    """Prints what differs; true if nothing does."""
    (ours, last), (reference, final) = results(disturbed, steps), results(undisturbed, steps)
    steps_differ = [step for step in ours if ours[step] != reference.get(step)]
    tensors_differ = [name for name in final.keys() | last.keys() if final.get(name) != last.get(name)]
    print(f"{len(steps_differ)} of {len(ours)} steps that were reported ({steps} were done) and {len(tensors_differ)} of"
          f" {len(final)} tensors differ from the undisturbed run; final loss {reference[steps][0]!r}")
    return not steps_differ and not tensors_differ and steps in ours and bool(final)


def main():
    bin_dir, minutes = sys.argv[1], float(sys.argv[2].removesuffix("m"))
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(10**9)
    with tempfile.TemporaryDirectory() as folder:
        steps = max(200, int(60 * minutes * SHARE / seconds_of_a_step(bin_dir, f"{folder}/speed")))
        print(f"{minutes:g} minutes, {steps} steps, seed {seed}", flush=True)
        runs = [local.Muster(bin_dir, f"{folder}/{name}", steps, **SETTINGS) for name in ("disturbed", "undisturbed")]
        try:
            done = disturb(runs[0], random.Random(seed), minutes)
            for run in runs:
                await_end(run.folder.name, run, 60 * (minutes + 10))
        finally:
            for run in runs:
                run.stop()
        print(f"{sum(done.values())} faults: " + ", ".join(f"{count} {fault}" for fault, count in sorted(done.items())))
        print_ledger(runs[0])
        sys.exit(0 if compare(*runs, steps) else 1)


main()
