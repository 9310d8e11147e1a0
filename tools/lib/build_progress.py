#!/usr/bin/python3
"""Copies Bazel's output to stdout, without its progress, and says on another descriptor now and then how far it is.

bazel build --curses=no ... 2>&1 | build_progress.py DESCRIPTOR
"""
import collections
import os
import re
import sys
import time

PROGRESS = re.compile(r"^(?:\(\d+:\d+:\d+\) )?\[([\d,]+) / ([\d,]+)\]")
EVERY = 15.0  # seconds
# What was found in the cache is built in no time, so the pace is that of the last minutes alone.
WINDOW = 120.0


def progress_of(line):
    """Actions that are done, and those that are known; None for another line."""
    found = PROGRESS.match(line)
    return tuple(int(number.replace(",", "")) for number in found.groups()) if found else None


def time_left(seconds):
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes >= 1 else "less than a minute left"


class Build:
    """How far a build is. Times are seconds of one clock."""

    def __init__(self, begin):
        self.told = begin
        self.samples = collections.deque()

    def note(self, now, done, total):
        """The line to say now, or None."""
        self.samples.append((now, done))
        while now - self.samples[0][0] > WINDOW:
            self.samples.popleft()
        # Bazel counts a handful of actions before it knows of the others.
        if now - self.told < EVERY or done >= total:
            return None
        self.told = now
        then, done_then = self.samples[0]
        line = f"built {done:,} of about {total:,}"
        if done > done_then and now > then:
            line += ", " + time_left((total - done) * (now - then) / (done - done_then))
        return line


def main():
    build = Build(time.monotonic())
    for line in sys.stdin:
        progress = progress_of(line)
        if progress is None:
            sys.stdout.write(line)
            sys.stdout.flush()
            continue
        said = build.note(time.monotonic(), *progress)
        if said:
            os.write(int(sys.argv[1]), f"muster: {said}\n".encode())


if __name__ == "__main__":
    main()
