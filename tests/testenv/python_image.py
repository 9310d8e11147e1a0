#!/usr/bin/python3
"""usage: python_image.py IMAGE:TAG ARCHIVE

Writes an OCI archive of an image with this machine's Python, its standard library with the compiled byte code, a shell,
and the libraries that C++ extensions of wheels need of the system. It is for pods whose wheels are mounted from the
node: an image of PyTorch's would be unpacked once for each node.
"""
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools/lib"))
import oci_layout  # noqa: E402
import shared_libraries  # noqa: E402

PYTHON, SHELL = pathlib.Path("/usr/bin/python3"), pathlib.Path("/bin/sh")
FOLDER = "usr/lib/x86_64-linux-gnu"
# Libraries that wheels expect of any system (PEP 600) and Python itself does not load.
EXPECTED = ("libstdc++.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libm.so.6")


def _library_of(python):
    """The folder of the standard library of the interpreter that /usr/bin/python3 is a link to."""
    return pathlib.Path("/usr/lib") / python.name


def _unchecked(compiled, folder):
    """A copy of compiled byte code that Python takes without comparing its source's time (PEP 552), which an image does
    not keep."""
    data = compiled.read_bytes()
    copy = folder / str(compiled).replace("/", "_")
    copy.write_bytes(data[:4] + (1).to_bytes(4, "little") + data[8:])
    return copy


def python_layer(folder):
    python = PYTHON.resolve()
    layer = oci_layout.Layer("Python and a shell")
    layer.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    # glibc would ask DNS for each name first, also for those of a pod's own /etc/hosts, and a test cluster has none.
    layer.text("etc/nsswitch.conf", "hosts: files\n")
    layer.folder("tmp", mode=0o1777)
    layer.file("bin/sh", SHELL.resolve(), 0o755)
    layer.file(f"usr/bin/{python.name}", python, 0o755)
    layer.link("usr/bin/python3", python.name)
    standard = [file for file in _library_of(python).rglob("*") if file.is_file()]
    for file in standard:
        layer.file(str(file), _unchecked(file, folder) if file.suffix == ".pyc" else file.resolve())
    extensions = [file for file in standard if file.suffix == ".so"]
    programs = [python, SHELL.resolve(), *extensions]
    wanted = [shared_libraries.default_library(name) for name in EXPECTED]
    for name, file in shared_libraries.closure(programs, wanted).items():
        if file not in extensions:
            layer.file(name if "/" in name else f"{FOLDER}/{name}", file.resolve(), 0o755)
    return layer


def write_archive(name, archive):
    """`name` is the image's name with its tag."""
    repository, _, tag = name.rpartition(":")
    with tempfile.TemporaryDirectory() as layout_folder, tempfile.TemporaryDirectory() as compiled:
        layout = oci_layout.Layout(pathlib.Path(layout_folder), repository, tag)
        layout.write([python_layer(pathlib.Path(compiled))], {"Env": ["PATH=/usr/bin:/bin"], "WorkingDir": "/"}, {})
        layout.write_archive(archive)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_archive(sys.argv[1], pathlib.Path(sys.argv[2]))
