#!/usr/bin/python3
"""Tests that docs/images/floors.svg is the picture of tools/law.toml, and where its rooms and arrows are."""
import pathlib
import sys
import tomllib
import unittest

sys.dont_write_bytecode = True
TOOLS = pathlib.Path(__file__).absolute().parent
sys.path.insert(0, str(TOOLS))
import draw_floors
import layered

ROOT = TOOLS.parent.parent
LAW = tomllib.loads((ROOT / "tools/law.toml").read_text())


class FloorsTest(unittest.TestCase):
    def test_the_picture_is_that_of_the_law(self):
        shown = (ROOT / "docs/images/floors.svg").read_text()
        drawn = "\n".join(draw_floors.draw(LAW)) + "\n"
        self.assertTrue(shown == drawn, "tools/law.toml has changed: run /usr/bin/python3 tools/lib/draw_floors.py")

    def test_every_room_is_in_the_picture_above_all_it_may_use(self):
        plans = {name: draw_floors.Program(LAW, name).plan for name in draw_floors.PLACES}
        for room, used in LAW["rooms"].items():
            program = room.split("/")[0]
            if program in draw_floors.GROUND:  # drawn as one box
                continue
            row = plans[program].row
            for other in used:
                self.assertGreater(row[room], row[other], f"{room} uses {other}")

    def test_boxes_and_lanes_stand_apart_and_in_their_frame(self):
        for name in draw_floors.PLACES:
            program = draw_floors.Program(LAW, name)
            for row in program.plan.rows:
                ends = [(program.plan.x[item] - program.plan.width(item) / 2, program.plan.x[item] + program.plan.width(item) / 2)
                        for item in row]
                self.assertGreaterEqual(ends[0][0], program.left)
                self.assertLessEqual(ends[-1][1], program.right, f"widen {name} in PLACES: {row}")
                for (_, end), (begin, _) in zip(ends, ends[1:]):
                    self.assertGreaterEqual(begin - end, layered.GAP - 1e-6)


class LayeredTest(unittest.TestCase):
    def test_what_follows_from_other_arrows_has_none(self):
        self.assertEqual(layered.reduced({"a": [], "b": ["a"], "c": ["a", "b"], "d": ["a", "c"]}),
                         {"a": [], "b": ["a"], "c": ["b"], "d": ["c"]})

    def test_arrows_do_not_cross_where_they_need_not(self):
        uses = {"a": [], "b": [], "c": [], "x": ["a"], "y": ["b"], "z": ["c"], "top": ["x", "c"]}
        plan = layered.Layered(uses, {name: 20 for name in uses}, 0, 400)
        self.assertEqual(plan.crossings, 0)

    def test_a_long_arrow_has_a_lane_in_every_row_between(self):
        uses = {"a": [], "b": ["a"], "c": ["b"], "e": [], "d": ["c", "e"], "f": ["e"]}
        plan = layered.Layered(uses, {name: 20 for name in uses}, 0, 400)
        for (user, used), chain in plan.chains.items():
            self.assertEqual(len(chain) - 1, plan.row[user] - plan.row[used])


if __name__ == "__main__":
    unittest.main()
