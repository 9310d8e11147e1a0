#!/usr/bin/python3
"""usage: room_tables.py

Writes the tables of folders and rooms in docs/architecture.md, from the first comment of each BUILD.bazel and from
tools/law.toml. tools/generate runs it, tools/lint compares.
"""
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).absolute().parent.parent.parent
PAGE = pathlib.Path("docs/architecture.md")
PROGRAMS = ("operator", "agent", "trainer", "cli")
GROUND = ("proto", "base", "planner")
# The folder that tells what a top-level folder holds, where that is not the folder itself.
TOLD_BY = {"proto": "proto/muster/v1alpha1"}


class RoomTablesError(Exception):
    """Tables that cannot be made, as a sentence for the user."""


def purpose(build):
    """The first comment of a BUILD file, as one line."""
    lines = []
    for line in build.read_text().splitlines():
        if not line.startswith("# "):
            break
        lines.append(line[2:].strip())
    if not lines:
        raise RoomTablesError(f"{build}: opens with no comment; it should say in one sentence what the folder is for")
    return " ".join(lines).replace("|", "\\|")


def rooms_of(root, program):
    """The folders of a program that have a BUILD file, with their purposes; test support is left out."""
    builds = sorted((root / program).rglob("BUILD.bazel"), key=lambda build: build.parent.relative_to(root).parts)
    folders = [build.parent.relative_to(root) for build in builds]
    return [(folder, purpose(root / folder / "BUILD.bazel")) for folder in folders
            if not {"testing", "testdata"} & set(folder.parts)]


def folder_table(root, law):
    yield "| folder | holds | may use |"
    yield "|---|---|---|"
    for folder in (*GROUND, *PROGRAMS):
        told = purpose(root / TOLD_BY.get(folder, folder) / "BUILD.bazel")
        yield f"| `{folder}/` | {told} | {', '.join(law['may_use'][folder]) or '–'} |"


def room_table(root, program):
    yield f"| room of `{program}/` | what it does |"
    yield "|---|---|"
    for folder, told in rooms_of(root, program):
        if len(folder.parts) > 1:
            yield f"| `{'/'.join(folder.parts[1:])}` | {told} |"


def filled(text, root, law):
    """The page with its tables: each stands between `<!-- table: NAME -->` and `<!-- end -->`."""
    tables = {"folders": folder_table(root, law), **{name: room_table(root, name) for name in ("base", *PROGRAMS)}}

    def table(match):
        if match[1] not in tables:
            raise RoomTablesError(f"{PAGE}: wants a table of {match[1]}, which is none of {', '.join(tables)}")
        return f"<!-- table: {match[1]} -->\n" + "\n".join(tables[match[1]]) + "\n<!-- end -->"

    text, found = re.subn(r"(?s)<!-- table: (\w+) -->\n.*?<!-- end -->", table, text)
    if found != len(tables):
        raise RoomTablesError(f"{PAGE}: has {found} tables between marks, and should have one each of {', '.join(tables)}")
    return text


def wanted():
    law = tomllib.loads((ROOT / "tools/law.toml").read_text())
    return filled((ROOT / PAGE).read_text(), ROOT, law)


def main():
    try:
        (ROOT / PAGE).write_text(wanted())
    except RoomTablesError as error:
        sys.exit(f"room_tables: {error}")


if __name__ == "__main__":
    main()
