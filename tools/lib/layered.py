"""Lays out a graph without cycles in rows: a user stands above all that it uses, and no arrow crosses a box.

Deterministic: the same graph has the same layout everywhere. Row 0 is the lowest.
"""
import functools
import random

GAP = 14  # between two boxes of a row
LANE = 9  # the width that an arrow takes in a row through which it passes


def reduced(uses):
    """`uses` without the arrows that follow from others: no a -> c where a -> b -> c."""
    @functools.cache
    def below(name):
        return frozenset(uses[name]).union(*(below(used) for used in uses[name]))
    return {name: [u for u in used if not any(u in below(v) for v in used)] for name, used in uses.items()}


class Layered:
    """row[name], rows[i] (names and lanes from left to right), x[name or lane], and chains: (user, used) -> its path.

    A lane is (user, used, row): the place where an arrow goes through a row that neither of its ends stands in.
    """

    def __init__(self, uses, widths, left, right):
        self.uses, self.widths, self.left, self.right = uses, widths, left, right
        self.users = {name: [n for n in uses if name in uses[n]] for name in uses}
        self.row = self.choose_rows()
        self.order_rows()
        self.choose_x()

    # Rows.

    def lowest_rows(self):
        @functools.cache
        def row(name):
            return 1 + max((row(used) for used in self.uses[name]), default=-1)
        return {name: row(name) for name in self.uses}

    def cost(self, row):
        """The cost of a layout: rows wider than the picture cost most, then long arrows, then unequally full rows."""
        filled = [-GAP] * (max(row.values()) + 1)
        length = 0
        for name, used in self.uses.items():
            filled[row[name]] += self.widths[name] + GAP
            for other in used:
                length += row[name] - row[other]
                for between in range(row[other] + 1, row[name]):
                    filled[between] += LANE + GAP
        too_wide = sum(max(0.0, f - (self.right - self.left)) for f in filled)
        return 1000 * too_wide + 10 * length + sum(f * f for f in filled) / 1e6

    def choose_rows(self):
        """Moves one room at a time between what it uses and what uses it, as long as that makes the picture better."""
        row = self.lowest_rows()
        top = max(row.values())
        best, better = self.cost(row), True
        while better:
            better = False
            for name in sorted(row):
                low = 1 + max((row[u] for u in self.uses[name]), default=-1)
                high = min((row[u] for u in self.users[name]), default=top + 1) - 1
                for there in range(low, high + 1):
                    cost = self.cost({**row, name: there})
                    if cost < best - 1e-9:
                        best, better, row = cost, True, {**row, name: there}
        return row

    # The order in a row.

    def links(self):
        """Pairs (upper, lower) of neighbouring rows, and the chains that they make up."""
        self.chains = {}
        for user, used in ((a, b) for a in self.uses for b in self.uses[a]):
            lanes = [(user, used, r) for r in range(self.row[user] - 1, self.row[used], -1)]
            self.chains[user, used] = [user, *lanes, used]
        return [pair for chain in self.chains.values() for pair in zip(chain, chain[1:])]

    def order_rows(self):
        pairs = self.links()
        self.up, self.down = {}, {}
        for upper, lower in pairs:
            self.down.setdefault(upper, []).append(lower)
            self.up.setdefault(lower, []).append(upper)
        items = sorted({item for pair in pairs for item in pair} | set(self.uses), key=str)
        fewest, dice = None, random.Random(1)
        for _ in range(300):
            rows = [[] for _ in range(max(self.row.values()) + 1)]
            for item in sorted(items, key=lambda _: dice.random()):
                rows[item[2] if isinstance(item, tuple) else self.row[item]].append(item)
            crossings = self.untangle(rows)
            if fewest is None or crossings < fewest:
                fewest, self.rows = crossings, rows
        self.crossings = fewest

    def untangle(self, rows):
        """Sorts each row by the mean place of its neighbours, upwards and downwards, then swaps while that helps."""
        for sweep in range(12):
            numbers = range(1, len(rows)) if sweep % 2 == 0 else range(len(rows) - 2, -1, -1)
            near, step = (self.down, -1) if sweep % 2 == 0 else (self.up, 1)
            for number in numbers:
                place = {item: i / len(rows[number + step]) for i, item in enumerate(rows[number + step])}
                own = {item: i / len(rows[number]) for i, item in enumerate(rows[number])}
                mean = {item: sum(place[n] for n in near[item]) / len(near[item]) if item in near else own[item] for item in own}
                rows[number].sort(key=mean.get)
        better = True
        while better:
            better = any([self.swap(rows, number) for number in range(len(rows))])
        return sum(self.crossed(upper, lower) for lower, upper in zip(rows, rows[1:]))

    def swap(self, rows, number):
        row, swapped = rows[number], False
        for i in range(len(row) - 1):
            if self.tangles(rows, number, row[i + 1], row[i]) < self.tangles(rows, number, row[i], row[i + 1]):
                row[i], row[i + 1], swapped = row[i + 1], row[i], True
        return swapped

    def tangles(self, rows, number, first, second):
        """How often the arrows of these two cross, if `first` stands left of `second`."""
        count = 0
        for near, other in ((self.up, number + 1), (self.down, number - 1)):
            place = {item: i for i, item in enumerate(rows[other])} if 0 <= other < len(rows) else {}
            count += sum(place[a] > place[b] for a in near.get(first, []) for b in near.get(second, []))
        return count

    def crossed(self, upper, lower):
        place = {item: i for i, item in enumerate(lower)}
        ends = [place[n] for item in upper for n in sorted(self.down.get(item, []), key=place.get)]
        return sum(a > b for i, a in enumerate(ends) for b in ends[i + 1:])

    # Where in a row.

    def width(self, item):
        return LANE if isinstance(item, tuple) else self.widths[item]

    def choose_x(self):
        self.x = {}
        for row in self.rows:
            for i, item in enumerate(row):
                self.x[item] = self.left + (self.right - self.left) * (i + 0.5) / len(row)
        for sweep in range(400):
            for row in self.rows if sweep % 2 else reversed(self.rows):
                self.spread(row, [self.wanted(item) for item in row])

    def wanted(self, item):
        """The mean of its neighbours; lanes pull lanes, so that long arrows are straight."""
        near = self.up.get(item, []) + self.down.get(item, [])
        weights = [30 if isinstance(n, tuple) and isinstance(item, tuple) else 1 for n in near]
        return sum(w * self.x[n] for w, n in zip(weights, near)) / sum(weights) if near else self.x[item]

    def spread(self, row, wanted):
        """As near to the wanted places as order and distances allow: the regression of pooled neighbours."""
        offset, offsets = 0.0, []
        for i, item in enumerate(row):
            offset += (self.width(row[i - 1]) + self.width(item)) / 2 + GAP if i else 0
            offsets.append(offset)
        pools = []  # [sum, count]
        for want, offset in zip(wanted, offsets):
            pools.append([want - offset, 1])
            while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
                total, count = pools.pop()
                pools[-1] = [pools[-1][0] + total, pools[-1][1] + count]
        starts = [total / count for total, count in pools for _ in range(count)]
        if not row:
            return
        low = self.left + self.width(row[0]) / 2
        high = self.right - self.width(row[-1]) / 2 - offsets[-1]
        for item, start, offset in zip(row, starts, offsets):
            self.x[item] = min(max(start, low), high) + offset
