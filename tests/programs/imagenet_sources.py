#!/usr/bin/env python3
"""Trains from class folders, tar shards and packs, and shows that the source makes no difference.

    tests/programs/imagenet_sources.py [--build build] [--data FOLDER]

FOLDER is an ImageNet-style folder (default: $FOVEA_DATA/imagefolder-mini; if that is missing, a few
pictures are generated). Checks: the same order gives the same losses from every source; a run killed in the
middle of an epoch ends with the weights of an uninterrupted one; broken pictures are skipped, counted or
stop the run, as requested; --verify-data names them; evaluate reads every source. Shards as packed on a Mac
give the same losses, and CIFAR's Python batches the same as its binary files. The fraction held out by
--val-fraction is the same in training and in evaluate, wherever the folder is.
"""
import io
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time

from checks import ROOT, Checks, parser_of
from formats import losses_of, png, read_safetensors, steps_of

SMALL = ["--model", "vit_tiny_patch8_32", "--embed-dim", "24", "--depth", "1", "--num-heads", "2",
         "--img-size", "32", "--batch-size", "16", "--epochs", "2", "--warmup-epochs", "0", "--workers", "2",
         "--log-interval", "1", "--seed", "3", "--threads", "1"]


def striped(rng, height, width):
    """An RGB PNG of a random colour with stripes."""
    color = [rng.randrange(256) for _ in range(3)]
    row = b"".join(bytes((value + 9 * x) % 256 for value in color) for x in range(width))
    return png([row] * height)


def make_pictures(root):
    rng = random.Random(1)
    for split, count in (("train", 20), ("val", 4)):
        for name in ("ant", "bee", "cat"):
            folder = root / split / name
            folder.mkdir(parents=True)
            for i in range(count):
                (folder / f"{i:03}.png").write_bytes(striped(rng, rng.randrange(30, 90), rng.randrange(30, 90)))
    for i, name in enumerate(("subsampling-411.jpg", "restart-markers.jpg", "cmyk.jpg")):
        shutil.copy(ROOT / "tests/data/odd" / name, root / "train/bee" / f"x{i}.jpg")


def make_shards(folder, shards, per_shard):
    """The same pictures in the same order as tar files in WebDataset's format."""
    classes = sorted(p.name for p in (folder / "train").iterdir() if p.is_dir())
    shards.mkdir()
    (shards / "classes.txt").write_text("\n".join(classes) + "\n")
    for split in ("train", "val"):
        samples = [(label, path) for label, name in enumerate(classes)
                   for path in sorted((folder / split / name).iterdir(), key=lambda p: os.fsencode(p.name))]
        for first in range(0, len(samples), per_shard):
            with tarfile.open(shards / f"{split}-{first // per_shard:04}.tar", "w") as tar:
                for i, (label, path) in enumerate(samples[first:first + per_shard]):
                    key = f"{first + i:06}"
                    (shards / "label").write_text(str(label))
                    tar.add(path, f"{key}.{'png' if path.suffix.lower() == '.png' else 'jpg'}")
                    tar.add(shards / "label", f"{key}.cls")
    (shards / "label").unlink()


def training(data, output, *flags):
    return ["train_imagenet", "--data-dir", data, "--output", output, *SMALL, *flags]


def same_losses(checks, sources):
    reference = None
    for name, data in sources.items():
        output = checks.folder / f"run-{name}"
        checks.must_run(*training(data, output, "--shuffle-buffer", "0"))
        got = losses_of(output)
        reference = reference or got
        checks.that(f"{name}: {len(got)} losses as from the folder", got == reference and len(got) > 4)
        result = checks.run("evaluate", output, "--data-dir", data)
        checks.that(f"{name}: evaluate reads it", result.returncode == 0 and "top-1" in result.stdout, result.stderr)


def packed_on_a_mac(shards, folder):
    """The same shards with a "._" file before each member, all labels after all pictures, and blanks around them."""
    folder.mkdir()
    shutil.copy(shards / "classes.txt", folder)
    for path in sorted(shards.glob("*.tar")):
        with tarfile.open(path) as old:
            members = [(member.name, old.extractfile(member).read()) for member in old.getmembers()]
        with tarfile.open(folder / path.name, "w") as new:
            def add(name, content):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                new.addfile(info, io.BytesIO(content))
            for name, content in sorted(members, key=lambda member: member[0].endswith(".cls")):
                add(f"._{name}", b"\0" * 100)
                add(name, b" " + content + b" \n" if name.endswith(".cls") else content)
    return folder


def cifar_batches(folder, binary, python):
    """The same images in both formats."""
    rng = random.Random(4)
    batches = {f"data_batch_{i}": 8 for i in range(1, 6)} | {"test_batch": 8}
    for name in (binary, python):
        (folder / name).mkdir(parents=True)
    for name, count in batches.items():
        labels, rows = [rng.randrange(10) for _ in range(count)], [rng.randbytes(3072) for _ in range(count)]
        (folder / binary / f"{name}.bin").write_bytes(b"".join(bytes([label]) + row for label, row in zip(labels, rows)))
        (folder / python / name).write_bytes(batch_of_python(labels, b"".join(rows)))


def batch_of_python(labels, data):
    """{"data": numpy array, "labels": list} as pickled by Python 2, without numpy."""
    def number(n):
        return b"J" + struct.pack("<i", n)
    shape = b"(" + number(len(labels)) + number(3072) + b"t"
    dtype = b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNN" + number(-1) + number(-1) + b"K\x00tb"
    array = (b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR(K\x01" + shape + dtype + b"\x89T" +
             struct.pack("<I", len(data)) + data + b"tb")
    return b"\x80\x02}(U\x06labels](" + b"".join(map(number, labels)) + b"eU\x04data" + array + b"u."


def cifar_forms(checks):
    folder = checks.folder / "cifar"
    cifar_batches(folder, "binary/cifar-10-batches-bin", "python/cifar-10-batches-py")
    got = {}
    for form in ("binary", "python"):
        run = folder / f"run-{form}"
        checks.must_run("train_cifar", "--dataset", "cifar10", "--data-dir", folder / form, "--output", run, *SMALL)
        got[form] = losses_of(run)
    checks.that("CIFAR: Python's batches give the losses of the binary files",
                got["python"] == got["binary"] and got["binary"])


def held_out(checks, data):
    """A folder of classes and a copy elsewhere, with other file times and another order on disk."""
    here, there, run = (checks.folder / "held out" / name for name in ("here", "there", "run"))
    shutil.copytree(data / "train", here)
    checks.must_run(*training(here, run, "--val-fraction", "0.3"))

    def measured(*flags):
        table = checks.folder / "found.json"
        checks.must_run("evaluate", run, "--json", table, *flags)
        found = json.loads(table.read_text())["results"][0]
        return found["images"], found["loss"]

    first = measured()
    for path in sorted(here.rglob("*"), reverse=True):
        if path.is_file():
            target = there / path.relative_to(here)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    shutil.rmtree(here)
    again = measured("--data-dir", there)
    checks.that("what --val-fraction holds out is the same elsewhere", first == again, f"{first} {again}")
    resumed = checks.run(*training(there, run, "--resume", "auto", "--epochs", "3"))
    checks.that("and in a resumed run", resumed.returncode == 0 and f"holds out {first[0]} of" in resumed.stdout,
                resumed.stderr)


def killed_and_resumed(checks, sources):
    for name, data in sources.items():
        flags = ["--recovery-interval", "1", "--shuffle-buffer", "8", "--workers", "1"]
        whole, killed = checks.folder / f"whole-{name}", checks.folder / f"killed-{name}"
        checks.must_run(*training(data, whole, *flags))
        process = subprocess.Popen(checks.command(*training(data, killed, *flags, "--resume", "auto")),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (killed / "state.safetensors").exists() and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        died = process.wait() == -signal.SIGKILL
        checks.must_run(*training(data, killed, *flags, "--resume", "auto"))
        ours, reference = (read_safetensors(run / "last.safetensors")[0] for run in (killed, whole))
        checks.that(f"{name}: killed {'in the middle' if died else 'too late'} and resumed, bit for bit",
                    ours == reference and died)


def odd_pictures(checks):
    folder = checks.folder / "odd"
    data = os.environ.get("FOVEA_DATA")
    odd = pathlib.Path(data) / "odd-images" if data else None
    odd = odd if odd and odd.exists() else ROOT / "tests/data/odd"
    for split in ("train", "val"):
        for name in ("good", "odd"):
            (folder / split / name).mkdir(parents=True)
    rng = random.Random(2)
    for i in range(24):
        (folder / "train/good" / f"{i}.png").write_bytes(striped(rng, 40, 40))
        (folder / "val/good" / f"{i}.png").write_bytes(striped(rng, 40, 40))
    shutil.copytree(odd, folder / "train/odd", dirs_exist_ok=True)
    shutil.copy(odd / "truncated.jpg", folder / "val/odd")
    skipped = checks.run(*training(folder, folder / "run-skip", "--on-bad-image", "skip"))
    checks.that("odd pictures: training skips them", skipped.returncode == 0, skipped.stderr)
    checks.that("odd pictures: each broken one is named once", skipped.stdout.count("train/odd/truncated.jpg") == 1)
    last = steps_of(folder / "run-skip")[-1]
    checks.that("odd pictures: the log counts them", last.get("bad_images", 0) > 3, last)
    stopped = checks.run(*training(folder, folder / "run-stop"))
    checks.that("odd pictures: training stops at more than 1 %",
                stopped.returncode == 1 and "images are broken" in stopped.stderr, stopped.stderr)
    verified = checks.run(*training(folder, folder / "run-verify", "--verify-data"))
    checks.that("odd pictures: --verify-data names them",
                verified.returncode == 1 and "train/odd/truncated.jpg" in verified.stdout, verified.stdout[-500:])
    checks.that("odd pictures: --verify-data trains nothing", not (folder / "run-verify").exists())


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=pathlib.Path)
    options = parser.parse_args()
    with Checks(options.build) as checks:
        os.environ["XDG_CACHE_HOME"] = str(checks.build / "test-cache")  # keeps what is known of FOVEA_DATA's pictures
        data = (options.data or pathlib.Path(os.environ.get("FOVEA_DATA", "")) / "imagefolder-mini").resolve()
        if not (data / "train").exists():
            data = checks.folder / "pictures"
            make_pictures(data)
        verified = checks.run("train_imagenet", "--data-dir", data, "--verify-data")
        checks.that("--verify-data finds no fault", verified.returncode == 0, verified.stderr + verified.stdout[-500:])
        sources = {"folder": data, **{name: checks.folder / name for name in ("tar", "pack-files", "pack-pixels")}}
        make_shards(data, sources["tar"], 30)
        for store in ("files", "pixels"):
            checks.must_run("pack", "--data-dir", data, "--output", sources[f"pack-{store}"], "--store", store)
        same_losses(checks, sources | {"tar of a Mac": packed_on_a_mac(sources["tar"], checks.folder / "mac")})
        cifar_forms(checks)
        held_out(checks, data)
        killed_and_resumed(checks, sources)
        odd_pictures(checks)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
