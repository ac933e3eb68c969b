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
import argparse
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
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = ["--model", "vit_tiny_patch8_32", "--embed-dim", "24", "--depth", "1", "--num-heads", "2",
         "--img-size", "32", "--batch-size", "16", "--epochs", "2", "--warmup-epochs", "0", "--workers", "2",
         "--log-interval", "1", "--seed", "3", "--threads", "1"]
failures = []


def check(what, ok, detail=""):
    print(f"{'ok  ' if ok else 'FAIL'} {what} {'' if ok else detail}", flush=True)
    if not ok:
        failures.append(what)


def png(rng, height, width):
    """An RGB PNG of a random colour with stripes."""
    color = [rng.randrange(256) for _ in range(3)]
    row = b"".join(bytes((value + 9 * x) % 256 for value in color) for x in range(width))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress((b"\0" + row) * height)) + chunk(b"IEND", b""))


def make_pictures(root):
    rng = random.Random(1)
    for split, count in (("train", 20), ("val", 4)):
        for name in ("ant", "bee", "cat"):
            folder = root / split / name
            folder.mkdir(parents=True)
            for i in range(count):
                (folder / f"{i:03}.png").write_bytes(png(rng, rng.randrange(30, 90), rng.randrange(30, 90)))
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


def run(build, *words):
    return subprocess.run([build / words[0], *map(str, words[1:])], capture_output=True, text=True,
                          env=dict(os.environ, XDG_CACHE_HOME=str(build / "test-cache")))


def train(build, data, output, *flags):
    return run(build, "train_imagenet", "--data-dir", data, "--output", output, *SMALL, *flags)


def must(result):
    if result.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, result.args))} ended with {result.returncode}:\n{result.stderr}")
    return result


def losses(output):
    return [json.loads(line)["loss"] for line in (output / "steps.jsonl").read_text().splitlines()]


def tensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    return {name: data[8 + length:][slice(*entry["data_offsets"])]
            for name, entry in json.loads(data[8:8 + length]).items() if name != "__metadata__"}


def same_losses(build, sources, folder):
    reference = None
    for name, data in sources.items():
        output = folder / f"run-{name}"
        must(train(build, data, output, "--shuffle-buffer", "0"))
        got = losses(output)
        reference = reference or got
        check(f"{name}: {len(got)} losses as from the folder", got == reference and len(got) > 4)
        result = run(build, "evaluate", output, "--data-dir", data)
        check(f"{name}: evaluate reads it", result.returncode == 0 and "top-1" in result.stdout, result.stderr)


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


def cifar_forms(build, folder):
    cifar_batches(folder, "binary/cifar-10-batches-bin", "python/cifar-10-batches-py")
    got = {}
    for form in ("binary", "python"):
        must(run(build, "train_cifar", "--dataset", "cifar10", "--data-dir", folder / form, "--output", folder / f"run-{form}",
                 *SMALL))
        got[form] = losses(folder / f"run-{form}")
    check("CIFAR: Python's batches give the losses of the binary files", got["python"] == got["binary"] and got["binary"])


def held_out(build, data, folder):
    """A folder of classes and a copy elsewhere, with other file times and another order on disk."""
    here, there = folder / "here", folder / "there"
    shutil.copytree(data / "train", here)
    must(train(build, here, folder / "run", "--val-fraction", "0.3"))

    def measured(*flags):
        must(run(build, "evaluate", folder / "run", "--json", folder / "found.json", *flags))
        found = json.loads((folder / "found.json").read_text())["results"][0]
        return found["images"], found["loss"]

    first = measured()
    for path in sorted(here.rglob("*"), reverse=True):
        if path.is_file():
            target = there / path.relative_to(here)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    shutil.rmtree(here)
    again = measured("--data-dir", there)
    check("what --val-fraction holds out is the same elsewhere", first == again, f"{first} {again}")
    resumed = train(build, there, folder / "run", "--resume", "auto", "--epochs", "3")
    check("and in a resumed run", resumed.returncode == 0 and f"using {first[0]} of" in resumed.stdout, resumed.stderr)


def killed_and_resumed(build, sources, folder):
    for name, data in sources.items():
        flags = ["--recovery-interval", "1", "--shuffle-buffer", "8", "--workers", "1"]
        whole, killed = folder / f"whole-{name}", folder / f"killed-{name}"
        must(train(build, data, whole, *flags))
        process = subprocess.Popen([build / "train_imagenet", "--data-dir", data, "--output", killed, *SMALL,
                                    *flags, "--resume", "auto"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        while not (killed / "state.safetensors").exists() and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        died = process.wait() == -signal.SIGKILL
        must(train(build, data, killed, *flags, "--resume", "auto"))
        same = tensors(whole / "last.safetensors") == tensors(killed / "last.safetensors")
        check(f"{name}: killed {'in the middle' if died else 'too late'} and resumed, bit for bit",
              same and died)


def odd_pictures(build, folder):
    data = os.environ.get("FOVEA_DATA")
    odd = pathlib.Path(data) / "odd-images" if data else None
    odd = odd if odd and odd.exists() else ROOT / "tests/data/odd"
    for split in ("train", "val"):
        for name in ("good", "odd"):
            (folder / split / name).mkdir(parents=True)
    rng = random.Random(2)
    for i in range(24):
        (folder / "train/good" / f"{i}.png").write_bytes(png(rng, 40, 40))
        (folder / "val/good" / f"{i}.png").write_bytes(png(rng, 40, 40))
    shutil.copytree(odd, folder / "train/odd", dirs_exist_ok=True)
    shutil.copy(odd / "truncated.jpg", folder / "val/odd")
    skipped = train(build, folder, folder / "run-skip", "--on-bad-image", "skip")
    check("odd pictures: training skips them", skipped.returncode == 0, skipped.stderr)
    check("odd pictures: each broken one is named once", skipped.stdout.count("train/odd/truncated.jpg") == 1)
    last = json.loads((folder / "run-skip/steps.jsonl").read_text().splitlines()[-1])
    check("odd pictures: the log counts them", last.get("bad_images", 0) > 3, str(last))
    stopped = train(build, folder, folder / "run-stop")
    check("odd pictures: training stops at more than 1 %",
          stopped.returncode == 1 and "images are broken" in stopped.stderr, stopped.stderr)
    verified = train(build, folder, folder / "run-verify", "--verify-data")
    check("odd pictures: --verify-data names them",
          verified.returncode == 1 and "train/odd/truncated.jpg" in verified.stdout, verified.stdout[-500:])
    check("odd pictures: --verify-data trains nothing", not (folder / "run-verify").exists())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--data", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        data = options.data or pathlib.Path(os.environ.get("FOVEA_DATA", "")) / "imagefolder-mini"
        if not (data / "train").exists():
            data = folder / "pictures"
            make_pictures(data)
        verified = run(build, "train_imagenet", "--data-dir", data, "--verify-data")
        check("--verify-data finds no fault", verified.returncode == 0, verified.stderr + verified.stdout[-500:])
        make_shards(data, folder / "shards", 30)
        for name, store in (("pack-files", "files"), ("pack-pixels", "pixels")):
            must(run(build, "pack", "--data-dir", data, "--output", folder / name, "--store", store))
        sources = {"folder": data, "tar": folder / "shards", "pack-files": folder / "pack-files",
                   "pack-pixels": folder / "pack-pixels"}
        same_losses(build, sources | {"tar of a Mac": packed_on_a_mac(folder / "shards", folder / "mac")}, folder)
        cifar_forms(build, folder / "cifar")
        held_out(build, data, folder / "held out")
        killed_and_resumed(build, sources, folder)
        odd_pictures(build, folder / "odd")
    if failures:
        sys.exit(f"{len(failures)} checks failed")


if __name__ == "__main__":
    main()
