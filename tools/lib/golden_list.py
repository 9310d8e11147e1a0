"""The list of the names that users see: writes it, reads it, and compares it with the names that were found."""
import pathlib

PATH = pathlib.Path("tests/golden/user_visible_names.txt")
ACCEPT = "a wanted change is accepted with: tools/names --accept"

# The kinds of names that built programs print; all other kinds are found in the sources.
BUILT = (
    "HTTP: fields of the answers",
    "condition types",
    "events of a round",
    "metrics: name, type and labels",
    "phases of a round",
    "reasons of conditions and events",
    "reasons to resume",
    "states of a job",
    "subcommands and flags",
)

HEAD = """\
; The names that users of muster see, by kind. They are an interface: manifests, dashboards, alerts, scripts and
; checkpoints rest on them. `tools/lint` and the tests of tests/golden compare this list with the product.
; Not edited by hand: `tools/names --accept` writes it anew.
"""


def _line(name):
    text = name.encode("unicode_escape").decode("ascii")
    # A line must not look like a heading or a remark.
    return f"\\x{ord(text[0]):02x}{text[1:]}" if text.startswith(("#", ";")) else text


def render(kinds, head=HEAD):
    """`kinds` is {heading: names}."""
    parts = [head]
    for heading in sorted(kinds):
        parts.append(f"\n## {heading}\n" + "".join(f"{_line(name)}\n" for name in sorted(kinds[heading])))
    return "".join(parts)


def parse(text):
    kinds = {}
    for line in text.splitlines():
        if line.startswith("## "):
            names = kinds.setdefault(line[3:], set())
        elif line and not line.startswith(";"):
            names.add(line.encode("ascii").decode("unicode_escape"))
    return kinds


def differences(listed, found):
    """One sentence for each name of the kinds in `found` that is missing from the product or new in it."""
    said = []
    for heading in sorted(found):
        before = listed.get(heading, set())
        said += [f"{heading}: '{_line(name)}' is listed and no longer there" for name in sorted(before - found[heading])]
        said += [f"{heading}: '{_line(name)}' is new and not listed" for name in sorted(found[heading] - before)]
    return said


def leftover(listed, known):
    """Headings that no check fills would never be compared."""
    return [f"{heading}: no check looks for this kind" for heading in sorted(set(listed) - set(known))]
