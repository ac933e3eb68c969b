#!/usr/bin/env python3
"""Counts on the fake device what a step of each model of gpu_check.sh, and of an MAE, asks of a GPU, for gpu_model.py.

    bench/gpu_counts.py FILE --programs BUILD/fake [--models NAMES] [--mode train|infer] [--precision f32|bf16] [--tiny]

A whole step takes the emulator too long. Counts are linear in the batch and in the number of blocks: steps of two small
batches with two and three blocks give those of any other, and a third batch tells kernels that do not follow. Takes an hour or
more; FILE is written after each step, and what it has already is not counted again. --tiny: the model of gpu_check.sh's dry run.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from typing import NamedTuple

MODES, PRECISIONS, BLOCKS = ("train", "infer"), ("f32", "bf16"), (2, 3)
WRONG = 0.05  # a kernel's bytes at the third batch may be off by this share


class Subject(NamedTuple):
    batch: int  # what is asked for
    blocks: int
    small: tuple = (2, 3, 4)  # what is counted: the last batch checks the others. One image takes other kernels.
    flags: str = "--depth {}"  # for so many blocks


SUBJECTS = {
    "vit_tiny_patch4_32": Subject(128, 12, (4, 8, 12)), "deit_tiny_patch16_224": Subject(32, 12),
    "cpvt_tiny_peg0_224": Subject(32, 12), "pervit_tiny_224": Subject(32, 6, flags="--depths 2,2,{},2"),
    "pit_tiny_32": Subject(16, 12), "deit_small_patch16_224": Subject(256, 12),
    "mae_vit_tiny_patch4_32": Subject(128, 12)}
TINY = {"vit_tiny_patch4_32": Subject(2, 2, (2, 4, 6), "--depth {} --patch-size 16 --embed-dim 16 --num-heads 2")}
ONLY = {"deit_small_patch16_224": {"precision": "bf16"}}  # other steps of it are not compared


def short_name(kernel):
    """As cuda::KernelTimes names it."""
    found = re.search(r"\w+_kernel", kernel)
    return found[0] if found else kernel


def kernels_of(counted):
    """By short name: sums over the instances of a template."""
    sums = {}
    for kernel in counted:
        entry = sums.setdefault(short_name(kernel["name"]), Counter())
        entry.update({key: value for key, value in kernel.items() if key != "name"})
    return {name: dict(entry) for name, entry in sums.items()}


def count(programs, model, subject, step, run):
    batch, blocks = run
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "counts.json"
        command = [programs / "kernel_counts", "--model", model, "--mode", step["mode"], "--precision", step["precision"],
                   "--batch-size", str(batch), "--json", file, *subject.flags.format(blocks).split()]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        if done.returncode != 0:
            raise SystemExit(f"gpu_counts.py: {' '.join(map(str, command))} ended with {done.returncode}: {done.stderr}")
        counts = json.loads(file.read_text())
    return {"batch": batch, "blocks": blocks, "kernels": kernels_of(counts["kernels"]), "products": counts["products"]}


def runs_of(subject):
    first, second, third = subject.small
    return [(batch, blocks) for batch in (first, second) for blocks in BLOCKS] + [(third, BLOCKS[0])]


def steps_of(options):
    for model, subject in (TINY if options.tiny else SUBJECTS).items():
        if options.models and model not in options.models.split(","):
            continue
        for precision in [options.precision] if options.precision else PRECISIONS:
            for mode in [options.mode] if options.mode else MODES:
                step = {"workload": model, "batch": subject.batch, "mode": mode, "precision": precision, "blocks": subject.blocks}
                if all(step[key] == value for key, value in ONLY.get(model, {}).items()):
                    yield model, subject, step


def bilinear(corners, batch, blocks):
    """The function that is linear in both, from its values at two batches times two numbers of blocks."""
    (b0, n0), (b1, n1) = min(corners), max(corners)
    right, upper = (batch - b0) / (b1 - b0), (blocks - n0) / (n1 - n0)
    return ((1 - upper) * ((1 - right) * corners[b0, n0] + right * corners[b1, n0]) +
            upper * ((1 - right) * corners[b0, n1] + right * corners[b1, n1]))


def kernels_at(corners, batch, blocks):
    names = sorted({name for run in corners.values() for name in run["kernels"]})
    kernels = {}
    for name in names:
        found = {at: run["kernels"].get(name, {}) for at, run in corners.items()}
        fields = {field for kernel in found.values() for field in kernel}
        kernels[name] = {field: bilinear({at: kernel.get(field, 0) for at, kernel in found.items()}, batch, blocks)
                         for field in fields}
    return kernels


SIZES = ("m", "n", "k", "batch")


def products_of_batch(first, second, batch):
    """The products of a step with this batch, from those of two others, which come in the same order."""
    if [p["op"] for p in first["products"]] != [p["op"] for p in second["products"]]:
        raise SystemExit(f"gpu_counts.py: batches of {first['batch']} and {second['batch']} differ in their products")
    share = (batch - first["batch"]) / (second["batch"] - first["batch"])
    return [{**a, **{size: round(a[size] + share * (b[size] - a[size])) for size in SIZES}}
            for a, b in zip(first["products"], second["products"])]


def products_at(corners, batch, blocks):
    """Products with their number, "times"."""
    (b0, n0), (b1, n1) = min(corners), max(corners)
    fewer, more = (Counter(json.dumps(product, sort_keys=True)
                           for product in products_of_batch(corners[b0, n], corners[b1, n], batch)) for n in (n0, n1))
    share = (blocks - n0) / (n1 - n0)
    times = {product: fewer[product] + share * (more[product] - fewer[product]) for product in {**fewer, **more}}
    return [{**json.loads(product), "times": number} for product, number in times.items() if number > 0]


def doubtful(entry, corners):
    """Kernels that other runs than the corners show not to be linear."""
    names = set()
    for run in entry["runs"]:
        at = run["batch"], run["blocks"]
        if at in corners:
            continue
        for name, expected in kernels_at(corners, *at).items():
            counted = run["kernels"].get(name, {})
            if abs(counted.get("bytes", 0) - expected["bytes"]) > WRONG * expected["bytes"]:
                names.add(name)
    return sorted(names)


def is_complete(entry):
    """Whether all its runs are there: four corners and one that checks them."""
    return len(entry["runs"]) == 5


def step_at(entry):
    """What the whole step asks for: its kernels by name, its products, and the kernels that are doubtful."""
    corners = {(run["batch"], run["blocks"]): run for run in entry["runs"][:4]}
    at = entry["batch"], entry["blocks"]
    return kernels_at(corners, *at), products_at(corners, *at), doubtful(entry, corners)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of the programs for the fake device")
    parser.add_argument("--models", help="only these, separated by commas")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--precision", choices=PRECISIONS)
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    entries = json.loads(options.file.read_text()) if options.file.exists() else []
    for model, subject, step in steps_of(options):
        entry = next((e for e in entries if all(e[key] == value for key, value in step.items())), None)
        if entry is None:
            entry = {**step, "runs": []}
            entries.append(entry)
        for run in runs_of(subject)[len(entry["runs"]):]:
            entry["runs"].append(count(options.programs, model, subject, step, run))
            options.file.write_text(json.dumps(entries, indent=1) + "\n")
            print(f"{model} {step['mode']} {step['precision']}: batch {run[0]}, {run[1]} blocks", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
