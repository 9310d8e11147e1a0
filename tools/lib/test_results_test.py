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

    def logged(self, label, status, log, **more):
        """A testResult event with a log."""
        path = self.folder / f"test {len(list(self.folder.iterdir()))}.log"
        path.write_text(log)
        event = self.result(label, status)
        event["testResult"].update(testActionOutput=[{"name": "test.log", "uri": path.as_uri()}], **more)
        return event

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

    def test_a_result_is_kept_if_this_clone_or_the_disk_cache_had_it(self):
        suite = self.read(self.logged("//here", "PASSED", "", cachedLocally=True), self.result("//ran", "PASSED"),
                          self.logged("//disk", "PASSED", "", executionInfo={"cachedRemotely": True}),
                          self.logged("//anew", "PASSED", "", executionInfo={"strategy": "local"}))
        self.assertEqual({label: t.kept for label, t in suite.targets.items()}, {"//here": 1, "//disk": 1, "//ran": 0, "//anew": 0})
        self.assertEqual([label for label, *_ in test_results.over_budget(suite, 0.5)], ["//anew", "//ran"])

    def test_cpu_seconds_are_those_of_the_last_line(self):
        line = "muster: {} s of CPU time for the user, {} s for the system\n"
        suite = self.read(self.logged("//a", "PASSED", "words " + line.format(9, 9) + "more\n" + line.format("1.25", "0.500")),
                          self.logged("//b", "TIMEOUT", "it was killed\n"))
        self.assertEqual({label: t.cpu_seconds for label, t in suite.targets.items()}, {"//a": 1.75, "//b": 0.0})

    def test_the_first_words_of_a_failure_are_those_of_the_first_failed_run(self):
        log = "[ RUN      ] A.B\nnoise\na/b_test.cc:7: Failure\nValue of: x\n" + "more\n" * 20
        suite = self.read(self.logged("//a", "FAILED", log), self.logged("//a", "FAILED", "a/b_test.cc:9: Failure\n"))
        self.assertEqual(suite.targets["//a"].words.splitlines()[:3], ["a/b_test.cc:7: Failure", "Value of: x", "more"])
        self.assertEqual(len(suite.targets["//a"].words.splitlines()), 8)

    def test_the_words_of_each_kind_of_failure_are_found_and_else_the_end_of_the_log_is_shown(self):
        for log, first in (
                ("ok\n==7==ERROR: AddressSanitizer: heap-use-after-free\n#0\n", "==7==ERROR: AddressSanitizer: heap-use-after-free"),
                ("WARNING: ThreadSanitizer: data race (pid=7)\n", "WARNING: ThreadSanitizer: data race (pid=7)"),
                ("Traceback (most recent call last):\n  x\nAssertionError: 1 != 2\n", "AssertionError: 1 != 2"),
                ("FAIL: test_a (b.C)\n", "FAIL: test_a (b.C)"),
                ("a.cc:3:7: runtime error: signed integer overflow\n", "a.cc:3:7: runtime error: signed integer overflow"),
                ("one\ntwo\nmuster: 1 s of CPU time for the user, 0 s for the system\n", "one")):
            self.assertEqual(test_results.first_words(log).splitlines()[0], first)

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
