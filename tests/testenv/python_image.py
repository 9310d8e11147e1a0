#!/usr/bin/python3
"""usage: python_image.py IMAGE:TAG ARCHIVE

Writes an OCI archive of an image with this machine's Python, its standard library with the compiled byte code, a shell,
and the libraries that C++ extensions of wheels need of the system. It is for pods whose wheels are mounted from the
node: an image of PyTorch's would be unpacked once for each node. Other tools import this file to add the wheels.
"""
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).absolute().parent
sys.path.insert(0, str(HERE.parent.parent / "tools/lib"))
import oci_layout  # noqa: E402
import shared_libraries  # noqa: E402

PYTHON, SHELL = pathlib.Path("/usr/bin/python3"), pathlib.Path("/bin/sh")
FOLDER = "usr/lib/x86_64-linux-gnu"
# Debian's Python looks here for packages, as site.py says.
PACKAGES = "usr/lib/python3/dist-packages"
# Libraries that wheels expect of any system (PEP 600) and Python itself does not load.
EXPECTED = ("libstdc++.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libm.so.6")


def _add_tree(layer, tree, target):
    """Adds the files below `tree` but headers and archives, which are for compilers. Compiled byte code is changed so
    that Python takes it without comparing its source's time (PEP 552), which an image does not keep."""
    for file in tree.rglob("*"):
        inner = file.relative_to(tree)
        if not file.is_file() or file.suffix == ".a" or "include" in inner.parts:
            continue
        path = f"{target}/{inner}"
        if file.suffix == ".pyc":
            data = file.read_bytes()
            layer.data(path, data[:4] + (1).to_bytes(4, "little") + data[8:])
        else:
            layer.file(path, file.resolve(), 0o755 if os.access(file, os.X_OK) else 0o644)


def python_layer():
    python = PYTHON.resolve()
    layer = oci_layout.Layer("Python and a shell")
    layer.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    # glibc would ask DNS for each name first, also for those of a pod's own /etc/hosts, and a test cluster has none.
    layer.text("etc/nsswitch.conf", "hosts: files\n")
    layer.folder("tmp", mode=0o1777)
    layer.file("bin/sh", SHELL.resolve(), 0o755)
    layer.file(f"usr/bin/{python.name}", python, 0o755)
    layer.link("usr/bin/python3", python.name)
    standard = pathlib.Path("/usr/lib") / python.name
    _add_tree(layer, standard, str(standard))
    extensions = list(standard.rglob("*.so"))
    wanted = [shared_libraries.default_library(name) for name in EXPECTED]
    for name, file in shared_libraries.closure([python, SHELL.resolve(), *extensions], wanted).items():
        layer.file(name if "/" in name else f"{FOLDER}/{name}", file.resolve(), 0o755)
    return layer


def packages_layer(tree):
    """The packages in a folder, such as `pip install --target` writes, where that Python looks for them."""
    layer = oci_layout.Layer("Python packages")
    _add_tree(layer, tree, PACKAGES)
    return layer


def write_archive(name, archive):
    """`name` is the image's name with its tag."""
    repository, _, tag = name.rpartition(":")
    with tempfile.TemporaryDirectory() as folder:
        layout = oci_layout.Layout(pathlib.Path(folder), repository, tag)
        layout.write([python_layer()], {"Env": ["PATH=/usr/bin:/bin"], "WorkingDir": "/"}, {})
        layout.write_archive(archive)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_archive(sys.argv[1], pathlib.Path(sys.argv[2]))
