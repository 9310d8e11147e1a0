"""usage: elastic.py BIN_DIR -- what a change of size, copies with replicas, and a hot swap cost, on this machine.

  resize   4 -> 3 -> 4 workers of a 10M GPT-2, data parallel and with all state divided: the pause, what the state that has
           to move would take over a plain socket, the steps that were done twice, and whether every loss and tensor is that
           of an undisturbed run, bit for bit
  copies   steps of 2 workers that copy their state into memory and send replicas of it, at the interval that they choose
           themselves, against steps without copies, in turns
  swap     3 of 16 workers of the nano model are lost: the pause with spares, and with new pods
"""
import os
import shutil
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time

import local

LARGE = dict(model="layers: 6, heads: 6, width: 384, positions: 256")
PARAMETERS = 6 * 12 * 384 * 384 + 256 * 384 + 257 * 384  # without gains and biases: for an estimate
STATE_BYTES = 12 * PARAMETERS  # weights and two moments, FP32
ROUNDS = 5


def wait_for(what, find, run, seconds=180):
    deadline = time.time() + seconds
    while time.time() < deadline:
        if (found := find()) is not None:
            return found
        if run.process.poll() not in (None, 0):
            break
        time.sleep(0.05)
    sys.exit(f"{what} was not seen within {seconds} s:\n{(run.folder / 'out.log').read_text()[-4000:]}")


def loopback_bytes_per_second():
    """What one plain socket carries between two threads of this machine."""
    size = 256 << 20
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


def resized(run, to):
    """The record of the change to this size, once all ranks train in it."""
    resize = run.status().get("resize", {})
    return resize if resize.get("to") == to else None


def change_size(run, count):
    # The operator is told by its manifest; ranks train on while it starts anew.
    run.process.kill()
    run.process.wait()
    run.start(count=count)
    return wait_for(f"a change to {count} workers", lambda: resized(run, count), run)["pauseSeconds"]


def finish(run):
    if run.process.wait(timeout=1800) != 0:
        sys.exit(f"the run failed:\n{(run.folder / 'out.log').read_text()[-4000:]}")
    last = max(row["step"] for row in run.rows())
    return {row["step"]: row["loss"] for row in run.rows()}, local.tensors(run.folder / f"checkpoints/step-{last:09}")


def resize(bin_dir, folder, name, zero, bandwidth):
    settings = dict(LARGE, micro=1, count=4, most=4, deterministic="true", parallelism=f"{{zero: {zero}}}")
    steps = 160
    losses, tensors = finish(local.Muster(bin_dir, f"{folder}/undisturbed", steps, **settings))
    run = local.Muster(bin_dir, f"{folder}/resized", steps, **settings)
    run.wait_for_step(20, 300)
    pauses = []
    for count in (3, 4):
        pauses.append(change_size(run, count))
        run.wait_for_step(run.steps()[-1][0] + 20, 300)
    ours, ours_tensors = finish(run)
    done = [step for step, _, _ in run.steps()]
    same = ours == losses and ours_tensors == tensors
    # A new data-parallel rank gets everything. Of divided state each rank gives or takes up to a twelfth at each boundary.
    moved = (0, STATE_BYTES) if zero == 0 else (STATE_BYTES // 2, STATE_BYTES // 2)
    for (before, after), pause, size in zip(((4, 3), (3, 4)), pauses, moved):
        print(f"resize {before} -> {after}, {name:7} pause {pause * 1e3:6.0f} ms; {size / 1e6:5.0f} MB take"
              f" {size / bandwidth * 1e3:4.0f} ms over a socket", flush=True)
    print(f"resize {name:15} {len(done) - len(set(done))} steps done twice; losses and tensors"
          f" {'are' if same else 'ARE NOT'} those of the undisturbed run", flush=True)
    return same


def step_seconds(run, first, count=60):
    steps = run.wait_for_step(first + count, 600)
    ends = [at for step, _, at in steps if first <= step <= first + count]
    return statistics.median(b - a for a, b in zip(ends, ends[1:])), (ends[-1] - ends[0]) / (len(ends) - 1)


def copies(bin_dir, folder):
    settings = dict(LARGE, micro=4, steps=1000000)
    ratios = []
    for turn in range(ROUNDS):
        seconds = {}
        for name, memory in (("without", ""), ("with", ", memory: {replicas: 1, size: 2Gi}")):
            run = local.Muster(bin_dir, f"{folder}/{name}-{turn}", copies=memory, **settings)
            seconds[name] = step_seconds(run, 60)[1]  # the mean, because a copy delays few steps by much
            run.stop()
            shutil.rmtree(run.folder)
        ratios.append(seconds["with"] / seconds["without"])
    print(f"copies with replicas, 10M: {statistics.median(ratios):.3f} ({min(ratios):.3f}..{max(ratios):.3f}) of steps without,"
          f" {ROUNDS} pairs", flush=True)


def lose_three(bin_dir, folder, name, spares):
    run = local.Muster(bin_dir, f"{folder}/{name}", 1000000, policy="RestartRank", count=16, most=16, batch=16, micro=1,
                       spares=spares, copies="")
    run.wait_for_step(20, 600)
    if spares:
        wait_for("three spares", lambda: run.status().get("workers", {}).get("spares", 0) == spares or None, run, 600)
    run.wait_for_step(run.steps()[-1][0] + 10, 300)
    lost = run.agents()[1:4]
    moment = time.time()
    for agent in lost:
        os.kill(agent, signal.SIGKILL)
    attempt = run.steps()[-1][1]
    step = wait_for("a step of the next round", lambda: next((at for _, a, at in run.steps() if a > attempt), None), run, 600)
    pause = run.status().get("swap", {}).get("pauseSeconds")
    run.stop()
    return step - moment, pause


def swap(bin_dir, folder):
    with_spares, pause = lose_three(bin_dir, folder, "spares", 3)
    with_pods, _ = lose_three(bin_dir, folder, "pods", 0)
    print(f"3 of 16 workers lost: {with_spares:.2f} s to the end of the next step with spares (the round's pause: {pause:.2f} s),"
          f" {with_pods:.2f} s with new pods: {with_spares / with_pods:.2f} x", flush=True)


def main():
    bin_dir, parts = sys.argv[1], sys.argv[2:] or ["resize", "copies", "swap"]
    with tempfile.TemporaryDirectory() as folder:
        same = True
        if "resize" in parts:
            bandwidth = loopback_bytes_per_second()
            for name, zero in (("dp", 0), ("zero 3", 3)):
                same = resize(bin_dir, f"{folder}/zero{zero}", name, zero, bandwidth) and same
        if "copies" in parts:
            copies(bin_dir, f"{folder}/copies")
        if "swap" in parts:
            swap(bin_dir, f"{folder}/swap")
    sys.exit(0 if same else 1)


main()
