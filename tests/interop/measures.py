#!/usr/bin/env python3
"""Compares the measures of generated pictures with NumPy and SciPy on random features.

    tests/interop/measures.py [--build build] [--seed 0]

Needs numpy, scipy and safetensors. Each case is written as a golden file of the family `measures` and checked
by the program `parity`: distances and scores within 1e-9, precision and recall exactly. Where there are not
more vectors than features the Frechet distance is taken from the singular values of the centred features, and
compared with SciPy's sqrtm only to 1e-5, because sqrtm takes roots of rounding noise there.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import scipy.linalg
from safetensors.numpy import save_file
from scipy.spatial.distance import cdist

CASES = [  # reference, samples, features, k, probabilities, classes, splits
    (400, 300, 16, 3, 300, 10, 3),
    (2500, 1100, 24, 3, 1000, 10, 10),
    (64, 64, 64, 3, 64, 5, 1),
    (40, 60, 128, 3, 60, 1008, 2),     # both have covariances without full rank
    (40, 600, 128, 5, 60, 1008, 2),    # one of them has
    (600, 40, 128, 1, 60, 1008, 2),
    (5, 4, 2048, 3, 4, 1008, 1),
]


def sqrtm(matrix):
    root = scipy.linalg.sqrtm(matrix)
    return np.real(root[0] if isinstance(root, tuple) else root)


def frechet(x, y):
    mean, s1, s2 = x.mean(0) - y.mean(0), np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    by_sqrtm = mean @ mean + np.trace(s1) + np.trace(s2) - 2 * np.trace(sqrtm(s1 @ s2))
    if min(len(x), len(y)) > x.shape[1]:
        return by_sqrtm
    a, b = ((z - z.mean(0)) / np.sqrt(len(z) - 1) for z in (x, y))
    nuclear = np.linalg.svd(a @ b.T, compute_uv=False).sum()
    exact = mean @ mean + np.trace(s1) + np.trace(s2) - 2 * nuclear
    assert abs(exact - by_sqrtm) < 1e-5 * abs(exact), (exact, by_sqrtm)
    return exact


def kid(x, y):
    def kernel(a, b):
        return (a @ b.T / a.shape[1] + 1) ** 3

    def within(a):
        k = kernel(a, a)
        return (k.sum() - np.trace(k)) / (len(a) * (len(a) - 1))
    return within(x) + within(y) - 2 * kernel(x, y).mean()


def covered(points, centres, k):
    radii = np.sort(cdist(centres, centres), axis=1)[:, k]  # column 0 is the vector itself
    return (cdist(points, centres) <= radii).any(1).mean()


def inception_score(p, splits):
    def score(part):
        with np.errstate(divide="ignore", invalid="ignore"):
            kl = np.where(part > 0, part * (np.log(part) - np.log(part.mean(0))), 0).sum(1)
        return np.exp(kl.mean())
    return np.mean([score(part) for part in np.split(p, splits)])


def write_case(path, sizes, rng):
    n, m, d, k, rows, classes, splits = sizes
    mixing = rng.normal(size=(d, d)) / np.sqrt(d)
    reference = rng.normal(size=(n, d)) @ mixing + 0.3
    samples = 0.9 * rng.normal(size=(m, d)) @ mixing + 0.4
    logits = 2 * rng.normal(size=(rows, classes))
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    values = {"frechet": frechet(reference, samples), "kid": kid(reference, samples),
              "precision": covered(samples, reference, k), "recall": covered(reference, samples, k),
              "inception_score": inception_score(probabilities, splits)}
    tensors = {"reference": reference, "samples": samples, "probabilities": probabilities,
               **{name: np.array(value, dtype=np.float64) for name, value in values.items()}}
    save_file(tensors, path, {"format": "fovea-golden-1", "family": "measures", "zero_grad": "[]",
                              "config": json.dumps({"k": k, "splits": splits}), "notes": "random"})
    print(f"{path.stem}: " + ", ".join(f"{name} {value:.6g}" for name, value in values.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, sizes in enumerate(CASES):
            files.append(pathlib.Path(folder) / f"measures_{i}.safetensors")
            write_case(files[-1], sizes, rng)
        sys.exit(subprocess.run([arguments.build / "parity", *files]).returncode)


if __name__ == "__main__":
    main()
