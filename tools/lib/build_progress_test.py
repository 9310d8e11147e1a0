#!/usr/bin/python3
"""Tests the progress lines of a long build."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
import build_progress


class ProgressTest(unittest.TestCase):
    def test_bazels_progress_is_read(self):
        self.assertEqual(build_progress.progress_of("[412 / 1,904] Compiling a.cc; 5s linux-sandbox"), (412, 1904))
        self.assertEqual(build_progress.progress_of("(10:11:12) [1 / 2] checking cached actions"), (1, 2))
        self.assertIsNone(build_progress.progress_of("INFO: Found 3 targets..."))
        self.assertIsNone(build_progress.progress_of("ERROR: [1 / 2] is no progress here"))

    def test_a_long_build_says_how_far_it_is_every_quarter_minute(self):
        build = build_progress.Build(0.0)
        said = [build.note(float(now), 100 + now, 1900) for now in range(0, 61)]
        told = {now: line for now, line in enumerate(said) if line}
        self.assertEqual(sorted(told), [15, 30, 45, 60])
        self.assertEqual(told[60], "built 160 of about 1,900, about 29 min left")

    def test_a_short_build_says_nothing(self):
        build = build_progress.Build(0.0)
        self.assertEqual([build.note(now, now, 14) for now in range(0, 14)], [None] * 14)

    def test_the_pace_is_that_of_the_last_minutes(self):
        build = build_progress.Build(0.0)
        build.note(1.0, 1500, 1900)  # all of these come from the cache
        build.note(100.0, 1500, 1900)
        build.note(160.0, 1530, 1900)
        self.assertEqual(build.note(220.0, 1560, 1900), "built 1,560 of about 1,900, about 11 min left")

    def test_without_a_pace_there_is_no_estimate(self):
        build = build_progress.Build(0.0)
        build.note(10.0, 5, 100)
        self.assertEqual(build.note(20.0, 5, 100), "built 5 of about 100")

    def test_the_end_is_near(self):
        build = build_progress.Build(0.0)
        build.note(0.0, 0, 100)
        self.assertEqual(build.note(60.0, 90, 100), "built 90 of about 100, less than a minute left")


if __name__ == "__main__":
    unittest.main()
