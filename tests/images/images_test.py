#!/usr/bin/python3
"""Builds the images of the real programs, reads them with skopeo and umoci, and runs the programs by their image's own
loader and libraries. The programs are taken from the current folder, as from the built tree."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).absolute().parent.parent.parent / "tools"
MIB = 1 << 20
NAMES = ("operator", "agent", "node-agent", "trainer")
# What each program says, with its exit code, when it is run without a task.
SAYS = {"muster-operator": ("--help", 2, "usage: muster-operator"), "muster-agent": ("--help", 2, "usage: muster-agent"),
        "muster-node-agent": ("--help", 2, "usage: muster-node-agent"),
        "muster-trainer": ("--help", 2, "muster-trainer is started by muster-agent")}


def run(*words, ok=True, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if ok and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr}")
    return done


class ImagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.environment = {**os.environ, "HOME": scratch.name, "XDG_RUNTIME_DIR": scratch.name}
        run(TOOLS / "images", f"--bin={os.getcwd()}", f"--out={cls.folder}", "--tag=test")

    def skopeo(self, *words):
        """Unpacks archives in the test's folder: /var/tmp, its default, is read-only in a sandbox."""
        return run("skopeo", "--tmpdir", self.folder, *words, env=self.environment).stdout

    def inspect(self, reference):
        return json.loads(self.skopeo("inspect", reference))

    def unpack(self, name):
        bundle = self.folder / f"{name}-bundle"
        if not bundle.exists():
            run("umoci", "unpack", "--rootless", "--image", f"{self.folder / name}:test", bundle, env=self.environment)
        return bundle / "rootfs"

    def test_skopeo_reads_the_layout_and_the_archive(self):
        for name in NAMES:
            layout = self.inspect(f"oci:{self.folder / name}:test")
            self.assertEqual(layout, self.inspect(f"oci-archive:{self.folder / name}.tar"))
            document = json.loads((self.folder / f"{name}.spdx.json").read_text())
            self.assertEqual(f"sha256:{document['packages'][0]['checksums'][0]['checksumValue']}", layout["Digest"])
            self.assertEqual((layout["Os"], layout["Architecture"], layout["Created"]), ("linux", "amd64", "1970-01-01T00:00:00Z"))

    def test_a_copy_by_skopeo_keeps_the_digest(self):
        copy = self.folder / "copy"
        self.skopeo("copy", f"oci-archive:{self.folder}/operator.tar", f"oci:{copy}:test")
        self.assertEqual(self.inspect(f"oci:{copy}:test")["Digest"], self.inspect(f"oci:{self.folder}/operator:test")["Digest"])

    def test_the_operator_and_the_agent_are_small_and_share_their_base(self):
        blobs = {name: sum(blob.stat().st_size for blob in (self.folder / name / "blobs/sha256").iterdir()) for name in NAMES}
        self.assertLessEqual(blobs["operator"], 40 * MIB)
        self.assertLessEqual(blobs["agent"], 7 * MIB)
        base = {self.inspect(f"oci:{self.folder / name}:test")["Layers"][0] for name in ("operator", "node-agent", "trainer")}
        self.assertEqual(len(base), 1)

    def test_each_program_runs_with_nothing_but_its_image(self):
        for name in NAMES:
            root = self.unpack(name)
            static = not (root / "lib64").exists()
            self.assertEqual(static, name == "agent")
            for program in sorted((root / "usr/bin").iterdir()):
                loader = [] if static else [root / "lib64/ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path", root / "usr/lib/x86_64-linux-gnu"]
                for line in [] if static else run(*loader, "--list", program).stdout.splitlines():
                    if "linux-vdso" not in line:
                        self.assertIn(str(root), line, f"{program.name} takes a library of this machine")
                flag, status, says = SAYS[program.name]
                done = run(*loader, program, flag, ok=False)
                self.assertIn(says, done.stdout + done.stderr)
                self.assertEqual(done.returncode, status, program.name)

    def test_there_is_no_shell_and_no_other_program(self):
        root = self.unpack("operator")
        files = {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}
        libraries = {path for path in files if path.startswith("usr/lib/x86_64-linux-gnu/lib")}
        self.assertEqual(files - libraries, {"etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt",
                                             "lib64/ld-linux-x86-64.so.2", "usr/bin/muster-operator"})

    def test_the_same_programs_give_the_same_digest(self):
        run(TOOLS / "images", "operator", f"--bin={os.getcwd()}", f"--out={self.folder}/again", "--tag=test")
        self.assertEqual((self.folder / "again/operator.tar").read_bytes(), (self.folder / "operator.tar").read_bytes())
        self.assertEqual((self.folder / "again/operator.spdx.json").read_bytes(), (self.folder / "operator.spdx.json").read_bytes())


if __name__ == "__main__":
    unittest.main()
