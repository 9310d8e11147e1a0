#!/usr/bin/python3
"""usage: unpack_gpu_libraries.py WHEELS OUT -- unpacks the libraries of PyTorch's and NVIDIA's wheels by which LibTorch computes on GPUs."""
import pathlib
import re
import sys

import wheels

# LibTorch's half for CPUs is in the SDK that tools/setup always makes.
TORCH = {"libtorch_cuda.so", "libtorch_cuda_linalg.so", "libtorch_nvshmem.so", "libc10_cuda.so", "libcaffe2_nvrtc.so"}


def wanted(path):
    folder, _, name = path.rpartition("/")
    if folder == "torch/lib":
        return name in TORCH
    if re.fullmatch(r"nvidia/\w+/lib", folder):
        return ".so" in name and ".alt." not in name
    return ".dist-info" in folder and (name in ("METADATA", "License.txt", "LICENSE.txt") or "/licenses" in folder)


def main():
    source, out = map(pathlib.Path, sys.argv[1:3])
    wheels.unpack(source, out, wanted)
    for needed in ("torch/lib/libtorch_cuda.so", "nvidia/cu13/lib/libcublas.so.13", "nvidia/cudnn/lib/libcudnn.so.9"):
        if not (out / needed).exists():
            sys.exit(f"the wheels have no {needed}")


main()
