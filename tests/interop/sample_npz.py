#!/usr/bin/env python3
"""Compares the files of `sample`: NumPy reads the .npz, Pillow the pictures, and both have the same pixels.

    tests/interop/sample_npz.py [--build build]

Needs numpy and Pillow; build the targets `train_diffusion` and `sample` first. Reads the .npz as the evaluator of the ADM
suite does, too: member by member, in pieces. Exits 1 if something differs.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ["--model", "dit_s_8_32", "--embed-dim", "24", "--depth", "1", "--num-heads", "2"]


def read_in_pieces(path, piece=4):
    """The pictures of arr_0, a few at a time."""
    with zipfile.ZipFile(path) as file, file.open("arr_0.npy") as array:
        np.lib.format.read_magic(array)
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(array)
        assert not fortran and dtype == np.uint8
        size = int(np.prod(shape[1:]))
        for first in range(0, shape[0], piece):
            count = min(piece, shape[0] - first)
            yield np.frombuffer(array.read(count * size), dtype=dtype).reshape(count, *shape[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run, out, npz = folder / "run", folder / "out", folder / "samples.npz"
        subprocess.run([build / "train_diffusion", *MODEL, "--max-steps", "4", "--batch-size", "8", "--lr", "3e-2",
                        "--num-sampling-steps", "2", "--no-report", "--output", run], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([build / "sample", run, "--num-sampling-steps", "5", "--classes", "7,2,5", "--count", "10",
                        "--output", out, "--npz", npz], check=True)
        arrays = np.load(npz)
        pictures = np.stack([np.array(Image.open(path)) for path in sorted(out.glob("0*.png"))])
        labels = [int(path.name.split("class")[1].split("-")[0]) for path in sorted(out.glob("0*.png"))]
        checks = {"arrays": sorted(arrays.files) == ["arr_0", "arr_1"],
                  "types": (arrays["arr_0"].dtype, arrays["arr_1"].dtype) == (np.uint8, np.int64),
                  "pixels": np.array_equal(arrays["arr_0"], pictures),
                  "labels": arrays["arr_1"].tolist() == labels == ([7, 2, 5] * 4)[:10],
                  "in pieces": np.array_equal(np.concatenate(list(read_in_pieces(npz))), pictures),
                  "pictures differ": len({picture.tobytes() for picture in pictures}) == 10}
    for what, holds in checks.items():
        print(f"{'ok' if holds else 'FAIL':4} {what}")
    sys.exit(not all(checks.values()))


if __name__ == "__main__":
    main()
