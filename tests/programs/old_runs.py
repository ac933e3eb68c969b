#!/usr/bin/env python3
"""Resumes runs of earlier versions: tests/train/old_runs/VERSION/TASK contains one of each task, stopped in mid-epoch.

    tests/programs/old_runs.py [--build build]
    tests/programs/old_runs.py --build BUILD --write VERSION/TASK...   writes what these runs must come to

Each is resumed to its end: every tensor of the state must have the same bytes, every step the same loss and fingerprint,
and the last epoch the same measures as in resumed.json, written by 0.10 (the columns' names by 0.12), whose losses are
within 3e-7 of those of the version that started the run. Then evaluations, report and compare read its folder. Everything runs under the instruction set v2, which gives the same bits on any processor.
"""
import csv
import hashlib
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from checks import ROOT, in_one_line, parser_of
from formats import progress_of, read_safetensors, safetensors, steps_of

RUNS = ROOT / "tests/train/old_runs"
PROGRAMS = {"classification": "train_cifar", "masked_autoencoding": "train_mae", "diffusion": "train_diffusion",
            "autoencoding": "train_vae", "detection": "train_detection", "depth": "train_depth"}
NAMES = ["0.1/classification", "0.1/masked_autoencoding", *(f"0.5/{task}" for task in PROGRAMS)]
EVALUATED = ["classification", "detection", "depth"]  # by `evaluate`; all by their own program's --eval
ENVIRONMENT = dict(os.environ, FOVEA_ISA="v2", OMP_NUM_THREADS="1")


def program_of(name):
    return PROGRAMS[name.split("/")[1]]


def run(*command, fails=None):
    """Runs a program; with `fails` it must end with an error that contains this text."""
    done = subprocess.run(list(map(str, command)), env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    wrong = done.returncode != 0 if fails is None else done.returncode == 0 or fails not in done.stderr
    if wrong:
        sys.exit(f"error: {' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def digests(path):
    """Kind of tensor (param, m, ema) -> a digest of the names and the SHA-256 of its tensors."""
    kinds = {}
    for name, tensor in sorted(read_safetensors(path)[0].items()):
        line = f"{name} {hashlib.sha256(tensor.data).hexdigest()}\n"
        kinds.setdefault(name.split("/")[0], hashlib.sha256()).update(line.encode())
    return {kind: digest.hexdigest() for kind, digest in kinds.items()}


def last_epoch(folder):
    """Column -> number of the last line of log.csv, without times."""
    row = list(csv.DictReader((folder / "log.csv").open()))[-1]
    return {name: float(value) for name, value in row.items() if value and name not in ("img_s", "seconds")}


def outcome(folder):
    """What a run has come to."""
    steps = steps_of(folder)
    return {"tensors": digests(folder / "state.safetensors"), "losses": [step["loss"] for step in steps],
            "fingerprints": [step["fingerprint"] for step in steps if "fingerprint" in step], "last": last_epoch(folder)}


def differences(now, expected):
    """The names of what differs. Logarithms of the C library may round measures otherwise."""
    differ = [f"tensors {kind}/" for kind in sorted(now["tensors"].keys() | expected["tensors"].keys())
              if now["tensors"].get(kind) != expected["tensors"].get(kind)]
    differ += [key for key in ("losses", "fingerprints") if key in expected and now[key] != expected[key]]
    return differ + [name for name, value in expected.get("last", {}).items()
                     if not math.isclose(now["last"].get(name, math.nan), value, rel_tol=1e-9)]


def resume(build, name, folder):
    """Resumes the run in the folder to its end and checks what it has come to."""
    said = run(build / program_of(name), "--resume", "auto", "--output", folder).splitlines()
    notes = [line for line in said if "setting changed" in line]
    if notes:
        sys.exit(f"error: {name}: settings are read as others than they were: {notes}")
    if ("does not record the run's images" in in_one_line(" ".join(said))) != name.startswith("0.1/"):
        sys.exit(f"error: {name}: only states of 0.1 do not know their images, and this must be said")
    differ = differences(outcome(folder), json.loads((RUNS / name / "resumed.json").read_text()))
    if differ:
        sys.exit(f"error: {name}: comes to other {', '.join(differ[:6])}")


def check_run(build, name, folder):
    run(build / "report", folder)  # as it was stopped
    resume(build, name, folder)
    run(build / "report", folder)
    said = run(build / program_of(name), "--eval", "--resume", folder, "--workers", "0")
    loss = f"test loss {last_epoch(folder)['eval_loss']:.4f}"
    if loss not in said:
        sys.exit(f"error: {name}: --eval does not print {loss}:\n{said}")
    table = run(build / "compare", f"before={RUNS / name}", f"after={folder}")
    if "after" not in table:
        sys.exit(f"error: {name}: compare shows no line of the run:\n{table}")
    evaluated = name.split("/")[1] in EVALUATED
    run(build / "evaluate", folder, "--workers", "0", fails=None if evaluated else "expected a classifier")
    print(f"ok   {name}: resumes to the same bits, evaluates, reports and compares", flush=True)


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def crc_of_byte(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC_TABLE = [crc_of_byte(byte) for byte in range(256)]


def change_progress(path, **changed):
    """Sets entries of the progress that a state records, and renews the state's checksum."""
    tensors, metadata = read_safetensors(path)
    metadata["progress"] = json.dumps(progress_of(path) | changed)
    del metadata["crc32c"]
    crc = 0
    for key in sorted(metadata):
        crc = crc32c(f"{key}\0{metadata[key]}\0".encode(), crc)
    for name in sorted(tensors):
        crc = crc32c(name.encode() + b"\0" + tensors[name].data, crc)
    path.write_bytes(safetensors(tensors, {**metadata, "crc32c": str(crc)}))


def check_further_groups(build, folder):
    """States of 0.5 count the updates of further parameter groups, where a run had some."""
    change_progress(folder / "state.safetensors", group_updates={"discriminator": 12})
    resume(build, "0.5/classification", folder)
    print("ok   0.5/classification: resumes with counts of parameter groups in its state", flush=True)


def write_expected(build, name, scratch):
    folder = shutil.copytree(RUNS / name, scratch / name)
    run(build / program_of(name), "--resume", "auto", "--output", folder)
    (RUNS / name / "resumed.json").write_text(json.dumps(outcome(folder), indent=1) + "\n")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--write", nargs="+", default=[], metavar="VERSION/TASK")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for name in options.write:
            write_expected(options.build, name, scratch)
        for name in [] if options.write else NAMES:
            check_run(options.build, name, shutil.copytree(RUNS / name, scratch / name))
        if not options.write:
            check_further_groups(options.build, shutil.copytree(RUNS / "0.5/classification", scratch / "groups"))


if __name__ == "__main__":
    main()
