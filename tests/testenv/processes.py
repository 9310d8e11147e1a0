"""The processes of a control plane, identified by a mark in their environment and never by a pid alone.

The mark is there from exec on: a crash leaves no process that cannot be found, and another process that
gets the same pid is never signalled.
"""
import contextlib
import os
import select
import signal
import subprocess
import time

MARK = "MUSTER_TESTENV_PROCESS"


def _executes(pid):
    """Returns True if the process is in the middle of execve, when it shows neither the old nor the new environment."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    state, flags, begin, end = fields[0], int(fields[6]), int(fields[47]), int(fields[48])
    never = 0x00200000 | 0x00000004  # PF_KTHREAD, PF_EXITING
    return state not in (b"Z", b"X") and not flags & never and (end == 0 or begin < end)


def _environment(pid):
    for _ in range(1000):
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = file.read()
        if text or not _executes(pid):
            break
        time.sleep(0.001)
    return text


def _component(pid, folder):
    """The component of `folder` that the process is; None if it is none."""
    try:
        variables = _environment(pid).split(b"\0")
    except OSError:  # ended, or another user's
        return None
    prefix = f"{MARK}={folder}:".encode()
    return next((v[len(prefix):].decode() for v in variables if v.startswith(prefix)), None)


def running(folder):
    """{component: [pids]}, including the descendants of components."""
    found = {}
    for entry in os.listdir("/proc"):
        component = _component(entry, folder) if entry.isdigit() else None
        if component:
            found.setdefault(component, []).append(int(entry))
    return found


@contextlib.contextmanager
def _interrupts_held():
    """Defers interrupts: a child that was forked but does not have its mark yet would not be found."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    heard = []
    for number in handlers:
        signal.signal(number, lambda number, frame: heard.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in heard[:1]:
        handlers[number](number, None)


def start(place, component, argv, inside):
    """Starts a component, detached: as its parent, sudo would stop with it when it is frozen.

    inside(argv, environment) is the command that runs argv where the component belongs.
    """
    mark = {MARK: f"{place.folder}:{component}"}
    command = inside(["setsid", "--fork", *argv], mark)
    with _interrupts_held(), (place.logs / f"{component}.log").open("a") as log:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=place.folder,
                       env={**os.environ, **mark}, check=True)


def send(folder, number, component=None):
    """Signals a component, or all; returns the pidfds of the signalled processes."""
    signalled = []
    for name, pids in running(folder).items():
        for pid in pids if component in (None, name) else []:
            try:
                handle = os.pidfd_open(pid)
            except OSError:
                continue
            if _component(pid, folder) != name:  # it ended, and its pid was reused before it was opened
                os.close(handle)
                continue
            signalled.append(handle)
            try:
                signal.pidfd_send_signal(handle, number)
            except ProcessLookupError:
                pass
    return signalled


def wait_gone(handles, seconds):
    """Waits for processes to end; returns False if one still runs. Closes the handles."""
    deadline, left = time.monotonic() + seconds, list(handles)
    while left:
        poll = select.poll()
        for handle in left:
            poll.register(handle, select.POLLIN)
        ended = {fd for fd, _ in poll.poll(max(0, (deadline - time.monotonic()) * 1000))}
        if not ended:
            break
        left = [handle for handle in left if handle not in ended]
    for handle in handles:
        os.close(handle)
    return not left


def end(folder, component=None, grace=0.0, release=lambda: None):
    """Ends a component, or all: SIGTERM and `grace` seconds, then SIGKILL. release() lets frozen processes end after it."""
    if grace > 0 and wait_gone(send(folder, signal.SIGTERM, component), grace):
        return
    while handles := send(folder, signal.SIGKILL, component):  # repeats, because a process may have forked meanwhile
        release()
        wait_gone(handles, 10)
