#!/usr/bin/env python3
"""Compares the bits of two builds: short seeded runs of every model family, optimizer and loss, under each instruction
set of the processor.

    tests/programs/same_bits.py OLD_BUILD NEW_BUILD [--isa v2 v3 v4] [--only TEXT]

A build is a folder with the programs. Each run takes 20 steps, most of them on built-in pictures, the others on latents
and from weights that OLD_BUILD makes first. Every tensor of the two state.safetensors (parameters, moments, buffers,
averages) must be equal byte for byte, and so must the losses of steps.jsonl. Exits 1 if anything differs, naming the
first few differences, and if NEW_BUILD lists a model of a family that has no run here.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from class_names import as_hub
from finetuning import add_pictures
from formats import read_safetensors, steps_of
from tiny_training import family_of, program_of, tiny_model

COMMON = ["--seed", "7", "--batch-size", "16", "--max-steps", "20", "--epochs", "1",
          "--warmup-epochs", "0", "--workers", "0", "--log-interval", "1"]
DROP = ["--drop-path", "0.1"]
SIZES = ["--embed-dim", "48", "--depth", "2", "--num-heads", "3"]
SMALL = [*SIZES, *DROP]
MAE = ["--model", "mae_vit_tiny_patch4_32", "--decoder-embed-dim", "24", "--decoder-depth", "1",
       "--decoder-num-heads", "3"]
VAE = ["--model", "vae_f4_32", "--block-out-channels", "8,8,16", "--layers-per-block", "1", "--norm-num-groups", "2"]
LATENT = ["--model", "dit_s_2", *SIZES, "--img-size", "8", "--model-args", '{"in_chans": 3}']
DETECTOR = ["--enc-layers", "1", "--dec-layers", "2", "--num-queries", "5", "--model-args",
            '{"d_model": 32, "stem": 4, "planes": [4, 8]}']
RUNS = {
    "vit": ["--model", "vit_tiny_patch4_32", *SMALL, "--mixup", "0.8", "--cutmix", "1", "--model-ema"],
    "vit bf16": ["--model", "vit_tiny_patch4_32", *SMALL, "--precision", "bf16"],
    "vit relative": ["--model", "vit_tiny_patch4_32", *SMALL, "--irpe", "--grad-checkpointing"],
    "vit rotary": ["--model", "vit_tiny_patch4_32", *SMALL, "--rope", "mixed", "--pos-embed", "none",
                   "--grad-checkpointing"],
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
               "--batch-size", "4", *DROP],
    "pit": ["--model", "pit_tiny_32", *SMALL, "--img-size", "16"],
    "mae": [*MAE, *SMALL, "--model-ema"],
    "mae bf16": [*MAE, *SMALL, "--norm-pix-loss", "--precision", "bf16"],
    "mae lars": [*MAE, *SMALL, "--pos-embed", "learned", "--opt", "lars", "--lr", "1", "--grad-checkpointing"],
    "linear": ["--model", "linear"],
    "linear probe": ["--model", "vit_tiny_patch4_32", *SMALL, "--linear-probe"],
    "fine-tuning": ["--model", "vit_tiny_patch16_224", "--finetune", "hub", "--dataset", "folder", "--data-dir", "pictures",
                    "--index-cache", "none", "--img-size", "48", "--epochs", "5"],
    "dit": ["--model", "dit_s_4_32", *SIZES, "--model-ema"],
    "dit latents": [*LATENT, "--dataset", "latents", "--data-dir", "latents.safetensors", "--epochs", "2"],
    "dit encoded": [*LATENT, "--vae", "vae"],
    "vae": VAE,
    "detr": ["--model", "detr_tiny_scenes", *DETECTOR, "--lr-scale", ""],
    "deformable": ["--model", "deformable_detr_tiny_scenes", *DETECTOR, "--batch-size", "8"],
    "depth": ["--model", "depth_vit_tiny_patch8_24x32", *SMALL, "--clip-grad", "1"],
}


def execute(build, program, *flags, folder, isa=None):
    """Runs a program in the folder, which relative paths start from. Exits where it fails."""
    environment = dict(os.environ, OMP_NUM_THREADS="2", **({"FOVEA_ISA": isa} if isa else {}))
    done = subprocess.run([build / program, *flags], env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {build}/{program} {' '.join(map(str, flags))} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def make_inputs(build, folder):
    """What the flags of RUNS name: a VAE, latents, a hub's folder, pictures of other classes than its own."""
    execute(build, "train_vae", *COMMON, *VAE, "--output", "vae", folder=folder)
    execute(build, "encode", "--vae", "vae", "--dataset", "builtin", "--fraction", "0.01", "--output", "latents.safetensors",
            folder=folder)
    execute(build, "train_cifar", *COMMON, *tiny_model("train_cifar"), "--output", "classifier", folder=folder)
    as_hub(folder / "classifier", folder / "hub", num_classes=10)
    add_pictures(folder / "pictures", 0, 32)


def families_without_run(build):
    """The families of the models that a build lists, less those of RUNS."""
    listed = execute(build, "summary", "--list-models", folder=None).splitlines()
    run = {family_of(flags[flags.index("--model") + 1]) for flags in RUNS.values()}
    return sorted({family_of(name) for name in listed if not name.startswith("#")} - run)


def train(build, isa, flags, folder, output):
    execute(build, program_of(flags), *COMMON, *flags, "--output", output, folder=folder, isa=isa)
    run = folder / output
    return read_safetensors(run / "state.safetensors")[0], [row.get("loss") for row in steps_of(run)]


def compare(name, isa, flags, builds, folder):
    """The differences between the builds' runs, as text."""
    old, new = (train(build, isa, flags, folder, f"{name} {isa} {i}") for i, build in enumerate(builds))
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
    builds = [build.resolve() for build in args.builds]
    missing = families_without_run(builds[1])
    if missing:
        sys.exit(f"error: no run trains a model of {', '.join(missing)}: add one to RUNS in {__file__}")
    names = [name for name in RUNS if args.only in name]
    if not names:
        sys.exit(f"error: no run is called {args.only}")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        make_inputs(builds[0], folder)
        for isa in args.isa:
            failed += sum(compare(name, isa, RUNS[name], builds, folder) for name in names)
    print("all runs have the same bits" if failed == 0 else f"{failed} runs differ")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
