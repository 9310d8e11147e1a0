#!/usr/bin/python3
"""usage: unpack_libtorch.py WHEELS OUT -- unpacks the parts of the PyTorch wheels that C++ needs, for CPU."""
import pathlib
import shutil
import sys
import zipfile

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
    for library in TORCH_LIBRARIES:
        if not (out / "torch/lib" / library).exists():
            sys.exit(f"the torch wheel has no torch/lib/{library}")


main()
