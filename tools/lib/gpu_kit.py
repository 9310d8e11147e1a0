"""usage: run [--minutes=N] [--only=NAME[,NAME...]] [--json=FILE] [--python=PROGRAM] [--compile=MODE]

Proves muster's trainer on the card of this machine: kernels, a first step, communicators, parity with PyTorch on the same card, a
killed rank that goes on, ranks that divide a model and share the card, and benchmarks, in this order, within N minutes (60). LibTorch, CUDA and NCCL are those of
the PyTorch 2.11 for CUDA 13 that PROGRAM (python3) imports. Prints a table and writes FILE (gpu-kit.json).
NAME is kernels, step, conformance, parity, resume, divided, or a benchmark: kernel-rates, host, gpt2, vocabulary, curve, llama or
gpt2-1.5b. MODE is the mode of torch.compile (max-autotune) in which the peers of gpt2, llama and gpt2-1.5b compute.

The exit code is 0 if everything that ran passed, 1 if something failed, 2 for a wrong flag, and 3, with a sentence, if
nothing can run here: no card, no driver, or no such PyTorch.
"""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import gpu_kit_benchmarks
from gpu_kit_run import KIT, PROGRAMS, Run, Server

CANNOT_RUN = 3
FIRST_WITH_FP8 = [8, 9]  # compute capability

PROBE = """
import json, os, sys, torch
facts = {"python": "cp%d%d" % sys.version_info[:2], "torch": torch.__version__, "cuda": torch.version.cuda, "folder": os.path.dirname(torch.__file__)}
facts["cards"] = torch.cuda.device_count() if torch.cuda.is_available() else 0
if facts["cards"]:
    properties = torch.cuda.get_device_properties(0)
    facts.update(card=properties.name, memory=properties.total_memory, capability=[properties.major, properties.minor],
                 nccl=".".join(map(str, torch.cuda.nccl.version())))
print(json.dumps(facts))
"""


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


def kernels(run):
    for path in sorted(PROGRAMS.glob("*_test_on_gpu")):
        tests = lambda text: {"tests": len(re.findall(r"^\[       OK \]", text, re.M))}
        run.check(f"kernels {path.name.removesuffix('_test_on_gpu')}", [str(path)], 180, tests)


def step(run):
    """Three steps of a small GPT-2: that a card trains at all."""
    shape = {"layers": 4, "heads": 4, "width": 128, "positions": 256, "vocabulary": 512}
    config = {"shape": shape, "sequence": 256, "microBatch": 4, "globalBatch": 8, "device": "cuda"}

    def compute():
        with Server(run, [run.program("step_server")], config, 180) as server:
            return {"ms": round(1000 * server.steps(3)[-1], 1)}

    return run.bounded("a GPT-2 step", compute)


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
        for precision in ("fp32", "tf32", "bf16", "fp16", "fp8"):
            name, dump = f"parity {family} {precision}", os.path.join(run.folder, f"{family}-{precision}")
            trained = [run.program("dump_run"), dump, precision, "adamw", "1", family, "1", "0", "--device=cuda"]
            compared = [run.python, "python/tests/parity/parity.py", "--device=cuda", dump]
            if precision == "fp8" and run.facts["capability"] < FIRST_WITH_FP8:
                run.row(name, "not run", note="the card multiplies no FP8 numbers")
            elif family != "gpt2" and missing:
                run.row(name, "not run", note=f"transformers cannot be imported: {missing}")
            elif run.check(f"{name}: trains", trained, 180):
                run.check(f"{name}: against PyTorch", compared, 180)


def resume(run):
    run.check("kill -9 and resume", [run.program("resume_on_gpu")], 300)


def divided(run):
    """Two and four ranks that share the card: tensor, context, pipeline and ZeRO 3 against one rank."""
    layouts = lambda text: {"layouts": len(re.findall(r": losses within ", text))}
    run.check("models divided among ranks that share the card", [run.program("divided_on_gpu")], 600, layouts)


PARTS = {"kernels": kernels, "step": step, "conformance": conformance, "parity": parity, "resume": resume, "divided": divided, **gpu_kit_benchmarks.PARTS}


def summary_of(rows):
    count = lambda outcome: sum(row["outcome"] == outcome for row in rows)
    other = count("ran out of time") + count("not run")
    return f"{count('passed')} passed, {count('failed')} failed, {other} not finished or not run"


def write_json(path, facts, rows):
    record = {"when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "kit": json.loads((KIT / "kit.json").read_text()), "machine": {**facts, "driver": driver()}, "rows": rows}
    pathlib.Path(path).write_text(json.dumps(record, indent=1) + "\n")


def read_flags(arguments):
    flags = {"minutes": "60", "only": ",".join(PARTS), "json": "gpu-kit.json", "python": "python3", "compile": "max-autotune"}
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or not equals or name not in flags:
            raise ValueError(f"unknown argument {argument}\n{__doc__}")
        flags[name] = value
    unknown = [name for name in flags["only"].split(",") if name not in PARTS]
    if unknown:
        raise ValueError(f"--only: {unknown[0]} is none of {', '.join(PARTS)}")
    if not flags["minutes"].isdigit() or int(flags["minutes"]) == 0:
        raise ValueError(f"--minutes: {flags['minutes']} is no number of minutes, such as 60")
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
    run = Run(flags["python"], facts, int(flags["minutes"]), compile_mode=flags["compile"])
    for name in flags["only"].split(","):
        PARTS[name](run)
    print(summary_of(run.rows))
    print("what needs two cards was never run: NCCL between GPUs, and with it tensor, context and pipeline over NVLink")
    write_json(flags["json"], facts, run.rows)
    return 1 if any(row["outcome"] == "failed" for row in run.rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
