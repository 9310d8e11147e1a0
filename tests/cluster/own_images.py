#!/usr/bin/python3
"""usage: own_images.py busybox|musl|pytorch|prometheus|alertmanager ARCHIVE

Writes an image as users of a cluster have their own, without anything of muster's, as one file for `ctr images import`:
  busybox  the static busybox and its links, as sh
  musl     /usr/bin/say_rank, linked to musl, with musl's dynamic loader and nothing else
  pytorch  this machine's Python, the reference build of PyTorch, and the scripts of examples/pytorch below /app
  prometheus, alertmanager  the programs of tests/testenv and of Debian, with the entry points of the upstream images
It is called muster.test/NAME:own. Files come from folders that tools/setup keeps in the cache, and programs from PATH.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).absolute().parent.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools/lib"), str(ROOT / "tests/testenv")]
import oci_layout  # noqa: E402
import python_image  # noqa: E402
import shared_libraries  # noqa: E402

OTHER_LIBC, REFERENCE, ALERTMANAGER = ((ROOT / "third_party/installed" / name).resolve().parent
                                       for name in ("other-libc", "pytorch", "alertmanager"))


def busybox(_):
    layer = oci_layout.Layer("busybox")
    layer.folder("tmp", mode=0o1777)
    layer.file("bin/busybox", OTHER_LIBC / "bin/busybox", 0o755)
    for name in subprocess.run([OTHER_LIBC / "bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
        if name != "busybox":
            layer.link(f"bin/{name}", "busybox")
    return [layer], {"Env": ["PATH=/bin"]}


def musl(scratch):
    program, libraries = scratch / "say_rank", OTHER_LIBC / "usr/lib/x86_64-linux-musl"
    loader = OTHER_LIBC / "lib/x86_64-linux-musl/libc.so"
    # musl's library has no name of its own: a program that is linked to a path asks for that path.
    (scratch / "libc.so").symlink_to(loader)
    # Nothing of the machine's own libc takes part: no header, no startup file, no library.
    subprocess.run(["clang-19", "-O", "-nostdlib", "-nostdlibinc", "-isystem", OTHER_LIBC / "usr/include/x86_64-linux-musl",
                    "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1", libraries / "Scrt1.o", libraries / "crti.o",
                    pathlib.Path(__file__).absolute().parent / "say_rank.c", f"-L{scratch}", "-lc",
                    libraries / "crtn.o", "-o", program], check=True)
    layer = oci_layout.Layer("a program and musl")
    layer.file("usr/bin/say_rank", program, 0o755)
    layer.file("lib/ld-musl-x86_64.so.1", loader, 0o755)
    return [layer], {"Env": ["PATH=/usr/bin"]}


def pytorch(_):
    scripts = oci_layout.Layer("scripts")
    for script in ("examples/pytorch/ddp.py", "examples/pytorch/fsdp.py", "agent/client/muster.py"):
        scripts.file(f"app/{script}", ROOT / script)
    # The reference has empty stubs of the GPU libraries that PyTorch is linked to.
    libraries = ":".join(f"/{python_image.PACKAGES}/{folder}" for folder in ("stubs", "torch/lib", "nvidia/cu13/lib"))
    return ([python_image.python_layer(), python_image.packages_layer(REFERENCE), scripts],
            {"Env": ["PATH=/usr/bin:/bin", f"LD_LIBRARY_PATH={libraries}"], "WorkingDir": "/app"})


def _server(name, program):
    layer = oci_layout.Layer(name)
    layer.file(f"bin/{name}", program, 0o755)
    for library, file in shared_libraries.closure([program]).items():
        layer.file(library if "/" in library else f"usr/lib/x86_64-linux-gnu/{library}", file.resolve(), 0o755)
    return [layer], {"Entrypoint": [f"/bin/{name}"]}


def prometheus(_):
    return _server("prometheus", pathlib.Path(shutil.which("prometheus")))


def alertmanager(_):
    layers, config = _server("alertmanager", ALERTMANAGER / "usr/bin/prometheus-alertmanager")
    templates = "usr/share/prometheus/alertmanager"
    for name in ("default.tmpl", "email.tmpl"):
        layers[0].file(f"{templates}/{name}", ALERTMANAGER / templates / name)
    return layers, config


IMAGES = {function.__name__: function for function in (busybox, musl, pytorch, prometheus, alertmanager)}


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in IMAGES:
        sys.exit(__doc__)
    name, archive = arguments[0], pathlib.Path(arguments[1])
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        layers, config = IMAGES[name](pathlib.Path(scratch))
        # Compressing what is read once takes longer than it saves.
        layout = oci_layout.Layout(pathlib.Path(scratch) / "layout", f"muster.test/{name}", "own", gzip_level=0)
        layout.write(layers, config, {})
        layout.write_archive(archive)


if __name__ == "__main__":
    main(sys.argv[1:])
