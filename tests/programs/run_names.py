#!/usr/bin/env python3
"""Checks that `compare`, `summary`, `bench` and `inspect` find runs under unusual folder names.

    tests/programs/run_names.py [--build build]

The runs are copies of tests/train/old_runs/. Prints one line per check; exits 1 if one fails.
"""
import argparse
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RUNS = pathlib.Path(__file__).resolve().parents[1] / "train" / "old_runs"


class Checks:
    def __init__(self, build, folder):
        self.build, self.folder, self.failed = build, folder, 0

    def run(self, program, *flags):
        """Exit code, standard output and standard error, run in the folder of the runs."""
        done = subprocess.run([self.build / program, *map(str, flags)], capture_output=True, text=True, timeout=300,
                              cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def that(self, what, ok, seen=""):
        self.failed += not ok
        print(f"{'ok' if ok else 'FAIL':4} {what}{'' if ok else f': {seen}'}", flush=True)


def rows_of(table):
    """Label and seeds of each row of a Markdown table."""
    return [tuple(cell.strip() for cell in line.split("|")[1:3]) for line in table.splitlines()[2:] if "|" in line]


def check_compare(checks):
    same = "lr=1e-3"
    for what, arguments, rows, notes in [
            ("an existing folder is one, whatever = it has", [same, "a=b=c", "plain"],
             [(same, "1"), ("a=b=c", "1"), ("plain", "1")], 0),
            ("a label before a folder with =", [f"high={same}", "x=y=plain"], [("high", "1"), ("x=y", "1")], 0),
            ("the same run by slash, link and full path is one seed",
             [same, f"{same}/", "link", checks.folder / same, f"{same}=link"], [(same, "1")], 4),
            ("the same run twice under a label is one seed", [f"a={same}", "a=link", "a=plain"], [("a", "2")], 1),
            ("the same run under two labels is two rows", [f"a={same}", f"b={same}"], [("a", "1"), ("b", "1")], 0)]:
        code, table, said = checks.run("compare", *arguments)
        checks.that(f"compare: {what}", code == 0 and rows_of(table) == rows and said.count("note: ") == notes,
                    table + said)
    code, table, _ = checks.run("compare", same)
    checks.that("compare: the table has top-5", code == 0 and "top-5, %" in table.splitlines()[0], table)


def check_curves(checks):
    for curve, words in [("", ["top-1, percent"]), ("top5", ["top-5, percent"]), ("loss", ["Held-out images"]),
                         ("top1,train_loss,lr", ["top-1, percent", "loss", "learning rate"])]:
        flags = ["--curve", curve] if curve else []
        code, _, said = checks.run("compare", "a=plain", "b=lr=1e-3", "--output", "out", *flags)
        drawn = (checks.folder / "out/compare.svg").read_text()
        ok = all(f">{word}</text>" in drawn for word in [*words, "a", "b"])
        checks.that(f"compare --curve {curve}: its axis and a line a run", code == 0 and ok, said)
    log = list(csv.DictReader((checks.folder / "plain/log.csv").open()))
    rows = [row for row in csv.DictReader((checks.folder / "out/compare.csv").open()) if row["label"] == "a"]
    checks.that("compare.csv has the rows of log.csv", [{k: row[k] for k in log[0]} for row in rows] == log, rows)


def check_models(checks):
    settings = json.loads((RUNS / "0.1/classification/config.json").read_text())
    hub = checks.folder / "hub"
    hub.mkdir()
    shutil.copy(RUNS / "0.1/classification/best.safetensors", hub / "model.safetensors")
    for what in ("plain", "plain/", "lr=1e-3", "hub", "plain/best.safetensors"):
        code, tree, said = checks.run("summary", what)
        checks.that(f"summary {what}", code == 0 and tree.count(settings["model"]) >= 1 and "multiply-adds" in tree, said)
    code, tree, said = checks.run("summary", "plain", "--num-classes", "3")
    checks.that("summary RUN with other settings", code == 0 and '"num_classes":3' in tree, tree + said)
    for what in ("plain", "hub", "vit_tiny_patch8_32"):
        code, table, said = checks.run("fovea_bench", "--model", what, "--mode", "infer", "--batch-size", 3, "--depth", 1,
                                       "--reps", 1, "--ceiling", 64)
        name = settings["model"] if what != "vit_tiny_patch8_32" else what
        row = re.search(rf"^{name} +infer +f32 +3 ", table, re.MULTILINE)
        checks.that(f"bench --model {what}", code == 0 and row is not None, table + said)


def check_inspect(checks):
    for arguments in ([], ["plain"], ["--checkpoint", "plain"], ["plain/best.safetensors"]):
        code, text, said = checks.run("inspect", *arguments)
        names = re.findall(r"^  (\S+) +\S", text, re.MULTILINE)
        checks.that(f"inspect {' '.join(arguments)}: a line for each analysis",
                    code == 0 and len(names) == 13 and "attention" in names, text + said)
    code, text, said = checks.run("inspect", "locality", "plain", "--count", "2", "--output", "out")
    layers = re.findall(r"^ +\d+( +\d\.\d{4}){6}$", text, re.MULTILINE)
    checks.that("inspect locality prints a line a layer", code == 0 and len(layers) >= 1, text + said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name in ("lr=1e-3", "a=b=c", "plain"):
            shutil.copytree(RUNS / "0.1/classification", folder / name)
        (folder / "link").symlink_to(folder / "lr=1e-3")
        checks = Checks(build, folder)
        for check in (check_compare, check_curves, check_models, check_inspect):
            check(checks)
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
