#!/usr/bin/env python3
"""How exported files prepare pictures: onnx_pictures.py BUILD_FOLDER RUN... [--folder PICTURES] [--sizes N]

Needs onnx, onnxruntime, openvino and pillow 13; build the targets `export` and `predict` first. With N drawn sizes from
1x1 to 700x500, every value after resizing must be Pillow's in onnxruntime; how many are in OpenVINO with f32 is printed.
Then the likeliest class of each picture, drawn ones or those of a folder, must be that of `predict`, unless the two
largest probabilities are within 1e-4 of each other.
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


def check_pixels(build, checkpoint, folder, sizes):
    wrong = 0
    for name, share in FILTERS.items():
        run(build / "export", checkpoint, "--output", folder / "levels.onnx", "--overwrite", "--crop-mode", "squash",
            "--crop-pct", "1", "--interpolation", name)
        file = levels_file(onnx.load(folder / "levels.onnx"), folder / "part.onnx")
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        other = openvino.Core().compile_model(file, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        random, bad, off, most, total = np.random.default_rng(1), 0, 0, 0, 0
        for _ in range(int(sizes * share)):
            picture = drawn_picture(random, (random.integers(1, 501), random.integers(1, 701)))
            got = session.run(None, {"image": picture[None]})[0][0].transpose(1, 2, 0)
            side = (got.shape[1], got.shape[0])
            expected = np.asarray(Image.fromarray(picture).resize(side, Image.Resampling[name.upper()]), np.float32)
            there = np.abs(other({"image": picture[None]})[0][0].transpose(1, 2, 0) - expected)
            bad, off, most = bad + (got != expected).sum(), off + (there > 0).sum(), max(most, there.max())
            total += got.size
        wrong += bad
        print(f"{'FAIL' if bad else 'ok  '} {name}: {bad} of {total} values differ in onnxruntime; in OpenVINO "
              f"{100 * off / total:.3f} %, by up to {most:.0f}", flush=True)
    return wrong


def pictures_in(folder, count=300):
    random = np.random.default_rng(2)
    for i in range(count):
        picture = drawn_picture(random, random.integers(1, 300, 2))
        Image.fromarray(picture).save(folder / f"{i:04}.png")


def check_classes(build, checkpoint, folder, pictures):
    run(build / "export", checkpoint, "--output", folder / "model.onnx", "--overwrite")
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    found = json.loads(run(build / "predict", checkpoint, pictures, "--format", "json", "--topk", "2"))["pictures"]
    wrong, ties = 0, 0
    for entry in found:
        picture = np.asarray(Image.open(entry["file"]).convert("RGB"))
        best = int(session.run(["logits"], {"image": picture[None]})[0][0].argmax())
        first, second = entry["classes"]
        if best != first["index"]:
            is_tie = first["probability"] - second["probability"] < TIE * first["probability"]
            wrong, ties = wrong + (not is_tie), ties + is_tie
            print(f"{'tie ' if is_tie else 'FAIL'} {entry['file']}: class {best}, expected {first['index']}")
    print(f"{'FAIL' if wrong else 'ok  '} {checkpoint}: {len(found)} pictures, {wrong} other classes, {ties} ties", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--sizes", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        pictures = options.folder or folder / "pictures"
        if not options.folder:
            pictures.mkdir()
            pictures_in(pictures)
        wrong = check_pixels(options.build, options.runs[0], folder, options.sizes) if options.sizes else 0
        wrong += sum(check_classes(options.build, checkpoint, folder, pictures) for checkpoint in options.runs)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
