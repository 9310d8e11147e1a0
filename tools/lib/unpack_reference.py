#!/usr/bin/python3
"""usage: unpack_reference.py WHEELS OUT -- unpacks PyTorch for Python, CPU only, as a numerical reference.

The wheel's libraries are linked to 2.7 GB of CUDA libraries that a CPU never calls. Instead of
downloading those, each missing one becomes a stub that defines the symbols the wheel imports from it, with
their version nodes, and aborts when called.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

IMPORTERS = ["libtorch_cuda.so", "libtorch_nvshmem.so", "libtorch_python.so", "libc10_cuda.so", "libtorch_cpu.so"]
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|gomp|torch.*|c10.*|shm)\.so|ld-linux")
# Symbols without a version node are told apart by prefix; longer prefixes first.
PREFIXES = ["cusparseLt", "cublasLt", "nvshmem", "cusparse", "cublas", "cudnn", "cuFile", "curand", "cufft", "nccl"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def unpack(wheels, out):
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(out)


def missing_libraries(lib, have):
    needed = set()
    for name in IMPORTERS:
        needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", lib / name)))
    return {n for n in needed if not SYSTEM.match(n) and not (lib / n).exists() and not (have / n).exists()}


def defined_symbols(folders):
    symbols = set()
    for folder in folders:
        for library in folder.glob("*.so*"):
            for line in output("nm", "-D", "--defined-only", library).splitlines():
                symbols.add(line.split()[-1].split("@")[0])
    return symbols


def imported_symbols(lib, missing):
    """{library: {version node: {symbol}}} for the missing libraries, and symbols without a version."""
    wanted = {name: collections.defaultdict(set) for name in missing}
    unversioned = set()
    for name in IMPORTERS:
        node_owner, current = {}, None
        for line in output("readelf", "-VW", lib / name).splitlines():
            if match := re.search(r"File: (\S+)", line):
                current = match.group(1)
            elif (match := re.search(r"Name: (\S+)\s+Flags", line)) and current:
                node_owner[match.group(1)] = current
        for line in output("nm", "-D", "--undefined-only", lib / name).splitlines():
            kind, _, symbol = line.strip().partition(" ")
            if kind != "U":
                continue
            symbol, _, node = symbol.partition("@")
            node = node.lstrip("@")
            if not node:
                unversioned.add(symbol)
            elif node_owner.get(node) in wanted:
                wanted[node_owner[node]][node].add(symbol)
    return wanted, unversioned


def assign_by_prefix(symbols, wanted):
    for symbol in symbols:
        prefix = next((p for p in PREFIXES if symbol.startswith(p)), None)
        owner = prefix and next((n for n in wanted if n.split(".so")[0] in (f"lib{prefix.lower()}", f"lib{prefix}", f"lib{prefix}_host")), None)
        if owner:
            wanted[owner][""].add(symbol)


def write_stub(name, nodes, out):
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "stub.c"), pathlib.Path(folder, "stub.map")
        bodies = [f"void {s}(void) {{ abort(); }}" for symbols in nodes.values() for s in sorted(symbols)]
        source.write_text("#include <stdlib.h>\n" + "\n".join(bodies) + "\n")
        versions = [f"{node} {{ global: {'; '.join(sorted(symbols))}; }};" for node, symbols in nodes.items() if node]
        script.write_text("\n".join(versions) + "\n")
        command = ["clang-19", "-shared", "-fPIC", "-w", "-fno-builtin", source, "-o", out / name, f"-Wl,-soname,{name}"]
        subprocess.run(command + ([f"-Wl,--version-script={script}"] if versions else []), check=True)


def main():
    wheels, out = map(pathlib.Path, sys.argv[1:3])
    unpack(wheels, out)
    lib, have, stubs = out / "torch/lib", out / "nvidia/cu13/lib", out / "stubs"
    stubs.mkdir()
    missing = missing_libraries(lib, have)
    wanted, unversioned = imported_symbols(lib, missing)
    assign_by_prefix(unversioned - defined_symbols([lib, have]), wanted)
    for name, nodes in wanted.items():
        write_stub(name, nodes, stubs)


main()
