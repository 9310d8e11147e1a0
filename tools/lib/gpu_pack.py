#!/usr/bin/python3
"""usage: gpu_pack.py BIN OUT [WHEEL...] -- makes the kit of tools/gpu-kit in OUT, from the programs that are built in BIN.

It holds the programs, stripped, Debian's libraries that they need, the scripts, and Hugging Face's transformers in
these wheels, with which LLaMA and BLOOM are compared. LibTorch, CUDA and NCCL come from the machine that runs it.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import shared_libraries

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT = 64 << 20

PROGRAMS = ["trainer/muster-trainer", "trainer/cuda/libmuster_cuda.so", "tests/gpu/conformance_on_gpu", "tests/gpu/divided_on_gpu",
            "tests/gpu/resume_on_gpu", "tests/parity/curve_run", "tests/parity/dump_run", "tests/bench/step_server", "trainer/cuda/kernels/kernel_benchmark"]
SCRIPTS = ["tests/parity/comparison.py", "tests/parity/curve.py", "tests/parity/fp8_linear.py", "tests/parity/gpt2_reference.py",
           "tests/parity/llama_reference.py", "tests/parity/parity.py", "tests/parity/script_model.py",
           "tests/parity/transformers_model.py", "tests/bench/peer_step.py"]
OWN_SCRIPTS = ["gpu_kit.py", "gpu_kit_benchmarks.py", "gpu_kit_run.py"]
# PyTorch's wheels and the base of every Linux have these.
# The C library's parts must all be of one build, so that none is taken along.
ELSEWHERE = ("libtorch", "libc10", "libcud", "libcupti", "libgomp", "libnccl", "libc.so", "libm.so", "libdl.so", "libpthread.so",
             "libresolv.so", "librt.so", "ld-linux", "libstdc++", "libgcc_s")


def needed_libraries(program, found):
    """Adds Debian's libraries that a program needs, and those that they need, to {name: path}."""
    for name in shared_libraries.Elf(program).needed:
        if name in found or name.startswith(ELSEWHERE):
            continue
        found[name] = shared_libraries.default_library(name)
        needed_libraries(found[name], found)


def copy_stripped(source, target):
    shutil.copyfile(source, target)
    subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)
    os.chmod(target, 0o755)


def size_of(folder):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file() and not path.is_symlink())


def pack(bin_folder, out, wheels):
    bin_folder, out = pathlib.Path(bin_folder), pathlib.Path(out)
    shutil.rmtree(out, ignore_errors=True)
    for folder in ("trainer", "lib", "python"):
        (out / folder).mkdir(parents=True)
    programs = [bin_folder / name for name in PROGRAMS] + sorted((bin_folder / "trainer/cuda/kernels").glob("*_test_on_gpu"))
    found = {}
    for program in programs:
        if not program.exists():
            sys.exit(f"{program} is not built: tools/gpu-kit build")
        needed_libraries(program, found)
        copy_stripped(program, out / "trainer" / program.name)
    for name, path in found.items():
        copy_stripped(path, out / "lib" / name)
    for script in SCRIPTS:
        (out / "python" / script).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / script, out / "python" / script)
    for script in OWN_SCRIPTS:
        shutil.copyfile(ROOT / "tools/lib" / script, out / "python" / script)
    (out / "wheels").mkdir()
    for wheel in wheels:
        shutil.copyfile(wheel, out / "wheels" / pathlib.Path(wheel).name)
    (out / "run").write_text('#!/bin/sh\nexec python3 -B "$(dirname "$0")/python/gpu_kit.py" "$@"\n')
    os.chmod(out / "run", 0o755)
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    (out / "kit.json").write_text(json.dumps({"commit": commit}) + "\n")
    return size_of(out)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        size = pack(sys.argv[1], sys.argv[2], sys.argv[3:])
    except shared_libraries.Failure as e:
        sys.exit(f"gpu_pack.py: {e}")
    print(f"{sys.argv[2]}: {size / (1 << 20):.1f} MiB")
    if size > LIMIT:
        sys.exit(f"the kit is larger than {LIMIT >> 20} MiB")


main()
