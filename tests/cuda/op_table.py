#!/usr/bin/env python3
"""Runs the op table on the fake CUDA device and prints the errors of each op.

    tests/cuda/op_table.py [--build build] [--derivatives]

Runs cuda_cases under five seeds, then prints a Markdown table with one row per op: its number of cases, and
the largest difference from the CPU's f64 over all elements of values and gradients, in units of the last
place of f64, f32 and bf16 ("-": the op does not have that dtype). --derivatives adds the largest relative
difference from central differences on the device, along a random direction. Exits 1 when a case fails.
"""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def lines_of(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True,
                          env=dict(os.environ, OMP_NUM_THREADS="1"))
    print(done.stdout, done.stderr, sep="", flush=True)
    if done.returncode != 0:
        sys.exit(1)
    return [line for line in done.stdout.splitlines() if line.rstrip().endswith("PASS")]


def worst_of(lines, columns):
    """By op: the number of its cases, and the largest value of each of these columns, counted from the right."""
    ops = {}
    for line in lines:
        words = line.split()
        row = ops.setdefault(words[0], [0] + [-1.0] * len(columns))
        row[0] += 1
        for i, column in enumerate(columns, 1):
            word = words[-1 - column]
            row[i] = max(row[i], -1.0 if word == "-" else float(word))
    return ops


def print_table(cases, differences):
    print("| op | cases | f64 | f32 | bf16 |" + " central differences |" * bool(differences))
    print("|---" * (6 if differences else 5) + "|")
    for op, (rows, *units) in sorted(cases.items()):
        shown = ["-" if u < 0 else f"{u:.2g}" for u in units]
        last = f" {differences[op][1]:.1e} |" if differences else ""
        print(f"| {op} | {rows} | {' | '.join(shown)} |{last}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--derivatives", action="store_true", help="also run gradcheck on the fake device")
    options = parser.parse_args()
    programs = options.build / "fake"
    cases = worst_of(lines_of(programs / "cuda_cases", "--seeds", "5"), (3, 2, 1))
    differences = worst_of(lines_of(programs / "gradcheck", "--device", "cuda", "--directional"),
                           (3,)) if options.derivatives else {}
    print_table(cases, differences)


if __name__ == "__main__":
    main()
