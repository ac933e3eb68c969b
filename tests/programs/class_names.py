#!/usr/bin/env python3
"""Runs the programs on the same pictures under other class names, in other orders and in parts, and on lists in the
formats of other programs: results for each class must stay the same, or the input be rejected with advice.

    tests/programs/class_names.py [--build build]

Prints a table; exits 1 if something failed.
"""
import json
import os
import shutil
import sys

from checks import Checks, build_of, in_one_line
from formats import plain_png, read_safetensors, safetensors
from tiny_training import tiny_model

CLASSES = 12
PLANTS = ["apple", "bay", "cedar", "dill", "elm", "fig", "grape", "hop", "iris", "juniper", "kale", "lime, sweet"]
NUMBERS = [str(k) for k in range(CLASSES)]
TRAINING = [*tiny_model("train_cifar"), "--dataset", "folder", "--index-cache", "none", "--batch-size", "12", "--epochs",
            "60", "--warmup-epochs", "0", "--lr", "3e-3", "--mixup", "0", "--cutmix", "0", "--smoothing", "0", "--aa",
            "none", "--workers", "0", "--threads", "1", "--no-report"]


def color(label, i):
    return [(label * 67 + 5 * i) % 256, (label * 131 + 90 + 7 * i) % 256, (label * 29 + 150 + 3 * i) % 256]


class Table(Checks):
    def pictures(self, name, names, splits=("val",), labels=None):
        """Class folders of these names; names[i] contains the pictures of label i."""
        root = self.folder / name
        for split in splits:
            for label, called in zip(labels or range(CLASSES), names):
                (root / split / called).mkdir(parents=True)
                for i in range(2):
                    (root / split / called / f"{i}.png").write_bytes(plain_png(*color(label, i)))
        return root

    def train(self, output, data, *flags):
        result = self.run("train_cifar", *TRAINING, "--data-dir", data, "--output", output, *flags)
        if result.returncode != 0:
            self.note(f"training {output.name}", result.stderr)
        return result.stdout

    def evaluate(self, model, data, *flags):
        """The result as JSON and the output; None and the error if it was rejected."""
        path = self.folder / "evaluated.json"
        path.unlink(missing_ok=True)
        result = self.run("evaluate", model, "--dataset", "folder", "--data-dir", data, "--json", path, "--output",
                          self.folder / "out", "--workers", "0", *flags)
        if result.returncode != 0:
            return None, result.stderr
        return json.loads(path.read_text())["results"][0], result.stdout + result.stderr


def as_hub(run, folder, **said):
    """A run's weights in timm's folder layout, without fovea's metadata."""
    folder.mkdir()
    tensors, known = read_safetensors(run / "last.safetensors")
    shown = {key: json.loads(known[key]) for key in ("mean", "std", "crop_pct")}
    shown |= {key: known[key] for key in ("crop_mode", "interpolation")}
    (folder / "model.safetensors").write_bytes(safetensors(tensors))
    sizes = {"patch_size": 8, "embed_dim": 24, "depth": 1, "num_heads": 2, "img_size": 32}
    (folder / "config.json").write_text(json.dumps(
        {"architecture": "vit_tiny_patch16_224", "num_classes": CLASSES, "model_args": sizes,
         "pretrained_cfg": {"input_size": [3, 32, 32], **shown}, **said}))
    return folder


def rows_of(result):
    return [(row["images"], row["correct"]) for row in result["classes"]]


def compare(table, what, got, expected, by, classes=None):
    """Checks that `got` has the per-class results of `expected`, with the expected matching."""
    result, said = got
    if result is None:
        return table.note(what, said)
    rows = rows_of(result)
    wrong = [k for k in classes or range(CLASSES) if rows[k] != expected[k]]
    problem = f"classes {wrong} differ: {rows}, expected {expected}" if wrong else ""
    counts = {"by": by, "classes": len(classes or NUMBERS), "of": CLASSES}
    table.note(what, problem or ("" if result["matched"] == counts else result["matched"]))
    return None


def refused(table, what, got, *words):
    result, said = got
    missing = [word for word in words if word not in said]
    table.note(what, "it was not refused" if result else f"{missing} not in {said}" if missing else "")


def evaluations(table, run, expected):
    part = [2, 5, 11]
    turned = list(reversed(range(CLASSES)))
    other = table.pictures("turned", [f"{k:02d}" for k in range(CLASSES)], labels=turned)
    lines = table.folder / "map.txt"
    lines.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(f"{11 - k:02d}" for k in range(CLASSES)).encode())
    compare(table, "a part of the classes", table.evaluate(run, table.pictures(
        "part", [PLANTS[k] for k in part], labels=part)), expected, "name", part)
    compare(table, "folders with other names, by a class map", table.evaluate(run, other, "--class-map", lines), expected,
            "order")
    strange = table.pictures("strange", ["bay", "cedar", "moss"], labels=[1, 2, 3])
    refused(table, "a class that the model does not know", table.evaluate(run, strange), '"moss"', "--class-map")
    lines.write_text('"bay"\n"cedar"\n')
    compare(table, "the same, left out by a class map", table.evaluate(run, strange, "--class-map", lines), expected,
            "name", [1, 2])
    compare(table, "chosen classes", table.evaluate(run, table.folder / "plants", "--classes", '"lime, sweet",bay'),
            expected, "name", [1, 11])


def hubs(table, run, expected):
    numbered = table.pictures("numbered", NUMBERS, ("train", "val"))
    some = table.pictures("some numbers", ["0", "1", "10", "11", "2"], labels=[0, 1, 10, 11, 2])
    ids = [f"n{k:08d}" for k in range(CLASSES)]
    synsets = table.pictures("synsets", ids)
    for name, said in (("without names", {}), ("named by numbers", {"label_names": NUMBERS})):
        hub = as_hub(run, table.folder / name, **said)
        compare(table, f"a hub {name}: folders that are numbers", table.evaluate(hub, numbered), expected, "number")
        compare(table, f"a hub {name}: some of them", table.evaluate(hub, some), expected, "number", [0, 1, 10, 11, 2])
    got = table.evaluate(hub, table.folder / "plants")
    compare(table, "a hub without names: folders in their order", got, expected, "order")
    table.note("which is said", "" if "does not name its classes" in got[1] else got[1])
    refused(table, "a hub without names: fewer folders", table.evaluate(hub, table.folder / "part"), "12", "--class-map")
    described = as_hub(run, table.folder / "described", label_names=ids, label_descriptions=dict(zip(ids, PLANTS)))
    compare(table, "a hub with descriptions: synset ids", table.evaluate(described, synsets), expected, "name")
    compare(table, "a hub with descriptions: the words", table.evaluate(described, table.folder / "plants"), expected,
            "name")


def fine_tuning(table, run):
    said = table.train(table.folder / "again", table.folder / "plants", "--finetune", run, "--max-steps", "1")
    table.note("fine-tuning onto the same classes", "its head" in said and said)
    renamed = table.pictures("renamed", [*PLANTS[:-1], "moss"], ("train", "val"))
    said = table.train(table.folder / "anew", renamed, "--finetune", run, "--max-steps", "1")
    table.note("fine-tuning onto other classes of the same number", "" if "it is reinitialised" in in_one_line(said) else said)
    lines = table.folder / "turned.txt"
    lines.write_text("\n".join(reversed(PLANTS)))
    said = table.train(table.folder / "moved", table.folder / "plants", "--class-map", lines, "--finetune", run, "--max-steps", "1")
    table.note("fine-tuning onto the same classes in another order", "" if "in another order" in in_one_line(said) else said)


def predictions(table, run):
    pictures = sorted((table.folder / "plants/val").glob("*/0.png"))
    alone = table.run("predict", *pictures, "--checkpoint", run, "--format", "csv", errors=None).stdout
    table.note("predict names classes by the run", "" if b",model" in alone else alone)
    names = [os.fsencode(p) for p in pictures]
    for what, text in (("NULs", b"\0".join(names) + b"\0"), ("a byte-order mark", b"\xef\xbb\xbf" + b"\r\n".join(names)),
                       ("quotes", b"\n".join(b'"' + n + b'"' for n in names))):
        result = table.run("predict", "-", "--checkpoint", run, "--format", "csv", input=text, errors=None)
        table.note(f"predict: a list with {what}", "" if result.stdout == alone else result.stderr)
    hub, lines = table.folder / "without names", table.folder / "names.txt"
    lines.write_text("\n".join(PLANTS))
    flags = ["--checkpoint", hub, "--format", "json", "--topk", "12"]
    bare = json.loads(table.run("predict", pictures[0], *flags).stdout)
    named = json.loads(table.run("predict", pictures[0], *flags, "--class-map", lines).stdout)
    table.note("predict: nobody names the classes", "" if bare["named_by"] == "none" else bare)
    wrong = [c for c in named["pictures"][0]["classes"] if c["name"] != PLANTS[c["index"]]]
    table.note("predict: a class map names them", wrong or ("" if "class map" in named["named_by"] else named))
    lines.write_text("moss\n")
    result = table.run("predict", pictures[0], *flags, "--class-map", lines)
    table.note("predict: a class map of another size",
               "" if result.returncode == 1 and "12" in result.stderr else result)


def main():
    with Table(build_of(__doc__)) as table:
        run = table.folder / "run"
        data = table.pictures("plants", PLANTS, ("train", "val"))
        table.train(run, data)
        result, said = table.evaluate(run, data, "--last")
        if result is None:
            sys.exit(f"error: the evaluation that the others are compared with failed: {said}")
        shutil.copy(run / "last.safetensors", run / "best.safetensors")
        expected = rows_of(result)
        right = sum(correct for _, correct in expected)
        table.note("the run tells its classes apart", "" if right >= CLASSES else f"{right} of {2 * CLASSES} pictures")
        compare(table, "a run on its own data", (result, said), expected, "name")
        evaluations(table, run, expected)
        hubs(table, run, expected)
        fine_tuning(table, run)
        predictions(table, run)
    return table.exit_code()


if __name__ == "__main__":
    sys.exit(main())
