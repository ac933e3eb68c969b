#!/usr/bin/env python3
"""The op table on the fake CUDA device, compared with the table in docs/gpu.md.

    tests/cuda/op_table.py [--build build] [--write]

Runs cuda_cases under five seeds and prints its output. Exits 1 if a row fails, or if the page lists other ops
or row counts. --write also runs gradcheck, which takes minutes, and writes the table.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/gpu.md"
BEGIN, END = "<!-- tests/cuda/op_table.py writes this table -->", "<!-- end of the ops -->"


def lines_of(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True,
                          env=dict(os.environ, OMP_NUM_THREADS="1"))
    print(done.stdout, done.stderr, sep="", flush=True)
    if done.returncode != 0:
        sys.exit(1)
    return [line for line in done.stdout.splitlines() if line.rstrip().endswith("PASS")]


def worst_of(lines, columns):
    """Per op: the number of its rows, and the maximum of each of these columns, counted from the right."""
    ops = {}
    for line in lines:
        words = line.split()
        row = ops.setdefault(words[0], [0] + [-1.0] * len(columns))
        row[0] += 1
        for i, column in enumerate(columns, 1):
            word = words[-1 - column]
            row[i] = max(row[i], -1.0 if word == "-" else float(word))
    return ops


def table_of(cases, differences):
    lines = ["Differences from the CPU's f64 in units of the last place of the dtype, the worst of all elements of values and",
             "gradients (-: not an op of that dtype); derivatives against central differences on the device, relative.", "",
             "| op | rows | f64 | f32 | bf16 | central differences |", "|---|---|---|---|---|---|"]
    for op, (rows, *units) in sorted(cases.items()):
        shown = ["-" if u < 0 else f"{u:.2g}" for u in units]
        lines.append(f"| {op} | {rows} | {' | '.join(shown)} | {differences[op][1]:.1e} |")
    return "\n" + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--write", action="store_true", help="write the table")
    options = parser.parse_args()
    programs = options.build / "fake"
    cases = worst_of(lines_of(programs / "cuda_cases", "--seeds", "5"), (3, 2, 1))
    before, rest = PAGE.read_text().split(BEGIN)
    old, after = rest.split(END)
    if options.write:
        differences = worst_of(lines_of(programs / "gradcheck", "--device", "cuda", "--entries", "1",
                                       "--directional"), (3,))
        PAGE.write_text(before + BEGIN + table_of(cases, differences) + END + after)
        return 0
    listed = {op: int(rows) for op, rows in re.findall(r"^\| (\w+) \| (\d+) \|", old, re.MULTILINE)}
    wrong = sorted(op for op in listed.keys() | cases.keys() if listed.get(op) != cases.get(op, [None])[0])
    if wrong:
        print(f"docs/gpu.md has other rows of {', '.join(wrong)}: tests/cuda/op_table.py --write")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
