#!/usr/bin/env python3
"""What Python costs: fovea's package beside the C++ programs, and beside PyTorch in one process.

    ninja -C BUILD fovea_bench sums_bench
    PYTHONPATH=PACKAGE python bench/python_speed.py BUILD [--threads 2] [--pairs 10] [--reps 7] [--steps 200]
    PYTHONPATH=PACKAGE python bench/python_speed.py --only alternate

PACKAGE is the folder that fovea is installed in, python a Python with numpy; the part `alternate` needs torch too and no
build. All parts take turns, because the speed of machines drifts:
  - step: training steps of vit_tiny_patch4_32, batch 128: the median over pairs of C++'s time / Python's; wanted: 0.97 or more
  - calls: the time of a call, adding two f32 tensors of 4 elements, without and with a gradient, in microseconds more than C++
    takes; wanted: at most 1 and 3
  - alternate: small steps of fovea and of PyTorch in turn in one process, against each alone in a process; wanted: 0.9 or
    more of its speed
"""
import argparse
import os
import pathlib
import statistics
import sys
import time

from ours import Timed

WARM_UP = 2
CALLS = 10_000  # as in sums_bench.cpp, which runs a case five times
MODEL, BATCH = "vit_tiny_patch4_32", 128
SMALL_BATCH = 16
PARTS = ("step", "calls", "alternate")


def ours_step(batch=BATCH, **settings):
    """A training step as `fovea_bench` takes it."""
    import fovea
    model = fovea.create_model(MODEL, **settings).train()
    optimizer = fovea.AdamW(model, lr=1e-4)
    images, labels = fovea.randn(batch, 3, 32, 32, seed=1), fovea.tensor([i % 10 for i in range(batch)], dtype=fovea.i64)

    def step():
        optimizer.zero_grad()
        fovea.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return step


def ours_small():
    return ours_step(SMALL_BATCH, depth=2)


def theirs_small():
    """A step of two of PyTorch's own transformer layers."""
    import torch
    layers = [torch.nn.TransformerEncoderLayer(192, 3, 768, dropout=0.0, batch_first=True, norm_first=True) for _ in range(2)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randn(SMALL_BATCH, 65, 192)

    def step():
        optimizer.zero_grad()
        (model(tokens) ** 2).mean().backward()
        optimizer.step()
    return step


MAKERS = {"step": ours_step, "ours": ours_small, "theirs": theirs_small}


def calls():
    """Cases of their own: many calls of small ops."""
    import fovea
    a, b = fovea.randn(4, seed=1), fovea.randn(4, seed=2)
    leaf = fovea.randn(4, seed=3, requires_grad=True)

    def add():
        for _ in range(CALLS):
            a + b

    def add_and_backward():
        for _ in range(CALLS):
            (leaf + b).backward(a)
    return {"calls_of_add": add, "calls_of_add_and_backward": add_and_backward}


def timed(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def answer(cases):
    """This process as a Timed program: it runs the named case for each line."""
    for line in sys.stdin:
        print(f"{timed(cases[line.strip()]):.9f}", flush=True)


def child(case, threads):
    return Timed("env", f"OMP_NUM_THREADS={threads}", sys.executable, __file__, "--child", case)


def compare_steps(build, options):
    ratios = []
    for _ in range(options.pairs):
        programs = [Timed(build / "fovea_bench", "--turns", "--workload", MODEL, "--mode", "train", "--threads", options.threads),
                    child("step", options.threads)]
        times = [[], []]
        for turn in range(options.reps + WARM_UP):
            for i in (0, 1) if turn % 2 == 0 else (1, 0):
                times[i].append(programs[i].seconds("step" if i else ""))
        for program in programs:
            program.close()
        cpp, python = (statistics.median(t[WARM_UP:]) for t in times)
        ratios.append(cpp / python)
    print(f"training step of {MODEL}: C++ / Python {statistics.median(ratios):.3f} "
          f"(lowest {min(ratios):.3f}, highest {max(ratios):.3f} of {len(ratios)} pairs)", flush=True)


def compare_calls(build, options):
    programs = Timed(build / "rooms/bench/sums_bench", options.threads), child("calls", options.threads)
    for name in ("calls_of_add", "calls_of_add_and_backward"):
        times = [[], []]
        for _ in range(3 * options.reps):
            times[0].append(programs[0].seconds(name) / 5)
            times[1].append(programs[1].seconds(name))
        cpp, python = (1e6 * statistics.median(t) / CALLS for t in times)
        print(f"{name}: C++ {cpp:.2f} us, Python {python:.2f} us, more by {python - cpp:.2f} us", flush=True)
    for program in programs:
        program.close()


def compare_beside_torch(options):
    """Both in one process, turn by turn; each alone in one of its own, also turn by turn.

    The library that is imported first may bring the threads of both: PyTorch's libgomp can have the system's name.
    """
    programs = {name: child(name, options.threads) for name in ("ours", "theirs", "ours, theirs", "theirs, ours")}
    times = {(name, case): [] for name in programs for case in name.split(", ")}
    for turn in range(-WARM_UP, options.steps):
        for (name, case), taken in times.items():
            seconds = programs[name].seconds(case)
            if turn >= 0:
                taken.append(seconds)
        if turn >= 0 and (turn + 1) % 20 == 0:
            alone = ", ".join(f"{case} {1e3 * statistics.median(times[case, case]):.1f} ms" for case in ("ours", "theirs"))
            print(f"{turn + 1} of {options.steps} steps; alone: {alone}", flush=True)
    for program in programs.values():
        program.close()
    for (name, case), taken in times.items():
        if name != case:
            ratio = statistics.median(times[case, case]) / statistics.median(taken)
            print(f"{options.steps} steps in turn, imported in the order {name}: {case} at {ratio:.3f} of its speed alone", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return answer({name: MAKERS[name]() for name in options.child.split(", ")} if options.child != "calls" else calls())
    parts = (options.only,) if options.only else PARTS
    if options.build is None and parts != ("alternate",):
        parser.error("the build's folder is missing")
    if "step" in parts:
        compare_steps(options.build, options)
    if "calls" in parts:
        compare_calls(options.build, options)
    if "alternate" in parts:
        try:
            import torch  # noqa: F401
        except ImportError:
            print("SKIPPED: PyTorch is not installed, so nothing runs beside it")
            return 0
        compare_beside_torch(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
