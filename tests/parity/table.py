"""usage: table.py TESTLOGS

Prints the parity matrix as a table of Markdown, from the logs of the last run of its tests: in each row the relative
errors against the reference, and the limit of each.
"""
import pathlib
import re
import sys

COLUMNS = {
    "loss": r"loss of every step to \d+",
    "gradients, step 1": r"gradients of step 1,",
    "gradients, last step": r"gradients of step (?!1,)\d+,",
    "norm": r"gradient norm of every step to \d+",
    "change of the weights": r"final weights less initial ones",
    "logits": r"logits of the same weights",
}
LINE = re.compile(r"^(?:ok  |FAIL) (?P<what>.*): (?P<error>\S+) \(limit (?P<limit>\S+)\)$")
ROW = re.compile(r"(gpt2|llama|bloom|torchscript)_(fp64|fp32|bf16)_(adamw|sgd)_(\d)_ranks?(?:_(\w+))?_test")
LAYOUTS = {None: "data parallel", "zero1": "ZeRO 1", "zero2": "ZeRO 2", "zero3": "ZeRO 3"}
LAYOUTS |= {f"hybrid{stage}": f"ZeRO {stage}, two copies" for stage in "123"}


def cells(log):
    """The cells of one test's row; a comparison that is missing in the log is "-"."""
    found = [match for match in map(LINE.match, log.splitlines()) if match]
    row = []
    for pattern in COLUMNS.values():
        match = next((line for line in found if re.match(pattern, line["what"])), None)
        row.append(f"{float(match['error']):.0e} ({float(match['limit']):.0e})" if match else "-")
    return row


def main():
    folder = pathlib.Path(sys.argv[1]) / "tests" / "parity"
    rows = []
    for log in sorted(folder.glob("*/test.log")):
        name = ROW.fullmatch(log.parent.name)
        if name:
            family, precision, optimizer, ranks, layout = name.groups()
            rows.append([family, precision, optimizer, ranks, LAYOUTS[layout], *cells(log.read_text())])
    if not rows:
        sys.exit(f"{folder}: no log of a test of the matrix; run tools/test //tests/parity:all first")
    print("| model | type | optimizer | ranks | layout |", " | ".join(COLUMNS), "|")
    print("|---" * (5 + len(COLUMNS)) + "|")
    order = {"gpt2": 0, "llama": 1, "bloom": 2, "torchscript": 3, "fp64": 0, "fp32": 1, "bf16": 2}
    for row in sorted(rows, key=lambda row: (order[row[0]], order[row[1]], row[3], row[4], row[2])):
        print("|", " | ".join(row), "|")


main()
