#!/usr/bin/env python3
"""Runs the programs under the twins of instruction sets that multiply bf16, on any processor.

    tests/programs/twins.py [--build build]

A twin has the bits of its original without the original's instructions. Under each: one golden file of every
family in bf16; a run in bf16 that is interrupted and resumed, against the same run in one piece; and, where the
processor has it, the same run under the original whose other kernels are the twin's too. Exits 77 if no twin can
run here.
"""
import os
import subprocess
import sys

from checks import ROOT, Checks, build_of
from formats import read_safetensors
from tiny_training import tiny_model

TWINS = {"v4bf16_twin": "v4bf16", "amx_twin": None}  # and the set that gives whole runs the same bits
GOLDENS = ["cpvt_cls", "ddetr_sine", "deit_hard", "depth_p1", "detr_none", "dit_p1", "mae_p1", "pervit_base",
           "vae_f8", "vit_token"]
TRAIN = [*tiny_model("train_cifar", dim=48, depth=2, heads=3), "--precision", "bf16", "--seed", "3", "--batch-size", "16",
         "--epochs", "1", "--warmup-epochs", "0", "--workers", "0", "--fraction", "0.02", "--no-report"]


def run(build, isa, program, *flags):
    return subprocess.run([build / program, *map(str, flags)], env=dict(os.environ, FOVEA_ISA=isa), text=True,
                          capture_output=True)


def supports(build, isa):
    """Whether this processor and this build have the set."""
    return run(build, isa, "parity", ROOT / f"tests/golden/{GOLDENS[0]}.safetensors").returncode == 0


def state(checks, isa, name, *pieces):
    """The saved state of a run that consists of these pieces: lists of flags."""
    folder = checks.folder / f"{isa} {name}"
    for flags in pieces:
        done = run(checks.build, isa, "train_cifar", *TRAIN, "--output", folder, *flags)
        if done.returncode != 0:
            return f"{isa} {name}: {done.stderr}"
    return read_safetensors(folder / "state.safetensors")[0]


def check(checks, twin, original):
    goldens = [ROOT / f"tests/golden/{name}.safetensors" for name in GOLDENS]
    checks.that(f"{twin}: goldens in bf16", (done := run(checks.build, twin, "parity", "--precision", "bf16", *goldens))
                .returncode == 0, done)
    whole = state(checks, twin, "whole", [])
    checks.that(f"{twin}: a run", isinstance(whole, dict), whole)
    resumed = state(checks, twin, "resumed", ["--max-steps", "9"], ["--resume", "auto"])
    checks.that(f"{twin}: the same run, interrupted and resumed", resumed == whole, "other bits")
    if original and supports(checks.build, original):
        checks.that(f"{original}: the same run", state(checks, original, "whole", []) == whole, "other bits")


def main():
    build = build_of(__doc__)
    twins = {twin: original for twin, original in TWINS.items() if supports(build, twin)}
    if not twins:
        print("no twin can run here: this processor or this build lacks them")
        return 77
    with Checks(build) as checks:
        for twin, original in twins.items():
            check(checks, twin, original)
        return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
