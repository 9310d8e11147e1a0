"""usage: step_sides_test.py STEP_SERVER

Tests that both sides of the step benchmark train GPT-2 and LLaMA as the kit for a card asks them to, here on the CPU.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).absolute().parent
SERVER = os.path.abspath(sys.argv.pop(1))
GPT2 = {"layers": 2, "heads": 4, "width": 64, "positions": 32, "vocabulary": 300}
LLAMA = {**GPT2, "family": "llama", "keyValueHeads": 2, "feedForwardWidth": 96, "ropeTheta": 500000}
SIDES = [SERVER], [sys.executable, str(HERE / "peer_step.py")]


class StepSidesTest(unittest.TestCase):
    def answers(self, side, lines, shape, **options):
        config = {"shape": shape, "sequence": 32, "microBatch": 2, "globalBatch": 4, **options}
        with tempfile.TemporaryDirectory() as folder:
            command = [*side, json.dumps(config), "0", "1", f"{folder}/store"]
            return subprocess.run(command, input=lines, capture_output=True, text=True, timeout=300)

    def test_steps_of_both_families_in_both_precisions_are_timed(self):
        for side in SIDES:
            for shape in (GPT2, LLAMA):
                for precision in ("fp32", "bf16"):
                    done = self.answers(side, "step\nstep\n", shape, precision=precision)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    ready, *seconds = done.stdout.splitlines()
                    self.assertEqual((ready, len(seconds)), ("ready", 2))
                    self.assertGreater(min(map(float, seconds)), 0)

    def test_a_trace_has_the_operators_of_its_steps_and_is_whole_when_it_is_answered(self):
        with tempfile.TemporaryDirectory() as folder:
            counts = []
            for steps in (1, 3):
                file = pathlib.Path(folder, f"{steps}.json")
                done = self.answers(SIDES[0], f"step\ntrace {file}\n", GPT2, tracedSteps=steps)
                self.assertEqual(len(done.stdout.splitlines()), 3, done.stderr)
                events = json.loads(file.read_text())["traceEvents"]
                counts.append(sum(e.get("name") == "aten::scaled_dot_product_attention" for e in events))
            layers, micro_batches = GPT2["layers"], 2
            self.assertEqual(counts, [layers * micro_batches, 3 * layers * micro_batches])

    def test_a_device_that_does_not_count_its_memory_and_an_unknown_family_are_errors(self):
        done = self.answers(SIDES[0], "memory\n", GPT2)
        self.assertEqual((done.returncode, done.stdout), (1, "ready\n"))
        self.assertIn("the allocator of cpu does not count", done.stderr)
        done = self.answers(SIDES[0], "", {**GPT2, "family": "opt"})
        self.assertEqual(done.returncode, 1)
        self.assertIn('no model family "opt"; there are gpt2, llama, bloom', done.stderr)


if __name__ == "__main__":
    unittest.main()
