#!/usr/bin/python3
"""usage: own_images.py busybox|musl ARCHIVE

Writes an image as users of a cluster have their own, without anything of muster's, as one file for `ctr images import`:
  busybox  the static busybox and its links, as sh
  musl     /usr/bin/say_rank, linked to musl, with musl's dynamic loader and nothing else
It is called muster.test/NAME:own. The files come from a folder that tools/setup keeps in the cache.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/lib"))
import oci_layout  # noqa: E402

CACHE = pathlib.Path(os.environ.get("MUSTER_CACHE") or pathlib.Path.home() / ".cache/muster")
OTHER_LIBC = CACHE / "sdk/other-libc"


def busybox(_):
    layer = oci_layout.Layer("busybox")
    layer.folder("tmp", mode=0o1777)
    layer.file("bin/busybox", OTHER_LIBC / "bin/busybox", 0o755)
    for name in subprocess.run([OTHER_LIBC / "bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
        if name != "busybox":
            layer.link(f"bin/{name}", "busybox")
    return layer, {"Env": ["PATH=/bin"]}


def musl(scratch):
    program, libraries = scratch / "say_rank", OTHER_LIBC / "usr/lib/x86_64-linux-musl"
    loader = OTHER_LIBC / "lib/x86_64-linux-musl/libc.so"
    # musl's library has no name of its own: a program that is linked to a path asks for that path.
    (scratch / "libc.so").symlink_to(loader)
    # Nothing of the machine's own libc takes part: no header, no startup file, no library.
    subprocess.run(["clang-19", "-O", "-nostdlib", "-nostdlibinc", "-isystem", OTHER_LIBC / "usr/include/x86_64-linux-musl",
                    "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1", libraries / "Scrt1.o", libraries / "crti.o",
                    pathlib.Path(__file__).resolve().parent / "say_rank.c", f"-L{scratch}", "-lc",
                    libraries / "crtn.o", "-o", program], check=True)
    layer = oci_layout.Layer("a program and musl")
    layer.file("usr/bin/say_rank", program, 0o755)
    layer.file("lib/ld-musl-x86_64.so.1", loader, 0o755)
    return layer, {"Env": ["PATH=/usr/bin"]}


IMAGES = {"busybox": busybox, "musl": musl}


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in IMAGES:
        sys.exit(__doc__)
    name, archive = arguments[0], pathlib.Path(arguments[1])
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        layer, config = IMAGES[name](pathlib.Path(scratch))
        layout = oci_layout.Layout(pathlib.Path(scratch) / "layout", f"muster.test/{name}", "own")
        layout.write([layer], config, {})
        layout.write_archive(archive)


if __name__ == "__main__":
    main(sys.argv[1:])
