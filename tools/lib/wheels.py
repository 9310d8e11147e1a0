"""Unpacks parts of Python wheels."""
import shutil
import zipfile


def unpack(wheels, out, wanted):
    """Writes the files of the folder's wheels for whose paths `wanted` is true to `out`; programs stay executable."""
    for wheel in sorted(wheels.glob("*.whl")):
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
