#!/usr/bin/python3
"""Tests the writer of container images with programs that the test compiles: closure, layers, digests, SBOM."""
import contextlib
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
import images  # noqa: E402
import package_sources  # noqa: E402
import shared_libraries  # noqa: E402

LIBRARIES = "usr/lib/x86_64-linux-gnu"
PROGRAM = "char* zlibVersion(void); double cos(double); int main(int n, char** v) { return cos(n) > 2 || !zlibVersion(); }"
TRAINER = "int torch(void); int main(void) { return torch(); }"


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def compile(self, name, text, *flags):
        out = self.folder / name
        out.parent.mkdir(parents=True, exist_ok=True)
        source = self.folder / "source.c"
        source.write_text(text)
        subprocess.run(["clang-19", source, "-o", out, *flags], check=True)
        return out


class ClosureTest(Scratch):
    def test_a_missing_library_is_refused_by_name(self):
        gone = self.compile("lib/libgone.so", "int gone(void) { return 0; }", "-shared", "-Wl,-soname,libgone.so.3")
        program = self.compile("program", "int gone(void); int main(void) { return gone(); }", gone)
        with self.assertRaisesRegex(shared_libraries.Failure, rf"^{program}: needs the library libgone\.so\.3, which is in none of"):
            shared_libraries.closure([program])

    def test_a_library_that_only_a_library_needs_is_found_by_its_own_runpath(self):
        inner = self.compile("inner/libinner.so", "int inner(void) { return 0; }", "-shared", "-Wl,-soname,libinner.so")
        outer = self.compile("outer/libouter.so", "int inner(void); int outer(void) { return inner(); }", "-shared", inner,
                             "-Wl,-soname,libouter.so", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../inner")
        program = self.compile("program", "int outer(void); int main(void) { return outer(); }", outer,
                               f"-Wl,--allow-shlib-undefined,--enable-new-dtags,-rpath,{outer.parent}")
        found = shared_libraries.closure([program])
        self.assertEqual(found["libinner.so"].resolve(), inner)
        self.assertEqual(sorted(found), ["/lib64/ld-linux-x86-64.so.2", "libc.so.6", "libinner.so", "libouter.so"])

    def test_a_runpath_is_not_inherited_and_an_rpath_is(self):
        inner = self.compile("here/libinner.so", "int inner(void) { return 0; }", "-shared", "-Wl,-soname,libinner.so")
        outer = self.compile("here/libouter.so", "int inner(void); int outer(void) { return inner(); }", "-shared", inner,
                             "-Wl,-soname,libouter.so")
        for tags in ("--enable-new-dtags", "--disable-new-dtags"):
            program = self.compile(tags, "int outer(void); int main(void) { return outer(); }", outer,
                                   f"-Wl,--allow-shlib-undefined,{tags},-rpath,{outer.parent}")
            if tags == "--disable-new-dtags":
                self.assertIn("libinner.so", shared_libraries.closure([program]))
            else:
                with self.assertRaisesRegex(shared_libraries.Failure, "needs the library libinner.so"):
                    shared_libraries.closure([program])

    def test_a_static_program_needs_nothing(self):
        self.assertEqual(shared_libraries.closure([self.compile("program", "int main(void) { return 0; }", "-static")]), {})

    def test_what_is_no_program_is_refused(self):
        text = self.folder / "text"
        text.write_text("#!/bin/sh\n")
        with self.assertRaisesRegex(shared_libraries.Failure, f"^{text}: is not a program or library"):
            shared_libraries.closure([text])


class ImagesTest(Scratch):
    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        for program in ("operator/muster-operator", "agent/muster-agent", "agent/muster-node-agent"):
            self.compile(f"bin/{program}", PROGRAM, "-lz", "-lm")
        self.compile("bin/agent/muster-agent-static", "int main(void) { return 0; }", "-static")
        for name, folder in (("SDK", "sdk"), ("GPU_SDK", "gpu_sdk")):
            self.addCleanup(setattr, images, name, getattr(images, name))
            setattr(images, name, self.folder / folder)
        torch = self.compile("sdk/torch/lib/libtorch_cpu.so", "int torch(void) { return 0; }", "-shared", "-Wl,-soname,libtorch_cpu.so")
        license = images.SDK / "torch-2.11.0.dist-info/licenses/LICENSE"
        license.parent.mkdir(parents=True)
        license.write_text("of torch")
        self.compile("bin/trainer/muster-trainer", TRAINER, torch, f"-Wl,-rpath,{torch.parent}")

    def build(self, *arguments, out="out"):
        error, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(error), contextlib.redirect_stdout(told):
            status = images.main([f"--bin={self.bin}", f"--out={self.folder / out}", *arguments])
        return status, error.getvalue()

    def layout(self, name, out="out"):
        """The index, manifest, config and layers (as lists of tar entries) of an image; each blob's digest is checked."""
        folder = self.folder / out / name
        blob = lambda descriptor: self.checked(folder, descriptor)
        index = json.loads((folder / "index.json").read_text())
        manifest = json.loads(blob(index["manifests"][0]))
        layers = [tarfile.open(fileobj=io.BytesIO(blob(layer))).getmembers() for layer in manifest["layers"]]
        return index, manifest, json.loads(blob(manifest["config"])), layers

    def checked(self, folder, descriptor):
        data = (folder / "blobs/sha256" / descriptor["digest"].removeprefix("sha256:")).read_bytes()
        self.assertEqual((f"sha256:{hashlib.sha256(data).hexdigest()}", len(data)), (descriptor["digest"], descriptor["size"]))
        return data

    def test_the_same_files_give_the_same_bytes(self):
        self.assertEqual(self.build("operator", "trainer"), (0, ""))
        for file in (self.folder / "bin").rglob("muster-*"):
            file.touch()  # a later build of the same
        self.assertEqual(self.build("operator", "trainer", out="again"), (0, ""))
        for file in (self.folder / "out").rglob("*"):
            if file.is_file():
                again = self.folder / "again" / file.relative_to(self.folder / "out")
                self.assertEqual(file.read_bytes(), again.read_bytes(), file)

    def test_each_layer_has_exactly_its_files(self):
        self.assertEqual(self.build("operator", "trainer"), (0, ""))
        files = lambda name: [[e.name for e in layer if not e.isdir()] for layer in self.layout(name)[3]]
        base = ["etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "lib64/ld-linux-x86-64.so.2",
                f"{LIBRARIES}/libc.so.6", f"{LIBRARIES}/libm.so.6"]
        self.assertEqual(files("operator"), [base, [f"{LIBRARIES}/libz.so.1"], ["usr/bin/muster-operator"]])
        self.assertEqual(files("trainer"), [base, [f"{LIBRARIES}/libtorch_cpu.so", f"{LIBRARIES}/libz.so.1"],
                                            ["usr/bin/muster-agent", "usr/bin/muster-trainer"]])
        self.assertEqual(self.build("agent"), (0, ""))
        self.assertEqual(files("agent"), [base[:3], ["usr/bin/muster-agent"]], "a static program has no loader and no library")
        for layer in self.layout("trainer")[3]:
            self.assertEqual([e.name for e in layer], sorted(e.name for e in layer))
            self.assertEqual({(e.mtime, e.uid, e.gid, e.uname, e.gname) for e in layer}, {(0, 0, 0, "", "")})
        modes = {e.name: e.mode for layer in self.layout("trainer")[3] for e in layer}
        self.assertEqual((modes["tmp"], modes["usr/bin/muster-agent"], modes["etc/passwd"]), (0o1777, 0o755, 0o644))

    def test_an_upgrade_moves_only_the_last_layer(self):
        self.assertEqual(self.build("operator", "trainer"), (0, ""))
        before = self.layout("operator")[1]["layers"]
        self.assertEqual(before[0], self.layout("trainer")[1]["layers"][0])
        self.compile("bin/operator/muster-operator", PROGRAM.replace("> 2", "> 3"), "-lz", "-lm")
        self.assertEqual(self.build("operator"), (0, ""))
        after = self.layout("operator")[1]["layers"]
        self.assertEqual(after[:-1], before[:-1])
        self.assertNotEqual(after[-1], before[-1])

    def test_the_process_is_no_root_and_the_name_is_what_was_asked_for(self):
        self.assertEqual(self.build("trainer", "--tag=7", "--repository=registry:5000/muster"), (0, ""))
        index, _, config, _ = self.layout("trainer")
        self.assertEqual(config["config"]["User"], "65532:65532")
        self.assertEqual(config["config"]["Entrypoint"], ["/usr/bin/muster-agent"])
        self.assertIn("MUSTER_TRAINER=/usr/bin/muster-trainer", config["config"]["Env"])
        self.assertEqual(index["manifests"][0]["annotations"], {
            "io.containerd.image.name": "registry:5000/muster/trainer:7", "org.opencontainers.image.ref.name": "7"})

    def test_the_bill_of_materials_names_the_package_of_every_file(self):
        self.assertEqual(self.build("trainer"), (0, ""))
        document = json.loads((self.folder / "out/trainer.spdx.json").read_text())
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        names = {p["SPDXID"]: p["name"] for p in document["packages"]}
        files = {f["SPDXID"]: f["fileName"].removeprefix("./") for f in document["files"]}
        owners = {files[r["relatedSpdxElement"]]: names[r["spdxElementId"]] for r in document["relationships"]
                  if r["relatedSpdxElement"] in files}
        self.assertEqual(owners, {
            "etc/group": "muster", "etc/passwd": "muster", "etc/ssl/certs/ca-certificates.crt": "ca-certificates",
            "lib64/ld-linux-x86-64.so.2": "libc6", f"{LIBRARIES}/libc.so.6": "libc6", f"{LIBRARIES}/libm.so.6": "libc6",
            f"{LIBRARIES}/libz.so.1": "zlib1g", f"{LIBRARIES}/libtorch_cpu.so": "torch",
            "usr/bin/muster-agent": "muster", "usr/bin/muster-trainer": "muster"})
        self.assertEqual(sorted(owners), sorted(e.name for layer in self.layout("trainer")[3] for e in layer if not e.isdir()))
        packages = {p["name"]: p for p in document["packages"]}
        zlib = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "zlib1g"], capture_output=True, text=True).stdout
        self.assertEqual((packages["zlib1g"]["versionInfo"], packages["zlib1g"]["licenseDeclared"]), (zlib, "Zlib"))
        self.assertEqual((packages["torch"]["versionInfo"], packages["torch"]["copyrightText"]), ("2.11.0", "of torch"))
        self.assertEqual(packages["muster"]["versionInfo"], images.version())

    def gpu_libraries(self):
        """Libraries as tools/setup --gpu-libraries leaves them; one needs the driver, and one another's."""
        nothing = "int nothing(void) { return 0; }"
        loads = images.tomllib.loads(images.TABLE.read_text())["image"]["trainer-gpu"]["loads"]
        driver = self.compile("driver/libcuda.so", nothing, "-shared", "-Wl,-soname,libcuda.so.1")
        nccl = self.compile("gpu_sdk/nvidia/nccl/lib/libnccl.so.2", nothing, "-shared", "-Wl,-soname,libnccl.so.2")
        for path in loads:
            needs = [driver, nccl, "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN/../../nvidia/nccl/lib"]
            self.compile(f"gpu_sdk/{path}", nothing, "-shared", *(needs[::-1] if path.endswith("torch_cuda.so") else []))
        for wheel in ("torch", "nvidia_cublas", "nvidia_cuda_nvrtc", "nvidia_cudnn_cu13", "nvidia_nccl_cu13"):
            (self.folder / f"gpu_sdk/{wheel}-1.2.dist-info").mkdir()
        return {pathlib.Path(path).name for path in loads} | {"libnccl.so.2"}

    def test_the_image_for_gpus_has_what_its_libraries_open_and_nothing_of_the_driver(self):
        self.compile("bin/trainer/cuda/libmuster_cuda.so", "int muster(void) { return 0; }", "-shared")
        status, error = self.build("trainer-gpu")
        self.assertEqual(status, 1)
        self.assertIn("libtorch_cuda.so: is not there; run tools/setup --gpu-libraries", error)
        libraries = self.gpu_libraries()
        self.assertEqual(self.build("trainer-gpu"), (0, ""))
        _, _, config, layers = self.layout("trainer-gpu")
        files = {entry.name for layer in layers for entry in layer}
        self.assertLessEqual({f"{LIBRARIES}/{name}" for name in libraries}, files)
        self.assertIn("usr/bin/libmuster_cuda.so", files)
        self.assertEqual([name for name in files if "libcuda.so" in name], [])
        self.assertIn("LD_LIBRARY_PATH=/usr/lib64", config["config"]["Env"])
        packages = {p["name"] for p in json.loads((self.folder / "out/trainer-gpu.spdx.json").read_text())["packages"]}
        self.assertLessEqual({"torch", "nvidia-nccl-cu13", "nvidia-cudnn-cu13"}, packages)

    def test_a_library_of_no_known_package_is_refused(self):
        (images.SDK / "torch/lib").rename(images.SDK / "other")
        self.compile("bin/trainer/muster-trainer", TRAINER, images.SDK / "other/libtorch_cpu.so", f"-Wl,-rpath,{images.SDK}/other")
        status, error = self.build("trainer")
        self.assertEqual(status, 1)
        self.assertEqual(error, f"muster: error: {images.SDK}/other/libtorch_cpu.so: belongs to no Debian package and to "
                                "no wheel of tools/images.toml: add it there\n")
        self.assertFalse((self.folder / "out").exists())

    def test_a_program_that_is_not_built_is_named(self):
        (self.bin / "agent/muster-agent-static").unlink()
        status, error = self.build("operator", "agent")
        self.assertEqual(status, 1)
        self.assertIn(f"{self.bin}/agent/muster-agent-static: is not built", error)
        self.assertFalse((self.folder / "out").exists())


class LicenseTest(unittest.TestCase):
    def of(self, *names):
        blocks = "\n\n".join(f"Files: {name}\nCopyright: X\nLicense: {name}\n the text" for name in names)
        return package_sources.licenses(f"Format: dep5\nLicense: ignored\n\n{blocks}\n\nLicense: Other\n text\n")[0]

    def test_debian_names_become_spdx_identifiers(self):
        self.assertEqual(self.of("Expat"), "MIT")
        self.assertEqual(self.of("Apache-2.0", "BSD-3-clause", "Apache-2.0"), "Apache-2.0 AND BSD-3-Clause")
        self.assertEqual(self.of("GPL-2+ or Expat", "Zlib"), "(GPL-2.0-or-later OR MIT) AND Zlib")

    def test_a_name_without_an_identifier_asserts_nothing(self):
        self.assertEqual(self.of("Expat", "BSD-3-google"), "NOASSERTION")
        self.assertEqual(package_sources.licenses("It was put together by hand.")[0], "NOASSERTION")


if __name__ == "__main__":
    unittest.main()
