"""The assertions of parity.py: a number that is NaN, missing or of another shape never passes."""
import math


def relative(ours, theirs):
    """The relative error of tensors, by norm; infinite if the shapes differ."""
    if ours.shape != theirs.shape:
        return math.inf
    return (ours.double() - theirs.double()).norm().item() / max(theirs.double().norm().item(), 1e-30)


def relative_numbers(ours, theirs):
    """The relative errors of two lists, number by number."""
    return [abs(a - b) / max(abs(b), 1e-30) for a, b in zip(ours, theirs)]


def worst_of(errors):
    """(name, error) of the largest error in {name: error}; NaN counts as larger than any number."""
    return max(errors.items(), key=lambda item: math.inf if math.isnan(item[1]) else item[1])


class Verdicts:
    """Prints one line for each comparison and records whether any failed."""

    def __init__(self):
        self.failed = False

    def within(self, what, error, limit):
        self._report(error <= limit, f"{what}: {error:.3g} (limit {limit:g})")

    def require(self, what, found):
        """Returns `found`; fails if it is missing."""
        if found is None:
            self._report(False, f"{what}: missing")
        return found

    def equal_curves(self, what, ours, theirs, limit):
        if not ours or len(ours) != len(theirs):
            return self._report(False, f"{what}: {len(ours)} of ours, {len(theirs)} of the reference's")
        step, error = worst_of(dict(enumerate(relative_numbers(ours, theirs), 1)))
        self.within(f"{what}, the worst of {len(ours)} is step {step}", error, limit)

    def equal_tensors(self, what, ours, theirs, limit):
        """Two {name: tensor} with the same names; the worst is judged."""
        if not theirs or ours.keys() != theirs.keys():
            odd = sorted(ours.keys() ^ theirs.keys())
            return self._report(False, f"{what}: not on both sides: {', '.join(odd) or 'anything'}")
        name, error = worst_of({name: relative(ours[name], theirs[name]) for name in theirs})
        self.within(f"{what}, the worst of {len(theirs)} is {name}", error, limit)

    def _report(self, ok, line):
        self.failed |= not ok
        print("ok  " if ok else "FAIL", line)
