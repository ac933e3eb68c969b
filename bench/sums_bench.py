#!/usr/bin/env python3
"""Compares the speed of sums, divisions, random numbers and copies in two builds.

    ninja -C BUILD sums_bench
    python bench/sums_bench.py OLD/rooms/bench/sums_bench NEW/rooms/bench/sums_bench [--threads 2] [--pairs 10]

The two programs take turns. Each turn starts them anew, since where a process's memory lies changes its speed, and each
runs the case once before it counts. Prints for each case the median of the old one's time, and the median over the pairs of
old / new: above 1 the new build is faster. OLD beside a copy of itself shows how far a ratio is noise.
"""
import argparse
import statistics
import subprocess


def ask(path, threads, *lines):
    """The answers of a new process to `lines`."""
    text = "".join(line + "\n" for line in lines)
    return subprocess.run([path, str(threads)], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=10)
    options = parser.parse_args()
    old, new = options.old, options.new
    for name in ask(old, options.threads, "list")[0].split():
        pairs = []
        for turn in range(options.pairs):
            sides = (old, new) if turn % 2 == 0 else (new, old)
            taken = {side: float(ask(side, options.threads, name, name)[1]) for side in sides}
            pairs.append((taken[old], taken[new]))
        ratio = statistics.median(before / after for before, after in pairs)
        print(f"{name:22} {1e3 * statistics.median(before for before, _ in pairs):9.2f} ms  {ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
