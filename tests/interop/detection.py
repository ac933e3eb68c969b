#!/usr/bin/env python3
"""Compares average precision with pycocotools and the matching with SciPy, on random input.

    tests/interop/detection.py [--build build] [--sets 200] [--matrices 1000] [--seed 0]

Needs numpy, scipy, pycocotools and safetensors, and the program tests/interop/interop (ninja -C build interop).
Average precision: sets of boxes are written as golden files of the family `coco_ap` and given to `parity`; all
twelve numbers must agree to 1e-9. The sets have crowds, equal scores, equal IoUs, IoUs on the thresholds, areas
on the bounds of the sizes, categories and images without objects, and more than 100 detections in an image.
Matching: costs of equal total to 1e-12 relative to SciPy's, and no query or target twice; matrices of any shape,
also with one column, one row, none, with many equal costs, and with costs of very different sizes.
"""
import argparse
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from safetensors.numpy import load_file, save_file
from scipy.optimize import linear_sum_assignment

SIDES = [8, 16, 24, 32, 48, 64, 96, 128]  # 32 x 32 and 96 x 96 lie on the bounds of the sizes
BOUNDS = [0.0, 32.0 ** 2, 96.0 ** 2, 1e10]


def random_objects(rng, images, classes):
    """Rows image, class, x, y, w, h, area, crowd."""
    rows = []
    for image in range(1, images + 1):
        if rng.random() < 0.2:
            continue  # an image without objects
        for _ in range(rng.integers(1, 9)):
            kind = rng.integers(1, classes + 1)
            if kind == classes and rng.random() < 0.7:
                continue  # a class that is often absent
            w, h = rng.choice(SIDES, 2)
            x, y = rng.integers(0, 40, 2) * 4
            area = float(w * h) if rng.random() < 0.5 else float(rng.choice([*BOUNDS, w * h * rng.random()]))
            rows.append([image, kind, x, y, w, h, area, rng.random() < 0.15])
            if rng.random() < 0.2:
                rows.append([image, kind, x, y, w, h, area, False])  # equal IoUs
    return np.array(rows, dtype=np.float64).reshape(-1, 8)


def random_detections(rng, truth, images, classes):
    """Rows image, class, x, y, w, h, score: moved objects, some of them twice, and boxes anywhere."""
    rows = []
    for image, kind, x, y, w, h, _, crowd in truth:
        for _ in range(rng.integers(0, 5 if crowd else 3)):
            dx, dy, dw, dh = rng.choice([0, 0, 0, 2, 4, 8], 4) * rng.choice([-1, 1], 4)
            box = [x + dx, y + dy, max(4, w + dw), max(4, h + dh)]
            if rng.random() < 0.3:
                box = (np.array([x, y, w, h]) + rng.normal(0, 3, 4)).clip(0.5).tolist()
            rows.append([image, kind if rng.random() < 0.9 else rng.integers(1, classes + 1), *box, rng.random()])
    crowded = int(rng.integers(1, images + 1))
    for _ in range(rng.integers(0, 400)):
        image = crowded if rng.random() < 0.6 else rng.integers(1, images + 1)
        rows.append([image, 1 if rng.random() < 0.6 else rng.integers(1, classes + 1), *rng.integers(0, 160, 2),
                     *rng.choice(SIDES, 2), rng.random()])
    rows = np.array(rows, dtype=np.float64).reshape(-1, 7)
    if rng.random() < 0.7:
        rows[:, 6] = np.round(rows[:, 6], 1)  # equal scores
    return rows[rng.permutation(len(rows))]


def pycocotools_numbers(truth, detections, images, classes):
    coco = COCO()
    coco.dataset = {
        "images": [{"id": i} for i in range(1, images + 1)],
        "categories": [{"id": k} for k in range(1, classes + 1)],
        "annotations": [{"id": i + 1, "image_id": int(row[0]), "category_id": int(row[1]), "bbox": row[2:6].tolist(),
                         "area": row[6], "iscrowd": int(row[7])} for i, row in enumerate(truth)]}
    results = [{"image_id": int(row[0]), "category_id": int(row[1]), "bbox": row[2:6].tolist(), "score": row[6]}
               for row in detections]
    with contextlib.redirect_stdout(io.StringIO()):
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(results), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats, evaluation.eval["precision"][:, :, :, 0, 2]


def check_average_precision(arguments, folder, rng):
    expected = {}
    for i in range(arguments.sets):
        images, classes = int(rng.integers(1, 13)), int(rng.integers(1, 6))
        truth = random_objects(rng, images, classes)
        detections = random_detections(rng, truth, images, classes)
        if len(detections) == 0:
            detections = np.array([[1, 1, 0, 0, 8, 8, 0.5]])  # loadRes accepts no empty list
        stats, precision = pycocotools_numbers(truth, detections, images, classes)
        path = folder / f"coco_ap_{i}.safetensors"
        config = json.dumps({"images": images, "classes": classes})
        save_file({"truth": truth, "detections": detections, "stats": np.asarray(stats, dtype=np.float64),
                   "precision": np.ascontiguousarray(precision)}, path,
                  {"format": "fovea-golden-1", "family": "coco_ap", "zero_grad": "[]", "config": config,
                   "notes": "random"})
        expected[path] = stats
    result = subprocess.run([arguments.build / "parity", "--dump", folder / "ours", *expected],
                            stdout=subprocess.PIPE, text=True)
    failed = [line for line in result.stdout.splitlines() if not line.startswith("ok")]
    worst = max(np.abs(load_file(folder / "ours" / path.name)["stats"] - stats).max()
                for path, stats in expected.items())
    crowded = sum((np.asarray(stats) == -1).any() for stats in expected.values())
    print(f"average precision: {len(expected)} sets, {crowded} with a number that is -1, "
          f"largest difference {worst:.1e}")
    print("\n".join(failed))
    return result.returncode == 0 and worst <= 1e-9


def random_costs(rng, i):
    queries, targets = (int(n) for n in rng.integers(1, 41, 2))
    if i % 10 == 0:
        targets = 1
    elif i % 10 == 1:
        queries = 1
    elif i % 50 == 2:
        queries = 0
    elif i % 50 == 3:
        targets = 0
    elif i % 100 == 4:
        queries, targets = 300, int(rng.integers(1, 100))
    cost = rng.normal(size=(queries, targets))
    kind = i % 4
    if kind == 1:
        cost = np.round(cost)  # many equal costs
    elif kind == 2:
        cost = cost * 10.0 ** rng.integers(-6, 7, size=cost.shape)
    elif kind == 3:
        cost = rng.random((queries, 1)) @ rng.random((1, targets)) + 1e-3 * cost  # queries resemble each other
    return cost


def check_matching(arguments, folder, rng):
    costs = {f"{i:04}": random_costs(rng, i) for i in range(arguments.matrices)}
    save_file(costs, folder / "costs.safetensors")
    subprocess.run([arguments.build / "tests/interop/interop", "match", folder / "costs.safetensors",
                    folder / "pairs.safetensors"], check=True)
    pairs = load_file(folder / "pairs.safetensors")
    worst, ok = 0.0, True
    for name, cost in costs.items():
        queries, targets = pairs[name][:, 0], pairs[name][:, 1]
        valid = (len(queries) == min(cost.shape) and (np.diff(queries) > 0).all()
                 and len(set(targets.tolist())) == len(targets))
        expected = cost[linear_sum_assignment(cost)].sum()
        error = abs(cost[queries, targets].sum() - expected) / max(1.0, np.abs(cost).max(initial=0))
        worst = max(worst, error)
        if not valid or error > 1e-12:
            print(f"matching: matrix {name} of shape {cost.shape}: error {error:.1e}, valid: {valid}")
            ok = False
    print(f"matching: {len(costs)} matrices, largest difference of a cost {worst:.1e}")
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--matrices", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        ok = [check(arguments, pathlib.Path(folder), rng) for check in (check_average_precision, check_matching)]
    sys.exit(0 if all(ok) else 1)


if __name__ == "__main__":
    main()
