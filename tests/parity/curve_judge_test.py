"""Tests that the judgement of a curve fails whatever lies further from FP32 than autocast, or learns nothing."""
import contextlib
import io
import math
import unittest

import comparison
import curve

TRUTH = [5 - 0.02 * step for step in range(100)]


def shifted(by, first=0):
    return [loss + (by if step >= first else 0) for step, loss in enumerate(TRUTH)]


def fails(ours, autocast, truth=None):
    verdicts = comparison.Verdicts()
    with contextlib.redirect_stdout(io.StringIO()):
        curve.judge(verdicts, ours, autocast, truth or TRUTH, 1.1)
    return verdicts.failed


class CurveJudgeTest(unittest.TestCase):
    def test_as_near_to_the_truth_as_autocast_passes_on_either_side(self):
        self.assertFalse(fails(shifted(0.01), shifted(0.01)))
        self.assertFalse(fails(shifted(-0.0109), shifted(0.01)))

    def test_further_away_or_no_number_fails(self):
        self.assertTrue(fails(shifted(0.0112), shifted(0.01)))
        self.assertTrue(fails(shifted(0.02, first=50), shifted(0.01)))
        self.assertTrue(fails([math.nan] * 100, shifted(0.01)))
        self.assertTrue(fails(shifted(0.01), [math.nan] * 100))

    def test_an_autocast_that_equals_the_truth_judges_nothing(self):
        self.assertTrue(fails(TRUTH, TRUTH))

    def test_a_loss_that_does_not_fall_fails(self):
        flat = [5.0] * 100
        self.assertTrue(fails([5.01] * 100, [5.01] * 100, flat))

    def test_the_first_fifth_is_left_out_and_a_missing_step_is_an_error(self):
        self.assertEqual(curve.distance([9.0] * 20 + TRUTH[20:], TRUTH), 0)
        with self.assertRaisesRegex(ValueError, "99 losses of 100 steps"):
            curve.distance(TRUTH[:-1], TRUTH)


if __name__ == "__main__":
    unittest.main()
