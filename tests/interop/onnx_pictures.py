#!/usr/bin/env python3
"""How exported files prepare pictures:
onnx_pictures.py BUILD_FOLDER RUN... [--folder PICTURES] [--dataset NAME FOLDER]... [--sizes N] [--side PIXELS]

Needs onnx, onnxruntime, openvino, safetensors and pillow 13; build the targets `export`, `predict`, `evaluate` and
`read_data` first. With N drawn sizes from 1x1 to 700x500, every value after resizing, to PIXELS or the first run's size,
must be Pillow's in onnxruntime; how many are in OpenVINO with f32 is printed. Then the likeliest class of each picture
must be that of `predict` (drawn pictures or those of a folder) and of `evaluate` (test images of data sets), unless the
two largest logits or probabilities are within 1e-4 of each other, relative to the largest.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import openvino
from PIL import Image
from safetensors.numpy import load_file

FILTERS = {"bicubic": 1.0, "bilinear": 1.0, "box": 0.1, "hamming": 0.1, "lanczos": 0.1, "nearest": 0.1}
TIE = 1e-4


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def levels_file(model, path):
    """The part of a model that ends with the resized levels, before they are divided by 255."""
    graph = model.graph
    (levels,) = [node.input[0] for node in graph.node if node.op_type == "Div" and node.input[1] == "f32/255"]
    del graph.output[:]
    graph.output.append(onnx.helper.make_tensor_value_info(levels, onnx.TensorProto.FLOAT, None))
    onnx.save(model, path)
    return str(path)


def drawn_picture(random, size):
    """Noise, black and white, or smooth colours."""
    height, width = size
    kind = random.integers(0, 3)
    if kind == 2:
        few = Image.fromarray(random.integers(0, 256, (height // 9 + 2, width // 9 + 2, 3), dtype=np.uint8))
        return np.asarray(few.resize((width, height), Image.Resampling.BICUBIC))
    noise = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
    return noise if kind == 0 else np.where(noise > 127, 255, 0).astype(np.uint8)


def check_pixels(build, checkpoint, folder, sizes, side):
    wrong = 0
    for name, share in FILTERS.items():
        run(build / "export", checkpoint, "--output", folder / "levels.onnx", "--overwrite", "--crop-mode", "squash",
            "--crop-pct", "1", "--interpolation", name, *(["--img-size", side] if side else []))
        file = levels_file(onnx.load(folder / "levels.onnx"), folder / "part.onnx")
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        other = openvino.Core().compile_model(file, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        random, bad, off, most, total = np.random.default_rng(1), 0, 0, 0, 0
        for _ in range(int(sizes * share)):
            picture = drawn_picture(random, (random.integers(1, 501), random.integers(1, 701)))
            got = session.run(None, {"image": picture[None]})[0][0].transpose(1, 2, 0)
            size = (got.shape[1], got.shape[0])
            expected = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling[name.upper()]), np.float32)
            there = np.abs(other({"image": picture[None]})[0][0].transpose(1, 2, 0) - expected)
            bad, off, most = bad + (got != expected).sum(), off + (there > 0).sum(), max(most, there.max())
            total += got.size
        wrong += bad
        print(f"{'FAIL' if bad else 'ok  '} {name}: {bad} of {total} values differ in onnxruntime; in OpenVINO "
              f"{100 * off / total:.5f} %, by up to {most:.0f}", flush=True)
    return wrong


def pictures_in(folder, count=300):
    random = np.random.default_rng(2)
    for i in range(count):
        picture = drawn_picture(random, random.integers(1, 300, 2))
        Image.fromarray(picture).save(folder / f"{i:04}.png")


def best_classes(file, pictures):
    """The index of each picture's largest logit."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    return [int(session.run(["logits"], {"image": picture[None]})[0][0].argmax()) for picture in pictures]


def report(what, names, got, expected, is_tie):
    """Prints the pictures with another class, and returns how many are no ties."""
    wrong = ties = 0
    for name, best, other, tie in zip(names, got, expected, is_tie, strict=True):
        if best == other:
            continue
        wrong, ties = wrong + (not tie), ties + bool(tie)
        print(f"{'tie ' if tie else 'FAIL'} {name}: class {best}, expected {other}")
    print(f"{'FAIL' if wrong else 'ok  '} {what}: {len(names)} pictures, {wrong} other classes, {ties} ties", flush=True)
    return wrong


def check_folder(build, checkpoint, file, pictures):
    found = json.loads(run(build / "predict", checkpoint, pictures, "--format", "json", "--topk", "2"))["pictures"]
    best = best_classes(file, (np.asarray(Image.open(entry["file"]).convert("RGB")) for entry in found))
    pairs = [entry["classes"] for entry in found]
    ties = [first["probability"] - second["probability"] < TIE * first["probability"] for first, second in pairs]
    return report(checkpoint, [entry["file"] for entry in found], best, [first["index"] for first, _ in pairs], ties)


def check_dataset(build, checkpoint, file, dataset, place, folder):
    flags = ["--dataset", dataset, *(["--data-dir", place] if place else [])]
    run(build / "evaluate", checkpoint, *flags, "--logits", folder / "logits.safetensors", "--output", folder / "scores")
    run(build / "tests/interop/read_data", "pictures", dataset, place, "test", folder / "pictures.safetensors")
    pictures, logits = load_file(folder / "pictures.safetensors"), load_file(folder / "logits.safetensors")["logits"]
    best = best_classes(file, (pictures[str(i)] for i in range(len(pictures))))
    second, first = np.sort(logits, axis=1)[:, -2:].T
    return report(f"{checkpoint} {dataset}", range(len(pictures)), best, logits.argmax(axis=1),
                  first - second < TIE * np.abs(first))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--dataset", nargs=2, action="append", default=[], metavar=("NAME", "FOLDER"))
    parser.add_argument("--sizes", type=int, default=500)
    parser.add_argument("--side", type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        pictures = options.folder or folder / "pictures"
        if not options.folder:
            pictures.mkdir()
            pictures_in(pictures)
        wrong = check_pixels(options.build, options.runs[0], folder, options.sizes, options.side) if options.sizes else 0
        for checkpoint in options.runs:
            file = folder / "model.onnx"
            run(options.build / "export", checkpoint, "--output", file, "--overwrite")
            wrong += check_folder(options.build, checkpoint, file, pictures)
            for dataset, place in options.dataset:
                wrong += check_dataset(options.build, checkpoint, file, dataset, place, folder)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
