"""usage: bitwise.py BIN_DIR -- 50 deterministic steps with dropout on 1, 2, 3 and 4 ranks must be the same.

Compares, exactly, the loss and gradient norm of every step and every tensor of the last checkpoint (parameters
and optimizer state, which each number of ranks spreads over files in its own way).
"""
import pathlib
import sys
import tempfile

import local

STEPS = 50


def train(bin_dir, ranks):
    with tempfile.TemporaryDirectory() as folder:
        run = local.Muster(
            bin_dir, f"{folder}/muster", steps=STEPS, count=ranks, micro=1, dropout=0.1, deterministic="true"
        )
        if run.process.wait(timeout=300) != 0:
            sys.exit(f"{ranks} ranks: muster run failed:\n{run.output.read_text()}")
        steps = {row["step"]: (row["loss"], row["gradientNorm"]) for row in run.rows()}
        return steps, local.tensors(pathlib.Path(folder) / f"muster/checkpoints/step-{STEPS:09}")


def main():
    print(f"{STEPS} steps, nano, deterministic, dropout 0.1, 8 micro-batches; compared with 1 rank, exactly")
    reference, failed = None, False
    for ranks in (1, 2, 3, 4):
        steps, final = train(sys.argv[1], ranks)
        if sorted(steps) != list(range(1, STEPS + 1)) or not final:
            sys.exit(f"{ranks} ranks: {len(steps)} steps and {len(final)} tensors were recorded")
        reference = reference or (steps, final)
        other_steps = sum(steps[s] != reference[0][s] for s in steps)
        other_tensors = sum(final.get(n) != reference[1].get(n) for n in final.keys() | reference[1].keys())
        failed |= bool(other_steps or other_tensors)
        verdict = "identical" if not other_steps + other_tensors else "DIFFERENT"
        print(
            f"  {ranks} rank(s)  loss {steps[1][0]!r} .. {steps[STEPS][0]!r}  {verdict}: {other_steps} of {STEPS} steps"
            f" and {other_tensors} of {len(final)} tensors differ",
            flush=True,
        )
    sys.exit(1 if failed else 0)


main()
