#!/usr/bin/env python3
"""Sets with boxes and depths that are readable but doubtful: what is said of them, and what the numbers are.

    tests/programs/doubtful_sets.py [--build build]

Prints a line for each check; exits 1 if something failed.
"""
import csv
import json
import resource
import struct
import sys
import zlib

from checks import Checks, build_of
from formats import plain_png, read_safetensors
from small_data import small_coco, small_depth
from tiny_training import tiny_model

QUICK = ["--batch-size", "8", "--epochs", "1", "--warmup-epochs", "0", "--workers", "0", "--threads", "1", "--no-report"]


def train(checks, program, kind, data, output, *flags):
    return checks.run(program, *tiny_model(program), *QUICK, "--dataset", kind, "--data-dir", data, "--output", output, *flags)


def evaluate(checks, model, *flags):
    """The ended process and the JSON that it writes."""
    path = checks.folder / "results.json"
    path.unlink(missing_ok=True)
    done = checks.run("evaluate", model, "--json", path, "--output", checks.folder / "tables", *flags)
    return done, json.loads(path.read_text()) if path.exists() else {"results": [{}]}


def last_row(run):
    return list(csv.DictReader((run / "log.csv").open()))[-1]


def change_annotations(data, change):
    """Calls change(annotation, its place) for each of the validation images."""
    path = data / "annotations/instances_val2017.json"
    text = json.loads(path.read_text())
    for k, annotation in enumerate(text["annotations"]):
        change(annotation, k)
    path.write_text(json.dumps(text))


def check_boxes(checks):
    data, run = checks.folder / "coco", checks.folder / "boxes"
    small_coco(data)
    change_annotations(data, lambda a, k: a.update(iscrowd=k % 2))
    done = train(checks, "train_detection", "coco", data, run, "--num-queries", "1")
    checks.that("crowds of the test images, queries and pictures of both parts are noted before training", all(
        word in done.stdout for word in ("test images: 8 of 16 objects are crowds", "have over 1 objects; --num-queries 2",
                                         "test pictures are also training pictures")), done)
    done, found = evaluate(checks, run)
    checks.that("evaluate keeps its notes in the JSON", any("8 of 16 objects are crowds" in n for n in found.get("notes", [])), done)
    sound = sum(c["objects"] for c in found["results"][0].get("categories", []))
    cut = data / "val2017/000000000003.png"
    cut.write_bytes(cut.read_bytes()[:60])
    done, found = evaluate(checks, run, "--on-bad-image", "skip")
    checks.that("objects of a broken picture do not count", sum(
        c["objects"] for c in found["results"][0].get("categories", [])) == sound - 1, done)


def check_no_objects(checks):
    data, run = checks.folder / "crowds", checks.folder / "none"
    small_coco(data)
    change_annotations(data, lambda a, k: a.update(iscrowd=1))
    done = train(checks, "train_detection", "coco", data, run)
    row = last_row(run) if done.returncode == 0 else {}
    checks.that("without objects AP is empty in the log and no epoch is the best", row.get("eval_ap") == "" and
                not (run / "best.safetensors").exists() and "no best epoch" in done.stdout and "besides crowds" in done.stdout, done)


def check_depth(checks):
    data, run = checks.folder / "pairs", checks.folder / "depth"
    small_depth(data)
    done = train(checks, "train_depth", "depth_pairs", data, run, "--fraction", "0.25", "--depth-scale", "100")
    checks.that("the first screen shows the range of depths and the scale", "depths in 10 maps: " in done.stdout and
                "(--depth-scale 100)" in done.stdout, done)
    settings = json.loads((run / "config.json").read_text())
    checks.that("a new run has no upper limit", settings["protocol"] == "full+most=none", str(settings["protocol"]))
    logged = last_row(run)
    done, found = evaluate(checks, run)
    rows = {row["predictor"]: row for row in found["results"] if row}
    checks.that("evaluate has the run's scale, limit and baselines of its fraction", bool(rows) and all(
        abs(rows[predictor]["rmse"] - float(logged[column])) < 1e-6 * float(logged[column]) for predictor, column in
        (("model", "eval_rmse"), ("train median", "eval_rmse_of_median"), ("per-pixel mean", "eval_rmse_of_mean"))), done)
    checks.that("the share of pixels that count stands under the table", "% of the pixels count" in done.stdout, done)
    report = checks.run("report", run)
    text = (run / "report.html").read_text() if report.returncode == 0 else ""
    checks.that("the run's report evaluates it", "evaluated on" in text and "Not evaluated" not in text, report)
    done, found = evaluate(checks, run, "--protocol", "least=900+most=999")
    checks.that("where no pixel counts there are dashes and no RMSE", "no pixel counts" in done.stdout and
                "rmse" not in found["results"][0], done)


def turned(picture, orientation):
    """The file of a picture with an EXIF orientation."""
    chunk = b"eXIf" + struct.pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, 0x0112, 3, 1, orientation, 0, 0)
    return picture[:33] + struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) + picture[33:]


def check_turned_packs(checks):
    """Weights know that the pictures of their pack were turned, also where it stores no files."""
    data = checks.folder / "turned"
    for k in range(8):
        for folder in ("train/a", "train/b", "val/a", "val/b"):
            (data / folder).mkdir(parents=True, exist_ok=True)
            (data / folder / f"{k}.png").write_bytes(turned(plain_png(9 * k, 99, 9), 6))
    for store in ("files", "pixels"):
        packs, run = checks.folder / f"packs of {store}", checks.folder / f"on {store}"
        checks.must_run("pack", "--data-dir", data, "--output", packs, "--store", store, "--exif-orientation", "apply")
        done = train(checks, "train_cifar", "pack", packs, run)
        metadata = read_safetensors(run / "last.safetensors")[1] if done.returncode == 0 else {}
        checks.that(f"weights trained on a pack of turned {store} say that they are", metadata.get("exif_orientation") == "apply", done)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def check_long_picture(checks):
    long = checks.folder / "long.png"
    long.write_bytes(plain_png(200, 10, 10, width=30000, height=2))
    done = checks.run("predict", long, "--checkpoint", checks.folder / "depth", "--output", checks.folder / "predicted", "--crop-mode", "center",
                      preexec_fn=limit_memory)
    checks.that("a picture of 2 x 30,000 fits in 1 GB", done.returncode == 0, done)


def main():
    with Checks(build_of(__doc__)) as checks:
        check_boxes(checks)
        check_no_objects(checks)
        check_depth(checks)
        check_turned_packs(checks)
        check_long_picture(checks)
        return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
