#!/usr/bin/env python3
"""Runs with rotary positions, read by timm: timm_reads_runs.py BUILD_FOLDER [--keep FOLDER]

Needs torch, timm, safetensors and Pillow; build the targets `train_imagenet` and `evaluate` first. fovea trains small
ViTs for 20 steps; timm's class Eva, given the same settings, loads the run's best.safetensors strictly, all names
and shapes. Its logits are compared with those of `evaluate`, at the run's image size.
"""
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from timm.models.eva import Eva

from timm_registry import BOUND, CLASSES, MEAN, STD, check_cases, our_logits, read_pictures, write_pictures

SIZE = (32, 48)
SMALL = dict(embed_dim=48, depth=2, num_heads=3)
# What makes Eva a plain ViT with rotary positions.
PLAIN = dict(qkv_bias=True, attn_type="rope", use_rot_pos_emb=True, rope_grid_indexing="xy")
# Name, flags of train_imagenet, arguments of Eva.
RUNS = [
    ("axial", ["--rope", "axial"], dict(PLAIN, global_pool="token", rope_type="cat", rope_temperature=100.0)),
    ("axial without table", ["--rope", "axial", "--rope-temperature", "20", "--pos-embed", "none", "--no-class-token",
                             "--global-pool", "avg"],
     dict(PLAIN, rope_type="cat", rope_temperature=20.0, class_token=False, use_abs_pos_emb=False)),
    ("mixed", ["--rope", "mixed"], dict(PLAIN, global_pool="token", rope_type="mixed")),
    ("mixed without table", ["--rope", "mixed", "--pos-embed", "none", "--global-pool", "avg"],
     dict(PLAIN, rope_type="mixed", use_abs_pos_emb=False)),
]
# Pictures as they are, so that the runs learn them by heart: then they do not look alike.
UNCHANGED = ["--train-crop-mode", "pad", "--crop-padding", "0", "--hflip", "0", "--color-jitter", "0", "--aa", "none",
             "--reprob", "0", "--aug-repeats", "0", "--mixup", "0", "--cutmix", "0", "--crop-pct", "1"]
SHORT = ["--epochs", "20", "--warmup-epochs", "0", "--lr", "0.003", "--batch-size", "10", "--drop-path", "0"]
QUIET = ["--workers", "0", "--threads", "1", "--no-report", "--index-cache", "none", "--no-model-ema"]


def train(build, pictures, output, flags):
    sizes = [text for key, value in SMALL.items() for text in ("--" + key.replace("_", "-"), str(value))]
    numbers = ["--mean", ",".join(map(str, MEAN)), "--std", ",".join(map(str, STD))]
    run = subprocess.run([build / "train_imagenet", "--data-dir", pictures, "--model", "vit_tiny_patch16_224",
                          "--img-size", "x".join(map(str, SIZE)), *sizes, *numbers, *flags, *UNCHANGED, *SHORT, *QUIET,
                          "--output", output], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def compare(build, folder, name, flags, arguments):
    pictures = folder / "pictures"
    if not pictures.exists():
        for split in ("train", "val"):
            write_pictures(pictures / split, SIZE)
    output = folder / name.replace(" ", "-")
    train(build, pictures, output, flags)
    model = Eva(img_size=SIZE, num_classes=len(CLASSES), **SMALL, **arguments).eval()
    model.load_state_dict(load_file(output / "best.safetensors"))
    with torch.no_grad():
        theirs = model(read_pictures(pictures / "val")).double()
    assert (theirs[0] - theirs[-1]).norm() > 0.01 * theirs.norm(), f"{name}: the pictures look alike to it"
    apart = ((our_logits(build, output, pictures / "val", "") - theirs).norm() / theirs.norm()).item()
    print(f"{'ok  ' if apart < BOUND else 'FAIL'}  {name}: logits differ by {apart:.1e}", flush=True)
    return apart < BOUND


if __name__ == "__main__":
    sys.exit(check_cases(__doc__, RUNS, compare))
