#!/usr/bin/python3
"""Tests the reader of Bazel's build events."""
import json
import pathlib
import sys
import tempfile
import unittest

import test_results


class Reading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def result(self, label, status, xml=None, seconds=1):
        """A testResult event; `xml` holds the counts of GoogleTest's file."""
        event = {"status": status, "testAttemptDurationMillis": str(1000 * seconds)}
        if xml is not None:
            path = self.folder / f"test {len(list(self.folder.iterdir()))}.xml"
            path.write_text('<testsuites tests="%d" failures="%d" errors="%d"/>' % xml)
            event["testActionOutput"] = [{"name": "test.xml", "uri": path.as_uri()}]
        return {"id": {"testResult": {"label": label}}, "testResult": event}

    def completed(self, label, **what):
        return {"id": {"targetCompleted": {"label": label}}, **what}

    def read(self, *events, end=""):
        path = self.folder / "events.json"
        path.write_text("".join(json.dumps(e) + "\n" for e in events) + end)
        return test_results.read(path)

    def test_cases_are_counted_by_the_xml_and_else_the_target_as_one(self):
        suite = self.read(self.result("//a", "PASSED", (5, 0, 0)), self.result("//b", "FAILED", (5, 2, 0)),
                          self.result("//c", "PASSED"), self.result("//d", "FAILED"))
        counts = {label: (t.passed, t.failed, t.ok) for label, t in suite.targets.items()}
        self.assertEqual(counts, {"//a": (5, 0, True), "//b": (3, 2, False), "//c": (1, 0, True), "//d": (0, 1, False)})

    def test_a_target_that_failed_without_a_failed_case_has_none_that_passed(self):
        target = self.read(self.result("//a", "TIMEOUT", (5, 0, 0))).targets["//a"]
        self.assertEqual((target.passed, target.failed), (0, 5))

    def test_runs_and_shards_of_a_target_are_one_target(self):
        target = self.read(self.result("//a", "FAILED"), self.result("//a", "PASSED", seconds=2)).targets["//a"]
        self.assertEqual((target.ok, target.runs, target.failed_runs, target.seconds), (False, 2, 1, 3.0))

    def test_what_did_not_build_is_told_apart_from_what_was_not_come_to(self):
        suite = self.read(self.completed("//built", completed={"success": True}), self.completed("//broken", completed={}),
                          self.completed("//unsound", aborted={"reason": "ANALYSIS_FAILURE"}),
                          self.completed("//later", aborted={"reason": "USER_INTERRUPTED"}), self.completed("//too", aborted={}))
        self.assertEqual(suite.unbuilt, {"//broken", "//unsound"})

    def test_a_test_that_was_ended_with_bazel_has_no_result(self):
        self.assertEqual(self.read(self.result("//a", "INCOMPLETE"), self.result("//b", "NO_STATUS")).targets, {})

    def test_a_file_that_breaks_off_is_read_to_there(self):
        self.assertEqual(list(self.read(self.result("//a", "PASSED"), end='{"id": {"testRes').targets), ["//a"])
        self.assertEqual(test_results.read(self.folder / "none.json").targets, {})

    def test_a_budget_is_the_tag_or_the_default(self):
        declared = {"id": {"targetConfigured": {"label": "//a"}}, "configured": {"tag": ["cluster", "seconds:90"]}}
        suite = self.read(declared, self.result("//a", "PASSED", seconds=91), self.result("//b", "PASSED", seconds=60),
                          self.result("//c", "PASSED", seconds=61))
        self.assertEqual(test_results.over_budget(suite, 60), [("//a", 91.0, 90), ("//c", 61.0, 60)])


if __name__ == "__main__":
    sys.exit(unittest.main())
