#!/usr/bin/python3
"""usage: test_summary.py --results DIR --lint 0|1 [--budgets]

Reads Bazel's build event files in DIR, prints seconds per target, checks the budgets of the plain
run, and ends with `N passed, N failed`: test cases, plus lint, the budgets, each fuzz target and each step of
steps.txt (word, seconds and title, by tabs).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OK = ("PASSED", "FLAKY")


def cases(event):
    """(passed, failed) cases of a test result, from the XML GoogleTest wrote, else the target as one."""
    ok = event["status"] in OK
    for output in event.get("testActionOutput", []):
        if output["name"] != "test.xml":
            continue
        try:
            root = ElementTree.parse(urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)).getroot()
        except (OSError, ElementTree.ParseError):
            break
        total, bad = int(root.get("tests", 0)), int(root.get("failures", 0)) + int(root.get("errors", 0))
        if total:
            return (total - bad, bad) if ok or bad else (0, total)
    return (1, 0) if ok else (0, 1)


def read_events(path):
    """{target: (seconds, status, passed, failed)} and the targets that did not build."""
    results, unbuilt = {}, set()
    for line in path.read_text().splitlines():
        event = json.loads(line)
        if "testResult" in event:
            label, result = event["id"]["testResult"]["label"], event["testResult"]
            passed, failed = cases(result)
            before = results.get(label, (0.0, "PASSED", 0, 0))
            seconds = int(result.get("testAttemptDurationMillis", 0)) / 1000
            status = before[1] if result["status"] in OK else result["status"]
            results[label] = (before[0] + seconds, status, before[2] + passed, before[3] + failed)
        elif "completed" in event and not event["completed"].get("success", False) and "targetCompleted" in event["id"]:
            unbuilt.add(event["id"]["targetCompleted"]["label"])
        elif "aborted" in event and "targetCompleted" in event["id"]:
            unbuilt.add(event["id"]["targetCompleted"]["label"])
    return results, unbuilt - set(results)


def print_targets(title, results, unbuilt):
    print(f"\n{title}: {sum(r[0] for r in results.values()) / 60:.1f} min in {len(results)} targets")
    for label, (seconds, status, passed, failed) in sorted(results.items(), key=lambda item: -item[1][0]):
        if seconds >= 1 or status not in OK:
            print(f"  {seconds / 60:6.2f} min  {status:8} {passed:5} passed {failed:3} failed  {label}")
    for label in sorted(unbuilt):
        print(f"     did not build  {label}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--lint", type=int)
    parser.add_argument("--budgets", action="store_true")
    arguments = parser.parse_args()
    passed, failed = (0, 1) if arguments.lint else (1, 0)
    steps = arguments.results / "steps.txt"
    for line in steps.read_text().splitlines() if steps.exists() else []:
        word, seconds, title = line.split("\t")
        print(f"  {int(seconds) / 60:6.2f} min  {word:8} {title}")
        passed, failed = passed + (word == "ok"), failed + (word != "ok")
    plain = {}
    for path in sorted(arguments.results.glob("*.json")):
        results, unbuilt = read_events(path)
        print_targets(path.stem, results, unbuilt)
        passed += sum(r[2] for r in results.values())
        failed += sum(r[3] for r in results.values()) + len(unbuilt)
        if not results:
            print(f"{path.stem}: no test ran")
            failed += 1
        if path.stem.startswith("tests"):
            plain.update({label: r[0] for label, r in results.items()})
    if arguments.budgets:
        times = arguments.results / "times.txt"
        times.write_text(json.dumps(plain))
        in_budget = subprocess.run([str(ROOT / "tools/lint"), "--times", str(times)]).returncode == 0
        passed, failed = passed + in_budget, failed + (not in_budget)
    fuzz = arguments.results / "fuzz.txt"
    if fuzz.exists():
        print("\nfuzz targets:")
        for line in fuzz.read_text().splitlines():
            print("  " + line)
            passed, failed = passed + line.startswith("ok"), failed + (not line.startswith("ok"))
    print(f"\n{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
