#!/usr/bin/env python3
"""Stops runs, changes their data and resumes them; and distils from stored logits of the same and of other images.

    tests/programs/resumed_data.py [--build build]

Resuming on other images must end with one line that names the first difference and --accept-other-images, which
allows it; likewise for a run with a teacher's logits of other images. Prints a table; exits 1 if something failed.
"""
import shutil
import struct
import sys

from checks import Checks, build_of, in_one_line, problem_of_error
from formats import plain_png, safetensors
from tiny_training import tiny_model

FLAG = "--accept-other-images"
CLASSES = ["ant", "bee", "cat"]
TRAIN = [*tiny_model("train_cifar"), "--img-size", "32", "--batch-size", "4", "--warmup-epochs", "0", "--workers", "0",
         "--threads", "1", "--mixup", "0", "--cutmix", "0", "--no-report"]


def class_folders(root, copies=6):
    """Gray pictures: each class has its own level, each picture its own low bits."""
    for split in ("train", "val"):
        for k, name in enumerate(CLASSES):
            (root / split / name).mkdir(parents=True)
            for i in range(copies):
                (root / split / name / f"{i}.png").write_bytes(plain_png(40 + 80 * k + i))
    return root


def tar_member(name, content):
    header = bytearray(512)
    for at, text in [(0, name.encode()), (100, b"0000644"), (124, b"%011o" % len(content)), (136, b"0" * 11),
                     (148, b" " * 8), (156, b"0"), (257, b"ustar\00000")]:
        header[at:at + len(text)] = text
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + content + bytes(-len(content) % 512)


def shards(root, source, order):
    """The pictures of class folders, in the order returned by a function of their list."""
    root.mkdir()
    for split in ("train", "val"):
        files = [(k, file) for k, name in enumerate(CLASSES) for file in sorted((source / split / name).iterdir())]
        members = b"".join(tar_member(f"{i:03}.png", file.read_bytes()) + tar_member(f"{i:03}.cls", b"%d" % k)
                           for i, (k, file) in enumerate(order(files)))
        (root / f"{split}-0.tar").write_bytes(members + bytes(1024))
    return root


def write_logits(path, labels):
    rows = [struct.pack("<3f", *(20.0 * (k == label) for k in range(3))) for label in labels]
    path.write_bytes(safetensors({"logits": ("F32", [len(rows), 3], b"".join(rows))}))
    return path


class Table(Checks):
    def refused(self, what, words, *command):
        self.note(what, problem_of_error(self.run(*command), *words, FLAG, codes=[1]))

    def accepted(self, what, words, *command):
        result = self.run(*command)
        missing = [word for word in words if word not in in_one_line(result.stdout)]
        self.note(what, f"{result.returncode}, not said: {missing}: {result.stdout}{result.stderr}"
                  if result.returncode or missing else "")


def rename(old, new):
    return lambda root: (root / "train" / old).rename(root / "train" / new)


# Changes to the class folders, each with texts that the error must contain.
CHANGES = {
    "a class is renamed": (lambda root: [(root / s / "bee").rename(root / s / "dog") for s in ("train", "val")],
                           ['class 1 is "cat" and was "bee"']),
    "a class is added": (lambda root: shutil.copytree(root / "train/ant", root / "train/bat"),
                         ['4 classes, 3 before: class 1 is "bat" and was "bee"']),
    "a picture is added": (lambda root: (root / "train/bee/00.png").write_bytes(plain_png(1)),
                           ['class "bee" has 7 images, 6 before', "train/bee/00.png"]),
    "twenty are added": (lambda root: [(root / f"train/cat/x{i}.png").write_bytes(plain_png(i)) for i in range(20)],
                         ['class "cat" has 26 images, 6 before', "train/cat/x0.png"]),
    "a picture is removed": (lambda root: (root / "train/cat/5.png").unlink(),
                             ['class "cat" has 5 images, 6 before', "ends with image 16"]),
    "a picture is renamed": (rename("bee/3.png", "bee/33.png"), ["differing image is 9", "train/bee/33.png"]),
    "a picture moves to another class": (rename("bee/3.png", "ant/33.png"), ['class "ant" has 7 images, 6 before']),
    "a test picture is renamed": (lambda root: (root / "val/ant/0.png").rename(root / "val/ant/9.png"),
                                  ["test images", "val/ant/1.png"]),
}


def resumes(table):
    source = class_folders(table.folder / "folders")
    started = table.folder / "started"
    command = ["train_imagenet", *TRAIN, "--data-dir", source, "--index-cache", "none", "--epochs", "3"]
    result = table.run(*command, "--max-steps", "6", "--output", started)
    table.note("a run is stopped", result.stderr)
    for what, (change, words) in CHANGES.items():
        data, run = table.folder / f"data, {what}", table.folder / f"run, {what}"
        shutil.copytree(source, data)
        shutil.copytree(started, run)
        there = ["--data-dir", data, "--index-cache", "none", "--resume", "auto", "--output", run, "--max-steps", "0"]
        change(data)
        table.refused(f"resume: {what}", words, "train_imagenet", *there)
        if what not in ("a class is added", "a class is renamed"):
            table.accepted(f"resume: {what}, accepted", ["images differ from the saved run", words[0]],
                           "train_imagenet", *there, FLAG)
    data, run = table.folder / "moved", table.folder / "run, moved"
    shutil.copytree(source, data)
    shutil.copytree(started, run)
    result = table.run("train_imagenet", "--data-dir", data, "--index-cache", "none", "--resume", "auto", "--output", run,
                       "--max-steps", "0")
    table.note("resume: the same images elsewhere", result.stderr or "images" * ("differ from" in result.stdout))


def evaluations_that_fail(table):
    """Broken validation pictures end the program, and a resume evaluates the epoch first, with the same weights."""
    data = class_folders(table.folder / "broken")
    train = ["train_imagenet", *TRAIN, "--data-dir", data, "--index-cache", "none", "--epochs", "1"]
    whole, run = table.folder / "unbroken run", table.folder / "broken run"
    table.must_run(*train, "--output", whole)
    pictures = {path: path.read_bytes() for path in (data / "val").rglob("*.png")}
    for path, content in pictures.items():
        path.write_bytes(content[:30])
    table.note("an evaluation of broken pictures fails", problem_of_error(table.run(*train, "--output", run), codes=[1]))
    table.that("its epoch is saved", (run / "state.safetensors").exists() and not (run / "best.safetensors").exists())
    for path, content in pictures.items():
        path.write_bytes(content)
    table.accepted("a resume evaluates first", [f"{run}, from step 4"], *train, "--output", run, "--resume", "auto")
    for name in ("last", "best"):
        same = (run / f"{name}.safetensors").read_bytes() == (whole / f"{name}.safetensors").read_bytes()
        table.that(f"{name} is that of a run whose evaluation did not fail", same)
    kept = table.run("evaluate", run)
    next(iter(pictures)).unlink()
    done = table.run("evaluate", run)
    table.that("evaluate says that validation pictures are not those of training", "not those of the training" in done.stdout and
               "not those of" not in kept.stdout, done)


def elsewhere(table):
    """A run continues in another folder; relative data are found from another one; weights know what was held out."""
    data = class_folders(table.folder / "there/data")
    class_folders(table.folder / "here/data", copies=4)
    train = ["train_imagenet", *TRAIN, "--data-dir", "data", "--index-cache", "none", "--val-fraction", "0.4"]
    run, new = table.folder / "first folder", table.folder / "second folder"
    table.must_run(*train, "--epochs", "2", "--output", run, cwd=table.folder / "there")
    found = table.run("evaluate", run, cwd=table.folder / "here")
    table.that("evaluate takes the pictures of training and says so",
               found.returncode == 0 and f"the images are those of {data}" in found.stdout and "not those of" not in found.stdout, found)
    shown = table.run("inspect", "attention", run, "--count", "1", cwd=table.folder / "here")
    table.that("inspect takes the pictures of training", shown.returncode == 0 and f"wrote {run}/inspect/" in shown.stdout, shown)
    other = table.run("evaluate", run, "--data-dir", "data", cwd=table.folder / "here")
    table.that("evaluate notes other held-out pictures", "held out here are not those of the training run" in other.stdout, other)
    lost = table.folder / "copied.safetensors"
    shutil.copy(run / "best.safetensors", lost)
    copied = table.run("evaluate", lost, "--data-dir", data)
    table.that("copied weights hold out the same",
               "--val-fraction 0.4 holds out" in copied.stdout and "not those of" not in copied.stdout, copied)
    done = table.run("train_imagenet", "--resume", run, "--output", new, "--epochs", "3", cwd=table.folder / "here")
    again = table.run(*train, "--epochs", "3", "--output", new, "--resume", "auto", cwd=table.folder / "there")
    table.that("the same folder of data is no changed setting", "setting changed" not in again.stdout, again)
    rows = (new / "log.csv").read_text().splitlines()
    table.that("a run continues in another folder with its log and best weights", done.returncode == 0 and len(rows) == 4
               and rows[1:3] == (run / "log.csv").read_text().splitlines()[1:] and (new / "best.safetensors").exists(), done)
    table.accepted("other held-out pictures than those of the first weights", ["images that this run holds out", "--seed 42"],
                   *train, "--epochs", "1", "--data-dir", data, "--finetune", lost, "--seed", "9", "--output", table.folder / "leak")


def teachers(table):
    folders = class_folders(table.folder / "taught")
    same = shards(table.folder / "same order", folders, list)
    other = shards(table.folder / "other order", folders, lambda files: files[1::2] + files[::-2])
    teacher = table.folder / "teacher"
    table.run("train_imagenet", *TRAIN, "--data-dir", folders, "--index-cache", "none", "--epochs", "30", "--output", teacher)
    recorded, val = table.folder / "recorded.safetensors", table.folder / "val.safetensors"
    for split, path in (("train", recorded), ("val", val)):
        result = table.run("evaluate", teacher, "--data-dir", folders, "--dataset", "auto", "--split", split, "--logits", path)
        table.note(f"logits of {split}", result.stderr if result.returncode else "")
    sorted_labels = [k for k in range(3) for _ in range(6)]
    foreign = write_logits(table.folder / "foreign.safetensors", sorted_labels)
    runs = iter(range(100))

    def learn(data, logits, *more):
        return ["train_imagenet", *TRAIN, "--data-dir", data, "--index-cache", "none", "--epochs", "1", "--teacher-logits",
                logits, "--distillation-type", "soft", "--output", table.folder / f"student {next(runs)}", *more]
    quiet = table.run(*learn(folders, recorded))
    table.note("logits of these images", quiet.stderr or "a note" * ("recorded.safetensors:" in quiet.stdout))
    table.refused("logits of the other split", ['split "val"'], *learn(folders, val))
    table.accepted("logits of the other split, accepted", ['split "val"'], *learn(folders, val, FLAG))
    table.accepted("foreign logits in the same order", ["of 18 of its rows, 100.0 %"], *learn(folders, foreign))
    table.accepted("foreign logits, shards in the same order", ["100.0 %"], *learn(same, foreign))
    table.refused("foreign logits, shards in another order", ["in another order?", "chance is"], *learn(other, foreign))
    table.refused("recorded logits, shards in another order", ["in another order?"], *learn(other, recorded))
    table.accepted("foreign logits, accepted", ["chance is"], *learn(other, foreign, FLAG))
    (folders / "train/bee/3.png").rename(folders / "train/bee/33.png")
    table.refused("logits of a picture that was renamed", ["train/bee/33.png"], *learn(folders, recorded))
    half = ["--fraction", "0.5"]
    table.run("evaluate", teacher, "--data-dir", folders, "--dataset", "folder", "--split", "train", *half, "--logits", recorded)
    table.refused("logits of another half", ["first differing image"],
                  *learn(folders, recorded, *half, "--fraction-rule", "first"))
    table.accepted("logits of this half", [], *learn(folders, recorded, *half))


def others(table):
    """Checks the other messages before a run."""
    distilled = ["train_cifar", *TRAIN, "--model", "deit_tiny_distilled_patch4_32", "--max-steps", "2"]
    table.accepted("a distilled model without a teacher", ["mean of both heads, as in timm"], *distilled,
                   "--output", table.folder / "timm")
    table.accepted("the same by DeiT's rule", ["only the class head, as in DeiT's code"], *distilled, "--without-teacher", "deit",
                   "--output", table.folder / "deit")
    table.accepted("an average that cannot move", ["keeps 99.99 % of the initial weights"], "train_cifar", *TRAIN, "--max-steps",
                   "2", "--model-ema", "--model-ema-decay", "0.99996", "--output", table.folder / "average")
    table.accepted("other batches of the same step", ["batch-size 4 -> 2", "the same 4 images in different batches"], "train_cifar",
                   "--resume", "auto", "--output", table.folder / "average", "--batch-size", "2", "--grad-accum-steps", "2",
                   "--max-steps", "4")


def main():
    with Table(build_of(__doc__)) as table:
        for part in (resumes, evaluations_that_fail, elsewhere, teachers, others):
            part(table)
    return table.exit_code()


if __name__ == "__main__":
    sys.exit(main())
