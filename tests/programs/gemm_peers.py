#!/usr/bin/env python3
"""The table and the JSON of bench/gemm_bench.py, with a fake program and fake peers.

    tests/programs/gemm_peers.py

Checks that the sides take turns, that ratios and rates are those of the times, and what the table says of peers that are
missing or compute something else. Needs neither PyTorch nor oneDNN, and no build.
"""
import json
import sys

from checks import ROOT, Checks, build_of
from fake_peers import environment_of, fake_python, write_program

TURNS = 2
FC1_FLOPS = 2 * 6304 * 192 * 768

OURS = f'''#!{sys.executable}
import os, sys

print("isa fake, 1 threads", flush=True)
with open(os.environ["FAKE_LOG"], "a") as log:
    for line in sys.stdin:
        print("ours", line.split()[0], file=log, flush=True)
        print("saved" if line.startswith("save ") else 40, flush=True)
'''


def peer(missing="", unable="", wrong=""):
    """A Python whose peers answer bench/peer.py's commands; some are missing, unable to multiply, or wrong."""
    return fake_python(f'''answers = {{
    "info": {{"lacks": "not installed"}} if kind == {missing!r} else {{"name": "fake " + kind, "about": "no kernels"}},
    "setup": {{"lacks": "no kernel"}} if kind == {unable!r} else {{"parameters": 0}},
    "agreement": {{"error": float("nan") if kind == {wrong!r} else 0.5, "tolerance": 0.5}},
    "rep": {{"seconds": {{"onednn": 0.08, "linear": 0.16, "packed": 0.32}}[kind]}},
}}''')


class Bench:
    """A run for the products of a layer, beside a Python that is a fake."""

    def __init__(self, checks, python, only, *flags):
        log, table = checks.folder / "commands.txt", checks.folder / "table.json"
        table.unlink(missing_ok=True)
        ours = write_program(checks.folder / "ours", OURS)
        environment = environment_of(write_program(checks.folder / "python", python), log)
        self.done = checks.execute([sys.executable, str(ROOT / "bench/gemm_bench.py"), str(ours), "--rounds",
                                    str(TURNS), "--only", only, "--json", str(table), *flags], env=environment, text=True)
        self.table = json.loads(table.read_text()) if table.exists() else None
        self.rows = {row["product"]: row for row in self.table["products"]} if self.table else {}
        self.commands = log.read_text().splitlines()

    def line(self, start):
        return next((line for line in self.done.stdout.splitlines() if line.startswith(start)), "")


def check_table(checks, bench):
    forward = bench.rows.get("vit_tiny fc1 forward")
    checks.that("a layer has three products", bench.done.returncode == 0 and len(bench.rows) == 3 and forward, bench.done)
    checks.that("the ratio compares the fastest peer's time with ours", forward["ratio"] == 2 and
                forward["fastest_peer"] == "onednn" and bench.line("vit_tiny fc1 forward").endswith(" 2.00"), bench.done)
    rates = {"ours": 1, "onednn": 1 / 2, "linear": 1 / 4, "packed": 1 / 8}
    checks.that("rates are those of the medians", all(
        abs(forward["gflops"][name] - share * FC1_FLOPS / 0.04 * 1e-9) < 1e-6 for name, share in rates.items()), str(forward))
    checks.that("the gradient of weights has no packed weights", bench.rows["vit_tiny fc1 dw"]["gflops"]["packed"] is None,
                bench.done)
    checks.that("the mean and the least are those of the ratios", abs(bench.table["geometric_mean"] - 2) < 1e-9 and
                bench.table["least"] == 2 and "geometric mean 2.000, least 2.00" in bench.done.stdout, bench.done)
    turns = [f"{side} {run}" for side, run in (("ours", "forward"), ("onednn", "rep"), ("linear", "rep"), ("packed", "rep"))
             for _ in range(2)]  # the first run of a turn does not count
    setup = ["ours forward", "ours save", *(f"{side} {step}" for side in ("onednn", "linear", "packed")
                                            for step in ("setup", "agreement"))]
    begin = bench.commands.index("ours forward")
    checks.that("the sides compute the same operands and take turns",
                bench.commands[begin:begin + len(setup) + TURNS * len(turns)] == setup + TURNS * turns, str(bench.commands))


def main():
    with Checks(build_of(__doc__)) as checks:
        check_table(checks, Bench(checks, peer(), "vit_tiny fc1"))
        missing = Bench(checks, peer(missing="packed"), "vit_tiny fc1 forward")
        checks.that("the table says which peer is missing", missing.done.returncode == 0 and
                    missing.rows["vit_tiny fc1 forward"]["gflops"]["packed"] is None and
                    missing.line("  packed: not installed") and
                    missing.line("vit_tiny fc1 forward").split()[-2:] == ["-", "2.00"], missing.done)
        wrong = Bench(checks, peer(wrong="onednn"), "vit_tiny fc1 forward")
        row = wrong.rows.get("vit_tiny fc1 forward", {})
        checks.that("a peer with another result is not compared, and the run fails", wrong.done.returncode == 1 and
                    row["fastest_peer"] == "linear" and wrong.line("  onednn: its result differs"), wrong.done)
        unable = Bench(checks, peer(unable="linear"), "vit_tiny fc1 forward")
        checks.that("a peer without the product gives its reason in the row", unable.done.returncode == 0 and
                    unable.rows["vit_tiny fc1 forward"]["gflops"]["linear"] is None and unable.line("  linear: no kernel"),
                    unable.done)
        bare = Bench(checks, f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', "vit_tiny fc1 forward")
        checks.that("without PyTorch there is no ratio, and each peer says so", bare.done.returncode == 0 and
                    bare.table["geometric_mean"] is None and bare.done.stdout.count("torch is not installed") == 3, bare.done)
        for flags, error in (
                (["--only", "vit_huge"], "no product's name contains it; the names are vit_tiny_patch4_32, "),
                (["--threads", "100000"], "--threads 100000, expected 1 to "),
                (["--rounds", "0"], "--rounds 0, expected 1 or more"),
                (["--json", "none/table.json"], "--json none/table.json: its folder does not exist")):
            done = Bench(checks, peer(), "vit_tiny fc1", *flags).done
            checks.that(f"{' '.join(flags)} is an error", done.returncode == 2 and error in done.stderr, done)
        return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
