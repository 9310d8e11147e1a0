#!/usr/bin/python3
"""usage: golden_check.py [--accept] [PART ...]

Compares the names found in the sources with the golden list, and also those of each PART, a list that built programs
have printed. With --accept writes the golden list anew.
"""
import pathlib
import subprocess
import sys

import golden_documents
import golden_list
import golden_names

ROOT = pathlib.Path(__file__).absolute().parent.parent.parent


def tracked():
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [pathlib.Path(f) for f in listed if (ROOT / f).is_file()]


def source_names(root, files):
    """{heading: names} of all kinds that are found without a build."""
    return golden_names.product_names(root, files) | golden_documents.document_names(root, files)


def source_findings(root, files):
    """The findings of tools/lint: how the sources differ from the list, and headings that no check fills."""
    listed = golden_list.parse((root / golden_list.PATH).read_text())
    found = source_names(root, files)
    return golden_list.differences(listed, found) + golden_list.leftover(listed, set(found) | set(golden_list.BUILT))


def main():
    accept = sys.argv[1:2] == ["--accept"]
    found = source_names(ROOT, tracked())
    for part in sys.argv[2 if accept else 1 :]:
        found |= golden_list.parse(pathlib.Path(part).read_text())
    path = ROOT / golden_list.PATH
    if accept:
        path.write_text(golden_list.render(found))
        print(f"accepted: {golden_list.PATH}")
        return
    wrong = golden_list.differences(golden_list.parse(path.read_text()), found)
    for line in wrong:
        print(line)
    if wrong:
        sys.exit(f"{len(wrong)} names differ; {golden_list.ACCEPT}")
    print(f"{sum(map(len, found.values()))} names are as listed")


if __name__ == "__main__":
    main()
