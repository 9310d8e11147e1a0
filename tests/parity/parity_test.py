"""usage: parity_test.py FAMILY:PRECISION:OPTIMIZER:RANKS:SHARD:ZERO[:offload]...

Has muster's trainer train the runs, and compares each with PyTorch: in one process, because to import PyTorch and
transformers takes longer than to repeat a run. The family torchscript is the model of the example.
"""
import os
import pathlib
import runpy
import subprocess
import sys
from unittest import mock

import torch

import comparison
import parity

FOLDER = pathlib.Path(os.environ["TEST_TMPDIR"])
SCRIPT = FOLDER / "model.pt"


def export_script():
    flags = [str(SCRIPT), "--vocabulary=96", "--positions=64", "--layers=3"]
    with mock.patch.object(sys, "argv", ["export.py", *flags]):
        runpy.run_path("examples/torchscript/export.py", run_name="__main__")


def dump(row):
    """Returns the folder of the run."""
    family, precision, optimizer, ranks, shard, zero, *offload = row.split(":")
    more = [str(SCRIPT)] if family == "torchscript" else []
    more += [f"--offload={FOLDER / 'scratch' / row}"] if offload else []
    command = ["tests/parity/dump_run", str(FOLDER / row), precision, optimizer, ranks, family, shard, zero, *more]
    # The trainer's libraries are its own, not those of this process.
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    subprocess.run(command, env=environment, check=True)
    return FOLDER / row


def main():
    torch.set_num_threads(1)
    export_script()
    verdicts = comparison.Verdicts()
    for row in sys.argv[1:]:
        parity.compare(verdicts, dump(row), "cpu")
    sys.exit(1 if verdicts.failed else 0)


main()
