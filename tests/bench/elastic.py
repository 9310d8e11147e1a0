"""usage: elastic.py BIN_DIR [PART...] -- what a change of size, copies with replicas, and a hot swap cost, on this machine.

  resize   4 -> 3 -> 4 workers of a 10M GPT-2, data parallel and with all state divided: the pause, less the time in which a
           plain socket would carry the state that moves; the steps that were done twice; and whether every loss and tensor
           is that of an undisturbed run, bit for bit
  copies   steps of 2 workers that copy their state into memory and send replicas of it, at the interval that they choose
           themselves, against steps without copies, in turns
  swap     3 of 16 workers of the nano model are killed: the time until the next step with spares, and with new pods
"""
import os
import pathlib
import shutil
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time

import local
from figures import spread
from local import wait_for

LARGE = dict(model="layers: 6, heads: 6, width: 384, positions: 256")
FOREVER = 1000000  # steps
CYCLES = 3
PAIRS = 3
# By the names of the pods, so that none was a spare at first and none is chosen twice.
VICTIMS = (slice(1, 4), slice(4, 7), slice(-3, None))
MOST_PAUSE, MOST_COPIES, MOST_SWAP, MOST_SWAP_SHARE = 0.3, 1.02, 10, 0.2


def verdict(good):
    return "" if good else "  MISSED"


def loopback_bytes_per_second(size=256 << 20):
    """What one plain socket carries between two threads of this machine."""
    listener = socket.create_server(("127.0.0.1", 0))

    def send():
        with socket.create_connection(listener.getsockname()) as sender:
            part = bytes(1 << 20)
            for _ in range(size >> 20):
                sender.sendall(part)

    thread = threading.Thread(target=send)
    thread.start()
    receiver, _ = listener.accept()
    part, got, begin = bytearray(1 << 20), 0, time.time()
    while got < size:
        got += receiver.recv_into(part)
    thread.join()
    return size / (time.time() - begin)


def change_size(run, count):
    """The pause of the change and the bytes that moved, as the job's status has them."""
    before = run.status()["round"]
    # The operator is told by its manifest; ranks train on while it starts anew.
    run.process.kill()
    run.process.wait()
    run.start(count=count)

    def resized():
        status = run.status()
        change, resume = status.get("resize", {}), status.get("resume", {})
        done = change.get("round", 0) > before and change["to"] == count and resume.get("round") == change["round"]
        return (change["pauseSeconds"], resume["bytes"]) if done else None

    return wait_for(f"a change to {count} workers", resized, run, 600, every=0.05)


def saved(run):
    """The newest checkpoint: its step and folder."""
    folders = sorted(pathlib.Path(run.folder / "checkpoints").glob("step-?????????/DONE"))
    return (int(folders[-1].parent.name[5:]), folders[-1].parent) if folders else None


def resized_run(bin_dir, folder, settings):
    """Changes the size of a run to and fro, and lets it save and end: pauses and bytes by size, and the run."""
    run = local.Muster(bin_dir, folder, FOREVER, **settings)
    run.wait_for_step(20, 600)
    changes = {3: [], 4: []}
    for count in (3, 4) * CYCLES:
        changes[count].append(change_size(run, count))
        run.wait_for_step(run.steps()[-1][0] + 5, 600)
    run.process.send_signal(signal.SIGINT)
    run.process.wait(timeout=600)
    return changes, run


def undisturbed_run(bin_dir, folder, settings, step):
    run = local.Muster(bin_dir, folder, FOREVER, every=step, **settings)
    wait_for(f"the checkpoint of step {step}", lambda: saved(run), run, 1800, every=0.05)
    run.wait_for_step(step, 60)
    run.stop()
    return run


def resize(bin_dir, folder, name, zero):
    settings = dict(LARGE, micro=1, count=4, most=4, deterministic="true", parallelism=f"{{zero: {zero}}}")
    changes, ours = resized_run(bin_dir, f"{folder}/resized", settings)
    step, checkpoint = saved(ours)
    tensors = local.tensors(checkpoint)
    bandwidth = loopback_bytes_per_second()
    for before, after in ((4, 3), (3, 4)):
        pauses, moved = zip(*changes[after])
        wire = statistics.median(moved) / bandwidth
        beyond = statistics.median(pauses) - wire
        print(f"resize {before} -> {after}, {name:6}  pause {spread(pauses, 3)} s of {CYCLES}; {statistics.median(moved) / 1e6:.0f} MB take"
              f" {wire:.3f} s over a socket; beyond that {beyond:.3f} s, <= {MOST_PAUSE}{verdict(beyond <= MOST_PAUSE)}", flush=True)
    theirs = undisturbed_run(bin_dir, f"{folder}/undisturbed", settings, step)
    return compare(name, ours, theirs, step, tensors)


def compare(name, ours, theirs, step, tensors):
    reported, wanted = ours.losses(), theirs.losses()
    same = all(value == wanted.get(at) for at, value in reported.items()) and tensors == local.tensors(saved(theirs)[1])
    done = [row["step"] for row in ours.rows()]
    twice = len(done) - len(set(done))
    # An operator that is killed takes reports with it that it has not written yet.
    print(f"resize {name:15}  {2 * CYCLES} changes in {step} steps, {twice} of them done twice{verdict(twice == 0)}; the losses of"
          f" the {len(reported)} steps that were reported and all {len(tensors)} tensors {'are' if same else 'ARE NOT'} those of"
          " an undisturbed run", flush=True)
    return same and len(reported) > step / 2


def threads(pid):
    return [int(thread.name) for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()]


def pin(run):
    """The ranks compute on core 0, and all else, which writes and sends copies, is on core 1."""
    trainers = run.trainers()
    for pid in [run.process.pid, *run.agents(), *trainers]:
        for thread in threads(pid):
            os.sched_setaffinity(thread, {0 if thread in trainers else 1})


def step_seconds(run, warm=30, steps=60):
    run.wait_for_step(warm // 2, 600)
    pin(run)
    ends = {step: at for step, _, at in run.wait_for_step(warm + steps, 1800)}
    return (ends[warm + steps] - ends[warm]) / steps  # the mean, because a copy delays few steps by much


def interval(run):
    """How many steps apart the ranks have chosen to copy."""
    lines = run.logged("rank-0.log", "the state is copied in memory")
    return int(lines[-1][2].split("every_steps=")[1].split()[0]) if lines else 1


def copies(bin_dir, folder):
    ratios, intervals, without = [], [], []
    for turn in range(PAIRS):
        seconds = {}
        for name, memory in (("without", ""), ("with", ", memory: {replicas: 1, size: 2Gi}")):
            run = local.Muster(bin_dir, f"{folder}/{name}-{turn}", FOREVER, copies=memory, micro=4, **LARGE)
            seconds[name] = step_seconds(run)
            if memory:
                intervals.append(interval(run))
            run.stop()
            shutil.rmtree(run.folder)
        ratios.append(seconds["with"] / seconds["without"])
        without.append(seconds["without"])
    good = statistics.median(ratios) <= MOST_COPIES
    print(f"copies with replicas, 10M: {spread(ratios, 3)} of steps without, which take {spread(without, 3)} s, {PAIRS} pairs;"
          f" a copy each {statistics.median(intervals):.0f} steps; <= {MOST_COPIES}{verdict(good)}", flush=True)


def recovery(run, victims, spares):
    """Kills these workers: the time until the first step of the next round has ended."""
    workers = run.values["count"] + spares

    def complete():
        ready = run.status().get("workers", {})
        return True if (ready.get("ready"), ready.get("spares", 0)) == (workers - spares, spares) else None

    wait_for("all workers and spares", complete, run, 600, every=0.05)
    run.wait_for_step(run.steps()[-1][0] + 10, 600)
    lost = run.agents()
    if len(lost) != workers:
        sys.exit(f"{len(lost)} agents run instead of {workers}")
    attempt, moment = run.steps()[-1][1], time.time()
    for agent in lost[victims]:
        os.kill(agent, signal.SIGKILL)
    step = wait_for("a step of the next round", lambda: next((at for _, a, at in run.steps() if a > attempt), None), run, 600)
    return step - moment


def swap(bin_dir, folder):
    seconds, pauses = {}, []
    for name, spares in (("spares", 3), ("pods", 0)):
        run = local.Muster(bin_dir, f"{folder}/{name}", FOREVER, count=16, most=16, batch=16, micro=1, spares=spares)
        run.wait_for_step(20, 600)
        seconds[name] = []
        for victims in VICTIMS:
            seconds[name].append(recovery(run, victims, spares))
            if spares:
                pauses.append(run.status()["swap"]["pauseSeconds"])
        run.stop()
    with_spares, with_pods = (statistics.median(seconds[name]) for name in ("spares", "pods"))
    good = with_spares <= MOST_SWAP and with_spares <= MOST_SWAP_SHARE * with_pods
    print(f"3 of 16 workers killed, to the end of the next step: {spread(seconds['spares'])} s with spares (pause of the round"
          f" {spread(pauses)} s), {spread(seconds['pods'])} s with new pods: ratio {with_spares / with_pods:.2f};"
          f" <= {MOST_SWAP} s and {MOST_SWAP_SHARE}{verdict(good)}", flush=True)


def main():
    bin_dir, parts = sys.argv[1], sys.argv[2:] or ["resize", "copies", "swap"]
    with tempfile.TemporaryDirectory() as folder:
        same = True
        if "resize" in parts:
            for name, zero in (("dp", 0), ("zero 3", 3)):
                same = resize(bin_dir, f"{folder}/zero{zero}", name, zero) and same
        if "copies" in parts:
            copies(bin_dir, f"{folder}/copies")
        if "swap" in parts:
            swap(bin_dir, f"{folder}/swap")
    sys.exit(0 if same else 1)


main()
