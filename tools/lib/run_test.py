#!/usr/bin/python3
"""Tests tools/run in a tree with stand-ins for Bazel and the other tools: when it builds, and its messages."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).absolute().parent.parent
# A Bazel that builds what it is asked for, or fails on request.
BAZEL = '''#!/usr/bin/python3
import os, pathlib, sys
fake = pathlib.Path(os.environ["FAKE"])
with open(fake / "calls", "a") as calls:
    calls.write("build\\n")
print("INFO: what Bazel says", file=sys.stderr)
print("[1 / 9] Compiling", file=sys.stderr)
if (fake / "broken").exists():
    sys.exit("ERROR: a.cc does not compile")
base = pathlib.Path(next(a.split("=", 1)[1] for a in sys.argv if a.startswith("--output_base=")))
for label in (a for a in sys.argv if a.startswith("//")):
    package, name = label[2:].split(":")
    program = base / "execroot/muster/bazel-out/k8-fastbuild/bin" / package / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\\n")
    program.chmod(0o755)
'''


class RunTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.fake = pathlib.Path(scratch.name)
        self.root = self.fake / "tree"
        for name in ("run", "lib/common.sh", "lib/build_progress.py"):
            self.write(f"tools/{name}", (TOOLS / name).read_text(), mode=0o755)
        self.write("tools/setup", "#!/bin/sh\n", mode=0o755)
        self.write("tools/muster", "#!/bin/sh\necho ran \"$@\"\n", mode=0o755)
        self.write("third_party/torch_sdk/include", "")
        self.write("cli/main.cc", "int main() {}\n")
        self.write("job.yaml", "# A job.\n")
        bazel = self.fake / "bin/bazel"
        bazel.parent.mkdir()
        bazel.write_text(BAZEL)
        bazel.chmod(0o755)

    def write(self, path, text, mode=0o644):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def run_job(self):
        """The outcome of tools/run and the number of calls of Bazel."""
        calls = self.fake / "calls"
        calls.unlink(missing_ok=True)
        environment = dict(os.environ, FAKE=str(self.fake), MUSTER_CACHE=str(self.fake / "cache"),
                           PATH=f"{self.fake}/bin:/usr/bin:/bin")
        done = subprocess.run([self.root / "tools/run", "job.yaml"], cwd=self.root, env=environment,
                              capture_output=True, text=True)
        return done, len(calls.read_text().splitlines()) if calls.exists() else 0

    def builds(self):
        done, calls = self.run_job()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "ran run job.yaml\n")
        return calls

    def test_with_nothing_to_build_bazel_is_not_asked(self):
        self.assertEqual(self.builds(), 1)
        self.assertEqual(self.builds(), 0)
        # Files that jobs leave in the tree are not sources.
        self.write(".muster/data/bible.txt", "In the beginning")
        self.assertEqual(self.builds(), 0)

    def test_what_was_changed_added_or_removed_is_built(self):
        self.assertEqual(self.builds(), 1)
        changes = (
            lambda: self.write("cli/main.cc", "int main() { return 1; }\n"),
            lambda: self.write("cli/new.cc", ""),
            lambda: (self.root / "cli/new.cc").unlink(),
            lambda: (self.root / "cli/main.cc").rename(self.root / "cli/other.cc"),
            # Files with an old modification time, as rsync and tar leave them.
            lambda: os.utime(self.root / "cli/other.cc", (0, 0)),
        )
        for number, change in enumerate(changes):
            change()
            self.assertEqual(self.builds(), 1, f"change {number}")
            self.assertEqual(self.builds(), 0, f"change {number}")

    def test_programs_that_are_gone_are_built_again(self):
        self.assertEqual(self.builds(), 1)
        for out in (self.fake / "cache/out").iterdir():
            if out.is_dir():
                shutil.rmtree(out)
        self.assertEqual(self.builds(), 1)

    def test_a_build_that_failed_is_no_build(self):
        (self.fake / "broken").touch()
        for _ in range(2):
            done, calls = self.run_job()
            self.assertEqual((done.returncode, calls), (1, 1))
            self.assertIn("ERROR: a.cc does not compile", done.stderr)
            self.assertIn("INFO: what Bazel says", done.stderr)
            self.assertNotIn("[1 / 9]", done.stderr)
        (self.fake / "broken").unlink()
        self.assertEqual(self.builds(), 1)


if __name__ == "__main__":
    unittest.main()
