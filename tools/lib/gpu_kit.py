"""usage: run [--minutes=N] [--only=NAME[,NAME...]] [--json=FILE] [--python=PROGRAM]

Proves muster's trainer on the card of this machine: kernels, a first step, communicators, parity with PyTorch on the same card, a
killed rank that goes on, and benchmarks, in this order, within N minutes (30). LibTorch, CUDA and NCCL are those of
the PyTorch 2.11 for CUDA 13 that PROGRAM (python3) imports. Prints a table and writes FILE (gpu-kit.json).
NAME is kernels, step, conformance, parity, resume or benchmarks.

The exit code is 0 if everything that ran passed, 1 if something failed, 2 for a wrong flag, and 3, with a sentence, if
nothing can run here: no card, no driver, or no such PyTorch.
"""
import datetime
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
import zipfile

KIT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = KIT / "trainer"
CANNOT_RUN = 3

PROBE = """
import json, os, sys, torch
facts = {"python": "cp%d%d" % sys.version_info[:2], "torch": torch.__version__, "cuda": torch.version.cuda, "folder": os.path.dirname(torch.__file__)}
facts["cards"] = torch.cuda.device_count() if torch.cuda.is_available() else 0
if facts["cards"]:
    properties = torch.cuda.get_device_properties(0)
    facts.update(card=properties.name, memory=properties.total_memory, nccl=".".join(map(str, torch.cuda.nccl.version())))
print(json.dumps(facts))
"""

# The dense BF16 rate that the maker states for a card, in FLOP/s, by a part of its name.
PEAKS = {"H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12}
GPT2 = {"layers": 12, "heads": 12, "width": 768, "positions": 1024, "vocabulary": 50304}
GPT2_PARAMETERS = 124_475_904
MICRO_BATCHES = (8, 16, 32, 64)


class OutOfTime(Exception):
    """Says that a program was given no more time."""


class CannotRun(Exception):
    """Says in a sentence what this machine lacks."""


def probe(python):
    """The facts of the machine's PyTorch and card."""
    try:
        done = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise CannotRun(f"PyTorch 2.11 for CUDA 13 is needed, and {python} does not run: {e}")
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise CannotRun(f"PyTorch 2.11 for CUDA 13 is needed, and {python} cannot import it: {why}")
    facts = json.loads(done.stdout.splitlines()[-1])
    if not facts["torch"].startswith("2.11.") or not (facts["cuda"] or "").startswith("13."):
        raise CannotRun(f"PyTorch 2.11 for CUDA 13 is needed, and {python} has {facts['torch']} for CUDA {facts['cuda']}")
    if facts["cards"] == 0:
        raise CannotRun("no GPU answers: a card with NVIDIA's driver 580 or newer is needed")
    return facts


def driver():
    try:
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True, timeout=60)
        return (done.stdout.splitlines() or [""])[0].strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def libraries(torch_folder):
    """The folders of libraries: the kit's own, LibTorch's, and those of the wheels beside it."""
    folder = pathlib.Path(torch_folder)
    return [str(KIT / "lib"), str(folder / "lib"), *sorted(glob.glob(str(folder.parent / "nvidia/*/lib")))]


class Run:
    """One run of the kit: its rows, and how long it may still take."""

    def __init__(self, python, facts, minutes, out=sys.stdout):
        self.python, self.facts, self.out = python, facts, out
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
            last = (text.strip().splitlines() or ["it says nothing"])[-1]
            return self.row(name, "failed", time.monotonic() - begin, f"exit {code}: {last}; see {log}")
        return self.row(name, "passed", time.monotonic() - begin, **figures(text))


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


def kernels(run):
    for path in sorted(PROGRAMS.glob("*_test_on_gpu")):
        tests = lambda text: {"tests": len(re.findall(r"^\[       OK \]", text, re.M))}
        run.check(f"kernels {path.name.removesuffix('_test_on_gpu')}", [str(path)], 180, tests)


def step(run):
    """Three steps of a small GPT-2: that a card trains at all."""
    begin = time.monotonic()
    shape = {"layers": 4, "heads": 4, "width": 128, "positions": 256, "vocabulary": 512}
    config = {"shape": shape, "sequence": 256, "microBatch": 4, "globalBatch": 8, "device": "cuda"}
    command = [run.program("step_server"), json.dumps(config), "0", "1", os.path.join(run.folder, "store")]
    try:
        durations = steps_of(run, command, 3, 180)
    except OutOfTime:
        return run.row("a GPT-2 step", "ran out of time", time.monotonic() - begin)
    except ValueError as e:
        return run.row("a GPT-2 step", "failed", time.monotonic() - begin, str(e))
    return run.row("a GPT-2 step", "passed", time.monotonic() - begin, **{"ms": round(1000 * durations[-1], 1)})


def conformance(run):
    cases = lambda text: {"cases": len(re.findall(r": ok$", text, re.M))}
    run.check("conformance NCCL of 1, Gloo of 2 and 4", [run.program("conformance_on_gpu")], 600, cases)


def fits(wheel, python):
    """Whether a wheel's file name says that it is for this Python, such as cp312, or for any."""
    tag, abi = wheel.removesuffix(".whl").split("-")[-3:-1]
    return abi in ("none", "abi3") or python == tag


def unpack_transformers(run):
    """Puts the kit's transformers beside the machine's PyTorch. Returns why it cannot be imported, or "".

    A package whose wheel is for another Python is the machine's own, if it has it.
    """
    folder = os.path.join(run.folder, "transformers")
    for wheel in sorted((KIT / "wheels").glob("*.whl")):
        if not fits(wheel.name, run.facts["python"]):
            continue
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    run.environment["PYTHONPATH"] += f":{folder}"
    done = subprocess.run([run.python, "-c", "import transformers"], env=run.environment, capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it says nothing"])[-1]


def parity(run):
    missing = unpack_transformers(run)
    for family in ("gpt2", "llama", "bloom"):
        for precision in ("fp32", "tf32", "bf16"):
            name, dump = f"parity {family} {precision}", os.path.join(run.folder, f"{family}-{precision}")
            trained = [run.program("dump_run"), dump, precision, "adamw", "1", family, "1", "0", "--device=cuda"]
            compared = [run.python, "python/tests/parity/parity.py", "--device=cuda", dump]
            if family != "gpt2" and missing:
                run.row(name, "not run", note=f"transformers cannot be imported: {missing}")
            elif run.check(f"{name}: trains", trained, 180):
                run.check(f"{name}: against PyTorch", compared, 180)


def resume(run):
    run.check("kill -9 and resume", [run.program("resume_on_gpu")], 300)


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


def steps_of(run, command, steps, seconds):
    """Durations of steps of a server that runs one for each line on its input; raises ValueError in words, or OutOfTime."""
    end_at = min(run.end, time.monotonic() + seconds)
    log = open(os.path.join(run.folder, "server.log"), "w+")
    process = run.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)

    def read():
        left = end_at - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            raise OutOfTime()
        line = process.stdout.readline()
        if not line:
            log.seek(0)
            raise ValueError((log.read().strip().splitlines() or ["it ended"])[-1])
        return line

    try:
        read()  # "ready"
        durations = []
        for _ in range(steps):
            process.stdin.write("step\n")
            process.stdin.flush()
            durations.append(float(read()))
        return durations
    finally:
        end(process)
        log.close()


def tokens_per_second(run, command, config, micro_batch):
    config = {**config, "microBatch": micro_batch, "globalBatch": micro_batch}
    durations = steps_of(run, [*command, json.dumps(config), "0", "1", os.path.join(run.folder, "store")], 13, 400)
    return micro_batch * config["sequence"] / median(durations[3:])


def best(run, command, config):
    """(tokens per second, micro-batch) of the fastest of growing micro-batches, up to the first that fails."""
    rates, failure = [], None
    for micro_batch in MICRO_BATCHES:
        try:
            rates.append((tokens_per_second(run, command, config, micro_batch), micro_batch))
        except (OutOfTime, ValueError) as e:
            failure = e
            break
    if not rates:
        raise failure
    return max(rates)


def peak_of(card):
    return next((rate for part, rate in PEAKS.items() if part in card), None)


def step_row(run, name, command, config, against=None):
    begin = time.monotonic()
    try:
        rate, micro_batch = best(run, command, config)
    except OutOfTime:
        run.row(name, "ran out of time", time.monotonic() - begin)
        return None
    except ValueError as e:
        run.row(name, "failed", time.monotonic() - begin, str(e))
        return None
    figures = {"tokens/s": round(rate), "micro-batch": micro_batch}
    peak = peak_of(run.facts["card"])
    if peak and config["precision"] == "bf16":
        attention = 12 * GPT2["layers"] * GPT2["width"] * config["sequence"]
        figures["MFU %"] = round(100 * rate * (6 * GPT2_PARAMETERS + attention) / peak, 1)
    if against:
        figures["of torch.compile"] = round(rate / against, 2)
    run.row(name, "passed", time.monotonic() - begin, **figures)
    return rate


def benchmarks(run):
    rates = lambda text: {name: float(rate) for name, rate in re.findall(r"^(.+) ([\d.]+)$", text, re.M)}
    run.check("kernels, % of a copy's rate", [run.program("kernel_benchmark")], 300, rates)
    peer = [run.python, "python/tests/bench/peer_step.py"]
    for precision in ("bf16", "fp32"):
        config = {"shape": GPT2, "sequence": 1024, "device": "cuda", "precision": precision, "peer": ""}
        theirs = step_row(run, f"torch.compile, GPT-2 124M {precision}", peer, {**config, "compile": "max-autotune"})
        step_row(run, f"muster, GPT-2 124M {precision}", [run.program("step_server")], config, theirs)


PARTS = {"kernels": kernels, "step": step, "conformance": conformance, "parity": parity, "resume": resume, "benchmarks": benchmarks}


def line_of(row):
    figures = ", ".join(f"{name} {value}" for name, value in row["figures"].items())
    return f"{row['outcome']:<15} {row['seconds']:>7.1f} s  {row['name']:<44} {figures or row['note']}".rstrip()


def summary_of(rows):
    count = lambda outcome: sum(row["outcome"] == outcome for row in rows)
    other = count("ran out of time") + count("not run")
    return f"{count('passed')} passed, {count('failed')} failed, {other} not finished or not run"


def write_json(path, facts, rows):
    record = {"when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "kit": json.loads((KIT / "kit.json").read_text()), "machine": {**facts, "driver": driver()}, "rows": rows}
    pathlib.Path(path).write_text(json.dumps(record, indent=1) + "\n")


def read_flags(arguments):
    flags = {"minutes": "30", "only": ",".join(PARTS), "json": "gpu-kit.json", "python": "python3"}
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or not equals or name not in flags:
            raise ValueError(f"unknown argument {argument}\n{__doc__}")
        flags[name] = value
    unknown = [name for name in flags["only"].split(",") if name not in PARTS]
    if unknown:
        raise ValueError(f"--only: {unknown[0]} is none of {', '.join(PARTS)}")
    if not flags["minutes"].isdigit() or int(flags["minutes"]) == 0:
        raise ValueError(f"--minutes: {flags['minutes']} is no number of minutes, such as 30")
    return flags


def main(arguments):
    if any(argument in ("-h", "--help") for argument in arguments):
        print(__doc__.strip())
        return 0
    try:
        flags = read_flags(arguments)
    except ValueError as e:
        print(f"gpu-kit: {e}", file=sys.stderr)
        return 2
    try:
        facts = probe(flags["python"])
    except CannotRun as e:
        print(f"gpu-kit: {e}", file=sys.stderr)
        return CANNOT_RUN
    print(f"{facts['card']}, driver {driver()}, PyTorch {facts['torch']}, NCCL {facts['nccl']}")
    run = Run(flags["python"], facts, int(flags["minutes"]))
    for name in flags["only"].split(","):
        PARTS[name](run)
    print(summary_of(run.rows))
    print("what needs two cards was never run: NCCL between GPUs")
    write_json(flags["json"], facts, run.rows)
    return 1 if any(row["outcome"] == "failed" for row in run.rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
