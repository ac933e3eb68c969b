#!/usr/bin/env python3
"""Writes golden files of random image operations, computed by Pillow.

    random_image.py FOLDER [--count 20] [--seed 0]      needs Pillow, numpy and safetensors
    ./run parity FOLDER/*.safetensors

Every file contains one random image and about a hundred operations on it. Some Pillow versions round
differently: blurs from 10.1 on, and before 13 resizes that shrink the height over twice as much as the width.
"""
import argparse
import json
import pathlib
import random

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from safetensors.numpy import save_file

FILTERS = {"nearest": Image.Resampling.NEAREST, "box": Image.Resampling.BOX,
           "bilinear": Image.Resampling.BILINEAR, "hamming": Image.Resampling.HAMMING,
           "bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}
GEOMETRIC = ["nearest", "bilinear", "bicubic"]
ENHANCE = {"Color": ImageEnhance.Color, "Contrast": ImageEnhance.Contrast,
           "Brightness": ImageEnhance.Brightness, "Sharpness": ImageEnhance.Sharpness}


def draw_image(rng, height, width):
    """Smooth colours, noise, or a few levels."""
    noise = np.random.default_rng(rng.randrange(2**32))
    kind = rng.choice(["smooth", "noise", "levels", "saturated"])
    if kind == "levels":
        return noise.choice(noise.integers(0, 256, 4), (height, width, 3)).astype(np.uint8)
    image = noise.integers(0, 256, (height, width, 3)).astype(np.uint8)
    if kind == "noise":
        return image
    small = Image.fromarray(noise.integers(0, 256, (3, 4, 3)).astype(np.uint8))
    smooth = np.asarray(small.resize((width, height), FILTERS["bicubic"])).astype(int)
    gain = 3 if kind == "saturated" else 1
    return np.clip((smooth - 128) * gain + 128 + noise.integers(-6, 7, image.shape), 0, 255).astype(np.uint8)


def affine(image, matrix, case):
    return image.transform(image.size, Image.Transform.AFFINE, matrix, FILTERS[case["interpolation"]],
                           fillcolor=tuple(case["fill"]))


def geometry(rng, image):
    op = rng.choice(["Rotate", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel", "TranslateX", "TranslateY"])
    case = {"op": op, "interpolation": rng.choice(GEOMETRIC), "fill": [rng.randrange(256) for _ in range(3)]}
    if op == "Rotate":
        x = rng.choice([rng.uniform(-400, 400), rng.choice([0, 45, 90, 180, 270, -90, 360])])
        out = image.rotate(x, FILTERS[case["interpolation"]], fillcolor=tuple(case["fill"]))
    else:
        x = rng.uniform(-1.2, 1.2) * (1 if op.startswith("Shear") or "Rel" in op else max(image.size))
        if rng.random() < 0.2:
            x = round(x)
        side = {"TranslateXRel": image.size[0], "TranslateYRel": image.size[1]}.get(op, 1)
        out = affine(image, {"ShearX": (1, x, 0, 0, 1, 0), "ShearY": (1, 0, 0, x, 1, 0)}.get(
            op, (1, 0, x * side, 0, 1, 0) if "X" in op else (1, 0, 0, 0, 1, x * side)), case)
    return case | {"args": [x]}, out


def enhancement(rng, image):
    op = rng.choice(list(ENHANCE))
    factor = rng.choice([rng.uniform(0, 2), rng.uniform(-2, 5), 0.0, 1.0])
    return {"op": op, "args": [factor]}, ENHANCE[op](image).enhance(factor)


def levels(rng, image):
    op = rng.choice(["AutoContrast", "Equalize", "Invert", "Posterize", "Solarize"])
    if op == "Posterize":
        bits = rng.randint(1, 8)
        return {"op": op, "args": [bits]}, ImageOps.posterize(image, bits)
    if op == "Solarize":
        threshold = rng.randint(0, 256)
        return {"op": op, "args": [threshold]}, ImageOps.solarize(image, threshold)
    change = {"AutoContrast": ImageOps.autocontrast, "Equalize": ImageOps.equalize, "Invert": ImageOps.invert}[op]
    return {"op": op, "args": []}, change(image)


def blur(rng, image):
    radius = rng.choice([rng.uniform(0, 3), rng.uniform(0, 30)])
    return {"op": "gaussian_blur", "radius": radius}, image.filter(ImageFilter.GaussianBlur(radius))


def hue(rng, image):
    factor = rng.uniform(-0.5, 0.5)
    h, s, v = image.convert("HSV").split()
    turned = (np.asarray(h).astype(int) + int(factor * 255)) % 256
    h = Image.fromarray(turned.astype(np.uint8), "L")
    return {"op": "hue", "factor": factor}, Image.merge("HSV", (h, s, v)).convert("RGB")


def resize(rng, image):
    width, height = rng.randint(1, 3 * image.size[0]), rng.randint(1, 3 * image.size[1])
    case = {"op": "resize", "width": width, "height": height, "interpolation": rng.choice(list(FILTERS))}
    if rng.random() < 0.5:
        return case, image.resize((width, height), FILTERS[case["interpolation"]])
    xs, ys = (sorted(rng.uniform(0, side) for _ in range(2)) for side in image.size)
    box = [xs[0], ys[0], xs[1], ys[1]]
    out = image.resize((width, height), FILTERS[case["interpolation"]], box)
    return case | {"op": "resize_box", "box_xyxy": box}, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(args.seed)
    for index in range(args.count):
        pixels = draw_image(rng, rng.randint(1, 40), rng.randint(1, 40))
        image = Image.fromarray(pixels)
        cases, tensors = {}, {"input": pixels}
        for number in range(100):
            case, out = rng.choice([geometry, geometry, enhancement, levels, blur, hue, resize, resize])(rng, image)
            cases[f"{number:03d}"] = case
            tensors[f"output/{number:03d}"] = np.ascontiguousarray(np.asarray(out))
        save_file(tensors, args.folder / f"image_random{index:03d}.safetensors", {
            "format": "fovea-golden-1", "family": "image", "config": json.dumps({"cases": cases}), "notes": "random"})


if __name__ == "__main__":
    main()
