#!/usr/bin/env python3
"""Checks that `compare`, `summary`, `bench` and `inspect` find runs under unusual folder names.

    tests/programs/run_names.py [--build build]

The runs are copies of tests/train/old_runs/. Prints one line per check; exits 1 if one fails.
"""
import csv
import json
import re
import shutil
import sys

from checks import ROOT, Checks, build_of

RUNS = ROOT / "tests/train/old_runs"


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
        done = checks.run("compare", *arguments)
        checks.that(f"compare: {what}", done.returncode == 0 and rows_of(done.stdout) == rows and
                    done.stderr.count("note: ") == notes, done)
    done = checks.run("compare", same)
    checks.that("compare: the table has top-5", done.returncode == 0 and "top-5, %" in done.stdout.splitlines()[0],
                done)


def check_curves(checks):
    for curve, words in [("", ["top-1, percent"]), ("top5", ["top-5, percent"]), ("loss", ["Held-out images"]),
                         ("top1,train_loss,lr", ["top-1, percent", "loss", "learning rate"])]:
        flags = ["--curve", curve] if curve else []
        done = checks.run("compare", "a=plain", "b=lr=1e-3", "--output", "out", *flags)
        drawn = (checks.folder / "out/compare.svg").read_text()
        ok = all(f">{word}</text>" in drawn for word in [*words, "a", "b"])
        checks.that(f"compare --curve {curve}: its axis and a line a run", done.returncode == 0 and ok, done)
    log = list(csv.DictReader((checks.folder / "plain/log.csv").open()))
    rows = [row for row in csv.DictReader((checks.folder / "out/compare.csv").open()) if row["label"] == "a"]
    checks.that("compare.csv has the rows of log.csv", [{k: row[k] for k in log[0]} for row in rows] == log, rows)


def check_models(checks):
    settings = json.loads((RUNS / "0.1/classification/config.json").read_text())
    hub = checks.folder / "hub"
    hub.mkdir()
    shutil.copy(RUNS / "0.1/classification/best.safetensors", hub / "model.safetensors")
    for what in ("plain", "plain/", "lr=1e-3", "hub", "plain/best.safetensors"):
        done = checks.run("summary", what)
        checks.that(f"summary {what}", done.returncode == 0 and settings["model"] in done.stdout and
                    "multiply-adds" in done.stdout, done)
    done = checks.run("summary", "plain", "--num-classes", "3")
    shown, _ = json.JSONDecoder().raw_decode(done.stdout.partition("\nsettings")[2].lstrip())
    checks.that("summary RUN with other settings", done.returncode == 0 and shown["num_classes"] == 3, done)
    for what in ("plain", "hub", "vit_tiny_patch8_32"):
        done = checks.run("fovea_bench", "--model", what, "--mode", "infer", "--batch-size", 3, "--depth", 1,
                          "--reps", 1, "--ceiling", 64)
        name = settings["model"] if what != "vit_tiny_patch8_32" else what
        row = re.search(rf"^{name} +infer +f32 +3 ", done.stdout, re.MULTILINE)
        checks.that(f"bench --model {what}", done.returncode == 0 and row, done)


def check_inspect(checks):
    for arguments in ([], ["plain"], ["--checkpoint", "plain"], ["plain/best.safetensors"]):
        done = checks.run("inspect", *arguments)
        names = re.findall(r"^  (\S+) +\S", done.stdout, re.MULTILINE)
        checks.that(f"inspect {' '.join(arguments)}: a line for each analysis",
                    done.returncode == 0 and len(names) == 13 and "attention" in names, done)
    done = checks.run("inspect", "locality", "plain", "--count", "2", "--output", "out")
    layers = re.findall(r"^ +\d+( +\d\.\d{4}){6}$", done.stdout, re.MULTILINE)
    checks.that("inspect locality prints a line a layer", done.returncode == 0 and layers, done)


def main():
    with Checks(build_of(__doc__)) as checks:
        for name in ("lr=1e-3", "a=b=c", "plain"):
            shutil.copytree(RUNS / "0.1/classification", checks.folder / name)
        (checks.folder / "link").symlink_to(checks.folder / "lr=1e-3")
        for check in (check_compare, check_curves, check_models, check_inspect):
            check(checks)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
