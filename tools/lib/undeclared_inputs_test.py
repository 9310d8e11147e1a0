#!/usr/bin/python3
"""Tests the search for what tests read without saying so."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
import undeclared_inputs  # noqa: E402


def target(rule, data=(), deps=()):
    return {"rule": rule, "file": "t/BUILD.bazel", "data": list(data), "deps": list(deps)}


class UndeclaredInputs(unittest.TestCase):
    def find(self, targets, files, exempt=()):
        return [f"{where}: {what}" for where, what in undeclared_inputs.findings(targets, files.__getitem__, files, exempt)]

    def test_what_is_installed_is_an_input_of_the_test_that_reads_it(self):
        files = {"t/a_test.cc": 'InstalledFolder("prometheus")'}
        bad = {"//t:a_test": target("cc_test", ["//t:a_test.cc"])}
        self.assertEqual(self.find(bad, files), [
            "t/BUILD.bazel: //t:a_test has //t:a_test.cc among its inputs and not //third_party/installed:prometheus, which that reads"])
        good = {"//t:a_test": target("cc_test", ["//t:a_test.cc", "//third_party/installed:prometheus"])}
        self.assertEqual(self.find(good, files), [])

    def test_a_library_or_a_group_may_name_it_for_the_test(self):
        files = {"t/a.py": 'ROOT / "third_party/installed/tokenizers"', "t/b.sh": 'x="$(folder_of pytorch)"'}
        targets = {"//t:a_test": target("sh_test", ["//t:a.py", "//t:b.sh", "//t:group"]),
                   "//t:group": target("filegroup", ["//third_party/installed:tokenizers"])}
        self.assertEqual(len(self.find(targets, files)), 1)
        targets["//t:group"]["data"].append("//third_party/installed:pytorch")
        self.assertEqual(self.find(targets, files), [])

    def test_an_imported_module_of_the_same_folder_is_an_input(self):
        files = {"t/a_test.py": "import json\nimport helper\n", "t/helper.py": "", "u/json.py": ""}
        self.assertIn("not //t:helper.py", self.find({"//t:a_test": target("sh_test", ["//t:a_test.py"])}, files)[0])
        self.assertEqual(self.find({"//t:a_test": target("sh_test", ["//t:a_test.py", "//t:helper.py"])}, files), [])

    def test_a_test_stays_within_its_links_and_out_of_the_cache(self):
        for text, word in (('os.environ["MUSTER_CACHE"]', "cache"), ('sdk="$HOME/.cache/muster/sdk"', "cache"),
                           ("pathlib.Path(__file__).resolve().parent", "absolute()"), ('$(readlink -f "$0")', "absolute()")):
            self.assertIn(word, self.find({}, {"tests/x/a.py": text})[0])
            self.assertEqual(self.find({}, {"tests/x/a.py": text}, exempt=["tests/x/a.py"]), [])
            self.assertEqual(self.find({}, {"cli/a.py": text}), [])
        self.assertEqual(self.find({}, {"tests/x/a.cc": "MUSTER_CACHE_DIR"}), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
