#!/usr/bin/env python3
"""One folder of class folders, a hub's folder, and one command: ./run train_imagenet --data-dir PICTURES --finetune HUB.

    tests/programs/finetuning.py [--build build]

Checks the first screen, the split into training and validation images, and that resumed runs and `evaluate` see the
same split. Prints a table; exits 1 if something failed.
"""
import json
import sys

from checks import build_of
from class_names import Table, as_hub, color
from formats import plain_png
from small_data import small_coco
from tiny_training import tiny_model

NAMES = ["ash", "birch", "cedar"]
PER_CLASS = 12
SHORT = ["--index-cache", "none", "--workers", "0", "--threads", "1", "--no-report"]


def add_pictures(folder, first, last):
    for label, name in enumerate(NAMES):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(first, last):
            (folder / name / f"{i}.png").write_bytes(plain_png(*color(label, i)))


def make_hub(table, folder, **said):
    """A small model in hub layout, trained a little on the same classes."""
    run = table.folder / "first"
    table.train(run, table.folder / "pictures", "--val-fraction", "0.2", "--epochs", "1")
    return as_hub(run, folder, num_classes=len(NAMES), **said)


def train(table, *flags):
    result = table.run("train_imagenet", *SHORT, *flags)
    return result.returncode, result.stdout + result.stderr


def said(table, what, text, *words):
    missing = [word for word in words if word not in text]
    table.note(what, f"no {missing} in {text}" if missing else "")


def images_in(text):
    """("32", "4") of the line "data      folder, 32 + 4 images, 3 classes"."""
    line = next((line for line in text.splitlines() if line.startswith("data ")), "data x, ? + ? x")
    return line.split()[2], line.split()[4]


def check_start(table, hub, pictures):
    run = table.folder / "run"
    _, text = train(table, "--data-dir", pictures, "--finetune", hub, "--output", run, "--epochs", "2")
    said(table, "the first screen says the recipe, the model, and the split", text, "recipe finetune",
         "whose config.json sets", "vit_tiny_patch16_224", "img-size 32", "embed-dim 24", "mean ", "val-fraction 0.1",
         "no folders train and val", "instead of the recipe's 32, because an epoch has 3")
    head = text.split("whose config.json sets")[0]
    table.note("it shows no other setting", "layer-decay" in head or "mean" in head and head)
    table.note("and fits a terminal of 24 lines", len(text.split("\nrun ")[0].splitlines()) > 24 and text)
    kept = "reinitialised" in text and text
    table.note("a head for the same classes is kept", kept)
    return run, text


def check_resume(table, hub, pictures, run, text):
    moved = hub.rename(hub.with_name("gone"))
    code, again = train(table, "--resume", "auto", "--output", run, "--epochs", "3")
    table.note("without the hub's folder a run is resumed, on the same split",
               code != 0 and again or ("" if images_in(again) == images_in(text) else again))
    moved.rename(hub)
    evaluated = table.folder / "evaluated.json"
    result = table.run("evaluate", run, "--json", evaluated, "--output", table.folder / "out", "--workers", "0")
    seen = str(json.loads(evaluated.read_text())["results"][0]["images"]) if result.returncode == 0 else result.stderr
    table.note("evaluate sees the validation images", "" if seen == images_in(text)[1] else seen)
    add_pictures(pictures, PER_CLASS, PER_CLASS + 6)
    code, grown = train(table, "--resume", "auto", "--output", run, "--epochs", "4")
    table.note("a grown folder is another training set to resume on", code == 0 and grown)
    _, fresh = train(table, "--data-dir", pictures, "--finetune", hub, "--output", table.folder / "fresh", "--epochs", "1")
    table.note("and trains anew", "" if "done in" in fresh else fresh)


def check_recipes(table, hub, pictures):
    config = table.folder / "own.json"
    config.write_text('{"epochs": 1, "batch-size": 8, "warmup-epochs": 0, "aug-repeats": 0}')
    for what, flags, word in [("a hub's folder with --config", ["--finetune", hub, "--config", config], "recipe imagenet_deit_tiny"),
                              ("a flag overrides config.json", ["--finetune", hub, "--mean", "0.1,0.2,0.3"], "mean 0.1,0.2,0.3"),
                              ("--batch-size that fits", ["--finetune", hub, "--batch-size", "16"], "batch-size 16")]:
        _, text = train(table, "--data-dir", pictures, "--output", table.folder / what, "--epochs", "1", *flags)
        said(table, what, text, word, "done in")
    file = hub / "model.safetensors"
    _, text = train(table, "--data-dir", pictures, "--output", table.folder / "of a file", "--finetune", file, "--model",
                    "vit_tiny_patch8_32", "--embed-dim", "24", "--depth", "1", "--num-heads", "2", "--epochs", "1", "--warmup-epochs", "0")
    said(table, "a file keeps the recipe of the data set, with a batch that fits", text, "recipe imagenet_deit_tiny",
         "instead of the recipe's 1024", "done in")
    code, text = train(table, "--data-dir", pictures, "--finetune", hub, "--batch-size", "1000")
    table.note("a batch that is too large is an error with one that fits", "" if code == 2 and " fits" in text else text)


def check_detector(table):
    """A detector of drawn shapes, fine-tuned on COCO's form of a set with other classes."""
    flags = [*tiny_model("train_detection"), "--epochs", "1", "--warmup-epochs", "0", *SHORT]
    small_coco(table.folder / "coco")
    table.run("train_detection", *flags, "--fraction", "0.05", "--output", table.folder / "shapes")
    result = table.run("train_detection", *flags, "--batch-size", "8", "--dataset", "coco", "--data-dir", table.folder / "coco",
                       "--finetune", table.folder / "shapes", "--output", table.folder / "boxes")
    text = result.stdout + result.stderr
    said(table, "a detector's class head is reinitialised for other classes", text, "[6, 32]", "[4, 32]",
         "reinitialised", "done in")
    table.note("its boxes are kept", text if "bbox_embed" in text else "")


def check_small_set(table):
    """Both kinds of detectors learn the classes of a small set by the recipe for it."""
    from_run = ["--dataset", "coco", "--data-dir", table.folder / "coco", *SHORT, "--finetune"]
    run = table.folder / "small"
    table.run("train_detection", *from_run, table.folder / "shapes", "--epochs", "6", "--decay-epochs", "5", "--output", run)
    lines = (run / "log.csv").read_text().splitlines() if run.exists() else []
    column = lines[0].split(",").index("eval_ap") if lines else 0
    ap = [float(line.split(",")[column] or 0) for line in lines[1:]]
    table.note("AP of a small set rises", "" if len(ap) == 6 and ap[-1] > ap[0] else str(ap))
    detr = ["--model", "detr_tiny_scenes", "--enc-layers", "1", "--dec-layers", "1", "--num-queries", "5", "--model-args",
            '{"d_model": 32, "stem": 4, "planes": [4, 8]}', "--lr-scale", "", "--epochs", "1", "--warmup-epochs", "0"]
    table.run("train_detection", *detr, *SHORT, "--fraction", "0.002", "--output", table.folder / "detr")
    result = table.run("train_detection", *from_run, table.folder / "detr", "--epochs", "1", "--output", table.folder / "of detr")
    said(table, "rates of the recipe fit DETR, too", result.stdout + result.stderr, "recipe detection_finetune", "done in")


def with_large_ids(folder):
    """The set with category ids from 5001 on."""
    for split in ("train2017", "val2017"):
        path = folder / f"annotations/instances_{split}.json"
        text = json.loads(path.read_text())
        for category in text["categories"]:
            category["id"] += 5000
        for annotation in text["annotations"]:
            annotation["category_id"] += 5000
        path.write_text(json.dumps(text))


def check_run_gives_model(table):
    """A detector's run without any flag of its model, on a set with large ids; predictions carry them."""
    coco, run = table.folder / "coco", table.folder / "mine"
    with_large_ids(coco)
    short = ["--dataset", "coco", "--data-dir", coco, "--finetune", table.folder / "shapes", "--epochs", "1", *SHORT]
    result = table.run("train_detection", *short, "--batch-size", "8", "--compact-ids", "--output", run)
    said(table, "a detector's run gives model, preprocessing and recipe", result.stdout + result.stderr, "recipe detection_finetune",
         "a run's, which sets", "deformable_detr_tiny_scenes", "done in")
    result = table.run("train_depth", "--finetune", run, "--epochs", "1", *SHORT, "--output", table.folder / "no")
    said(table, "a run of another task is refused by what it is not", result.stderr, "is of a detector, expected of a depth model", "--model")
    found, ids = table.folder / "found.json", coco / "annotations/instances_val2017.json"
    picture = coco / "val2017/000000000003.png"
    result = table.run("predict", run, picture, "--json", found, "--annotations", ids, "--pictures", table.folder / "drawn")
    boxes = json.loads(found.read_text()) if result.returncode == 0 else []
    right = {box["category_id"] for box in boxes} == {5001, 5002, 5003} and {box["image_id"] for box in boxes} == {3}
    table.note("predictions carry the ids of the files", "" if right else (result.stderr or boxes[:3]))
    result = table.run("evaluate", run, "--output", table.folder / "numbers", "--workers", "0")
    boxes = json.loads((table.folder / "numbers/detections.json").read_text()) if result.returncode == 0 else []
    table.note("and so do the detections of evaluate", "" if {box["category_id"] for box in boxes} == {5001, 5002, 5003}
               else result.stderr or boxes[:3])
    stray = table.folder / "pictures/ash/0.png"
    result = table.run("predict", run, stray, "--json", found, "--annotations", ids)
    said(table, "a picture without an id is named", result.stderr, "ash/0.png", "no id")


def check_doors(table, hub):
    picture = table.folder / "pictures/ash/0.png"
    result = table.run("predict", hub, picture)
    said(table, "predict takes a hub's folder before the pictures", result.stdout + result.stderr, "ash/0.png", "%")
    result = table.run("predict", hub)
    said(table, "predict with a model alone asks for pictures", result.stderr, "expected pictures or folders of pictures after it")
    vae, latents = table.folder / "vae", table.folder / "latents.safetensors"
    table.run("train_vae", *tiny_model("train_vae"), "--max-steps", "2", "--batch-size", "8", *SHORT, "--output", vae)
    result = table.run("encode", "--vae", vae, "--fraction", "0.005", "--workers", "0", "--output", latents)
    said(table, "encode takes the images of the VAE's run", result.stdout + result.stderr, "those of the VAE's run, builtin")
    result = table.run("train_diffusion", "--dataset", "latents", "--data-dir", latents, "--model", "dit_s_2", "--embed-dim", "24",
                       "--depth", "1", "--num-heads", "2", "--batch-size", "4", "--max-steps", "2", "--num-sampling-steps", "2",
                       *SHORT, "--output", table.folder / "dit")
    table.note("a model of latents has their channels and size", result.stderr if result.returncode else "")


def main():
    with Table(build_of(__doc__)) as table:
        pictures = table.folder / "pictures"
        add_pictures(pictures, 0, PER_CLASS)
        hub = make_hub(table, table.folder / "hub", label_names=NAMES)
        run, text = check_start(table, hub, pictures)
        check_recipes(table, hub, pictures)
        check_resume(table, hub, pictures, run, text)
        check_detector(table)
        check_small_set(table)
        check_run_gives_model(table)
        check_doors(table, hub)
    return table.exit_code()


if __name__ == "__main__":
    sys.exit(main())
