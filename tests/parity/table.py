"""usage: table.py TESTLOGS

Prints the parity matrix as a table of Markdown, from the logs of the last run of its tests: one rank, and some layouts,
against PyTorch (tests/parity), and the layouts against one rank (tests/parity/matrix). A cell is the worst relative
error.
"""
import json
import pathlib
import re
import sys

# The columns, and what they are called in the lines of parity.py and of matrix.cc. Several are one cell: the worst.
COLUMNS = {
    "loss, step 1": (r"loss of step 1,", []),
    "loss": (r"loss of every step to \d+", ["loss"]),
    "gradients, step 1": (r"gradients of step 1,", ["gradients, step 1"]),
    "gradients, last step": (r"gradients of step (?!1,)\d+,", ["gradients, step 6"]),
    "norm": (r"gradient norm of every step to \d+", ["norm"]),
    "change of the weights": (r"final weights less initial ones", ["weights, step 1", "weights, step 6"]),
    "logits": (r"logits of the same weights", []),
    "a rank lost": (None, ["rank lost, loss", "rank lost, norm"]),
    "loaded by others": (None, ["loaded, loss", "loaded, norm", "loaded, weights"]),
}
LINE = re.compile(r"^(?:ok  |FAIL) (?P<what>.*): (?P<error>\S+) \(limit (?P<limit>\S+)\)$")
LAYOUT = {"0": "data parallel", "1": "ZeRO 1", "2": "ZeRO 2", "3": "ZeRO 3"}


def against_pytorch(log):
    """The rows of a log: a line `row FAMILY:PRECISION:OPTIMIZER:RANKS:SHARD:ZERO[:offload]`, then its comparisons."""
    rows = []
    for line in log.splitlines():
        if line.startswith("row "):
            family, precision, optimizer, ranks, shard, zero, *offload = line.split()[1].split(":")
            copies = " x 2 copies" if 1 < int(shard) < int(ranks) else ""
            layout = "one rank" if ranks == "1" else f"{LAYOUT[zero]}{copies}, {ranks} ranks, 12 micro-batches"
            layout += ", offload" if offload else ""
            rows.append(["PyTorch", family, precision, optimizer, layout] + ["-"] * len(COLUMNS))
        found = LINE.match(line)
        for i, (pattern, _) in enumerate(COLUMNS.values()):
            if found and pattern and re.match(pattern, found["what"]):
                rows[-1][5 + i] = f"{float(found['error']):.0e}"
    return rows


def cell(figures, names):
    found = [figures[name] for name in names if name in figures]
    if not found:
        return "-"
    return f"{max(f['error'] for f in found):.0e}"


def against_one_rank(log):
    rows = []
    for line in log.splitlines():
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        figures = row.get("figures", {})
        cells = [cell(figures, names) for _, names in COLUMNS.values()]
        rows.append(["one rank", row["family"], row["precision"], row["optimizer"], row["row"], *cells])
    return rows


def main():
    folder = pathlib.Path(sys.argv[1]) / "tests" / "parity"
    rows = []
    for log in folder.glob("parity_test/test.log"):
        rows += against_pytorch(log.read_text())
    for log in sorted(folder.glob("matrix/*_pairwise_test/test.log")):
        rows += against_one_rank(log.read_text())
    if not rows:
        sys.exit(f"{folder}: no log of a test of the matrix; run tools/test //tests/parity/... first")
    print("| against | model | type | optimizer | layout |", " | ".join(COLUMNS), "|")
    print("|---" * (5 + len(COLUMNS)) + "|")
    order = {"PyTorch": 0, "one rank": 1, "gpt2": 0, "llama": 1, "bloom": 2, "torchscript": 3, "fp64": 0, "fp32": 1, "bf16": 2, "fp16": 3, "fp8": 4}
    for row in sorted(rows, key=lambda row: (order[row[0]], order[row[1]], order[row[2]])):
        print("|", " | ".join(row), "|")


main()
