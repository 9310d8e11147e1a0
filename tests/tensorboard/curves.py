"""usage: curves.py FOLDER -- compares the curves that TensorBoard reads from the event files of the runs in FOLDER
(disturbed_runs.cc) with the reports of the undisturbed run."""
import json
import math
import os
import pathlib
import shutil
import struct
import sys

from tensorboard.backend.event_processing import directory_watcher
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.backend.event_processing import event_file_loader

FOLDER = pathlib.Path(sys.argv[1])
REPORTS = json.loads((FOLDER / "reports.json").read_text())
TAGS = ["train/loss", "train/gradientNorm", "train/learningRate", "train/skippedSteps", "validation/loss"]


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def read(folder):
    """Returns what TensorBoard keeps of a run, all of it."""
    accumulator = event_accumulator.EventAccumulator(str(folder), size_guidance={event_accumulator.SCALARS: 0})
    accumulator.Reload()
    return accumulator


def points(accumulator, tag):
    return [(point.step, point.value) for point in accumulator.Scalars(tag)]


def check(run, folder, upto=30):
    accumulator = read(folder)
    tags = set(accumulator.Tags()["scalars"])
    assert tags == set(TAGS) | {"train/tokensPerSecond"}, (run, tags)
    for tag in TAGS:
        want = [(report["step"], single(report[tag])) for report in REPORTS if tag in report and report["step"] <= upto]
        assert want, tag
        got = points(accumulator, tag)
        assert got == want, f"{run}: {tag}: TensorBoard reads {got}, and the reports are {want}"
    speeds = accumulator.Scalars("train/tokensPerSecond")
    assert [speed.step for speed in speeds] == list(range(1, upto + 1)), run
    assert all(math.isfinite(speed.value) and speed.value > 0 for speed in speeds), run


def steps_written(folder):
    """Returns the steps of all records, in their order, with those that readers forget."""
    steps = []
    for path in sorted(folder.glob("*tfevents*")):
        for event in event_file_loader.EventFileLoader(str(path)).Load():
            if event.HasField("summary"):
                steps.append(event.step)
    return steps


def main():
    runs = {run: FOLDER / f"logs-of-{run}" / "test" for run in ["undisturbed", "replaced", "taken-over", "resumed"]}
    for run, folder in runs.items():
        check(run, folder)
        print(f"{run}: {len(list(folder.iterdir()))} files, {len(steps_written(folder))} records of steps")
    assert steps_written(runs["undisturbed"]) == list(range(1, 31))
    again = steps_written(runs["resumed"])
    assert again == list(range(1, 17)) + list(range(11, 31)), f"the run was to train steps 11 to 16 twice: {again}"
    assert len(list(runs["taken-over"].iterdir())) == 2 and len(list(runs["replaced"].iterdir())) == 1

    # A record that is cut off, as a node that loses power leaves it, ends its file and not the run.
    cut = FOLDER / "cut" / "test"
    shutil.copytree(runs["resumed"], cut)
    first = sorted(cut.iterdir())[0]
    os.truncate(first, first.stat().st_size - 5)
    assert steps_written(cut) == list(range(1, 16)) + list(range(11, 31))
    check("cut", cut)

    # TensorBoard takes each folder below the one that it is told for a run of that name.
    names = [path for path in directory_watcher.io_wrapper.GetLogdirSubdirectories(str(FOLDER / "logs-of-resumed"))]
    assert [os.path.basename(name) for name in names] == ["test"], names


if __name__ == "__main__":
    main()
