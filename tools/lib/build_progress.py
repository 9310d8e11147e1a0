#!/usr/bin/python3
"""Copies Bazel's output to stdout, without progress lines, and reports progress now and then on another descriptor.

bazel build --curses=no ... 2>&1 | build_progress.py DESCRIPTOR
"""
import collections
import os
import re
import sys
import time

PROGRESS = re.compile(r"^(?:\(\d+:\d+:\d+\) )?\[([\d,]+) / ([\d,]+)\]")
EVERY = 15.0  # seconds
# Cached actions take no time, so the pace is measured over the last minutes only.
WINDOW = 120.0


def progress_of(line):
    """(actions done, actions known) of a progress line; None for any other line."""
    found = PROGRESS.match(line)
    return tuple(int(number.replace(",", "")) for number in found.groups()) if found else None


def time_left(seconds):
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes >= 1 else "less than a minute left"


class Build:
    """The progress of a build. All times are seconds of one clock."""

    def __init__(self, begin):
        self.told = begin
        self.samples = collections.deque()

    def note(self, now, done, total):
        """The line to print now, or None."""
        self.samples.append((now, done))
        while now - self.samples[0][0] > WINDOW:
            self.samples.popleft()
        # Bazel counts a handful of actions before it knows the others.
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
