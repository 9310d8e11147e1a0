"""Finds what tests read without saying so. Bazel keeps a passed test until one of its inputs changes, so a file that the test
reads and its target does not name is a change that goes unnoticed."""
import re

import build_files

# How C++, Python and shell find what tools/setup installed for tests: by a link in third_party/installed.
INSTALLED = re.compile(r'InstalledFolder\("([\w-]+)"\)|third_party/installed/([\w-]+)|INSTALLED / "([\w-]+)"|\bfolder_of ([\w-]+)\)')
IMPORT = re.compile(r"^\s*(?:import|from) (\w+)", re.M)
# What leads a test out of the files that its target names: the cache's folder, and the checkout behind a link to a script.
OUTSIDE = {
    r"MUSTER_CACHE(?!_)|\.cache/muster": "reads the cache's folder: link what it needs in tools/setup (link_installed), and find it by third_party/installed",
    r"__file__\)\.resolve\(|readlink -f|os\.path\.realpath\(__file__": "leaves its links for the checkout, whose files are no inputs of the test: use absolute()",
}
SCRIPTS = (".py", ".sh", ".cc", ".h")


def needs(path, text, files):
    """The labels that a test must have among its inputs if it has this file: of what is installed, and of imported modules."""
    found = {f"//third_party/installed:{name}" for match in INSTALLED.findall(text) for name in match if name}
    if path.endswith(".py"):
        folder = path.rpartition("/")[0]
        found |= {f"//{folder}:{name}.py" for name in IMPORT.findall(text) if f"{folder}/{name}.py" in files}
    return found


def findings(targets, read, files, exempt):
    """[(where, what)] for the test targets; `files` are the paths of the tree, `exempt` those that tests may leave by."""
    found, known = [], {}

    def file_needs(label):
        path = label[2:].replace(":", "/").lstrip("/")
        if label not in known:
            known[label] = needs(path, read(path), files) if path in files and path.endswith(SCRIPTS) and path not in exempt else set()
        return known[label]

    for label, target in targets.items():
        if target["rule"] not in build_files.TESTS:
            continue
        inputs = build_files.inputs(label, targets)
        lacking = {need: file for file in inputs for need in file_needs(file) if need not in inputs}
        found += [(target["file"], f"{label} has {file} among its inputs and not {need}, which that reads") for need, file in sorted(lacking.items())]
    for path in sorted(files):
        if path.endswith(SCRIPTS) and path not in exempt and (path.startswith("tests/") or "_test." in path):
            found += [(path, what) for pattern, what in OUTSIDE.items() if re.search(pattern, read(path))]
    return found
