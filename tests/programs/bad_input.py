#!/usr/bin/env python3
"""Runs the programs with invalid and malformed input and checks how they fail.

    tests/programs/bad_input.py [--build build]

Each case must end with exit code 1 or 2 within seconds, print one line on standard error that starts with
"error: " and names the problem, and leave no partial file behind. Prints a table.
"""
import io
import json
import os
import resource
import struct
import subprocess
import sys
import tarfile

from checks import ROOT, Checks, build_of, problem_of_error
from hostile_files import HOSTILE, HOSTILE_INDEX, HOSTILE_TORCH, entry, safetensors, torch_tensor, torch_zip
from latent_files import latents_file
from rejected_flags import OWN_FLAGS
from small_data import data_flags, small_data
from tiny_training import PROGRAMS, tiny_model

RECORD = 3073


class Cases(Checks):
    def __init__(self, build):
        super().__init__(build)
        self.data = self.folder / "small sets"
        small_data(self.data)

    def refused(self, what, command, word="", limit_bytes=None, codes=(1, 2)):
        """A check that a program ends in time with an error that contains the word, and leaves no unfinished file."""
        def limits():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
        before = self.unfinished()
        try:
            done = self.run(*command, timeout=120, preexec_fn=limits if limit_bytes else None)
        except subprocess.TimeoutExpired:
            return self.note(what, "did not end")
        left = self.unfinished() - before
        problem = problem_of_error(done, word, codes=codes) or (f"left {left}" if left else "")
        return self.note(what if problem else f"{what:38} {done.stderr.strip()[:150]}", problem)

    def unfinished(self):
        """Files and folders under a temporary name; os.walk, as there are thousands for each case to look at."""
        return {os.path.join(place, name) for place, folders, files in os.walk(self.folder)
                for name in (*folders, *files) if ".tmp" in name}


def train(program, *flags):
    # It looks at all boxes of a data set before the first step.
    few = ["--fraction", "0.001"] if program == "train_detection" and "--dataset" not in flags else []
    return [program, "--max-steps", "1", *tiny_model(program), "--batch-size", "8", "--workers", "0", *few, *flags]


def cifar_cases(cases, program, folder):
    records = bytes([3]) + bytes(RECORD - 1)
    for name, content, word in [("wrong size", records + b"x", "got 3074 bytes"),
                                ("truncated", records[:-1], "got 3072 bytes"), ("empty", b"", "got 0 bytes"),
                                ("label 10", bytes([10]) + bytes(RECORD - 1), "record 0 has label 10")]:
        directory = folder / f"cifar {name}"
        directory.mkdir()
        for file in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            (directory / file).write_bytes(content)
        cases.refused(f"{program}: CIFAR: {name}", train(program, "--dataset", "cifar10", "--data-dir", directory,
                                                         "--output", folder / "run"), word)
    other = folder / "cifar 100" / "cifar-100-python"
    other.mkdir(parents=True)
    (other / "train").write_bytes(b"")
    cases.refused(f"{program}: CIFAR: the other set", train(program, "--dataset", "cifar10", "--data-dir", other.parent,
                                                            "--output", folder / "run"),
                  "--dataset cifar100 reads them")
    cases.refused(f"{program}: CIFAR: no pickle", train(program, "--dataset", "cifar100", "--data-dir", other.parent,
                                                        "--output", folder / "run"), "truncated")
    cases.refused(f"{program}: CIFAR: missing directory", train(program, "--dataset", "cifar10", "--data-dir",
                                                                folder / "none", "--output", folder / "run"),
                  "no such folder")


def shard(members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def photograph_cases(cases, folder):
    """Folders and shards in unusual layouts."""
    picture, labelled = b"this is no picture", shard({"a.png": b"x", "a.cls": b"0"})
    for name, files, flags, word in [
            ("one folder of classes", {"cat/a.png": picture, "dog/a.png": picture}, [], "no class has two images"),
            ("one folder, a fraction of 0", {"cat/a.png": picture, "cat/b.png": picture}, ["--val-fraction", "0"],
             "--val-fraction 0.1"),
            ("one folder, a negative fraction", {"cat/a.png": picture, "cat/b.png": picture}, ["--val-fraction", "-0.1"],
             "--val-fraction: got -0.1"),
            ("train alone", {"train/cat/a.png": picture, "train/cat/b.png": picture}, [], "--val-fraction 0.1"),
            ("val alone", {"val/cat/a.png": picture, "val/cat/b.png": picture}, [], "has no folder train"),
            ("one picture a class", {"cat/a.png": picture}, ["--val-fraction", "0.5"], "two images"),
            ("a fraction of 1", {"cat/a.png": picture}, ["--val-fraction", "1"], "val-fraction"),
            ("test for val", {"train/cat/a.png": picture, "test/cat/a.png": picture}, [], "found test, train; --val-split"),
            ("a flat val", {"train/cat/a.png": picture, "val/a.png": picture}, [], "--val-labels FILE"),
            ("no list of labels", {"train/cat/a.png": picture, "val/a.png": picture}, ["--val-labels", "none.txt"], "--val-labels: none.txt"),
            ("labels of other pictures", {"train/cat/a.png": picture, "val/a.png": picture, "l.csv": b"b.png,cat\n"},
             ["--val-labels", "l.csv"], 'no class for the picture "a.png"'),
            ("labels counted from 0", {"train/cat/a.png": picture, "val/a.png": picture, "l.txt": b"0\n"},
             ["--val-labels", "l.txt"], "ImageNet's development kit"),
            ("CIFAR's files", {"data_batch_1.bin": b"x"}, [], "--dataset cifar10"),
            ("compressed shards", {"train-0.tar.gz": b"x", "val-0.tar": labelled}, [], "gunzip"),
            ("a compressed shard under another name", {"train-0.tar": b"\x1f\x8b\x08\0", "val-0.tar": labelled}, [], "gzip"),
            ("shards without labels", {"train-0.tar": shard({"a.png": b"x"}), "val-0.tar": labelled}, [], "a.png has no label"),
            ("shards whose JSON has no label", {"train-0.tar": shard({"a.png": b"x", "a.json": b"{}"}), "val-0.tar": labelled},
             [], 'a.json has no whole number "label"'),
            ("shards whose label is a name", {"train-0.tar": shard({"a.png": b"x", "a.cls": b"cat"}), "val-0.tar": labelled},
             [], 'a.cls: got the label "cat"')]:
        data = folder / name
        for path, content in files.items():
            (data / path).parent.mkdir(parents=True, exist_ok=True)
            (data / path).write_bytes(content)
        command = train("train_cifar", "--dataset", "auto", "--data-dir", data, "--index-cache", "none", *flags,
                        "--output", folder / "run")
        cases.refused(f"photographs: {name}", command, word)


def finetuning_cases(cases, folder):
    """`train_imagenet --data-dir PICTURES --finetune HUB_FOLDER` with a part missing."""
    pictures, hub = folder / "pictures", folder / "hub"
    for name in ("cat/a.png", "cat/b.png", "dog/a.png", "dog/b.png"):
        (pictures / name).parent.mkdir(parents=True, exist_ok=True)
        (pictures / name).write_bytes(b"this is no picture")
    hub.mkdir()
    command = ["train_imagenet", "--data-dir", pictures, "--index-cache", "none", "--workers", "0", "--output",
               folder / "run", "--finetune"]
    cases.refused("finetune: no such folder", [*command, folder / "none"], "--finetune: ")
    cases.refused("finetune: an empty folder", [*command, hub], "contains no weights")
    (hub / "model.safetensors").write_bytes(safetensors({}))
    cases.refused("finetune: no config.json", [*command, hub], "--model NAME")
    for name, config, word in [("not JSON", "{", "--model NAME"), ("another architecture", '{"architecture": "resnet50"}', "resnet50"),
                               ("a number as architecture", '{"architecture": 7}', "architecture: got 7"),
                               ("a crop mode that does not exist",
                                '{"architecture": "vit_tiny_patch16_224", "crop_mode": "round"}', "crop-mode"),
                               ("no tensors", '{"architecture": "vit_tiny_patch16_224"}', "missing")]:
        (hub / "config.json").write_text(config)
        cases.refused(f"finetune: config.json: {name}", [*command, hub], word)
    cases.refused("finetune: no such pictures", [*command, hub, "--data-dir", folder / "none"], "no such folder")
    cases.refused("finetune: a batch that is too large", [*command, hub, "--batch-size", "8"], "--batch-size 2 fits")


def flag_cases(cases, program, folder):
    out = ["--output", folder / "run"]
    for flags, word in [(["--lr", "nan"], "lr"), (["--lr", "inf"], "lr"), (["--lr", "-1"], "lr"),
                        (["--batch-size", "0"], "batch-size"), (["--batch-size", "65536"], "fits"),
                        (["--epochs", "x"], "epochs"),
                        (["--epoch", "3"], "epochs"), (["--device", "cuda:99"], "cuda:99"),
                        (["--device", "tpu"], "cpu"), (["--threads", "-1"], "threads"),
                        (["--dataset", "cifar11"], "cifar10"), *OWN_FLAGS[program]]:
        cases.refused(f"{program} {' '.join(flags)}", train(program, *flags, *out), word)
    for name, text, word in [("unknown key", '{"epoch": 3}', "epochs"), ("not JSON", "{", ""),
                             ("a string for a number", '{"epochs": "many"}', "epochs"),
                             ("a trailing comma", '{"epochs": 3,\n}', "line 1, column 13"),
                             ("a name twice", '{"epochs": 3, "epochs": 4}', "is given twice"),
                             ("two names of a setting", '{"batch-size": 8, "batch_size": 16}', "same setting"),
                             ("YAML", "batch_size: 128\naa: null\n", "is YAML"),
                             ("nothing", "", "got nothing"),
                             ("nested 100000 deep", "[" * 100000, "")]:
        path = folder / f"{name}.json"
        path.write_text(text)
        cases.refused(f"{program}: config: {name}", train(program, "--config", path, *out), word)


def a_run(cases, program, folder):
    """A finished run on a small data set, and its weights."""
    taken = folder / "taken"
    cases.must_run(program, *tiny_model(program), *data_flags(program, cases.data), "--batch-size", "8", "--workers",
                   "0", "--epochs", "1", "--warmup-epochs", "0", "--output", taken)
    return taken, taken / "last.safetensors"


def run_cases(cases, program, folder):
    """Folders and weights of runs."""
    locked = folder / "locked"
    locked.write_text("a file where a directory should be")
    out = ["--output", folder / "run"]
    cases.refused(f"{program}: output: a file is in the way", train(program, "--output", locked), "locked")
    cases.refused(f"{program}: output: below a file", train(program, "--output", locked / "run"), "locked")
    cases.refused(f"{program}: disk full (file-size limit)", train(program, "--output", folder / "small"),
                  limit_bytes=4096, codes=(1,))
    taken, weights = a_run(cases, program, folder)
    cases.refused(f"{program}: output: holds a run already", train(program, "--output", taken), "--resume auto")
    cases.refused(f"{program}: resume: at another shape of as many patches",
                  [program, "--resume", taken, "--output", taken, "--img-size", "16x64"], "img-size")
    cases.refused(f"{program}: resume: no such state", train(program, *out, "--resume", folder / "no"), "no")
    foreign = folder / "checkpoint.pth.tar"
    foreign.write_bytes(torch_zip(torch_tensor()))
    cases.refused(f"{program}: resume: a checkpoint of PyTorch", train(program, *out, "--resume", foreign),
                  "give it to --finetune or --initial-checkpoint instead of --resume")
    larger, word = {"train_vae": (["--layers-per-block", "2"], "resnets.1"),
                    "train_detection": (["--enc-layers", "2"], "encoder.layers.1")}.get(program, (["--depth", "2"], "blocks.1"))
    cases.refused(f"{program}: weights of another model", train(program, *data_flags(program, cases.data), *larger,
                                                                *out, "--initial-checkpoint", weights), word)
    for name, content, word in HOSTILE:
        path = folder / "hostile.safetensors"
        path.write_bytes(content)
        cases.refused(f"{program}: checkpoint: {name}", train(program, *out, "--initial-checkpoint", path),
                      word or "hostile.safetensors")


def task_cases(cases, folder):
    """Runs and models of one task given to the programs of another."""
    classifier, encoder = (folder / program / "taken" for program in ("train_cifar", "train_mae"))
    cases.refused("inspect mae: a classifier", ["inspect", "mae", classifier], "is not a masked autoencoder")
    cases.refused("inspect attention: a masked autoencoder", ["inspect", "attention", encoder], "./run inspect mae")
    cases.refused("evaluate: a masked autoencoder", ["evaluate", encoder, "--dataset", "builtin"], "inspect mae")
    cases.refused("predict: a masked autoencoder", ["predict", encoder / "pictures/epoch-0001.png",
                                                      "--checkpoint", encoder], "inspect mae")
    depth = folder / "train_depth/taken"
    cases.refused("evaluate: a classifier's protocol", ["evaluate", classifier, "--protocol", "full"],
                  "for depth models")
    cases.refused("evaluate: a depth model's logits", ["evaluate", depth, "--logits", folder / "l.safetensors"],
                  "for classifiers")
    cases.refused("evaluate: a wrong protocol", ["evaluate", depth, "--protocol", "full,egen"], "got egen")
    cases.refused("evaluate: depth of pictures without", ["evaluate", depth, "--dataset", "builtin"], "have no depth")
    cases.refused("inspect mae: a depth model", ["inspect", "mae", depth], "is not a masked autoencoder")
    diffusion = folder / "train_diffusion/taken"
    cases.refused("evaluate: a diffusion model", ["evaluate", diffusion, "--dataset", "builtin"],
                  "is a diffusion model")
    cases.refused("predict: a diffusion model", ["predict", diffusion / "pictures/epoch-0001.png",
                                                 "--checkpoint", diffusion], "is a diffusion model")
    detector, picture = folder / "train_detection/taken", encoder / "pictures/epoch-0001.png"
    cases.refused("evaluate: a detector on images without boxes", ["evaluate", detector, "--dataset", "builtin"],
                  "no boxes")
    cases.refused("evaluate: a classifier and a detector", ["evaluate", classifier, detector], "of one task")
    cases.refused("evaluate: a detector's logits", ["evaluate", detector, "--logits", folder / "l.safetensors"],
                  "--logits")
    cases.refused("evaluate: a classifier on boxes", ["evaluate", classifier, "--dataset", "scenes"], "")
    cases.refused("predict: a classifier's boxes", ["predict", picture, "--checkpoint", classifier,
                                                    "--threshold", "0.5"], "for detectors")
    cases.refused("predict: a detector of other classes", ["predict", picture, "--checkpoint", detector,
                                                           "--num-classes", "7"], "7")
    cases.refused("inspect detection: a classifier", ["inspect", "detection", classifier], "./run train_detection")
    cases.refused("inspect attention: a detector", ["inspect", "attention", detector], "is a detector")
    for program, run in (("train_cifar", encoder), ("train_mae", classifier), ("train_diffusion", classifier),
                         ("train_mae", diffusion), ("train_vae", encoder), ("train_detection", classifier),
                         ("train_cifar", detector)):
        cases.refused(f"{program}: continues a run of the other", train(program, "--resume", run, "--output", run))
        cases.refused(f"{program}: weights of the other", train(program, "--output", folder / "run",
                                                                "--initial-checkpoint", run))


def other_weights(weights, folder):
    """Copies of a classifier's weights with a tensor too many or without the head: what is wrong, the file, a word of the
    message."""
    content = weights.read_bytes()
    size, = struct.unpack_from("<Q", content)
    header, body = json.loads(content[8:8 + size]), content[8 + size:]

    def written(what, header, body):
        path = folder / f"{what}.safetensors"
        path.write_bytes(safetensors(header, body))
        return path

    more = entry([1], len(body), len(body) + 4)
    for what, name, word in [("a name of control characters", "\n\x1b[31m\x07", "1 unexpected: \\n\\x1B[31m\\x07"),
                             ("a name of 10 kB", "x" * 10_000, "x" * 300 + "...")]:
        yield what, written(what, {**header, name: more}, body + bytes(4)), word
    others, rest = {"__metadata__": header["__metadata__"]}, b""
    for name, tensor in header.items():
        if name != "__metadata__" and not name.startswith("head."):
            values = body[slice(*tensor["data_offsets"])]
            others[name] = {**tensor, "data_offsets": [len(rest), len(rest) + len(values)]}
            rest += values
    yield "no head", written("no head", others, rest), """--model-args '{"num_classes": 0}'"""


def file_cases(cases, folder):
    weights = folder / "train_cifar/taken/last.safetensors"
    cases.refused("predict: no such image", ["predict", folder / "none.png", "--checkpoint", weights], "none.png")
    text = folder / "text.png"
    text.write_text("this is no picture")
    cases.refused("predict: text as an image", ["predict", text, "--checkpoint", weights], "text.png")
    hub = folder / "hub"
    hub.mkdir()
    cases.refused("evaluate: a folder without weights", ["evaluate", hub], "model.safetensors")
    (hub / "model.safetensors").write_bytes(safetensors({}))
    for name, config, word in [("another architecture", {"architecture": "resnet50"}, "resnet50"),
                               ("a crop-pct of 2", {"architecture": "vit_tiny_patch16_224", "crop_pct": 2}, "crop_pct"),
                               ("no tensors", {"architecture": "vit_tiny_patch16_224"}, "missing")]:
        (hub / "config.json").write_text(json.dumps(config))
        cases.refused(f"hub: {name}", ["evaluate", hub, "--dataset", "builtin"], word)
    cases.refused("report: no run", ["report", hub], "")
    for flags, word in [(["--pos-grid", "16"], "expected HxW"), (["--pos-grid", "3x5"], "15 patches"),
                        (["--pos-grid", "0x16"], "--pos-grid"), (["--pos-grid", "99999999999999999999x1"], "--pos-grid"),
                        (["--pos-resize", "nearest"], "auto, timm, deit")]:
        cases.refused(f"evaluate {' '.join(flags)}", ["evaluate", weights, *flags], word)
    for name, content, word in HOSTILE_TORCH:
        path = folder / "hostile.pth"
        path.write_bytes(content)
        cases.refused(f"torch.save: {name}", ["convert", path, "--output", folder / "converted"], word or "hostile.pth",
                      codes=(1,))
        assert not (cases.folder / "RAN_X").exists() and not (folder / "converted").exists()
    for name, content, word in HOSTILE_INDEX:
        path = folder / "hostile.index.json"
        path.write_text(content)
        cases.refused(f"index: {name}", ["convert", path, "--output", folder / "converted"], word, codes=(1,))
    there = folder / "there.safetensors"
    there.write_text("kept")
    cases.refused("convert: over a file that is there", ["convert", path, "--output", there], "--overwrite")
    onnx = there.with_suffix(".onnx")
    onnx.write_text("kept")
    for what, flags, word in [("no output", [], "--output FILE.onnx"), ("over a file that is there", ["--output", onnx], "--overwrite"),
                              ("another ending", ["--output", folder / "model.pb"], "--output FILE.onnx"),
                              ("a folder that is not there", ["--output", folder / "none/model.onnx"], "none"),
                              ("an old opset", ["--output", folder / "m.onnx", "--opset", "16"], "--opset"),
                              ("more than all classes", ["--output", folder / "m.onnx", "--top", "1000"], "--top"),
                              ("a misspelt flag", ["--ouput", folder / "m.onnx"], "did you mean output"),
                              ("a crop that no graph makes", ["--output", folder / "m.onnx", "--crop-mode", "adm"],
                               "--input tensor"),
                              ("a crop for models of any size", ["--output", folder / "m.onnx", "--crop-mode", "detr"],
                               "the model takes images of one size")]:
        cases.refused(f"export: {what}", ["export", weights, *flags], word)
    for what, file, word in other_weights(weights, folder):
        cases.refused(f"export: {what}", ["export", file, "--output", folder / "m.onnx"], word)
    cases.refused("export: a full disk", ["export", weights, "--output", folder / "m.onnx"], "m.onnx", limit_bytes=4096)
    assert onnx.read_text() == "kept"


def named_cases(cases, folder):
    """Runs and models given by meaningless names, with the run left by run_cases."""
    run, out = folder / "train_cifar/taken", ["--output", folder / "compared"]
    cases.refused("compare: no such run", ["compare", folder / "a=none"], "no such folder")
    cases.refused("compare: a file", ["compare", run / "log.csv"], "is not a folder")
    cases.refused("compare: an empty label", ["compare", f"={run}"], "before the =")
    cases.refused("compare: a folder without a run", ["compare", folder], "log.csv")
    cases.refused("compare: a curve without a folder", ["compare", run, "--curve", "top5"], "--output")
    for curve in ("top6", "ema_top1", "top1,", "top1 loss"):
        cases.refused(f"compare: --curve {curve}", ["compare", run, *out, "--curve", curve], "--curve")
    for program in (["summary"], ["fovea_bench", "--model"]):
        name = program[0]
        cases.refused(f"{name}: no such run", [*program, folder / "none"], "does not exist")
        cases.refused(f"{name}: a folder without weights", [*program, folder], "contains no weights")
        cases.refused(f"{name}: no such model", [*program, "vit_tinny_patch4_32"], "vit_tiny_patch4_32")
        cases.refused(f"{name}: another family's setting", [*program, run, "--peg-kernel", "3"], "peg_kernel")
        cases.refused(f"{name}: a text", [*program, folder / "text.png"], "text.png")
    cases.refused("summary: two models", ["summary", run, run], "got 2 models")
    cases.refused("bench: --model and --workload", ["fovea_bench", "--model", run, "--workload", "loader"],
                  "--workload")
    cases.refused("bench: settings of no model", ["fovea_bench", "--img-size", "64"], "--model")
    cases.refused("inspect: no such run, no analysis", ["inspect", folder / "none"], "unknown analysis")


def cue_cases(cases, folder):
    """Cases of `evaluate --shape-bias`, with the weights left by run_cases."""
    cues, class_map = folder / "cues", folder / "map.txt"
    evaluate = ["evaluate", folder / "train_cifar/taken/last.safetensors", "--shape-bias"]
    mapped = [*evaluate, cues, "--class-map", class_map]
    class_map.write_text("cat: 3\ndog: 5\n")
    (cues / "cat").mkdir(parents=True)
    cases.refused("shape bias: an empty folder", mapped, "SHAPE/SHAPEn-TEXTUREm")
    for name, word in [("cat1.png", "cat1-dog2"), ("cat1-dgo2.png", "did you mean dog?"),
                       ("cat1-dog2.png", 'no pictures of the category "dog"')]:
        (cues / "cat" / name).write_text("this is no picture")
        cases.refused(f"shape bias: {name}", mapped, word)
        (cues / "cat" / name).unlink()
    for name in ["cat/cat1-dog2.png", "dog/dog1-cat2.png"]:
        (cues / name).parent.mkdir(exist_ok=True)
        (cues / name).write_text("this is no picture")
    cases.refused("shape bias: text as pictures", mapped, ".png: not an image")
    cases.refused("shape bias: every picture broken", [*mapped, "--on-bad-image", "skip"], "all 2 pictures are broken")
    cases.refused("shape bias: no map", [*evaluate, cues], "class map")
    cases.refused("shape bias: drawn pictures of other classes", [*evaluate, "builtin"], "disc")
    cases.refused("shape bias: with a data set", [*mapped, "--dataset", "cifar10"], "--dataset")
    class_map.write_bytes("cat: 3\ndog: 5\n".encode("utf-16"))
    cases.refused("class map: UTF-16", mapped, "expected UTF-8")
    for text, word in [("cat: 10\ndog: 5\n", "has 10 classes"), ("cat 3\n", "name: index"), ("cat: 3\n", "two or more")]:
        class_map.write_text(text)
        cases.refused(f"class map: {text.splitlines()[0]}", mapped, word)


def class_cases(cases, folder):
    """Class names that do not exist, with the weights left by run_cases."""
    taken, listed = folder / "train_cifar/taken/last.safetensors", folder / "listed.txt"
    evaluate = ["evaluate", taken, "--dataset", "builtin"]
    for text, word in [(b"\n", "contains no class"), (b"disc\ncheckerbord\n", "did you mean checkerboard?"),
                       ("disc\n".encode("utf-16"), "expected UTF-8")]:
        listed.write_bytes(text)
        cases.refused(f"--classes FILE: {text[:20]}", [*evaluate, "--classes", listed], word)
    cases.refused("--classes: quotes that do not end", [*evaluate, "--classes", '"disc, square'], "no class")
    listed.write_text("a\nb\n")
    cases.refused("--class-map: of another size", [*evaluate, "--class-map", listed], "expected the data set's 10")
    cases.refused("predict: a class map of another size", ["predict", ROOT / "docs/mae-builtin.png", "--checkpoint",
                                                           taken, "--class-map", listed], "has 2 (a, b)")


def encode_cases(cases, folder):
    """Latents of VAEs, data and flags that do not fit, with the weights left by run_cases."""
    vae, taken, out = folder / "train_vae/taken", folder / "train_cifar/taken", folder / "latents.safetensors"
    short = ["--dataset", "builtin", "--fraction", "0.001", "--workers", "0"]
    encode = ["encode", *short, "--vae", vae, "--output", out]
    cases.refused("encode: no VAE", ["encode", *short, "--output", out], "--vae")
    cases.refused("encode: no output", ["encode", *short, "--vae", vae], "--output")
    cases.refused("encode: a classifier", ["encode", *short, "--vae", taken, "--output", out],
                  "expected an image autoencoder")
    cases.refused("encode: no such VAE", ["encode", *short, "--vae", folder / "no vae", "--output", out], "no vae")
    cases.refused("encode: a folder that does not exist", [*encode, "--output", folder / "none/x.safetensors"], "none")
    for flags, word in [(["--img-size", "30"], "multiple of 4"), (["--img-size", "-4"], "--img-size"),
                        (["--batch-size", "0"], "--batch-size"), (["--crop", "middle"], "adm"),
                        (["--split", "test"], "train, val"), (["--scaling-factor", "-1"], "--scaling-factor"),
                        (["--device", "tpu"], "tpu"), (["--precision", "f16"], "bf16"),
                        (["--data-dir", folder / "no data", "--dataset", "folder"], "no data")]:
        cases.refused(f"encode {' '.join(map(str, flags))}", [*encode, *flags], word)
    out.write_text("kept")
    cases.refused("encode: the file exists", encode, "--overwrite")
    if out.read_text() != "kept":
        cases.refused("encode: an existing file is left as it is", encode, "it was changed")


NO_LATENTS = [
    ("of another format", {"format": "pt"}, "fovea-latents-1"), ("without moments", {"moments": None}, "lacks the tensor moments"),
    ("without labels", {"labels": None}, "lacks the tensor labels"), ("without a VAE", {"vae_hash": None}, "do not name the VAE"),
    ("of scale 0", {"scaling_factor": "0"}, "positive number"), ("without classes", {"classes": "[]"}, "name no classes"),
    ("with a label of no class", {"classes": '["cat"]'}, "expected 0 to 0"),
    ("with too few labels", {"labels": ("I64", [1], bytes(8))}, "number of its labels"),
    ("of whole numbers", {"moments": ("I64", [8], bytes(64))}, "expected F32 [N, 2C, h, w]"),
    ("with an odd number of moments", {"moments": ("F32", [8, 1, 1, 1], bytes(32)), "flipped": False}, "expected F32 [N, 2C"),
]


def latent_cases(cases, folder):
    """Damaged files of latents, and settings that do not go with them."""
    file = folder / "latents.safetensors"
    command = ["train_diffusion", "--model", "dit_s_2", "--img-size", "8", "--embed-dim", "24", "--depth", "1", "--num-heads",
               "2", "--max-steps", "1", "--workers", "0", "--dataset", "latents", "--data-dir", file, "--output",
               folder / "run"]
    cases.refused("latents: no such file", command, "does not exist")
    for name, content, word in HOSTILE:
        file.write_bytes(content)
        cases.refused(f"latents: {name}", command, word or "latents.safetensors")
    for name, changed, word in NO_LATENTS:
        file.write_bytes(latents_file(**changed))
        cases.refused(f"latents {name}", command, word)
    nan = latents_file(moments=("F32", [8, 8, 8, 8], b"\0\0\xc0\x7f" * 4096))
    file.write_bytes(nan)
    cases.refused("latents that are not finite", command, "not finite")
    file.write_bytes(latents_file(64))
    for flags, word in [(["--color-jitter", "0.4"], "no pixels"), (["--vflip", "0.5"], "--vflip"), (["--mean", "0,0,0"], "--mean"),
                        (["--img-size", "16"], "--img-size 8x8"), (["--model-args", '{"in_chans": 3}'], '"in_chans": 4'),
                        (["--batch-size", "65"], "fits")]:
        cases.refused(f"latents {' '.join(flags)}", [*command, *flags], word)
    cases.refused("latents of a classifier of pictures", train("train_cifar", "--dataset", "latents", "--data-dir", file,
                                                               "--img-size", "32", "--output", folder / "run"), "8x8")


def main():
    with Cases(build_of(__doc__)) as cases:
        for program in PROGRAMS:
            (cases.folder / program).mkdir()
            for part in (cifar_cases, flag_cases, run_cases):
                part(cases, program, cases.folder / program)
        photograph_cases(cases, cases.folder / "photographs")
        (cases.folder / "finetuning").mkdir()
        finetuning_cases(cases, cases.folder / "finetuning")
        for part in (task_cases, file_cases, cue_cases, class_cases, encode_cases, named_cases):
            part(cases, cases.folder)
        (cases.folder / "latents").mkdir()
        latent_cases(cases, cases.folder / "latents")
        if os.path.exists("/dev/full"):
            cases.refused("bench: --json /dev/full", ["fovea_bench", "--model", *tiny_model("train_cifar")[1:],
                                                      "--reps", "1", "--ceiling", "64", "--json", "/dev/full"],
                          "/dev/full")
    return cases.exit_code()


if __name__ == "__main__":
    sys.exit(main())
