#!/usr/bin/env python3
"""Resumes runs of an earlier version: tests/train/old_runs/ contains one of a classifier and one of a masked
autoencoder, both stopped in mid-epoch.

    tests/programs/old_runs.py [--build build]

Each is resumed to its end: every tensor of the state must have the same bytes, and every step the same loss, as in the
version that started the run (resumed.json). Then evaluations, report and compare read its folder. Everything runs
under the instruction set v2, which gives the same bits on any processor.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

RUNS = pathlib.Path(__file__).resolve().parents[1] / "train" / "old_runs"
PROGRAMS = {"classifier": "train_cifar", "mae": "train_mae"}
ENVIRONMENT = dict(os.environ, FOVEA_ISA="v2", OMP_NUM_THREADS="1")


def run(*command, fails=None):
    """Runs a program; with `fails` it must end with an error that contains this text."""
    done = subprocess.run(list(map(str, command)), env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    wrong = done.returncode != 0 if fails is None else done.returncode == 0 or fails not in done.stderr
    if wrong:
        sys.exit(f"error: {' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def digests(path):
    """Name -> SHA-256 of a safetensors file's tensors."""
    raw = path.read_bytes()
    length, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    data = raw[8 + length:]
    return {name: hashlib.sha256(data[slice(*entry["data_offsets"])]).hexdigest()
            for name, entry in header.items() if name != "__metadata__"}


def check_resumed(folder, expected):
    """The names of the differing entries."""
    now = digests(folder / "state.safetensors")
    differ = [name for name in sorted(now.keys() | expected["tensors"].keys())
              if now.get(name) != expected["tensors"].get(name)]
    steps = [json.loads(line)["loss"] for line in (folder / "steps.jsonl").read_text().splitlines()]
    return differ + (["losses"] if steps != expected["losses"] else [])


def check_run(build, name, folder):
    run(build / "report", folder)  # as it was stopped
    lines = run(build / PROGRAMS[name], "--resume", "auto", "--output", folder).splitlines()
    notes = [line for line in lines if "setting changed" in line]
    if notes:
        sys.exit(f"error: {name}: settings are read as others than they were: {notes}")
    if not any("does not record the run's images" in line for line in lines):
        sys.exit(f"error: {name}: nothing is said of a state that does not know its images")
    differ = check_resumed(folder, json.loads((RUNS / name / "resumed.json").read_text()))
    if differ:
        sys.exit(f"error: {name}: {len(differ)} tensors differ: {', '.join(differ[:4])}")
    run(build / "report", folder)
    run(build / PROGRAMS[name], "--eval", "--resume", folder, "--workers", "0")
    table = run(build / "compare", f"before={RUNS / name}", f"after={folder}")
    if "after" not in table:
        sys.exit(f"error: {name}: compare shows no line of the run:\n{table}")
    evaluated = [build / "evaluate", folder, "--dataset", "builtin", "--workers", "0"]
    run(*evaluated, fails=None if name == "classifier" else "masked autoencoder")
    print(f"ok   {name}: resumes to the same bits, evaluates, reports and compares")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default="build")
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        for name in PROGRAMS:
            folder = pathlib.Path(scratch) / name
            shutil.copytree(RUNS / name, folder)
            check_run(build, name, folder)


if __name__ == "__main__":
    main()
