#!/usr/bin/python3
"""usage: unpack_cuda.py WHEELS OUT -- unpacks the parts of CUDA's, NCCL's and PyTorch's wheels that compiling for GPUs needs."""
import pathlib
import sys

import wheels

PROGRAMS = {"nvcc", "nvcc.profile", "ptxas", "cudafe++", "fatbinary", "cicc", "libdevice.10.bc"}
LIBRARIES = {"libcudart.so.13", "libnccl.so.2"}


def wanted(path):
    parts = path.split("/")
    if path.startswith("torch/"):
        return path == "torch/lib/libc10_cuda.so"
    if path.startswith(("nvidia/cu13/bin/", "nvidia/cu13/nvvm/")):
        return parts[-1] in PROGRAMS or "/bin/crt/" in path
    if path.startswith(("nvidia/cu13/include/", "nvidia/nccl/include/")):
        return True
    if path.startswith(("nvidia/cu13/lib/", "nvidia/nccl/lib/")):
        return parts[-1] in LIBRARIES
    return path.endswith("/LICENSE") or "/licenses/" in path


def main():
    source, out = map(pathlib.Path, sys.argv[1:3])
    wheels.unpack(source, out, wanted)
    for needed in ("nvidia/cu13/bin/nvcc", "nvidia/nccl/include/nccl.h", "torch/lib/libc10_cuda.so"):
        if not (out / needed).exists():
            sys.exit(f"the wheels have no {needed}")


main()
