"""usage: pure_decisions.py BIN -- measures decisions without I/O: placing a gang, finding victims, forecasting starts.

Runs the google-benchmark programs of this folder and prints their figures beside the targets. The p99 is that of a
call's CPU time: the tail of the wall time includes other load on the machine.
"""
import json
import math
import pathlib
import sys

import control_plane as plane

FEW, USUAL, MANY = 500, 5000, 20000


def measure(binary, program, *flags):
    """{name of a benchmark with its arguments: its figures}"""
    out = plane.run(binary / "tests/bench" / program, "--benchmark_format=json", *flags)
    found = {one["name"]: one for one in json.loads(out)["benchmarks"]}
    for name, one in found.items():
        if one.get("error_occurred"):
            sys.exit(f"{name}: {one['error_message']}")
    return found


def place(found):
    rows = []
    for name, what in (("Place512", "anywhere"), ("Place512Nested", "in nested slices"), ("Refuse512", "refused")):
        few, usual, many = (found[f"{name}/{size}"] for size in (FEW, USUAL, MANY))
        rows.append((f"Place of 512 pods, {what}, p99 ms at {USUAL}", f"{usual['p99_cpu_ms']:.2f} ({usual['p99_ms']:.2f} wall)", "-", "-",
                     "<= 5", usual["p99_cpu_ms"] <= 5))
        growth, bound = many["p50_ms"] / few["p50_ms"], MANY * math.log(MANY) / (FEW * math.log(FEW))
        rows.append((f"  its growth from {FEW} to {MANY} nodes", f"{growth:.1f}", f"{bound:.1f}", f"{growth / bound:.2f}", "<= n log n",
                     growth <= bound))
    return rows


def milliseconds(one):
    assert one["time_unit"] == "ms", one
    return one["real_time"]


def victims(found):
    worst = max(found, key=lambda name: milliseconds(found[name]))
    over = max(one["over_bound"] for one in found.values())
    took = milliseconds(found[worst])
    return [(f"who makes room, {worst.split('/', 1)[1]}, ms", f"{took:.1f}", "40000 *", f"{took / 40000:.4f}", "<= 50", took <= 50),
            ("  cost over the bound of the least", f"{over:.2f}", "1", "-", "-", True)]


def ahead(found):
    rows = []
    for kind, what in (("BM_Forecast", "when does it start"), ("BM_WhatIf", "what if")):
        name = max((name for name in found if name.startswith(kind)), key=lambda name: milliseconds(found[name]))
        took = milliseconds(found[name]) / 1e3
        rows.append((f"{what}, {name.split('/', 1)[1]}, s", f"{took:.3f}", "-", "-", "<= 1", took <= 1))
    return rows


def main():
    binary = pathlib.Path(sys.argv[1])
    rows = place(measure(binary, "placement_bench", "--benchmark_min_time=2"))
    rows += victims(measure(binary, "preemption_bench", "--benchmark_min_time=2"))
    rows += ahead(measure(binary, "forecast_bench"))
    plane.table("decisions without I/O, one thread", "* a cycle of Kueue with 700 possible victims, as its users reported it", rows)


main()
