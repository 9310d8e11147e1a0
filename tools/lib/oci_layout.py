"""Writes container images as OCI image layouts (image-spec 1.0), so that the same files always give the same digests:
names are sorted, owners are root, times are those of SOURCE_DATE_EPOCH or 0, and gzip headers have no time.

umoci 0.4.7 writes the present time into configs and manifests, so two images of the same files differ."""
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import tarfile

GZIP_LEVEL = 6
BLOCK = 1 << 20
MEDIA = "application/vnd.oci.image."


def epoch():
    """The time, in seconds, that stands for all times in an image."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or 0)


def timestamp():
    return datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Layer:
    """A file system layer: paths without a leading slash -> folders, links, bytes and files of this machine."""

    def __init__(self, comment):
        self.comment = comment
        self.entries = {}

    def folder(self, path, mode=0o755):
        self._add(path, "folder", None, mode)

    def link(self, path, target):
        self._add(path, "link", target, 0o777)

    def text(self, path, text, mode=0o644):
        self.data(path, text.encode(), mode)

    def data(self, path, data, mode=0o644):
        self._add(path, "data", data, mode)

    def file(self, path, source, mode=0o644):
        self._add(path, "file", pathlib.Path(source), mode)

    def _add(self, path, kind, content, mode):
        path = path.strip("/")
        if path in self.entries:
            raise ValueError(f"/{path} stands twice in the layer '{self.comment}'")
        for parent in reversed(pathlib.PurePosixPath(path).parents[:-1]):
            self.entries.setdefault(str(parent), ("folder", None, 0o755))
        self.entries[path] = (kind, content, mode)

    def files(self):
        """The paths of files and data, in order."""
        return [path for path in sorted(self.entries) if self.entries[path][0] in ("file", "data")]

    def digest(self, path, algorithm):
        kind, content, _ = self.entries[path]
        with open(content, "rb") if kind == "file" else io.BytesIO(content) as stream:
            return hashlib.file_digest(stream, algorithm).hexdigest()

    def write_tar(self, stream):
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted(self.entries):
                self._write_entry(archive, path)

    def _write_entry(self, archive, path):
        kind, content, mode = self.entries[path]
        info = _entry(path, mode)
        if kind == "folder":
            info.type = tarfile.DIRTYPE
            archive.addfile(info)
        elif kind == "link":
            info.type, info.linkname = tarfile.SYMTYPE, content
            archive.addfile(info)
        elif kind == "data":
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        else:
            info.size = content.stat().st_size
            with open(content, "rb") as source:
                archive.addfile(info, source)


def _entry(path, mode):
    info = tarfile.TarInfo(path)
    info.mode, info.mtime, info.uid, info.gid, info.uname, info.gname = mode, epoch(), 0, 0, "", ""
    return info


class _Digested:
    """A stream that passes what is written on to another one, and knows its SHA-256."""

    def __init__(self, stream):
        self.stream, self.sha, self.size = stream, hashlib.sha256(), 0

    def write(self, data):
        self.sha.update(data)
        self.size += len(data)
        return self.stream.write(data)

    def tell(self):
        return self.size

    def flush(self):
        self.stream.flush()

    @property
    def digest(self):
        return f"sha256:{self.sha.hexdigest()}"


class Layout:
    """One image in a folder, which is made anew. `name` and `tag` make the name under which runtimes keep the image;
    `gzip_level` is 0 for layers that are stored as they are."""

    def __init__(self, folder, name, tag, gzip_level=GZIP_LEVEL):
        self.folder, self.name, self.tag, self.gzip_level = pathlib.Path(folder), name, tag, gzip_level
        self.blobs = self.folder / "blobs/sha256"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.blobs.mkdir(parents=True)

    def write(self, layers, config, annotations):
        """Writes the image and returns its manifest's descriptor. `config` is the OCI config of the process."""
        written = [self._write_layer(layer) for layer in layers]
        image = {"created": timestamp(), "architecture": "amd64", "os": "linux", "config": config,
                 "rootfs": {"type": "layers", "diff_ids": [diff for diff, _ in written]},
                 "history": [{"created": timestamp(), "created_by": "tools/images", "comment": layer.comment} for layer in layers]}
        manifest = {"schemaVersion": 2, "mediaType": f"{MEDIA}manifest.v1+json",
                    "config": self._write_json("config.v1+json", image),
                    "layers": [descriptor for _, descriptor in written], "annotations": annotations}
        descriptor = self._write_json("manifest.v1+json", manifest)
        descriptor["annotations"] = {"io.containerd.image.name": f"{self.name}:{self.tag}",
                                     "org.opencontainers.image.ref.name": self.tag}
        index = {"schemaVersion": 2, "mediaType": f"{MEDIA}index.v1+json", "manifests": [descriptor]}
        (self.folder / "index.json").write_bytes(_json(index))
        (self.folder / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
        return descriptor

    def _write_layer(self, layer):
        """Streams the layer through gzip, because LibTorch's does not fit into everybody's memory twice."""
        part = self.blobs / "part"
        with open(part, "wb", buffering=BLOCK) as file:
            packed = _Digested(file)
            with gzip.GzipFile(filename="", mode="wb", compresslevel=self.gzip_level, fileobj=packed, mtime=0) as zipped:
                plain = _Digested(zipped)
                layer.write_tar(plain)
        part.rename(self.blobs / packed.digest.partition(":")[2])
        return plain.digest, {"mediaType": f"{MEDIA}layer.v1.tar+gzip", "digest": packed.digest, "size": packed.size}

    def _write_json(self, media, value):
        data = _json(value)
        sha = hashlib.sha256(data).hexdigest()
        (self.blobs / sha).write_bytes(data)
        return {"mediaType": f"{MEDIA}{media}", "digest": f"sha256:{sha}", "size": len(data)}

    def write_archive(self, path):
        """The layout as one tar file, as `ctr images import` and `skopeo copy oci-archive:` read it."""
        part = pathlib.Path(f"{path}.part")
        files = sorted(str(file.relative_to(self.folder)) for file in self.folder.rglob("*") if file.is_file())
        with tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as archive:
            for name in files:
                info = _entry(name, 0o644)
                info.size = (self.folder / name).stat().st_size
                with open(self.folder / name, "rb") as source:
                    archive.addfile(info, source)
        part.rename(path)


def _json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
