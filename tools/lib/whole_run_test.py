#!/usr/bin/python3
"""Tests whole runs of tools/test, in a tree with stand-ins for Bazel, the clock and the other tools."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).absolute().parent.parent
UNIT, INTEGRATION, LONE, PURE = "//a:unit_test", "//tests/i:integration_test", "//t:lone_test", "//a:pure_test"

BAZEL = '''#!/usr/bin/python3
import json, os, pathlib, signal, sys
fake = pathlib.Path(os.environ["FAKE"])
plan = json.loads((fake / "plan.json").read_text())
startup = [a for a in sys.argv[1:3] if a.startswith("--")]
config = startup[0].rsplit("-", 1)[-1]
command, arguments = sys.argv[3], sys.argv[4:]
labels = [a for a in arguments if not a.startswith("-")]
load = len(pathlib.Path(f"/proc/{os.getppid()}/task/{os.getppid()}/children").read_text().split()) - 1
with open(fake / "calls", "a") as calls:
    calls.write(json.dumps({"command": command, "config": config, "arguments": arguments, "labels": labels, "load": load}) + "\\n")

def query(text):
    for part, found in plan["queries"]:
        if part in text:
            return found
    sys.exit(7)

def attempt(label):
    path = fake / ("tries-" + config + label.replace("/", "_"))
    tries = int(path.read_text()) if path.exists() else 0
    path.write_text(str(tries + 1))
    outcomes = plan["outcomes"].get(config + " " + label, ["PASSED"])
    return outcomes[min(tries, len(outcomes) - 1)]

def tests(events):
    runs = next((int(a.split("=")[1]) for a in arguments if a.startswith("--runs_per_test=")), 1)
    bad = False
    for label in labels:
        for _ in range(runs):
            outcome = attempt(label)
            if outcome == "HANGS":
                events.flush()
                with open(fake / "hanging", "w") as told:
                    told.write("now")
                signal.pause()
            bad |= outcome != "PASSED"
            event = {"id": {"testResult": {"label": label}}, "testResult": {"status": outcome, "testAttemptDurationMillis": "61000"}}
            if label in plan["kept"] and "--nocache_test_results" not in arguments:
                event["testResult"]["executionInfo"] = {"cachedRemotely": True}
            if label in plan["logs"]:
                log = fake / ("log" + label.replace("/", "_"))
                log.write_text(plan["logs"][label] if outcome != "PASSED" else "all is well\\n")
                event["testResult"]["testActionOutput"] = [{"name": "test.log", "uri": log.as_uri()}]
            if outcome == "UNBUILT":
                event = {"id": {"targetCompleted": {"label": label}}, "completed": {}}
            events.write(json.dumps(event) + "\\n")
    return 3 if bad else 0

status = 0
if command == "query":
    print(*query(arguments[-1]), sep="\\n", end="\\n" if query(arguments[-1]) else "")
elif command == "build":
    status = 1 if config in plan["broken"] else 0
elif command == "test":
    path = next(a.split("=", 1)[1] for a in arguments if a.startswith("--build_event_json_file="))
    with open(path, "w") as events:
        status = tests(events)
after = plan["clock"].get(command + " " + config)
if after is not None:
    (fake / "clock").write_text(str(after * 60))
sys.exit(status)
'''
STUBS = {
    "bin/bazel": BAZEL,
    "bin/date": '#!/bin/sh\ncat "$FAKE/clock"\n',
    # Records the seconds given to it, and Bazel's command. If a file `over` exists, the time of tests is over at once.
    "bin/timeout": '#!/bin/sh\necho "$2 $6" >>"$FAKE/left"\ncase "$*" in *" test "*) [ ! -e "$FAKE/over" ] || { echo 9999 >"$FAKE/clock"; shift 2; set -- x 0.5 "$@"; } ;; esac\n'
    'shift\nexec /usr/bin/timeout "$@"\n',
    "tools/setup": "#!/bin/sh\n",
    "tools/lint": "#!/bin/sh\necho 'lint: 0 findings, 0 notes'\n",
    "tools/testenv": '#!/bin/sh\necho "$1" >>"$FAKE/testenv"\n[ "$1" != status ]\n',
    "tests/mutations/run": '#!/bin/sh\necho planted >"$FAKE/planted"\n',
    "tools/fuzz": '#!/bin/sh\necho "ok frame_fuzz: 9 inputs" >>"$4"\necho "$2" >"$FAKE/fuzzed"\n',
}


class WholeRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.fake = pathlib.Path(folder.name) / "tree", pathlib.Path(folder.name) / "fake"
        (self.root / "tools").mkdir(parents=True)
        self.fake.mkdir()
        shutil.copytree(TOOLS / "lib", self.root / "tools/lib")
        for name in ("test", "law.toml"):
            shutil.copy(TOOLS / name, self.root / "tools" / name)
        for name, text in STUBS.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        (self.fake / "clock").write_text("0")
        self.plan = {
            "queries": [["test_iterations", [UNIT, PURE]], ["no-tsan", [UNIT]], ["no-sanitizer", [INTEGRATION, UNIT]],
                        ["except attr(tags, exclusive", [PURE, INTEGRATION, UNIT]], ["attr(tags, exclusive", [LONE]],
                        ["attr(tags, cluster, tests(set", []], ["cluster", [PURE, UNIT]]],
            "outcomes": {}, "broken": [], "clock": {}, "kept": [], "logs": {},
        }

    def start(self, *arguments):
        (self.fake / "plan.json").write_text(json.dumps(self.plan))
        env = {"PATH": f"{self.root}/bin:/usr/bin:/bin", "FAKE": str(self.fake), "HOME": str(self.fake), "MUSTER_CACHE": str(self.fake)}
        return subprocess.Popen([self.root / "tools/test", *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_test(self, *arguments):
        """(exit code, stdout, its last line)."""
        process = self.start(*arguments)
        out, self.errors = process.communicate()
        return process.returncode, out, (out.strip().splitlines() or [""])[-1]

    def calls(self, command, config=None):
        calls = [json.loads(line) for line in (self.fake / "calls").read_text().splitlines()]
        return [c for c in calls if c["command"] == command and config in (None, c["config"])]

    def limits(self, command):
        """The seconds given to each run of a command of Bazel."""
        lines = (self.fake / "left").read_text().splitlines()
        return [int(line.split()[0]) for line in lines if line.split()[1:] == [command]]

    def targets_of(self, config):
        return [c["labels"] for c in self.calls("test", config)]

    def test_without_a_flag_all_tests_run_plain_and_no_sanitizer(self):
        code, out, last = self.run_test()
        # Lint, two steps of the control plane, the build, four tests.
        self.assertEqual((code, last), (0, "8 passed, 0 failed"), out + self.errors)
        self.assertEqual(self.targets_of("default"), [[PURE, UNIT, INTEGRATION], [LONE]])
        self.assertEqual(self.calls("test", "asan") + self.calls("test", "tsan"), [])
        self.assertFalse((self.fake / "fuzzed").exists())
        # A test that started the control plane would take it along at its end.
        self.assertIn("up", (self.fake / "testenv").read_text().split())

    def test_ci_adds_sanitizers_and_fuzz_and_runs_a_unit_test_under_one_instead_of_plain(self):
        code, out, last = self.run_test("--ci")
        self.assertEqual((code, last), (0, "14 passed, 0 failed"), out + self.errors)
        self.assertEqual(self.targets_of("default"), [[PURE, INTEGRATION], [LONE]])
        self.assertEqual(self.targets_of("asan"), [[UNIT, INTEGRATION]])
        self.assertEqual(self.targets_of("tsan"), [[UNIT]])
        self.assertIn("-" + UNIT, self.calls("build", "default")[0]["arguments"])
        self.assertEqual((self.fake / "fuzzed").read_text(), "10\n")

    def test_full_runs_everything_plain_as_well(self):
        code, out, last = self.run_test("--full")
        self.assertEqual(code, 0, out + self.errors)
        self.assertEqual(self.targets_of("default"), [[PURE, UNIT, INTEGRATION], [LONE]])
        self.assertIn("--test_env=MUSTER_FULL=1", self.calls("test", "asan")[0]["arguments"])
        self.assertEqual(len(self.calls("build", "plain")), 1)
        self.assertTrue((self.fake / "planted").exists())
        self.assertEqual(set(self.limits("build") + self.limits("test")), {0}, "no limit")

    def test_fast_needs_no_control_plane(self):
        code, out, last = self.run_test("--fast")
        self.assertEqual((code, last), (0, "4 passed, 0 failed"), out + self.errors)
        self.assertFalse((self.fake / "testenv").exists())

    def test_what_fails_once_is_run_again_alone_and_told(self):
        self.plan["outcomes"] = {f"default {PURE}": ["FAILED", "PASSED"], f"asan {UNIT}": ["FAILED", "PASSED"]}
        code, out, last = self.run_test("--ci")
        self.assertEqual((code, last), (0, "14 passed, 0 failed"), out + self.errors)
        again = out[out.index("passed only when run again;"):]
        self.assertIn(f"  {PURE} (tests), which", again)
        self.assertIn(f"  {UNIT} (address and undefined-behaviour sanitizers), which", again)
        self.assertEqual(self.targets_of("default")[-1], [PURE])
        self.assertIn("--local_test_jobs=1", self.calls("test", "default")[-1]["arguments"])

    def test_a_pass_of_the_second_run_is_told_with_the_first_ones_words_and_not_kept(self):
        self.plan["outcomes"] = {f"default {PURE}": ["FAILED", "PASSED"]}
        self.plan["logs"] = {PURE: "[ RUN      ] Pure.Test\na/pure_test.cc:7: Failure\nExpected equality: 1\n"}
        code, out, last = self.run_test()
        self.assertEqual(code, 0, out + self.errors)
        self.assertIn(f"  {PURE} (tests), which failed first with:\n      a/pure_test.cc:7: Failure\n      Expected equality: 1\n", out)
        first, again = self.calls("test", "default")[0]["arguments"], self.calls("test", "default")[-1]["arguments"]
        self.assertNotIn("--nocache_test_results", first)
        self.assertIn("--nocache_test_results", again)
        # Bazel looks results up by the environment, too, so no other run finds this one's.
        self.assertIn("--test_env=MUSTER_RUN=again", again)
        self.assertFalse([a for a in first if "MUSTER_RUN" in a])

    def test_what_is_kept_is_counted_and_fresh_runs_it(self):
        self.plan["kept"] = [PURE, UNIT, LONE]
        code, out, last = self.run_test()
        self.assertEqual((code, last), (0, "8 passed, 0 failed"), out + self.errors)
        self.assertIn("\n1 test targets ran; of 3 the result is kept, ", out)
        code, out, last = self.run_test("--fresh")
        self.assertEqual((code, last), (0, "8 passed, 0 failed"), out + self.errors)
        self.assertIn("\n4 test targets ran; of 0 the result is kept, ", out)

    def git(self, *arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()

    def repository(self):
        self.git("init", "-q")
        (self.root / ".gitignore").write_text("__pycache__/\n")

    def commit(self, **files):
        for name, text in files.items():
            (self.root / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "some change")
        return self.git("rev-parse", "HEAD")

    def lints(self):
        path = self.fake / "lints"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def test_lint_and_fuzzing_are_kept_until_a_file_changes(self):
        (self.root / "tools/lint").write_text('#!/bin/sh\necho >>"$FAKE/lints"\necho "lint: 0 findings, 0 notes"\n')
        self.repository()
        self.commit(BUILD="")
        for tries, fuzzed in ((1, True), (1, False)):
            (self.fake / "fuzzed").unlink(missing_ok=True)
            code, out, last = self.run_test("--ci")
            self.assertEqual((code, self.lints(), (self.fake / "fuzzed").exists()), (0, tries, fuzzed), out + self.errors)
        self.run_test("--ci", "--fresh")
        self.assertEqual((self.lints(), (self.fake / "fuzzed").exists()), (2, True))
        self.commit(page="words")
        self.run_test("--ci")
        self.assertEqual(self.lints(), 3)

    def test_lint_that_failed_is_not_kept(self):
        (self.root / "tools/lint").write_text('#!/bin/sh\necho >>"$FAKE/lints"\nexit 1\n')
        self.repository()
        self.commit(BUILD="")
        for tries in (1, 2):
            code, out, last = self.run_test("--fast")
            self.assertEqual((code, self.lints()), (1, tries), out + self.errors)

    def test_changed_runs_what_depends_on_files_that_differ_from_the_newest_commit_that_passed(self):
        self.repository()
        (self.root / "a").mkdir()
        (self.root / "a/BUILD.bazel").write_text("")
        (self.root / "a/rule.cc").write_text("one")
        green = self.commit(WORKSPACE="")
        self.assertEqual(self.run_test()[0], 0)
        (self.root / "a/rule.cc").write_text("two")
        self.plan["queries"].insert(0, ["set(//a:rule.cc)", [PURE]])
        self.plan["queries"].insert(0, [f"set({PURE} )", [PURE]])
        self.plan["queries"].insert(0, [f"attr(tags, exclusive, tests(set({PURE} )", []])
        code, out, last = self.run_test("--changed")
        self.assertEqual((code, last), (0, "4 passed, 0 failed"), out + self.errors)
        self.assertEqual(self.targets_of("default")[-1], [PURE])
        self.assertEqual(self.calls("build", "default")[-1]["labels"], [PURE])
        self.assertIn(f"compared with {green[:7]}", self.errors)
        self.plan["queries"][2] = ["set(//a:rule.cc)", []]
        self.plan["queries"].insert(0, ["set()", []])
        code, out, last = self.run_test("--changed")
        self.assertEqual((code, last), (0, "2 passed, 0 failed"), out + self.errors)
        self.assertIn("no test depends on what has changed", out)
        del self.plan["queries"][0]
        # How targets are built decides about all of them.
        (self.root / "WORKSPACE").write_text("# other")
        self.run_test("--changed")
        self.assertIn(INTEGRATION, self.targets_of("default")[-2] + self.targets_of("default")[-1])

    def test_what_fails_twice_fails(self):
        self.plan["outcomes"] = {f"default {LONE}": ["FAILED", "TIMEOUT"]}
        code, out, last = self.run_test()
        self.assertEqual((code, last), (1, "7 passed, 1 failed"), out + self.errors)
        self.assertNotIn("passed only when run again", out)
        self.assertEqual(self.targets_of("default")[-1], [LONE])

    def test_a_build_that_fails_fails_the_run_though_every_test_passes(self):
        self.plan["broken"] = ["tsan"]
        code, out, last = self.run_test("--ci")
        self.assertEqual((code, last), (1, "13 passed, 1 failed"), out + self.errors)
        self.assertRegex(out, "FAILED +build: thread sanitizer")

    def test_a_target_that_does_not_build_fails_and_is_not_run_again(self):
        self.plan["outcomes"] = {f"default {PURE}": ["UNBUILT"]}
        code, out, last = self.run_test()
        self.assertEqual((code, last), (1, "7 passed, 1 failed"), out + self.errors)
        self.assertRegex(out, f"did not build +{PURE}")
        self.assertEqual(len(self.targets_of("default")), 2)

    def test_targets_that_cannot_be_listed_fail_the_run(self):
        self.plan["queries"] = [entry for entry in self.plan["queries"] if entry[0] != "no-tsan"][1:]
        code, out, last = self.run_test("--ci")
        self.assertEqual(code, 1, out + self.errors)
        self.assertRegex(out, "FAILED +query: ")

    def test_a_bazel_that_dies_does_not_hide_the_tests_it_did_not_run(self):
        self.plan["outcomes"] = {f"default {PURE}": ["HANGS"]}
        os.mkfifo(self.fake / "hanging")
        process = self.start("--fast")
        (self.fake / "hanging").read_text()
        children = lambda pid: pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        (timeout,) = children(process.pid)
        (bazel,) = children(timeout)
        os.kill(int(bazel), signal.SIGKILL)
        out, errors = process.communicate()
        self.assertEqual(process.returncode, 1, out + errors)
        self.assertRegex(out, f"did not run +{UNIT}")
        self.assertTrue(out.strip().endswith("\n2 passed, 3 failed"), out)

    def test_steps_that_are_not_reached_are_named_and_the_rest_counts(self):
        self.plan["clock"] = {"test asan": 75}
        code, out, last = self.run_test("--ci")
        self.assertEqual((code, last), (0, "10 passed, 0 failed"), out + self.errors)
        self.assertEqual(self.targets_of("tsan"), [])
        self.assertIn("not run, for 75 min were over:\n  thread sanitizer: 1 test targets\n  build: thread sanitizer\n  fuzz\n"
                      "1 test targets and 2 other steps were not run\n", out)

    def test_nothing_reached_is_no_success(self):
        self.plan["clock"] = {"build default": 76}
        code, out, last = self.run_test("--minutes", "75")
        self.assertEqual((code, last), (1, "3 passed, 1 failed"), out + self.errors)
        self.assertIn("no test ran", out)
        self.assertIn("4 test targets and 1 other steps were not run", out)

    def test_only_ci_has_a_limit_of_its_own(self):
        self.plan["clock"] = {"build default": 300}
        code, out, last = self.run_test()
        self.assertEqual((code, last), (0, "8 passed, 0 failed"), out + self.errors)
        self.assertEqual(set(self.limits("build") + self.limits("test")), {0})

    def test_a_failure_is_run_again_though_the_time_for_new_steps_is_over(self):
        self.plan["outcomes"] = {f"default {PURE}": ["FAILED", "PASSED"]}
        self.plan["clock"] = {"test default": 76}
        code, out, last = self.run_test("--minutes", "75")
        self.assertEqual((code, last), (0, "7 passed, 0 failed"), out + self.errors)
        self.assertIn("tests, one at a time: 1 test targets", out)
        self.assertIn("passed only when run again", out)

    def test_the_step_under_way_when_the_time_is_over_is_ended_and_its_rest_named(self):
        self.plan["outcomes"] = {f"default {PURE}": ["HANGS"]}
        (self.fake / "over").write_text("")
        code, out, last = self.run_test("--minutes", "9", "--fast")
        self.assertEqual((code, last), (1, "2 passed, 1 failed"), out + self.errors)
        self.assertIn("not run, for 9 min were over:\n  tests: 2 test targets\n", out)
        self.assertEqual(self.limits("test")[0], 15 * 60)

    def test_a_build_that_takes_all_the_time_leaves_some_for_failures_to_run_again(self):
        self.plan["outcomes"] = {f"default {PURE}": ["FAILED", "PASSED"]}
        self.plan["clock"] = {"build tsan": 75}
        code, out, last = self.run_test("--ci")
        self.assertEqual(code, 0, out + self.errors)
        self.assertIn("passed only when run again", out)
        self.assertEqual(self.limits("build"), 3 * [75 * 60])
        self.assertEqual(self.limits("test"), 3 * [81 * 60] + [11 * 60])

    def test_a_signal_ends_what_runs(self):
        self.plan["outcomes"] = {f"default {PURE}": ["HANGS"]}
        os.mkfifo(self.fake / "hanging")
        process = self.start("--fast")
        (self.fake / "hanging").read_text()
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate()  # returns once no process holds its output open
        self.assertEqual(process.returncode, 130, out + errors)

    def test_a_budget_is_told_and_never_failed(self):
        code, out, last = self.run_test("--fast")
        self.assertEqual((code, last), (0, "4 passed, 0 failed"), out + self.errors)
        self.assertIn(f"over their budgets (a warning):\n  {PURE} took 61 s, its budget is 60 s\n", out)

    def test_overload_tells_how_many_of_20_failed_beside_load_that_ends(self):
        self.plan["outcomes"] = {f"default {UNIT}": ["FAILED", "PASSED", "TIMEOUT", "PASSED"]}
        code, out, last = self.run_test("--overload", UNIT, PURE)
        self.assertEqual((code, last), (1, "38 passed, 2 failed"), out + self.errors)
        self.assertIn(f"  2 of 20 failed  {UNIT}\n", out)
        self.assertIn(f"  0 of 20 failed  {PURE}\n", out)
        (call,) = self.calls("test")
        self.assertEqual(call["load"], 2 * len(os.sched_getaffinity(0)))
        (build,) = self.calls("build")
        self.assertEqual(build["load"], 0, "it builds before")


if __name__ == "__main__":
    sys.exit(unittest.main())
