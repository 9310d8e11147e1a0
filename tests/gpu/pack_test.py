#!/usr/bin/python3
"""Tests that the packed kit is complete and small, and ends with a sentence where no card is."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LIMIT = 46 << 20  # bytes; the wheels of transformers are 18 MiB of the 64 that a kit may have
NOT_PACKED = ("libtorch", "libc10", "libcud", "libcupti", "libgomp")


class PackTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kit = pathlib.Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])) / "kit"
        command = [sys.executable, "-B", "tools/lib/gpu_pack.py", ".", str(cls.kit)]
        cls.done = subprocess.run(command, capture_output=True, text=True)

    def test_it_is_within_its_size(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        size = sum(path.stat().st_size for path in self.kit.rglob("*") if path.is_file())
        self.assertLess(size, LIMIT)
        self.assertGreater(size, 5 << 20)

    def test_every_script_finds_the_modules_of_ours_that_it_imports(self):
        scripts = list((self.kit / "python").rglob("*.py"))
        self.assertIn("parity.py", {script.name for script in scripts})
        ours = {path.stem for folder in ("tests/parity", "tests/bench", "tools/lib") for path in pathlib.Path(folder).glob("*.py")}
        for script in scripts:
            imported = set(re.findall(r"^\s*(?:import|from) (\w+)", script.read_text(), re.M)) & ours
            self.assertEqual({name for name in imported if not any((self.kit / "python").rglob(f"{name}.py"))}, set(), script)

    def test_every_program_finds_all_its_libraries_but_those_of_pytorch(self):
        programs = sorted((self.kit / "trainer").iterdir())
        self.assertGreater(len([p for p in programs if p.name.endswith("_test_on_gpu")]), 8)
        for program in programs:
            environment = {**os.environ, "LD_LIBRARY_PATH": str(self.kit / "lib")}
            shown = subprocess.run(["ldd", str(program)], capture_output=True, text=True, env=environment).stdout
            missing = [line.split()[0] for line in shown.splitlines() if "not found" in line]
            self.assertEqual([name for name in missing if not name.startswith(NOT_PACKED)], [], program)
            of_debian = [line for line in shown.splitlines() if "libabsl" in line or "libprotobuf" in line]
            for line in of_debian:
                self.assertIn(str(self.kit), line)

    def test_without_pytorch_it_ends_with_a_sentence_and_code_3(self):
        done = subprocess.run([str(self.kit / "run"), "--python=/usr/bin/false"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertTrue(done.stderr.startswith("gpu-kit: PyTorch 2.11 for CUDA 13 is needed"), done.stderr)


if __name__ == "__main__":
    unittest.main()
