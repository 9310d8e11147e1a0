#!/usr/bin/python3
"""Tests the tables of docs/architecture.md on a small tree."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
import room_tables  # noqa: E402

MARKS = "".join(f"<!-- table: {name} -->\nstale\n<!-- end -->\n" for name in ("folders", "base", "operator", "agent", "trainer", "cli"))
LAW = {"may_use": {"proto": [], "base": [], "planner": [], "operator": ["base"], "agent": [], "trainer": [], "cli": ["base", "operator"]}}


class RoomTablesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("proto/muster/v1alpha1", "base", "planner", "operator", "agent", "trainer", "cli"):
            self.add(name, f"# The folder {name}.\n")

    def add(self, folder, text):
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / folder / "BUILD.bazel").write_text(text + "package()\n# Something else.\n")

    def test_each_room_has_a_row_with_the_first_comment_of_its_build_file(self):
        self.add("operator/core/state", "# What policies read,\n# and write | change.\n")
        self.add("operator/core", "# Decides.\n")
        self.add("operator/core/testing", "# Worlds.\n")
        page = room_tables.filled("Before.\n" + MARKS + "After.\n", self.root, LAW)
        self.assertIn("Before.\n<!-- table: folders -->\n| folder | holds | may use |\n", page)
        self.assertIn("| `proto/` | The folder proto/muster/v1alpha1. | – |\n", page)
        self.assertIn("| `cli/` | The folder cli. | base, operator |\n", page)
        self.assertIn("|---|---|\n| `core` | Decides. |\n| `core/state` | What policies read, and write \\| change. |\n<!-- end -->\n", page)
        self.assertNotIn("Worlds", page)
        self.assertNotIn("stale", page)
        self.assertTrue(page.endswith("After.\n"))
        self.assertEqual(room_tables.filled(page, self.root, LAW), page)

    def test_a_folder_without_a_purpose_is_named(self):
        self.add("agent/core", "")
        with self.assertRaisesRegex(room_tables.RoomTablesError, "agent/core/BUILD.bazel: opens with no comment"):
            room_tables.filled(MARKS, self.root, LAW)

    def test_a_page_that_lacks_a_table_or_asks_for_an_unknown_one_is_refused(self):
        with self.assertRaisesRegex(room_tables.RoomTablesError, "has 0 tables"):
            room_tables.filled("No marks.\n", self.root, LAW)
        with self.assertRaisesRegex(room_tables.RoomTablesError, "a table of kitchens"):
            room_tables.filled("<!-- table: kitchens -->\n<!-- end -->\n", self.root, LAW)


if __name__ == "__main__":
    unittest.main()
