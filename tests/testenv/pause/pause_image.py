#!/usr/bin/python3
"""usage: pause_image.py OUT [NAME:TAG] -- compiles pause.c and writes its image, OUT/pause and OUT/pause.tar, by the name
muster/pause:test unless told. Kubelets of tests run it as the sandbox of each pod.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent / "tools/lib"))
import oci_layout  # noqa: E402

USER = 65535


def compile_pause(program):
    """Makes a static program, because the image has nothing else."""
    subprocess.run(["clang-19", "-Os", "-Wall", "-Werror", "-static", "-s", HERE / "pause.c", "-o", program], check=True)


def write(out, name="muster/pause:test"):
    """Returns the archive."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    program = out / "pause.bin"
    compile_pause(program)
    layer = oci_layout.Layer("pause")
    layer.file("pause", program, 0o755)
    repository, _, tag = name.rpartition(":")
    layout = oci_layout.Layout(out / "pause", repository, tag)
    layout.write([layer], {"User": f"{USER}:{USER}", "Entrypoint": ["/pause"], "WorkingDir": "/"}, {})
    layout.write_archive(out / "pause.tar")
    program.unlink()
    return out / "pause.tar"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or ":" not in sys.argv[-1][-129:] and len(sys.argv) == 3:
        sys.exit(__doc__)
    print(write(*sys.argv[1:]))
