"""usage: draw_floors.py [SVG] -- draws the rooms of tools/law.toml, each above all the rooms that it may use.

Writes docs/images/floors.svg if no SVG is named.
"""
import pathlib
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
import layered  # noqa: E402

ROOT = pathlib.Path(__file__).absolute().parent.parent.parent
WIDTH = 1470
BOX, FLOOR = 34, 64  # heights: a box, and from one floor to the next
TITLE = 28
SLAB = 30  # the gap between programs that stand on one another
ARROW, SOFT = "#4b5563", "#6b7280"
PURE = "#fde68a"
# The ground floors, which all programs stand on, with their contents.
GROUND = {"base": "status, clock, JSON, files, processes, logging: uses no other folder",
          "planner": "arithmetic: models, their needs, their layout",
          "proto": "the contract between the programs: messages without logic"}
GROUND_BOX = 34
# The place of each program: left, right, fill, stroke; and a description.
PLACES = {"operator": (12, 638, "#eff6ff", "#1f6feb", "decides what happens to jobs, and where they run"),
          "agent": (650, 946, "#fff7ed", "#c2410c", "in a pod"),
          "trainer": (958, 1458, "#ecfdf5", "#047857", "one rank of a job"),
          "cli": (12, 946, "#f9fafb", "#4b5563", "the muster tool; it runs the operator and agents on one machine")}


def text(x, y, words, **style):
    styled = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{styled}>{words}</text>'


def rect(x, y, width, height, **style):
    styled = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items())
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{styled}/>'


def name_width(words, size):
    narrow = sum(c in "iljt/fr" for c in words)
    return size * (0.58 * (len(words) - narrow) + 0.32 * narrow)


def names_in(room):
    """The two lines of a room's box: the folders between it and its program, in small type, and its own name."""
    above, _, own = room.rpartition("/")
    return above.partition("/")[2], own


def box_width(room):
    above, own = names_in(room)
    return max(52.0, name_width(own, 13) + 14, name_width(above + "/", 10) + 10)


class Program:
    """The rooms of one program, in floors above `ground`, which is the lower edge of its frame."""

    def __init__(self, law, name):
        self.name, self.ground = name, 0
        self.left, self.right, self.fill, self.stroke, self.words = PLACES[name]
        self.pure = law["pure"]["folders"]
        rooms = {room: used for room, used in law["rooms"].items() if room.split("/")[0] == name}
        self.plan = layered.Layered(layered.reduced(rooms), {room: box_width(room) for room in rooms}, self.left + 10, self.right - 10)
        self.height = len(self.plan.rows) * FLOOR + TITLE

    @property
    def top(self):
        return self.ground - self.height

    def y(self, row):
        """The upper edge of the boxes of a floor."""
        return self.ground - row * FLOOR - (FLOOR + BOX) / 2

    def frame(self):
        yield rect(self.left, self.top, self.right - self.left, self.ground - self.top, rx=8, fill=self.fill, stroke=self.stroke)
        yield text(self.left + 12, self.top + 20, f"{self.name}/", font_weight="bold", fill=self.stroke, font_size=15)
        yield text(self.left + 20 + 1.1 * name_width(self.name + "/", 15), self.top + 20, self.words, fill=SOFT)
        for row in range(len(self.plan.rows)):
            y = self.ground - row * FLOOR
            if row % 2 == 0:
                yield rect(self.left + 1, y - FLOOR, self.right - self.left - 2, FLOOR - 1, fill="white", opacity=0.65)
            if row:
                yield f'<path d="M{self.left},{y} H{self.right}" stroke="{self.stroke}" opacity="0.25"/>'

    def boxes(self):
        for room, x in ((room, x) for room, x in self.plan.x.items() if isinstance(room, str)):
            y, width = self.y(self.plan.row[room]), box_width(room)
            pure = any(room == folder or room.startswith(folder + "/") for folder in self.pure)
            yield rect(x - width / 2, y, width, BOX, rx=5, fill=PURE if pure else "white", stroke=self.stroke)
            above, own = names_in(room)
            if above:
                yield text(x, y + 13, f"{above}/", text_anchor="middle", font_size=10, fill=SOFT)
            yield text(x, y + (27 if above else 22), own, text_anchor="middle")

    def ports(self, near, item, key):
        """The x at which each arrow of a box begins or ends: side by side, in the order of their other ends."""
        others = sorted(near, key=key)
        step = min(10.0, (box_width(item) - 16) / max(1, len(others) - 1))
        return {other: self.plan.x[item] + (i - (len(others) - 1) / 2) * step for i, other in enumerate(others)}

    def arrows(self):
        plan = self.plan
        out = {room: self.ports(plan.uses[room], room, lambda u, r=room: plan.x[plan.chains[r, u][1]]) for room in plan.uses}
        into = {room: self.ports(plan.users[room], room, lambda u, r=room: plan.x[plan.chains[u, r][-2]]) for room in plan.uses}
        for (user, used), chain in plan.chains.items():
            x, y = out[user][used], self.y(plan.row[user]) + BOX
            path = f"M{x:.1f},{y:.1f}"
            for lane in chain[1:-1]:
                top = self.y(lane[2]) - 4
                path += curve(x, y, plan.x[lane], top) + f" V{top + BOX + 8:.1f}"
                x, y = plan.x[lane], top + BOX + 8
            yield arrow(path + curve(x, y, into[used][user], self.y(plan.row[used]) - 2))


def curve(x, y, to_x, to_y):
    middle = (y + to_y) / 2
    return f" C{x:.1f},{middle:.1f} {to_x:.1f},{middle:.1f} {to_x:.1f},{to_y:.1f}"


def arrow(path):
    return f'<path d="{path}" stroke="{ARROW}" fill="none" marker-end="url(#a)"/>'


def ground_floors(law, y):
    """Draws the folders that all programs use, the lowest last."""
    uses = {name: used for name, used in law["may_use"].items() if name in GROUND}
    plan = layered.Layered(layered.reduced(uses), {name: 1 for name in uses}, 0, WIDTH)
    for row in reversed(plan.rows):
        names = [item for item in row if isinstance(item, str)]
        width = (WIDTH - 24 - 12 * (len(names) - 1)) / len(names)
        for i, name in enumerate(sorted(names)):
            x = 12 + i * (width + 12)
            yield rect(x, y, width, GROUND_BOX, rx=8, fill="#f3f4f6", stroke="#9ca3af")
            yield text(x + 12, y + 22, f"{name}/", font_weight="bold", font_size=15)
            yield text(x + 90, y + 22, GROUND[name], fill=SOFT)
            if row is not plan.rows[0]:
                yield from (arrow(f"M{x},{y + GROUND_BOX} V{y + GROUND_BOX + SLAB - 2}") for x in (250, 750))
        y += GROUND_BOX + SLAB


def legend(x, y):
    yield text(x, y, "The rooms and their order", font_size=17, font_weight="bold")
    lines = ("A room stands above all that it", "may use. tools/law.toml is the law,", "tools/lint fails on any other use.", "",
             "operator, agent and trainer never", "use each other: they meet on the", "ground floors alone.")
    for i, line in enumerate(lines):
        yield text(x, y + 28 + 18 * i, line)
    y += 44 + 18 * len(lines)
    yield arrow(f"M{x + 17},{y - 8} V{y + 18}")
    yield text(x + 46, y + 4, "may use (left out where it")
    yield text(x + 46, y + 20, "follows from other arrows)")
    yield rect(x, y + 40, 34, 24, rx=5, fill=PURE, stroke=ARROW)
    yield text(x + 46, y + 57, "pure: decides, and does no I/O")


def draw(law):
    programs = {name: Program(law, name) for name in PLACES}
    programs["cli"].ground = 12 + programs["cli"].height
    ground = programs["cli"].ground + SLAB + max(programs[name].height for name in PLACES if name != "cli")
    for name in PLACES:
        programs[name].ground = programs[name].ground or ground
    height = ground + 2 * (SLAB + GROUND_BOX) + 12
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
           ' font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#1f2937">')
    yield ('<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
           f'<path d="M0,0 L10,5 L0,10 z" fill="{ARROW}"/></marker></defs>')
    yield rect(0, 0, WIDTH, height, fill="white")
    for program in programs.values():
        yield from program.frame()
        yield from program.arrows()
        yield from program.boxes()
        middle = (program.left + program.right) / 2
        for below in [] if program.name != "cli" else [programs["operator"], programs["agent"]]:
            yield arrow(f"M{(below.left + below.right) / 2},{program.ground} V{below.top - 2}")
        if program.name != "cli":
            yield arrow(f"M{middle},{ground} V{ground + SLAB - 2}")
    yield from ground_floors(law, ground + SLAB)
    yield from legend(960, 36)
    yield "</svg>"


def main():
    svg = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/images/floors.svg"
    law = tomllib.loads((ROOT / "tools/law.toml").read_text())
    svg.write_text("\n".join(draw(law)) + "\n")


if __name__ == "__main__":
    main()
