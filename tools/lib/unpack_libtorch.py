#!/usr/bin/python3
"""usage: unpack_libtorch.py WHEELS OUT -- unpacks the parts of the PyTorch wheels that C++ needs, for CPU."""
import pathlib
import sys

import wheels

TORCH_LIBRARIES = {"libtorch_cpu.so", "libc10.so", "libgomp.so.1"}
CUDA_LIBRARIES = {"libcupti.so.13", "libcudart.so.13"}  # libtorch_cpu is linked to them even without a GPU
HEADERS = {"ATen", "c10", "torch", "caffe2", "fmt"}  # not google/: an old protobuf that would shadow Debian's


def wanted(path):
    parts = path.split("/")
    if path.startswith("torch/lib/"):
        return len(parts) == 3 and parts[-1] in TORCH_LIBRARIES
    if path.startswith("torch/include/"):
        return parts[2] in HEADERS
    if path.startswith("nvidia/cu13/lib/"):
        return parts[-1] in CUDA_LIBRARIES
    return path.endswith("/LICENSE") or "/licenses/" in path


def main():
    source, out = map(pathlib.Path, sys.argv[1:3])
    wheels.unpack(source, out, wanted)
    for library in TORCH_LIBRARIES:
        if not (out / "torch/lib" / library).exists():
            sys.exit(f"the torch wheel has no torch/lib/{library}")


main()
