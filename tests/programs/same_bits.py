#!/usr/bin/env python3
"""Compares the bits of two builds: short seeded runs of every model family, optimizer and loss, under each instruction
set of the processor.

    tests/programs/same_bits.py OLD_BUILD NEW_BUILD [--isa v2 v3 v4] [--only TEXT]

A build is a folder with train_cifar and train_mae. Each run takes 20 steps on the built-in pictures; every tensor of
the two state.safetensors (parameters, moments, buffers, averages) must be equal byte for byte, and so must
the losses of steps.jsonl. Exits 1 if anything differs, naming the first few differences.
"""
import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

from tiny_training import program_of

COMMON = ["--seed", "7", "--batch-size", "16", "--max-steps", "20", "--epochs", "1",
          "--warmup-epochs", "0", "--workers", "0", "--log-interval", "1", "--drop-path", "0.1"]
SMALL = ["--embed-dim", "48", "--depth", "2", "--num-heads", "3"]
MAE = ["--model", "mae_vit_tiny_patch4_32", "--decoder-embed-dim", "24", "--decoder-depth", "1",
       "--decoder-num-heads", "3"]
RUNS = {
    "vit": ["--model", "vit_tiny_patch4_32", *SMALL, "--mixup", "0.8", "--cutmix", "1", "--model-ema"],
    "vit bf16": ["--model", "vit_tiny_patch4_32", *SMALL, "--precision", "bf16"],
    "vit relative": ["--model", "vit_tiny_patch4_32", *SMALL, "--irpe", "--grad-checkpointing"],
    "vit bce": ["--model", "vit_tiny_patch4_32", *SMALL, "--bce-loss", "--clip-grad", "1"],
    "vit sgd": ["--model", "vit_tiny_patch4_32", *SMALL, "--opt", "sgd", "--lr", "0.01"],
    "vit lamb": ["--model", "vit_tiny_patch4_32", *SMALL, "--opt", "lamb"],
    "vit lion": ["--model", "vit_tiny_patch4_32", *SMALL, "--opt", "lion", "--lr", "1e-4"],
    "vit muon": ["--model", "vit_tiny_patch4_32", *SMALL, "--opt", "muon"],
    "vit agc": ["--model", "vit_tiny_patch4_32", *SMALL, "--clip-grad", "0.02", "--clip-mode", "agc"],
    "deit": ["--model", "deit_tiny_distilled_patch16_224", *SMALL, "--img-size", "32", "--patch-size", "4"],
    "cpvt": ["--model", "cpvt_tiny_peg0_224", *SMALL, "--img-size", "32", "--patch-size", "4"],
    "pervit": ["--model", "pervit_tiny_224", "--img-size", "64", "--emb-dims", "24,24,24,48", "--num-heads", "3",
               "--depths", "1,1,1,1", "--convstem-dims", "3,12,12,24,24",
               "--batch-size", "4"],
    "pit": ["--model", "pit_tiny_32", *SMALL, "--img-size", "16"],
    "mae": [*MAE, *SMALL, "--model-ema"],
    "mae bf16": [*MAE, *SMALL, "--norm-pix-loss", "--precision", "bf16"],
    "mae lars": [*MAE, *SMALL, "--pos-embed", "learned", "--opt", "lars", "--lr", "1", "--grad-checkpointing"],
}


def tensors(path):
    """Name -> bytes of a safetensors file."""
    raw = path.read_bytes()
    length, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    return {name: raw[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


def losses(path):
    return [json.loads(line).get("loss") for line in path.read_text().splitlines()]


def train(build, isa, flags, output):
    environment = dict(os.environ, FOVEA_ISA=isa, OMP_NUM_THREADS="2")
    program = program_of(flags)
    done = subprocess.run([build / program, *COMMON, *flags, "--output", output], env=environment,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {build}/{program} {' '.join(flags)} ended with {done.returncode}:\n{done.stderr}")
    return tensors(output / "state.safetensors"), losses(output / "steps.jsonl")


def compare(name, isa, flags, builds, folder):
    """The differences between the builds' runs, as text."""
    old, new = (train(build, isa, flags, folder / f"{name}-{isa}-{i}".replace(" ", "-"))
                for i, build in enumerate(builds))
    differ = [f"only in one: {key}" for key in sorted(old[0].keys() ^ new[0].keys())]
    differ += [key for key in sorted(old[0].keys() & new[0].keys()) if old[0][key] != new[0][key]]
    if old[1] != new[1]:
        first = next((i for i, pair in enumerate(zip(old[1], new[1])) if pair[0] != pair[1]), "length")
        differ.append(f"losses from line {first}")
    print(f"{'FAIL' if differ else 'ok  '} {isa} {name:14} {len(old[0])} tensors"
          + (f", {len(differ)} differ: {', '.join(differ[:4])}" if differ else ""), flush=True)
    return bool(differ)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, type=pathlib.Path, metavar="BUILD")
    parser.add_argument("--isa", nargs="+", default=["v2", "v3", "v4"])
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for isa in args.isa:
            for name, flags in RUNS.items():
                if args.only in name:
                    failed += compare(name, isa, flags, [b.resolve() for b in args.builds], pathlib.Path(folder))
    print("all runs have the same bits" if failed == 0 else f"{failed} runs differ")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
