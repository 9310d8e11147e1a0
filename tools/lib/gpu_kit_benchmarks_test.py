#!/usr/bin/python3
"""Tests what the benchmarks of the kit make of their programs' answers, with programs of the test in their place."""
import json
import os
import unittest

from gpu_kit_testing import KitFolder

# One side: SLOW is added to a step of micro-batch 64, and what is larger than LARGEST has no memory. It logs its configurations.
SIDE = """
import json, sys
config = json.loads(sys.argv[1])
with open("LOG", "a") as log:
    log.write(json.dumps(config) + "\\n")
if config["microBatch"] > LARGEST:
    sys.exit("RESOURCE_EXHAUSTED: the card has no memory for 1 GiB")
print("ready", flush=True)
steps = 0
for line in sys.stdin:
    if line == "memory\\n":
        print(json.dumps({"peak": PEAK if steps == 5 else 99 << 40}), flush=True)
        continue
    if line.startswith("trace "):
        events = [{"cat": "cpu_op", "ts": 0, "dur": 900000}] + [{"cat": "kernel", "ts": 400000 * i, "dur": 300000} for i in range(4)]
        open(line.split()[1], "w").write(json.dumps({"traceEvents": events}))
    steps += 1
    # The first steps are slow.
    print((9 if steps <= 3 else 0.5) + (7 if config["microBatch"] == 64 else 0), flush=True)
"""


class BenchmarksTest(KitFolder):
    def setUp(self):
        super().setUp()
        (self.folder / "python/tests/bench").mkdir(parents=True)
        self.run_ = self.new_run()
        self.ours(), self.peer()

    def ours(self, largest=64, peak=3 << 30):
        self.program("step_server", self.side("ours", largest, peak))

    def peer(self, largest=64, peak=6 << 30):
        (self.folder / "python/tests/bench/peer_step.py").write_text(self.side("peer", largest, peak))

    def side(self, name, largest, peak):
        return SIDE.replace("LOG", f"{self.folder}/{name}").replace("LARGEST", str(largest)).replace("PEAK", str(peak))

    def asked(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def rows(self):
        return {row["name"]: row for row in self.run_.rows}

    def test_each_side_has_its_best_micro_batch_and_the_peer_compiles_those_around_ours(self):
        self.benchmarks.PARTS["gpt2"](self.run_)
        ours, theirs, ratio = self.run_.rows
        self.assertEqual([config["microBatch"] for config in self.asked("ours")], [16, 32, 64, 128])
        self.assertEqual([config["microBatch"] for config in self.asked("peer")], [16, 32, 64])
        self.assertEqual({config["compile"] for config in self.asked("peer")}, {"max-autotune"})
        rate = 32 * 1024 / 0.5
        flops = 6 * (12 * 12 * 768 * 768 + 50304 * 768) + 12 * 12 * 768 * 1024
        figures = {"tokens/s": round(rate), "micro-batch": 32, "MFU %": round(100 * rate * flops / 989e12, 1)}
        others = {"at 16": 16 * 1024 * 2, "at 64": round(64 * 1024 / 7.5)}
        self.assertEqual(theirs["figures"], {**figures, **others})
        self.assertEqual(ours["figures"], {**figures, **others})
        self.assertEqual((ratio["name"], ratio["figures"]), ("GPT-2 124M, muster by torch.compile", {"tokens/s": 1.0}))

    def test_what_fits_the_peer_is_tried_before_what_has_no_memory(self):
        self.peer(largest=16)
        self.benchmarks.PARTS["gpt2"](self.run_)
        self.assertEqual([config["microBatch"] for config in self.asked("peer")], [16, 32])
        self.assertEqual(self.run_.rows[2]["figures"], {"tokens/s": 2.0})

    def test_where_the_peer_has_no_memory_ever_smaller_ones_are_tried_until_one_works(self):
        self.ours(largest=192)
        self.peer(largest=32)
        self.benchmarks.PARTS["gpt2"](self.run_)
        self.assertEqual(self.run_.rows[0]["figures"]["micro-batch"], 192)
        self.assertEqual([config["microBatch"] for config in self.asked("peer")], [128, 64, 32])
        self.assertEqual(self.run_.rows[2]["figures"], {"tokens/s": 6.0})

    def test_a_peer_without_time_for_larger_ones_has_the_figure_of_what_it_tried_first(self):
        server = self.benchmarks.Server

        def slow_above_16(run, side, config, seconds):
            if "peer" in side[-1] and config["microBatch"] > 16:
                raise self.benchmarks.OutOfTime("no time")
            return server(run, side, config, seconds)

        self.benchmarks.Server = slow_above_16
        self.addCleanup(setattr, self.benchmarks, "Server", server)
        self.benchmarks.PARTS["gpt2"](self.run_)
        self.assertEqual([row["outcome"] for row in self.run_.rows], ["passed"] * 3)
        self.assertEqual(self.run_.rows[1]["figures"]["micro-batch"], 16)

    def test_a_side_that_never_works_is_a_failed_row_with_its_words_and_no_ratio(self):
        self.peer(largest=0)
        self.benchmarks.PARTS["llama"](self.run_)
        self.assertEqual([row["outcome"] for row in self.run_.rows], ["passed", "failed"])
        self.assertIn("no memory for 1 GiB", self.run_.rows[1]["note"])
        self.ours(largest=0)
        self.benchmarks.PARTS["gpt2-1.5b"](self.run_)
        self.assertEqual([row["outcome"] for row in self.run_.rows], ["passed", "failed", "failed"])

    def test_the_mode_of_the_peer_can_be_another(self):
        self.run_.compile_mode = "default"
        self.benchmarks.PARTS["gpt2"](self.run_)
        self.assertEqual({config["compile"] for config in self.asked("peer")}, {"default"})
        self.assertIn("torch.compile default, GPT-2 124M", self.rows())

    def test_flops_count_the_matrices_that_multiply(self):
        llama = self.benchmarks.LLAMA_SLICE
        block = 4096 * 4096 * 2 + 4096 * 1024 * 2 + 4096 * 14336 * 3
        expected = 6 * (8 * block + 128256 * 4096) + 12 * 8 * 4096 * 8192
        self.assertEqual(self.benchmarks.flops_per_token(llama, 8192), expected)

    def test_peaks_are_those_of_steps_after_the_first_two(self):
        self.benchmarks.PARTS["vocabulary"](self.run_)
        self.assertEqual(self.run_.rows[0]["figures"], {"GiB": 3.0, "eager GiB": 6.0, "muster by eager": 0.5})
        self.assertEqual({config["shape"]["vocabulary"] for config in self.asked("ours") + self.asked("peer")}, {128256})

    def test_pauses_of_the_card_are_told_by_the_trace_and_by_untraced_steps(self):
        self.benchmarks.PARTS["host"](self.run_)
        figures = {"idle %": round(100 * 0.3 / 1.5, 2), "in pauses over 5 us %": 20.0, "of untraced steps %": 40.0}
        self.assertEqual(self.run_.rows[0]["figures"], figures)
        self.assertEqual(self.asked("ours")[0]["tracedSteps"], 4)

    def test_a_timeline_joins_what_overlaps_and_takes_what_the_card_did_alone(self):
        event = lambda cat, ts, dur: {"cat": cat, "ts": ts, "dur": dur}
        events = [event("gpu_memcpy", 130, 20), event("kernel", 0, 100), event("gpu_memset", 50, 10), event("kernel", 153, 7), event("cpu_op", 0, 500)]
        self.assertEqual(self.benchmarks.timeline(events), (160, 127, 30))
        with self.assertRaisesRegex(ValueError, "nothing that the card did"):
            self.benchmarks.timeline(events[-1:])

    def test_a_curve_passes_with_its_distances_or_fails_with_the_line_that_failed(self):
        os.makedirs(self.folder / "python/tests/parity")
        judge = self.folder / "python/tests/parity/curve.py"
        self.program("curve_run", "import sys; open(sys.argv[1], 'w').write(sys.argv[2])")
        said = "mean distance from FP32 over 400 steps: muster 0.03, autocast 0.02"
        judge.write_text(f"print('{said}')")
        self.benchmarks.PARTS["curve"](self.run_)
        trained, judged = self.run_.rows
        self.assertEqual((trained["outcome"], judged["outcome"]), ("passed", "passed"))
        self.assertEqual(judged["figures"], {"from FP32": 0.03, "autocast's": 0.02, "muster by autocast": 1.5})
        judge.write_text(f"import sys; print('{said}\\nFAIL by autocast: 1.5\\nok the last'); sys.exit(1)")
        self.benchmarks.PARTS["curve"](self.run_)
        self.assertEqual(self.run_.rows[3]["outcome"], "failed")
        self.assertIn("FAIL by autocast: 1.5", self.run_.rows[3]["note"])

    def test_after_the_time_nothing_has_failed(self):
        self.run_.end = 0
        for part in self.benchmarks.PARTS.values():
            part(self.run_)
        self.assertEqual({row["outcome"] for row in self.run_.rows}, {"ran out of time", "not run"})


if __name__ == "__main__":
    unittest.main()
