"""usage: comparison_test.py -- tests that comparison.py finds every kind of error."""
import pathlib
import sys
import tempfile
import unittest

import torch

import comparison
import parity

NAN = float("nan")


def weights(**changed):
    """Three tensors by name, with some of them replaced."""
    return {name: torch.full((2, 3), 1.0 + i, dtype=torch.float64) for i, name in enumerate("abc")} | changed


class Comparison(unittest.TestCase):
    def setUp(self):
        self.verdicts = comparison.Verdicts()

    def tensors_fail(self, ours, theirs):
        self.verdicts.equal_tensors("gradients", ours, theirs, 1e-8)
        return self.verdicts.failed

    def curves_fail(self, ours, theirs):
        self.verdicts.equal_curves("losses", ours, theirs, 1e-8)
        return self.verdicts.failed

    def test_equal_tensors_and_curves_pass(self):
        self.assertFalse(self.tensors_fail(weights(), weights()))
        self.assertFalse(self.curves_fail([4.0, 3.0], [4.0, 3.0]))

    def test_a_wrong_tensor_fails(self):
        self.assertTrue(self.tensors_fail(weights(b=weights()["b"] + 1e-6), weights()))

    def test_a_tensor_that_is_not_a_number_fails_wherever_it_stands(self):
        for name in "abc":
            with self.subTest(name):
                self.setUp()
                self.assertTrue(self.tensors_fail(weights(**{name: weights()[name] * NAN}), weights()))
                self.setUp()
                self.assertTrue(self.tensors_fail(weights(), weights(**{name: weights()[name] * NAN})))

    def test_a_tensor_that_was_not_dumped_fails(self):
        self.assertTrue(self.tensors_fail({"a": weights()["a"]}, weights()))
        self.setUp()
        self.assertTrue(self.tensors_fail({}, {}))

    def test_a_tensor_of_another_shape_fails_and_is_not_broadcast(self):
        self.assertTrue(self.tensors_fail(weights(a=torch.ones(1, dtype=torch.float64)), weights()))

    def test_a_loss_that_is_not_a_number_fails_at_any_step(self):
        for step in range(3):
            with self.subTest(step):
                self.setUp()
                ours = [4.0, 3.0, 2.0]
                ours[step] = NAN
                self.assertTrue(self.curves_fail(ours, [4.0, 3.0, 2.0]))

    def test_a_loss_that_is_wrong_or_missing_fails(self):
        self.assertTrue(self.curves_fail([4.0, 3.1], [4.0, 3.0]))
        self.setUp()
        self.assertTrue(self.curves_fail([4.0], [4.0, 3.0]))
        self.setUp()
        self.assertTrue(self.curves_fail([], []))

    def test_a_file_that_was_not_dumped_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("gradients-1", "final"):
                verdicts = comparison.Verdicts()
                self.assertIsNone(parity.read_dump(verdicts, pathlib.Path(folder), name))
                self.assertTrue(verdicts.failed)

    def test_a_wrong_final_weight_fails(self):
        start = weights()
        moved = {name: tensor + 0.01 for name, tensor in start.items()}
        parity.compare_movement(self.verdicts, start, moved, moved, 1e-8)
        self.assertFalse(self.verdicts.failed)
        # The error is a hundredth of the weight's change and a millionth of the weight.
        wrong = moved | {"c": moved["c"] + 1e-6}
        parity.compare_movement(self.verdicts, start, wrong, moved, 1e-5)
        self.assertTrue(self.verdicts.failed)


if __name__ == "__main__":
    sys.exit(unittest.main())
