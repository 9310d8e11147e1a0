#!/usr/bin/python3
"""Tests what the kit of tools/gpu-kit does around its programs, with programs of the test in their place."""
import json
import os
import subprocess
import sys
import unittest

from gpu_kit_testing import FACTS, KitFolder

SERVER = """
import sys
print("ready", flush=True)
for _ in sys.stdin:
    print(0.125, flush=True)
"""


class KitTest(KitFolder):
    def run_kit(self, *arguments):
        command = [sys.executable, str(self.folder / "python/gpu_kit.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder)

    def python(self, **facts):
        """A program in place of Python, whose PyTorch has these facts."""
        return self.program("python", f"print({json.dumps({**FACTS, **facts})!r})")

    def test_without_a_card_there_is_a_sentence_and_code_3(self):
        lacks = {
            self.python(cards=0): "no GPU answers: a card with NVIDIA's driver 580 or newer is needed",
            str(self.folder / "nothing"): "does not run",
        }
        for python, sentence in lacks.items():
            done = self.run_kit(f"--python={python}")
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertIn(sentence, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_another_pytorch_or_none_is_named(self):
        old = self.run_kit(f"--python={self.python(torch='2.10.0+cu126', cuda='12.6')}")
        self.assertEqual(old.returncode, 3)
        self.assertIn("PyTorch 2.11 for CUDA 13 is needed, and", old.stderr)
        self.assertIn("has 2.10.0+cu126 for CUDA 12.6", old.stderr)
        cpu = self.run_kit(f"--python={self.python(torch='2.11.0', cuda=None)}")
        self.assertIn("has 2.11.0 for CUDA None", cpu.stderr)
        none = self.run_kit(f"--python={self.program('python', 'raise ImportError(1234)')}")
        self.assertEqual(none.returncode, 3)
        self.assertIn("cannot import it: ImportError: 1234", none.stderr)

    def test_a_wrong_flag_is_code_2(self):
        for flag, why in {"--only=foo": "foo is none of kernels", "--minutes=x": "x is no number", "--nonsense": "unknown"}.items():
            done = self.run_kit(flag)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)

    def test_a_run_prints_rows_and_writes_them(self):
        self.program("a_test_on_gpu", "print('[       OK ] A.B (1 ms)\\n[       OK ] A.C (1 ms)')")
        self.program("b_test_on_gpu", "import sys; print('fine so far'); sys.exit('B.C is wrong')")
        done = self.run_kit(f"--python={self.python()}", "--only=kernels", "--json=out.json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^passed +\d+\.\d s  kernels a +tests 2$")
        self.assertRegex(done.stdout, r"(?m)^failed +\d+\.\d s  kernels b +exit 1: B\.C is wrong; see ")
        self.assertIn("1 passed, 1 failed, 0 not finished or not run\n", done.stdout)
        record = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([(row["name"], row["outcome"]) for row in record["rows"]], [("kernels a", "passed"), ("kernels b", "failed")])
        self.assertEqual(record["rows"][0]["figures"], {"tests": 2})
        self.assertEqual((record["kit"], record["machine"]["card"]), ({"commit": "abc"}, "NVIDIA H200"))

    def test_what_takes_too_long_is_ended_and_what_comes_after_the_time_is_not_run(self):
        run = self.new_run()
        self.assertFalse(run.check("slow", [self.program("slow", "import time; time.sleep(1000)")], 0.5))
        run.end = 0
        self.assertFalse(run.check("late", [self.program("late", "")], 100))
        self.assertEqual([row["outcome"] for row in run.rows], ["ran out of time", "not run"])
        self.assertEqual(self.kit.summary_of(run.rows), "0 passed, 0 failed, 2 not finished or not run")

    def test_a_first_step_is_timed_or_fails_with_its_words(self):
        run = self.new_run()
        self.program("step_server", SERVER)
        self.assertEqual(self.kit.step(run), {"ms": 125.0})
        self.assertEqual(run.rows[0]["figures"], {"ms": 125.0})
        self.program("step_server", "import sys; sys.exit('step_server: no GPU can be used')")
        self.assertFalse(self.kit.step(run))
        self.assertEqual((run.rows[1]["outcome"], run.rows[1]["note"]), ("failed", "step_server: no GPU can be used"))

    def test_a_step_after_the_time_is_no_failure(self):
        run = self.new_run()
        self.program("step_server", SERVER)
        run.end = 0
        self.assertFalse(self.kit.step(run))
        self.assertEqual([row["outcome"] for row in run.rows], ["ran out of time"])

    def test_programs_get_the_libraries_of_the_kit_and_python_its_own(self):
        run = self.new_run()
        show = self.program("show", "import os; print(os.environ.get('LD_LIBRARY_PATH', 'none'))")
        for command, expected in ([show], f"{self.folder}/lib:/t/torch/lib"), ([run.python, show], os.environ.get("LD_LIBRARY_PATH", "none")):
            process = run.start(command, stdout=subprocess.PIPE)
            self.assertEqual(process.communicate()[0].strip(), expected)

    def test_a_wheel_fits_its_own_python_or_any(self):
        fits = {"tokenizers-0.22.1-cp39-abi3-manylinux_2_17_x86_64.whl": True, "transformers-4.57.1-py3-none-any.whl": True,
                "regex-2025.1-1-cp311-cp311-manylinux2014_x86_64.whl": False, "regex-2025.1-cp312-cp312-manylinux2014_x86_64.whl": True}
        for wheel, expected in fits.items():
            self.assertEqual(self.kit.fits(wheel, "cp312"), expected, wheel)

    def test_llama_and_bloom_need_transformers(self):
        run = self.new_run()
        run.environment["PYTHONPATH"] = ""
        run.python = self.program("python", "import sys; sys.exit('No module named transformers')")
        self.program("dump_run", "")
        self.kit.parity(run)
        notes = {row["name"]: row["note"] for row in run.rows if row["outcome"] == "not run"}
        self.assertEqual(len(notes), 10)
        self.assertEqual(notes["parity bloom tf32"], "transformers cannot be imported: No module named transformers")

    def test_a_card_that_multiplies_no_fp8_has_a_note_in_place_of_its_rows(self):
        run = self.new_run()
        run.facts = {**run.facts, "capability": [8, 0]}
        self.program("dump_run", "")
        self.kit.parity(run)
        notes = {row["name"]: row["note"] for row in run.rows if "fp8" in row["name"]}
        families = ("gpt2", "llama", "bloom")
        self.assertEqual(notes, {f"parity {family} fp8": "the card multiplies no FP8 numbers" for family in families})


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    unittest.main()
