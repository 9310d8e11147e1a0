"""What the tests of the kit of tools/gpu-kit share."""
import importlib
import io
import pathlib
import shutil
import stat
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).absolute().parent
SCRIPTS = "gpu_kit", "gpu_kit_benchmarks", "gpu_kit_run"
FACTS = {"python": "cp311", "torch": "2.11.0+cu130", "cuda": "13.0", "folder": "/t/torch", "cards": 1, "card": "NVIDIA H200", "capability": [9, 0], "memory": 1,
         "nccl": "2.28.9"}


class KitFolder(unittest.TestCase):
    """A kit with its scripts, and programs of the test."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("python", "trainer", "wheels"):
            (self.folder / name).mkdir()
        for script in SCRIPTS:
            shutil.copy(HERE / f"{script}.py", self.folder / "python")
            sys.modules.pop(script, None)
        (self.folder / "kit.json").write_text('{"commit": "abc"}')
        sys.path.insert(0, str(self.folder / "python"))
        self.kit, self.benchmarks = importlib.import_module("gpu_kit"), importlib.import_module("gpu_kit_benchmarks")
        self.addCleanup(sys.path.remove, str(self.folder / "python"))

    def program(self, name, text, interpreter=sys.executable):
        path = self.folder / "trainer" / name
        path.write_text(f"#!{interpreter}\n{text}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def new_run(self, minutes=5):
        self.out = io.StringIO()
        run = self.kit.Run(sys.executable, FACTS, minutes, self.out)
        self.addCleanup(shutil.rmtree, run.folder)
        return run
