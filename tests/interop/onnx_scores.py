#!/usr/bin/env python3
"""Scores of exported detectors and depth models: onnx_scores.py BUILD_FOLDER [--detector RUN] [--depth RUN]

Needs onnxruntime, numpy, pycocotools and safetensors; build the targets `export`, `evaluate`, `read_data` and
`detection_data` first. The runs are of drawn scenes and of drawn rooms. From onnxruntime's outputs, COCO's twelve numbers
must be within 0.0005 of those of the boxes that `evaluate` writes, and the RMSE of depths within 1e-4 of `evaluate`'s.
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
import onnxruntime
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from safetensors.numpy import load_file

MOST_OF_PRECISION, MOST_OF_RMSE = 5e-4, 1e-4
MOST_BOXES = 100  # of a picture
LEAST_DEPTH, MOST_DEPTH = 1e-3, 10.0  # metres, of the protocol "full"


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def exported(build, checkpoint, folder):
    run(build / "export", checkpoint, "--output", folder / "model.onnx", "--overwrite")
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])


def set_in(build, command, dataset, folder):
    run(build / "tests/interop/read_data", command, dataset, "", "test", folder / "set.safetensors")
    return load_file(folder / "set.safetensors")


def truth_of(build, folder):
    """The objects of the drawn scenes as COCO's."""
    run(build / "tests/interop/detection_data", "scenes", "", folder / "scenes.json")
    split = json.loads((folder / "scenes.json").read_text())["test"]
    images = [{"id": image["id"], "height": image["height"], "width": image["width"]} for image in split["images"]]
    objects = [{"id": 1 + number, "image_id": image["id"], "category_id": label, "bbox": [x, y, w, h],
                "area": area, "iscrowd": int(crowd)}
               for number, (image, (_, label, x, y, w, h, area, crowd)) in enumerate(
                   (image, one) for image in split["images"] for one in image["objects"])]
    truth = COCO()
    truth.dataset = {"images": images, "annotations": objects, "categories": [{"id": kind} for kind in split["ids"]]}
    truth.createIndex()
    return truth, images


def results_of(session, pictures, images):
    """The boxes of each picture, as `evaluate` counts them: one for each of DETR's queries; of Deformable DETR's pairs of a
    query and a class, the 100 of the largest scores."""
    by_query = json.loads(session.get_modelmeta().custom_metadata_map["config"])["family"] == "detr"
    results = []
    for i, image in enumerate(images):
        boxes, scores, classes, all_scores = session.run(None, {"image": pictures[str(i)][None]})
        found = ([(q, classes[0][q], scores[0][q]) for q in range(len(classes[0]))] if by_query else
                 [(q, c, score) for q, row in enumerate(all_scores[0]) for c, score in enumerate(row)])
        found = sorted(found, key=lambda pair: -pair[2])[:MOST_BOXES]
        corners = boxes[0].astype(np.float64) * np.array([image["width"], image["height"]] * 2)
        for query, kind, score in found:
            x0, y0, x1, y1 = corners[query]
            results.append({"image_id": image["id"], "category_id": int(kind), "bbox": [x0, y0, x1 - x0, y1 - y0],
                            "score": float(score)})
    return results


def precision(truth, results):
    """COCO's twelve numbers."""
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = COCOeval(truth, truth.loadRes(results), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats


def check_detector(build, checkpoint, folder):
    truth, images = truth_of(build, folder)
    # The padding of a batch moves the statistics and borders of its images: one at a time, as in the file.
    run(build / "evaluate", checkpoint, "--dataset", "scenes", "--batch-size", 1, "--output", folder / "scores")
    ours = precision(truth, json.loads((folder / "scores/detections.json").read_text()))
    session = exported(build, checkpoint, folder)
    theirs = precision(truth, results_of(session, set_in(build, "pictures", "scenes", folder), images))
    most = float(np.abs(ours - theirs).max())
    print(f"{'ok  ' if most <= MOST_OF_PRECISION else 'FAIL'} {checkpoint}: COCO's numbers differ by {most:.1e} at most "
          f"(AP {ours[0]:.4f} and {theirs[0]:.4f})", flush=True)
    return most > MOST_OF_PRECISION


def check_depth(build, checkpoint, folder):
    run(build / "evaluate", checkpoint, "--dataset", "rooms", "--json", folder / "scores.json", "--output", folder / "scores")
    rows = json.loads((folder / "scores.json").read_text())["results"]
    (ours,) = [row["rmse"] for row in rows if row["predictor"] == "model"]
    session, rooms = exported(build, checkpoint, folder), set_in(build, "dataset", "rooms", folder)
    squares = pixels = 0
    for picture, depth in zip(rooms["images"], rooms["depth"][..., 0], strict=True):
        (found,) = session.run(None, {"image": picture[None]})
        known = (depth >= LEAST_DEPTH) & (depth <= MOST_DEPTH)
        metres = np.clip(found[0].astype(np.float64), LEAST_DEPTH, MOST_DEPTH)
        squares += np.square(metres - depth)[known].sum()
        pixels += known.sum()
    theirs = float(np.sqrt(squares / pixels))
    is_near = abs(ours - theirs) <= MOST_OF_RMSE
    print(f"{'ok  ' if is_near else 'FAIL'} {checkpoint}: RMSE {ours:.6f} and {theirs:.6f}", flush=True)
    return not is_near


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--detector", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--depth", type=pathlib.Path, action="append", default=[])
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        wrong += sum(check_detector(options.build, checkpoint, folder) for checkpoint in options.detector)
        wrong += sum(check_depth(options.build, checkpoint, folder) for checkpoint in options.depth)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
