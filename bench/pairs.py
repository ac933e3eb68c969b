#!/usr/bin/env python3
"""Compares the speed of two builds: their benchmarks alternate, and the median of the paired ratios is printed.

    bench/pairs.py OLD_BUILD NEW_BUILD [--pairs 10] [--reps 7] [--threads N] [--mode train|infer]
                   [--workload NAME]... [--divide-batch N]

A build is a folder with fovea_bench. A ratio above 1 means that NEW is faster. A pair is one process per build;
the two alternate repetition by repetition, because the speed of machines drifts. The pair's ratio compares the
medians of their repetitions after two warm-up repetitions.
"""
import argparse
import pathlib
import statistics
import sys

from ours import Timed

WORKLOADS = {"vit_tiny_patch4_32": 128, "deit_tiny_patch16_224": 32, "cpvt_tiny_peg0_224": 32,  # and their batches
             "pervit_tiny_224": 32, "pit_tiny_32": 16, "mae_vit_base_patch16": 8, "mae_pit_tiny_32": 8, "dit_s_2": 8}
WARM_UP = 2


def bench_of(build, workload, mode, args):
    """The process of one build, which runs a repetition on request."""
    return Timed(build / "fovea_bench", "--turns", "--workload", workload, "--mode", mode, "--threads", args.threads,
                 "--batch", max(1, WORKLOADS[workload] // args.divide_batch))


def ratio_of_pair(builds, workload, mode, args):
    benches = [bench_of(build, workload, mode, args) for build in builds]
    times = [[], []]
    for turn in range(args.reps + WARM_UP):
        for i in (0, 1) if turn % 2 == 0 else (1, 0):
            times[i].append(benches[i].seconds())
    for bench in benches:
        bench.close()
    old, new = (statistics.median(t[WARM_UP:]) for t in times)
    return old / new


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--divide-batch", type=int, default=1, metavar="N", help="divide batch sizes by N for a shorter run")
    parser.add_argument("--workload", action="append", choices=list(WORKLOADS))
    parser.add_argument("--mode", action="append", choices=["train", "infer"])
    args = parser.parse_args()
    builds = [build.resolve() for build in args.builds]
    print(f"{'workload':24}{'mode':8}{'median':>8}{'least':>8}{'most':>8}   of {args.pairs} ratios new / old")
    for workload in args.workload or WORKLOADS:
        for mode in args.mode or ["train", "infer"]:
            ratios = [ratio_of_pair(builds, workload, mode, args) for _ in range(args.pairs)]
            print(f"{workload:24}{mode:8}{statistics.median(ratios):8.3f}{min(ratios):8.3f}{max(ratios):8.3f}",
                  flush=True)


if __name__ == "__main__":
    main()
