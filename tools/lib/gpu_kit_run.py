"""A run of the kit of tools/gpu-kit: its rows, and the programs that it starts with a bounded time."""
import glob
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

KIT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = KIT / "trainer"


class OutOfTime(Exception):
    """Says that a program was given no more time."""


def libraries(torch_folder):
    """The folders of libraries: the kit's own, LibTorch's, and those of the wheels beside it."""
    folder = pathlib.Path(torch_folder)
    return [str(KIT / "lib"), str(folder / "lib"), *sorted(glob.glob(str(folder.parent / "nvidia/*/lib")))]


class Run:
    """One run of the kit: its rows, and how long it may still take."""

    def __init__(self, python, facts, minutes, out=sys.stdout, compile_mode="max-autotune"):
        self.python, self.facts, self.out, self.compile_mode = python, facts, out, compile_mode
        self.end = time.monotonic() + 60 * minutes
        self.rows = []
        self.folder = tempfile.mkdtemp(prefix="gpu-kit-")
        self.paths = ":".join(libraries(facts["folder"]))
        self.environment = {**os.environ, "TEST_TMPDIR": self.folder, "MUSTER_TEST_GPUS": "1",
                            "PYTHONPATH": f"{KIT / 'python'}:{KIT / 'python/tests/parity'}", "HF_HUB_OFFLINE": "1"}

    def program(self, name):
        return str(PROGRAMS / name)

    def start(self, command, **options):
        """Starts a program of the kit with its libraries, or Python with its own."""
        ours = {} if command[0] == self.python else {"LD_LIBRARY_PATH": self.paths}
        environment = {**self.environment, **ours}
        return subprocess.Popen(command, cwd=KIT, env=environment, text=True, start_new_session=True, **options)

    def row(self, name, outcome, seconds=0.0, note="", **figures):
        row = {"name": name, "outcome": outcome, "seconds": round(seconds, 1), "figures": figures, "note": note}
        self.rows.append(row)
        print(line_of(row), file=self.out, flush=True)
        return outcome == "passed"

    def check(self, name, command, seconds, figures=lambda text: {}):
        """Runs a command that passes if it ends with 0, and adds its row."""
        begin = time.monotonic()
        seconds = min(seconds, self.end - begin)
        if seconds <= 0:
            return self.row(name, "not run", note="the time was over")
        log = os.path.join(self.folder, re.sub(r"\W+", "-", name) + ".log")
        with open(log, "w") as output:
            process = self.start(command, stdout=output, stderr=subprocess.STDOUT)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                end(process)
                return self.row(name, "ran out of time", time.monotonic() - begin, f"see {log}")
        text = pathlib.Path(log).read_text(errors="replace")
        if code != 0:
            lines = text.strip().splitlines() or ["it says nothing"]
            why = next((line for line in lines if line.startswith("FAIL ")), lines[-1])
            return self.row(name, "failed", time.monotonic() - begin, f"exit {code}: {why}; see {log}")
        return self.row(name, "passed", time.monotonic() - begin, **figures(text))

    def bounded(self, name, compute):
        """Adds the row of what compute() returns, {name: figure}, or of why it could not. Returns the figures, or None."""
        begin = time.monotonic()
        try:
            figures = compute()
        except OutOfTime:
            self.row(name, "ran out of time", time.monotonic() - begin)
            return None
        except ValueError as e:
            self.row(name, "failed", time.monotonic() - begin, str(e))
            return None
        self.row(name, "passed", time.monotonic() - begin, **figures)
        return figures


def end(process):
    """Ends a program and what it started; it may have ended by itself."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for stream in (process.stdout, process.stdin):
        try:
            if stream:
                stream.close()
        except BrokenPipeError:
            pass


class Server:
    """A program that says "ready" and then answers each line on its input with a line: step_server, or its peer.

    Raises OutOfTime where an answer is not there in time, and ValueError with the program's last words where none comes.
    """

    def __init__(self, run, command, config, seconds):
        self.end_at = min(run.end, time.monotonic() + seconds)
        self.log = open(os.path.join(run.folder, "server.log"), "w+")
        command = [*command, json.dumps(config), "0", "1", os.path.join(run.folder, "store")]
        self.process = run.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)

    def __enter__(self):
        try:
            self.read()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        end(self.process)
        self.log.close()

    def read(self):
        left = self.end_at - time.monotonic()
        if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
            raise OutOfTime()
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise ValueError((self.log.read().strip().splitlines() or ["it ended"])[-1])
        return line

    def ask(self, line):
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, and read() says why
        return self.read()

    def steps(self, count):
        return [float(self.ask("step")) for _ in range(count)]


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


def line_of(row):
    figures = ", ".join(f"{name} {value}" for name, value in row["figures"].items())
    return f"{row['outcome']:<15} {row['seconds']:>7.1f} s  {row['name']:<44} {'; '.join(filter(None, (figures, row['note'])))}".rstrip()
