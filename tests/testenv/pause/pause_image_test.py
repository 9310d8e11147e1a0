#!/usr/bin/python3
"""Tests the sandbox's program and its image."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pause_image  # noqa: E402
import shared_libraries  # noqa: E402


class PauseTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.program = self.folder / "program"
        pause_image.compile_pause(self.program)

    def start(self, *before):
        running = subprocess.Popen([*before, self.program])
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        return running

    def test_it_needs_no_library(self):
        self.assertEqual(shared_libraries.closure([self.program]), {})

    def test_it_ends_with_0_when_it_is_told(self):
        for told in (signal.SIGTERM, signal.SIGINT):
            # The signals are blocked from the start, so that one which comes before the program blocks them waits too.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {told})
            running = self.start()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            running.send_signal(told)
            self.assertEqual(running.wait(timeout=30), 0)

    def test_it_collects_children_that_it_inherits(self):
        # The shell starts a child that lives as long as the pipe, and becomes the program, which has to collect it.
        script = f"exec 3<&0; cat <&3 & echo $!; exec {self.program} <&- 3<&-"
        running = subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(running.wait)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.kill)
        child = pathlib.Path("/proc", running.stdout.readline().strip())
        self.assertTrue(child.exists())
        running.stdin.close()
        deadline = time.monotonic() + 30
        while child.exists() and time.monotonic() < deadline:
            os.sched_yield()
        self.assertFalse(child.exists())
        self.assertIsNone(running.poll())

    def test_the_image_is_the_same_each_time(self):
        first = pause_image.write(self.folder / "first").read_bytes()
        self.assertEqual(first, pause_image.write(self.folder / "second").read_bytes())
        self.assertEqual(sorted(file.name for file in (self.folder / "first").iterdir()), ["pause", "pause.tar"])


if __name__ == "__main__":
    unittest.main()
