#!/usr/bin/python3
"""usage: images.py IMAGE PROGRAM ARCHIVE

Writes a docker-archive of an image that has only one file, a static program, which is its entry point. The same program
gives the same bytes.
"""
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).absolute().parent
PAUSE = "muster.test/pause:1"


def _tar(files):
    """A tar of {name: (mode, bytes)}; everything that could differ between two runs is zero."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (mode, data) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.size = mode, len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def write_archive(image, program, archive):
    """`program` becomes /NAME in the image, where NAME is its file's name."""
    layer = _tar({program.name: (0o755, program.read_bytes())})
    digest = hashlib.sha256(layer).hexdigest()
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "config": {"Entrypoint": [f"/{program.name}"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}).encode()
    names = {"config": f"{hashlib.sha256(config).hexdigest()}.json", "layer": f"{digest}/layer.tar"}
    manifest = json.dumps([{"Config": names["config"], "RepoTags": [image], "Layers": [names["layer"]]}]).encode()
    archive.write_bytes(_tar({names["config"]: (0o644, config), names["layer"]: (0o644, layer), "manifest.json": (0o644, manifest)}))


def make_pause(folder):
    """Compiles the program `pause` in `folder`; returns it and the archive of its image."""
    program, archive = folder / "pause", folder / "pause.tar"
    if not archive.exists():
        subprocess.run(["clang-19", "-Os", "-static", "-s", "-o", program, HERE / "pause.c"], check=True)
        write_archive(PAUSE, program, archive)
    return program, archive


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    write_archive(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
