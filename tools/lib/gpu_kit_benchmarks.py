"""The benchmarks of the kit of tools/gpu-kit: each row compares muster with its peer in one run on one card."""
import dataclasses
import json
import os
import re
import time

from gpu_kit_run import OutOfTime, Server, median

DEVICE = "cuda"
# The dense BF16 rate that the maker states for a card, in FLOP/s, by a part of its name.
PEAKS = {"H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12}
WARM_UP, MEASURED = 3, 9
TRACED = 4
# Between two kernels that wait in a queue a card needs some microseconds itself; a longer pause is the host's.
LONG_PAUSE = 5


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    shape: dict
    sequence: int
    micro_batches: tuple
    peer_seconds: int  # for one micro-batch, most of it for compilation


SMALL = {"layers": 12, "heads": 12, "width": 768, "positions": 1024, "vocabulary": 50304}
XL = {**SMALL, "layers": 48, "heads": 25, "width": 1600}
LLAMA_SLICE = {"family": "llama", "layers": 8, "heads": 32, "width": 4096, "positions": 8192, "vocabulary": 128256, "keyValueHeads": 8,
               "feedForwardWidth": 14336, "ropeTheta": 500000.0}
GPT2 = Workload("GPT-2 124M", SMALL, 1024, (16, 32, 64, 128, 192), 300)
GPT2_XL = Workload("GPT-2 1.5B", XL, 1024, (4, 8, 16, 24), 540)
LLAMA = Workload("8 layers of LLaMA-8B", LLAMA_SLICE, 8192, (1, 2, 3), 420)


def config_of(shape, sequence, micro_batch, **more):
    return {"shape": shape, "sequence": sequence, "microBatch": micro_batch, "globalBatch": micro_batch, "device": DEVICE,
            "precision": "bf16", **more}


def our_side(run):
    return [run.program("step_server")]


def peer_side(run):
    return [run.python, "python/tests/bench/peer_step.py"]


def flops_per_token(shape, sequence):
    """6 N + 12 layers x width x sequence, where N counts the matrices that multiply: the head's, and no embedding's."""
    layers, width = shape["layers"], shape["width"]
    if shape.get("family") == "llama":
        key_value_width = width // shape["heads"] * shape["keyValueHeads"]
        block = 2 * width * (width + key_value_width) + 3 * width * shape["feedForwardWidth"]
    else:
        block = 12 * width * width
    return 6 * (layers * block + shape["vocabulary"] * width) + 12 * layers * width * sequence


def peak_of(card):
    return next((rate for part, rate in PEAKS.items() if part in card), None)


def rates_of(run, side, workload, micro_batches, seconds, **more):
    """{micro-batch: tokens/s} of those that work; not tried is one that is larger than one that failed, or smaller than one that worked.

    Raises the first failure if none works.
    """
    rates, failures = {}, {}
    for micro_batch in micro_batches:
        if any(micro_batch > failed for failed in failures) or any(micro_batch < worked for worked in rates):
            continue
        config = config_of(workload.shape, workload.sequence, micro_batch, **more)
        try:
            with Server(run, side, config, seconds) as server:
                seconds_of_step = median(server.steps(WARM_UP + MEASURED)[WARM_UP:])
        except (OutOfTime, ValueError) as e:
            failures[micro_batch] = e
            continue
        rates[micro_batch] = micro_batch * workload.sequence / seconds_of_step
    if not rates:
        raise next(iter(failures.values()))
    return rates


def figures_of(run, workload, rates):
    best = max(rates, key=rates.get)
    figures = {"tokens/s": round(rates[best]), "micro-batch": best}
    peak = peak_of(run.facts["card"])
    if peak:
        figures["MFU %"] = round(100 * rates[best] * flops_per_token(workload.shape, workload.sequence) / peak, 1)
    return {**figures, **{f"at {size}": round(rate) for size, rate in rates.items() if size != best}}


def around(best, sizes):
    """The next smaller size, which fits most surely, then the size, the next larger one, and ever smaller ones, as far as there are such."""
    larger, smaller = [size for size in sizes if size > best], sorted((size for size in sizes if size < best), reverse=True)
    return [*smaller[:1], best, *larger[:1], *smaller[1:]]


def against_compile(run, workload):
    """Both sides at their best micro-batch. Of the peer, which is slow to compile, those near to ours are tried, one that fits before larger
    ones: the peer has a figure even if it has no memory or no time for ours."""
    name, sizes = workload.name, workload.micro_batches
    ours = run.bounded(f"muster, {name}", lambda: figures_of(run, workload, rates_of(run, our_side(run), workload, sizes, 240)))
    if ours is None:
        return
    near, mode = around(ours["micro-batch"], sizes), run.compile_mode
    peer = lambda: figures_of(run, workload, rates_of(run, peer_side(run), workload, near, workload.peer_seconds, compile=mode))
    theirs = run.bounded(f"torch.compile {mode}, {name}", peer)
    if theirs:
        ratio = ours["tokens/s"] / theirs["tokens/s"]
        run.row(f"{name}, muster by torch.compile", "passed", **{"tokens/s": round(ratio, 3)})


def kernel_rates(run):
    rates = lambda text: {name: float(rate) for name, rate in re.findall(r"^(.+) ([\d.]+)$", text, re.M)}
    run.check("kernels, % of a copy's rate", [run.program("kernel_benchmark")], 300, rates)


def peak_memory(run, side, config):
    """The most bytes in tensors on the card in three steps after two, which make the optimizer's state."""
    with Server(run, side, config, 240) as server:
        server.steps(2)
        server.ask("memory")
        server.steps(3)
        return json.loads(server.ask("memory"))["peak"]


def vocabulary(run):
    config = config_of({**SMALL, "vocabulary": 128256}, 1024, 16)

    def compute():
        ours, theirs = (peak_memory(run, side(run), config) for side in (our_side, peer_side))
        return {"GiB": round(ours / 2**30, 2), "eager GiB": round(theirs / 2**30, 2), "muster by eager": round(ours / theirs, 3)}

    run.bounded("peak memory, vocabulary 128,256", compute)


def timeline(events):
    """(span, busy, long pauses) of what the card did in a trace, in microseconds."""
    of_card = ("kernel", "gpu_memcpy", "gpu_memset")
    spans = sorted((float(e["ts"]), float(e["ts"]) + float(e["dur"])) for e in events if e.get("cat") in of_card)
    if not spans:
        raise ValueError("the trace has nothing that the card did")
    begin, end = spans[0]
    pauses = long_pauses = 0.0
    for start, stop in spans:
        pause = max(start - end, 0)
        pauses += pause
        long_pauses += pause if pause > LONG_PAUSE else 0
        end = max(end, stop)
    return end - begin, end - begin - pauses, long_pauses


def host(run):
    """How much of a step the card waits: by a trace of some steps, and by the card's work in them against untraced steps."""
    file = os.path.join(run.folder, "trace.json")
    config = config_of(SMALL, 1024, 32, tracedSteps=TRACED)

    def compute():
        with Server(run, our_side(run), config, 240) as server:
            step = 1e6 * median(server.steps(WARM_UP + MEASURED)[WARM_UP:])
            server.ask(f"trace {file}")
        with open(file) as text:
            span, busy, long_pauses = timeline(json.load(text)["traceEvents"])
        return {"idle %": round(100 * (span - busy) / span, 2), f"in pauses over {LONG_PAUSE} us %": round(100 * long_pauses / span, 2),
                "of untraced steps %": round(100 * (1 - busy / TRACED / step), 2)}

    run.bounded("host time not hidden, GPT-2 124M", compute)


def curve(run):
    folder = os.path.join(run.folder, "curve")
    config = {"shape": SMALL, "sequence": 512, "microBatch": 8, "steps": 500, "symbols": 1024, "device": DEVICE, "precision": "bf16"}

    def figures(text):
        ours, theirs = map(float, re.search(r"muster (\S+), autocast (\S+)$", text, re.M).groups())
        return {"from FP32": ours, "autocast's": theirs, "muster by autocast": round(ours / theirs, 3)}

    if run.check("500 steps in BF16: muster trains", [run.program("curve_run"), folder, json.dumps(config)], 240):
        command = [run.python, "python/tests/parity/curve.py", f"--device={DEVICE}", folder]
        run.check("500 steps in BF16: against FP32 of PyTorch", command, 400, figures)


PARTS = {
    "kernel-rates": kernel_rates,
    "host": host,
    "gpt2": lambda run: against_compile(run, GPT2),
    "vocabulary": vocabulary,
    "curve": curve,
    "llama": lambda run: against_compile(run, LLAMA),
    "gpt2-1.5b": lambda run: against_compile(run, GPT2_XL),
}
