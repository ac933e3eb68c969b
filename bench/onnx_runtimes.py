#!/usr/bin/env python3
"""Times exported models in onnxruntime and OpenVINO beside PyTorch's exports of the same weights, and our own inference.

    bench/make_peer.sh && ninja -C BUILD export fovea_bench
    .venv-peer/bin/python bench/onnx_runtimes.py BUILD [--threads 2] [--pairs 10] [--only NAME]

The models are timm's. Ours is `export --input tensor`, the peer torch.onnx.export(dynamo=True) for the fixed batch; both
must give PyTorch's logits. The two files and our own inference take turns, in changing order; a turn of a small model is
several batches. A ratio is the median over the pairs of the peer's time / ours: above 1 our file is faster. Prints a table
in Markdown.
"""
import argparse
import itertools
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import timm
import torch
from safetensors.torch import save_file

from ours import Timed
from peers.runtimes import OnnxRuntime, OpenVino, export, require_same

WORKLOADS = [("vit_tiny_patch16_224", 1), ("vit_tiny_patch16_224", 8), ("deit_tiny_distilled_patch16_224", 4),
             ("vit_small_patch16_224", 2), ("vit_base_patch16_224", 1)]
RUNTIMES = {"onnxruntime": OnnxRuntime, "OpenVINO": OpenVino}
WARM_UP = 2
SHORTEST_TURN = 0.05  # seconds


def program(build, name):
    """Programs lie in the build's folder or in that of their room."""
    return next(path for path in (build / name, build / "rooms/bench" / name, build / "rooms/apps" / name) if path.is_file())


def our_file(build, name, model, folder):
    weights, path = folder / f"{name}.safetensors", folder / "ours.onnx"
    save_file({key: value.contiguous() for key, value in model.state_dict().items()}, weights)
    subprocess.run([program(build, "export"), weights, "--model", name, "--input", "tensor", "--output", path,
                    "--overwrite"], check=True, capture_output=True)
    return path


def our_inference(build, name, batch, threads):
    """A process that runs a repetition and answers with its seconds."""
    return Timed(program(build, "fovea_bench"), "--turns", "--model", name, "--mode", "infer", "--batch", batch, "--threads",
                 threads)


def seconds(runtime, batches=1):
    """Of one batch, in the mean."""
    start = time.perf_counter()
    for _ in range(batches):
        runtime.run()
    return (time.perf_counter() - start) / batches


def loaded(kind, path, model, images, threads):
    runtime = kind()
    runtime.images = images.numpy()
    runtime.load(str(path), {"precision": "f32", "threads": threads})
    require_same(runtime.run(), model, images, "f32")
    return runtime


def in_turn(programs, turn):
    """What each answers. The turns go through all orders: who always runs behind the same program finds what that one left in
    the caches."""
    orders = list(itertools.permutations(range(len(programs))))
    answers = {i: programs[i]() for i in orders[turn % len(orders)]}
    return [answers[i] for i in range(len(programs))]


def measure(options, name, batch, folder):
    """Per runtime: its seconds on our file, the ratio to the peer's file, and the ratio to our own inference."""
    torch.manual_seed(0)
    model = timm.create_model(name).eval()
    images = torch.randn(batch, 3, 224, 224)
    files = our_file(options.build, name, model, folder), export(model, images, folder)
    own, rows = our_inference(options.build, name, batch, options.threads), {}
    for label, kind in RUNTIMES.items():
        ours, theirs = (loaded(kind, path, model, images, options.threads) for path in files)
        batches = math.ceil(SHORTEST_TURN / seconds(theirs))
        programs = [lambda: seconds(ours, batches), lambda: seconds(theirs, batches), own.seconds]
        turns = [in_turn(programs, i) for i in range(WARM_UP + options.pairs)][WARM_UP:]
        rows[label] = (statistics.median(a for a, _, _ in turns), statistics.median(b / a for a, b, _ in turns),
                       statistics.median(c for _, _, c in turns))
    own.close()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("| model, batch | " + " | ".join(f"{label}, ms | to PyTorch's file" for label in RUNTIMES) + " | fovea, ms |")
    print("|" + "---|" * (2 * len(RUNTIMES) + 2))
    for name, batch in WORKLOADS:
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            rows = measure(options, name, batch, pathlib.Path(folder))
        cells = [f"{1e3 * ours:.1f} | {ratio:.2f}" for ours, ratio, _ in rows.values()]
        own = statistics.median(own for _, _, own in rows.values())
        print(f"| {name}, {batch} | " + " | ".join(cells) + f" | {1e3 * own:.1f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
