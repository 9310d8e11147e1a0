"""Shows a training script's progress in muster, and tells the script when to save and when to leave.

Copy this file beside the script; it needs nothing but Python 3.8. In a rank that muster's agent has started it talks
to the agent over the socket that MUSTER_AGENT_SOCKET names. Anywhere else every function does nothing, so the same
script runs under torchrun, or alone:

    import muster

    for step in range(first, last + 1):
        ...
        muster.report(step, loss, tokens=batch * sequence * world_size, steps=last)
        if muster.should_checkpoint() or muster.leaving_in() is not None:
            save()

No function fails because of the agent, and only wait_to_leave() waits for it. Ranks hear of a notice at different
times: a script whose ranks save together lets them agree first, for example by an all-reduce (MAX). Thread-safe; a
forked process has a connection of its own.
"""
import atexit
import collections
import json
import math
import os
import socket
import threading
import time

__all__ = ["report", "should_checkpoint", "leaving_in", "wait_to_leave"]

_CONNECT_SECONDS = 1.0  # how long the agent's greeting, or the last reports at the script's end, are waited for
_RETRY_SECONDS = 1.0
_WATCH = b'{"watch": true}'
_WAIT_SECONDS = 0.1
_KEPT_REPORTS = 1000  # while the agent does not take them; the oldest are dropped first


def report(step, loss=None, *, tokens=0, steps=0, validation_loss=None, learning_rate=None, gradient_norm=None,
           checkpoint=None):
    """Tells muster that `step` is done. Every rank may call it; only the report of rank 0 counts.

    `loss` may be a tensor. `tokens`: how many tokens all ranks have seen since the last report. `steps`: how many steps
    the run has in all, for the time that is left. `checkpoint`: the file or folder, below the job's checkpoint.uri or
    an absolute path, in which the state after this step is now saved.
    """
    agent = _agent()
    if agent is None or os.environ.get("RANK", "0") != "0":
        return
    figures = {"step": int(step), "tokens": int(tokens), "steps": int(steps)}
    for name, value in (("loss", loss), ("validationLoss", validation_loss), ("learningRate", learning_rate),
                        ("gradientNorm", gradient_norm)):
        if value is not None:
            number = _number(value)
            figures[name] = number if math.isfinite(number) else None
    packets = [{"report": figures}]
    if checkpoint is not None:
        packets.append({"checkpoint": {"step": int(step), "directory": os.fspath(checkpoint)}})
    agent.tell(packets)


def _number(value):
    """PyTorch warns when a tensor becomes a number that still has the graph for its gradient."""
    return float(value.detach() if hasattr(value, "detach") else value)


def should_checkpoint():
    """True once for each time that a checkpoint is wanted now: on request, or because the worker has to leave."""
    agent = _agent()
    return agent is not None and agent.take_save()


def leaving_in():
    """The seconds until this process is ended, at least 0.0; None if nobody wants it to end.

    Only a script that calls this, or should_checkpoint(), is given time: others get SIGTERM at once.
    """
    agent = _agent()
    return None if agent is None else agent.seconds_left()


def wait_to_leave():
    """Returns once this process has to leave, at once without muster. Call it when the ranks have agreed to leave.

    Often only some of them have to: one pod is deleted, and the job goes on with another. A rank that may stay must not
    end by itself, because that would say that its work is done. It waits here until muster ends it, and starts it again
    beside the rank that takes the place of the lost one.
    """
    agent = _agent()
    while agent is not None and agent.seconds_left() is None:
        time.sleep(_WAIT_SECONDS)


class _Agent:
    """The connection to the agent: packets of JSON over a unix socket."""

    def __init__(self, path):
        self.path = path
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._socket = None
        self._next_try = 0.0
        self._waiting = collections.deque(maxlen=_KEPT_REPORTS)
        self._watches = False
        self._saves = 0  # how often a checkpoint was wanted, and how often should_checkpoint() has said so
        self._saves_taken = 0
        self._leave_at = None
        self._leave_taken = False
        atexit.register(self._say_the_rest)

    def tell(self, packets):
        with self._lock:
            self._waiting.extend(json.dumps(packet).encode() for packet in packets)
            if self._connected():
                self._send_waiting()

    def take_save(self):
        with self._lock:
            self._look()
            wanted = self._saves > self._saves_taken or (self._leave_at is not None and not self._leave_taken)
            self._saves_taken = self._saves
            self._leave_taken = self._leave_at is not None
            return wanted

    def seconds_left(self):
        with self._lock:
            self._look()
            return None if self._leave_at is None else max(0.0, self._leave_at - time.monotonic())

    def forget(self):
        """Closes a forked process's copy of the socket, which its parent still uses."""
        atexit.unregister(self._say_the_rest)
        self._drop()

    def _look(self):
        known = self._watches or self._socket is None  # to this agent, or _connected() says it
        self._watches = True
        if not self._connected():
            return
        if not known and not self._send(_WATCH):
            self._watches = False
        self._send_waiting()
        while self._socket is not None and self._read():
            pass

    def _connected(self):
        if self._socket is not None:
            return True
        if time.monotonic() < self._next_try:
            return False
        self._next_try = time.monotonic() + _RETRY_SECONDS
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.settimeout(_CONNECT_SECONDS)
            self._socket.connect(self.path)
        except OSError:
            self._drop()
            return False
        self._read()
        if self._socket is not None:
            self._socket.setblocking(False)
        if self._watches:
            self._send(_WATCH)
        return self._socket is not None

    def _send_waiting(self):
        while self._waiting and self._send(self._waiting[0]):
            self._waiting.popleft()

    def _send(self, packet):
        """False if the agent does not take it now. Packets are sent whole or not at all."""
        if self._socket is None:
            return False
        try:
            self._socket.send(packet)
            return True
        except (BlockingIOError, InterruptedError, socket.timeout):
            return False
        except OSError:
            self._drop()
            return False

    def _read(self):
        """Takes one notice; False if there is none."""
        try:
            packet = self._socket.recv(4096)
        except (BlockingIOError, InterruptedError, socket.timeout):
            return False
        except OSError:
            packet = b""
        try:
            notice = json.loads(packet)
            self._saves = max(self._saves, int(notice["saves"]))
            seconds = notice.get("leaveIn")
            self._leave_at = None if seconds is None else time.monotonic() + float(seconds)
            return True
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            self._drop()  # the agent has gone, or it is none
            return False

    def _drop(self):
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _say_the_rest(self):
        if self.pid != os.getpid():
            return
        with self._lock:
            if self._waiting and self._connected():
                self._socket.settimeout(_CONNECT_SECONDS)
                self._send_waiting()


_one = None
_one_lock = threading.Lock()


def _agent():
    """The connection of this process; None if muster has not started it."""
    global _one
    path = os.environ.get("MUSTER_AGENT_SOCKET", "")
    if not path or not hasattr(socket, "AF_UNIX"):
        return None
    if _one is not None and _one.pid == os.getpid():
        return _one
    with _one_lock:
        if _one is None or _one.pid != os.getpid():
            if _one is not None:
                _one.forget()
            _one = _Agent(path)
        return _one
