#!/usr/bin/python3
"""Tests which packages count as inputs of builds and tests."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
import package_versions  # noqa: E402

STATUS = """Package: compiler
Status: install ok installed
Version: 19.1
Depends: library (>= 2), mail-agent | other-agent
Pre-Depends: libc

Package: library
Status: install ok installed
Version: 2.0-1

Package: libc
Status: install ok installed
Version: 2.36
Description: words
 Depends: nothing

Package: small-agent
Status: install ok installed
Version: 7
Provides: mail-agent (= 7)

Package: shell
Essential: yes
Status: install ok installed
Version: 5

Package: other-agent
Status: deinstall ok config-files
Version: 1

Package: unrelated
Status: install ok installed
Version: 1
Depends: compiler
"""


class PackageVersions(unittest.TestCase):
    def test_what_a_package_needs_counts_and_what_every_system_has(self):
        self.assertEqual(package_versions.versions(STATUS, ["compiler"]),
                         ["compiler 19.1", "libc 2.36", "library 2.0-1", "shell 5", "small-agent 7"])

    def test_a_package_that_is_not_installed_is_left_out(self):
        self.assertEqual(package_versions.versions(STATUS, ["nowhere", "other-agent"]), ["shell 5"])

    def test_another_version_of_something_needed_is_another_answer(self):
        newer = STATUS.replace("2.36", "2.37")
        self.assertNotEqual(package_versions.versions(STATUS, ["compiler"]), package_versions.versions(newer, ["compiler"]))
        self.assertEqual(package_versions.versions(STATUS, ["library"]), package_versions.versions(newer, ["library"]))


if __name__ == "__main__":
    sys.exit(unittest.main())
