#!/usr/bin/python3
"""usage: test_summary.py --results DIR --lint 0|1 --minutes N --mode MODE
       test_summary.py --failed EVENTS     the targets to run once more
       test_summary.py --first-words EVENTS  as JSON, what the log of each failed target says first
       test_summary.py --runs EVENTS       how many runs of each target failed

DIR holds, for each suite of tests, SUITE.targets (its labels), SUITE.json (Bazel's build events), SUITE.first (what
--first-words printed) and again/SUITE.json (the events of its failed targets, run once more); steps.txt (word, seconds and title of every
other step, separated by tabs), fuzz.txt, and left_out.txt (titles of suites and steps that exceeded the N minutes).

Prints minutes per target, how many results were kept, and the targets with the most CPU time, and ends with `N passed, N failed`: test cases, plus lint, each step and each fuzz
target. For a target that was run again the last run counts. A target over its budget is named, but does not fail.
"""
import argparse
import json
import pathlib
import sys
import tomllib

import test_results

ROOT = pathlib.Path(__file__).absolute().parent.parent.parent


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


class Summary:
    def __init__(self, folder):
        self.folder = folder
        self.left_out = set(lines_of(folder / "left_out.txt"))
        self.passed = self.failed = self.ran = self.kept = 0
        self.only_again, self.not_run, self.slow, self.costs = [], [], [], []

    def count(self, ok):
        self.passed, self.failed = self.passed + ok, self.failed + (not ok)

    def steps(self):
        for line in lines_of(self.folder / "steps.txt"):
            word, seconds, title = line.split("\t")
            print(f"  {int(seconds) / 60:6.2f} min  {word:8} {title}")
            if word != "ENDED":
                self.count(word in ("ok", "kept"))

    def suite(self, title):
        wanted = set(lines_of(self.folder / f"{title}.targets"))
        suite = test_results.read(self.folder / f"{title}.json")
        again = test_results.read(self.folder / "again" / f"{title}.json").targets
        words = json.loads("\n".join(lines_of(self.folder / f"{title}.first")) or "{}")
        if wanted:
            print_targets(title, suite)
        for label, target in suite.targets.items():
            second = again.get(label)
            if not target.ok and second and second.ok:
                self.only_again.append((label, title, words.get(label, "")))
                target = second
            self.passed, self.failed = self.passed + target.passed, self.failed + target.failed
        self.ran += sum(target.kept < target.runs for target in suite.targets.values())
        self.kept += sum(target.kept == target.runs for target in suite.targets.values())
        self.costs += [(target.cpu_seconds, label, title) for label, target in suite.targets.items()]
        self.failed += len(suite.unbuilt)
        unrun = wanted - set(suite.targets) - suite.unbuilt
        if title in self.left_out:
            self.not_run += [(title, len(unrun))] if unrun else []
        else:
            for label in sorted(unrun):
                print(f"        did not run  {label}")
            self.failed += len(unrun)
        if title.startswith("tests"):
            law = tomllib.loads((ROOT / "tools/law.toml").read_text())
            self.slow += test_results.over_budget(suite, law["budget"]["default_seconds"])

    def fuzz(self):
        lines = lines_of(self.folder / "fuzz.txt")
        print("\nfuzz targets:" if lines else "", end="\n" if lines else "")
        for line in lines:
            print("  " + line)
            self.count(line.startswith("ok"))

    def tell(self, minutes):
        if self.slow:
            print("\nover their budgets (a warning):")
        for label, seconds, budget in self.slow:
            print(f"  {label} took {seconds:.0f} s, its budget is {budget} s")
        if self.only_again:
            print("\npassed only when run again; to be mended before new work:")
        for label, title, words in self.only_again:
            print(f"  {label} ({title}), which failed first with:")
            print("".join(f"      {line}\n" for line in words.splitlines()), end="")
        steps = sorted(self.left_out - {title for title, _ in self.not_run} - {p.stem for p in self.folder.glob("*.targets")})
        if self.not_run or steps:
            print(f"\nnot run, for {minutes} min were over:")
            for title, count in self.not_run:
                print(f"  {title}: {count} test targets")
            for title in steps:
                print(f"  {title}")
            print(f"{sum(count for _, count in self.not_run)} test targets and {len(steps)} other steps were not run")
        costly = [cost for cost in sorted(self.costs, reverse=True)[:20] if cost[0] >= 1]
        if costly:
            print(f"\nthe most CPU time, of {sum(cost[0] for cost in self.costs) / 60:.1f} min in all:")
        for seconds, label, title in costly:
            print(f"  {seconds:7.1f} s  {label} ({title})")
        print(f"\n{self.ran} test targets ran; of {self.kept} the result is kept, for their inputs are those of a run that passed")
        print(f"\n{self.passed} passed, {self.failed} failed")


def print_targets(title, suite):
    print(f"\n{title}: {sum(t.seconds for t in suite.targets.values()) / 60:.1f} min in {len(suite.targets)} targets")
    for label, t in sorted(suite.targets.items(), key=lambda item: -item[1].seconds):
        if t.kept < t.runs and (t.seconds >= 1 or not t.ok):
            print(f"  {t.seconds / 60:6.2f} min {t.cpu_seconds:7.1f} s CPU  {t.status:8} {t.passed:5} passed {t.failed:3} failed  {label}")
    for label in sorted(suite.unbuilt):
        print(f"     did not build  {label}")


def print_failed(path):
    for label, target in sorted(test_results.read(path).targets.items()):
        if not target.ok:
            print(label)


def print_first_words(path):
    targets = test_results.read(path).targets
    print(json.dumps({label: target.words for label, target in targets.items() if not target.ok}))


def print_runs(path):
    suite = test_results.read(path)
    for label, t in sorted(suite.targets.items()):
        print(f"  {t.failed_runs} of {t.runs} failed  {label}")
    for label in sorted(suite.unbuilt):
        print(f"  did not build  {label}")
    passed = sum(t.runs - t.failed_runs for t in suite.targets.values())
    failed = sum(t.failed_runs for t in suite.targets.values()) + len(suite.unbuilt) + (not suite.targets)
    print(f"\n{passed} passed, {failed} failed")
    return failed


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[0].removeprefix("usage: "))
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--lint", type=int)
    parser.add_argument("--minutes", type=int)
    parser.add_argument("--mode")
    parser.add_argument("--failed", type=pathlib.Path)
    parser.add_argument("--first-words", type=pathlib.Path)
    parser.add_argument("--runs", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.failed:
        return print_failed(arguments.failed)
    if arguments.first_words:
        return print_first_words(arguments.first_words)
    if arguments.runs:
        sys.exit(1 if print_runs(arguments.runs) else 0)
    summary = Summary(arguments.results)
    summary.count(not arguments.lint)
    summary.steps()
    for path in sorted(arguments.results.glob("*.targets")):
        summary.suite(path.stem)
    summary.fuzz()
    if arguments.mode == "changed" and not summary.ran + summary.kept + summary.failed:
        print("\nno test depends on what has changed")
    elif not summary.ran + summary.kept:
        print("\nno test ran")
        summary.failed += 1
    summary.tell(arguments.minutes)
    sys.exit(1 if summary.failed else 0)


main()
