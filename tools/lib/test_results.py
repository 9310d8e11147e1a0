"""Reads test results from Bazel's build event files."""
import dataclasses
import json
import pathlib
import re
import urllib.parse
import xml.etree.ElementTree as ElementTree

OK = ("PASSED", "FLAKY")
# The statuses of a test that ended because Bazel did, and of a target that it never reached.
UNFINISHED = ("NO_STATUS", "INCOMPLETE")
INTERRUPTED = ("USER_INTERRUPTED", "INCOMPLETE", "SKIPPED", "UNKNOWN")
# The last line of every test's log (tools/lib/cpu_seconds.sh).
CPU = re.compile(r"^muster: ([\d.]+) s of CPU time for the user, ([\d.]+) s for the system$", re.M)
# Lines that tell why a test failed: of GoogleTest, of Python's unittest, of sanitizers, of shells and of Bazel.
WORDS = re.compile(r": Failure$|^[\w.]*(?:Error|Exception)\b|^FAIL: |\berror: |ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|"
                   r"runtime error: |Check failed|Segmentation fault|Killed|TIMEOUT", re.M)


@dataclasses.dataclass
class Target:
    """All runs of one test target: the number of cases and the total seconds."""
    seconds: float = 0.0
    status: str = "PASSED"
    passed: int = 0
    failed: int = 0
    runs: int = 0
    failed_runs: int = 0
    kept: int = 0  # runs whose result is that of an earlier one with the same inputs
    cpu_seconds: float = 0.0
    words: str = ""  # of the first failed run

    @property
    def ok(self):
        return self.status in OK


@dataclasses.dataclass
class Suite:
    targets: dict  # label -> Target
    unbuilt: set  # labels
    budgets: dict  # label -> seconds, of targets that declare a budget


def _file(event, name):
    """The path of an output of a test result, or None."""
    for output in event.get("testActionOutput", []):
        if output["name"] == name:
            return pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path))
    return None


def _log(event):
    path = _file(event, "test.log")
    return path.read_text(errors="replace") if path and path.exists() else ""


def cpu_seconds(log):
    """What the last line of a log says, or 0: a test that was killed has none."""
    found = CPU.findall(log[-200:])
    return sum(map(float, found[-1])) if found else 0.0


def first_words(log, lines=8):
    """The lines of a failed test's log that tell first what was wrong; the log's end if none is recognized."""
    log = CPU.sub("", log)
    found = WORDS.search(log)
    if found:
        start = log.rfind("\n", 0, found.start()) + 1
        return "\n".join(log[start:].splitlines()[:lines])
    return "\n".join(log.splitlines()[-lines:])


def cases(event):
    """(passed, failed) cases of a test result, from GoogleTest's XML; without it the target counts as one case."""
    ok = event["status"] in OK
    path, total = _file(event, "test.xml"), 0
    try:
        root = ElementTree.parse(path).getroot() if path else {}
        total, bad = int(root.get("tests", 0)), int(root.get("failures", 0)) + int(root.get("errors", 0))
    except (OSError, ElementTree.ParseError):
        pass
    if total:
        return (total - bad, bad) if ok or bad else (0, total)
    return (1, 0) if ok else (0, 1)


def _add(target, result):
    passed, failed = cases(result)
    ok = result["status"] in OK
    target.seconds += int(result.get("testAttemptDurationMillis", 0)) / 1000
    target.status = target.status if ok else result["status"]
    target.passed, target.failed = target.passed + passed, target.failed + failed
    target.runs, target.failed_runs = target.runs + 1, target.failed_runs + (not ok)
    target.kept += bool(result.get("cachedLocally") or result.get("executionInfo", {}).get("cachedRemotely"))
    log = _log(result)
    target.cpu_seconds += cpu_seconds(log)
    if not ok and not target.words:
        target.words = first_words(log)


def _events(path):
    """Yields the events of a file; the last line is incomplete if Bazel was killed."""
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def read(path):
    """The Suite of an event file; empty if the file is missing."""
    suite = Suite({}, set(), {})
    for event in _events(path):
        kind = event["id"]
        if "testResult" in event:
            if event["testResult"]["status"] not in UNFINISHED:
                _add(suite.targets.setdefault(kind["testResult"]["label"], Target()), event["testResult"])
        elif "configured" in event:
            declared = [int(tag.split(":")[1]) for tag in event["configured"].get("tag", []) if tag.startswith("seconds:")]
            if declared:
                suite.budgets[kind["targetConfigured"]["label"]] = declared[0]
        elif "targetCompleted" in kind and not event.get("completed", {}).get("success", False):
            if event.get("aborted", {"reason": ""}).get("reason", "UNKNOWN") not in INTERRUPTED:
                suite.unbuilt.add(kind["targetCompleted"]["label"])
    suite.unbuilt -= set(suite.targets)
    return suite


def over_budget(suite, default_seconds):
    """[(label, seconds, budget)] of the targets that took longer than their budget or the default."""
    took = [(label, t.seconds, suite.budgets.get(label, default_seconds))
            for label, t in sorted(suite.targets.items()) if t.kept < t.runs]
    return [entry for entry in took if entry[1] > entry[2]]
