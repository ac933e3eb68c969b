#!/usr/bin/env python3
"""The shape bias of `evaluate` compared with timm and NumPy: shape_bias.py BUILD_FOLDER PICTURES [--crop-pct P]

PICTURES contains SHAPE/SHAPEn-TEXTUREm.jpg of the 16 categories of Geirhos et al. (2019). Needs timm; build the target
`evaluate` first. The model is a ViT-Tiny with random weights, large enough to distinguish pictures, in a folder as
written by timm. Every decision is recomputed in f64 from the logits that `evaluate` stores and from the file names.
Then timm runs the same weights behind its own transform, and its decisions are compared picture by picture.
"""
import argparse
import csv
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.numpy import load_file
from timm.data import create_transform

from timm_checkpoint import write_folder

MAP = Path(__file__).resolve().parents[2] / "data/imagenet_16_categories.txt"
NEAR = 1e-6  # two means of probabilities nearer than this may change places between f32 programs


def categories():
    lines = [line for line in MAP.read_text().splitlines() if not line.startswith("#")]
    return {name: [int(index) for index in rest.split()] for name, rest in (line.split(":") for line in lines)}


def cues(picture):
    shape, texture = re.fullmatch(r"([a-z]+)\d+-([a-z]+)\d+", picture.stem).groups()
    return shape, texture


def means_of(logits, groups):
    logits = logits.astype(np.float64)
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return np.stack([p[:, indices].mean(1) for indices in groups.values()], 1)


def counts(decisions, pictures):
    shape = sum(d == cues(p)[0] for d, p in zip(decisions, pictures))
    texture = sum(d == cues(p)[1] for d, p in zip(decisions, pictures))
    return shape, texture


def timms_logits(model, pictures, crop_pct):
    transform = create_transform((3, 224, 224), is_training=False, interpolation="bicubic", crop_pct=crop_pct,
                                 mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    rows = []
    with torch.no_grad():
        for at in range(0, len(pictures), 50):
            batch = [transform(Image.open(path).convert("RGB")) for path in pictures[at:at + 50]]
            rows.append(model(torch.stack(batch)).numpy())
    return np.concatenate(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--crop-pct", type=float, default=1.0)
    options = parser.parse_args()
    groups = categories()
    names = list(groups)
    every = sorted(options.pictures.glob("*/*.jpg")) + sorted(options.pictures.glob("*/*.png"))
    pictures = [path for path in every if cues(path)[0] != cues(path)[1]]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = write_folder(folder / "hub", "vit_tiny_patch16_224", dict(), dict(crop_pct=options.crop_pct))
        result = subprocess.run([options.build / "evaluate", folder / "hub", "--shape-bias", options.pictures,
                                 "--class-map", MAP, "--output", folder / "out", "--logits",
                                 folder / "logits.safetensors"], check=True, capture_output=True, text=True)
        print(result.stdout)
        logits = load_file(folder / "logits.safetensors")["logits"]
        rows = list(csv.DictReader((folder / "out/shape_bias_images.csv").open()))
        table = {row["category"]: row for row in csv.DictReader((folder / "out/shape_bias.csv").open())}

    assert [Path(row["image"]).name for row in rows] == [path.name for path in pictures]
    assert [(row["shape"], row["texture"]) for row in rows] == [cues(path) for path in pictures]
    said = [row["decision"] for row in rows]
    ours = [names[k] for k in means_of(logits, groups).argmax(1)]
    assert said == ours, "decisions differ from those of the same logits"
    shape, texture = counts(ours, pictures)
    assert (int(table["all"]["shape"]), int(table["all"]["texture"])) == (shape, texture)
    assert abs(float(table["all"]["shape_bias"]) - 100 * shape / (shape + texture)) < 1e-9
    for name in names:
        own = [i for i, path in enumerate(pictures) if cues(path)[0] == name]
        expected = counts([ours[i] for i in own], [pictures[i] for i in own])
        assert (int(table[name]["shape"]), int(table[name]["texture"])) == expected, name
    print(f"ok  {len(every)} pictures, {len(pictures)} count; {shape} by shape and {texture} by texture, all and by "
          "category as from the logits in f64")

    theirs = timms_logits(model, pictures, options.crop_pct)
    means = means_of(theirs, groups)
    best = np.sort(means, 1)
    differing = [i for i, k in enumerate(means.argmax(1)) if names[k] != said[i]]
    assert all(best[i, -1] - best[i, -2] < NEAR for i in differing), "timm decides otherwise"
    assert len(set(said)) > 4, "the model says the same of everything, so this compares nothing"
    print(f"ok  timm's own model: logits differ by at most {np.abs(theirs - logits).max():.1e}, "
          f"decisions in {len(differing)} of {len(pictures)} pictures; "
          f"{counts([names[k] for k in means.argmax(1)], pictures)} by shape, texture")


if __name__ == "__main__":
    sys.exit(main())
