#!/usr/bin/env python3
"""Speed of two builds against each other: their benchmarks in turns, and the median of the paired ratios.

    bench/pairs.py OLD_BUILD NEW_BUILD [--pairs 10] [--reps 3] [--workload NAME]... [--divide-batch N]

A build is a folder with fovea_bench. A ratio above 1 means that NEW is faster. Each run is a process of
its own; the order within a pair changes from pair to pair, since machines drift.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

WORKLOADS = {"vit_tiny_patch4_32": 128, "deit_tiny_patch16_224": 32, "cpvt_tiny_peg0_224": 32,  # and their batches
             "pervit_tiny_224": 32, "pit_tiny_32": 16}


def speeds(build, workload, args, folder):
    """mode -> images per second of one run."""
    output = pathlib.Path(folder) / "run.json"
    command = [build / "fovea_bench", "--workload", workload, "--reps", str(args.reps), "--json", output,
               "--threads", str(args.threads), "--batch", str(max(1, WORKLOADS[workload] // args.divide_batch))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {build}/fovea_bench ended with {done.returncode}:\n{done.stderr}")
    return {row["mode"]: row["ours_img_s"] for row in json.loads(output.read_text())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--divide-batch", type=int, default=1, metavar="N", help="batches of an N-th: sooner done")
    parser.add_argument("--workload", action="append", choices=list(WORKLOADS))
    args = parser.parse_args()
    old, new = (build.resolve() for build in args.builds)
    print(f"{'workload':24}{'mode':8}{'median':>8}{'least':>8}{'most':>8}   of {args.pairs} ratios new / old")
    with tempfile.TemporaryDirectory() as folder:
        for workload in args.workload or WORKLOADS:
            ratios = {}
            for pair in range(args.pairs):
                order = (old, new) if pair % 2 == 0 else (new, old)
                runs = {build: speeds(build, workload, args, folder) for build in order}
                for mode in runs[old]:
                    ratios.setdefault(mode, []).append(runs[new][mode] / runs[old][mode])
            for mode, values in ratios.items():
                print(f"{workload:24}{mode:8}{statistics.median(values):8.3f}{min(values):8.3f}{max(values):8.3f}",
                      flush=True)


if __name__ == "__main__":
    main()
