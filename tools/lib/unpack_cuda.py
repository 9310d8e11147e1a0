#!/usr/bin/python3
"""usage: unpack_cuda.py WHEELS OUT -- unpacks the parts of CUDA's, NCCL's and PyTorch's wheels that compiling for GPUs needs."""
import pathlib
import shutil
import sys
import zipfile

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
    for wheel in sorted(source.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for info in archive.infolist():
                if info.is_dir() or not wanted(info.filename):
                    continue
                target = out / info.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(info) as read, open(target, "wb") as write:
                    shutil.copyfileobj(read, write, 1 << 22)
                if (info.external_attr >> 16) & 0o111:
                    target.chmod(0o755)
    for needed in ("nvidia/cu13/bin/nvcc", "nvidia/nccl/include/nccl.h", "torch/lib/libc10_cuda.so"):
        if not (out / needed).exists():
            sys.exit(f"the wheels have no {needed}")


main()
