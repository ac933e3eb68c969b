#!/usr/bin/env python3
"""The way from pictures to latents: train_vae, then encode, on every number of threads and images at a time.

    tests/programs/encoding.py [--build build]

Prints one line per check; exits 1 if one fails.
"""
import signal
import struct
import subprocess
import sys
import time

from checks import Checks, build_of, problem_of_error
from formats import png, read_safetensors
from tiny_training import tiny_model


def floats(tensor):
    return struct.unpack(f"<{len(tensor.data) // 4}f", tensor.data)


class EncodingChecks(Checks):
    def encode(self, name, *flags):
        """Tensors and metadata of the file that `encode` writes."""
        path = self.folder / f"{name}.safetensors"
        self.said = self.must_run("encode", "--dataset", "builtin", "--fraction", "0.001", "--workers", "0", "--vae",
                                  self.folder / "run", "--output", path, *flags).stdout
        return read_safetensors(path)


def check_file(checks):
    tensors, metadata = checks.encode("plain")
    checks.that("metadata name format, VAE, hash, factor and preparation",
                metadata.get("format") == "fovea-latents-1" and metadata.get("vae") == "vae_f4_32"
                and len(metadata.get("vae_hash", "")) == 64 and float(metadata.get("scaling_factor", 0)) == 0.18215
                and metadata.get("preparation") == "adm 32", metadata)
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    checks.that("moments of images and of mirrored images, and labels",
                shapes == {"moments": [20, 6, 8, 8], "moments_flipped": [20, 6, 8, 8], "labels": [20]}, shapes)
    checks.that("both differ", tensors["moments"] != tensors["moments_flipped"])
    checks.that("log-variances are in their range", all(-30 <= x <= 20 for image in range(20)
                for x in floats(tensors["moments"])[image * 384 + 192:(image + 1) * 384]))
    checks.that("the spread of the latents is told", "standard deviation" in checks.said, checks.said)
    return tensors


def check_same(checks, tensors):
    for name, flags in [("batches of 1", ["--batch-size", 1]), ("batches of 7", ["--batch-size", 7]),
                        ("one thread", ["--threads", 1]), ("two threads", ["--threads", 2]), ("workers", ["--workers", 2])]:
        checks.that(f"{name}: the same bits", checks.encode(name, *flags)[0] == tensors)
    single, _ = checks.encode("no flips", "--flips=false")
    checks.that("without flips", set(single) == {"moments", "labels"} and single["moments"] == tensors["moments"], set(single))
    sized, metadata = checks.encode("size", "--img-size", 16, "--crop", "stretch", "--scaling-factor", 0.5)
    checks.that("another size, crop and factor", sized["moments"].shape == [20, 6, 4, 4]
                and metadata["preparation"] == "stretch 16" and float(metadata["scaling_factor"]) == 0.5, metadata)


def check_stop(checks):
    """A call that is stopped or killed is continued; what is written in the end is what one call writes."""
    path, partial = checks.folder / "stopped.safetensors", checks.folder / "stopped.safetensors.partial"
    flags = ["--dataset", "builtin", "--fraction", "0.1", "--vae", checks.folder / "run", "--workers", "0", "--batch-size", "1"]
    whole = checks.folder / "whole.safetensors"
    checks.must_run("encode", *flags, "--output", whole)
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen([checks.build / "encode", *map(str, flags), "--output", path], stdout=subprocess.PIPE, text=True)
        while process.poll() is None and not partial.exists():
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(number)
        said = process.communicate(timeout=60)[0]
        checks.that(f"{number.name}: the file does not appear, its part stays", partial.exists() and not path.exists() and
                    ("same command continues" in said) == (number == signal.SIGTERM), (process.returncode, said))
    problem = problem_of_error(checks.run("encode", *flags, "--output", path, "--crop", "stretch"), "(preparation)", codes=[1])
    checks.note("error: other settings than those of the part", problem)
    said = checks.must_run("encode", *flags, "--output", path, "--batch-size", "5").stdout
    checks.that("the next call continues", "note: continues" in said and not partial.exists(), said)
    checks.that("the same bits as in one call", read_safetensors(path)[0] == read_safetensors(whole)[0])


def check_broken(checks):
    data = checks.folder / "data"
    for k in range(5):
        write = data / "train" / ("a" if k < 3 else "b") / f"{k}.png"
        write.parent.mkdir(parents=True, exist_ok=True)
        write.write_bytes(png([bytes((x * k + y) % 256 for x in range(96)) for y in range(32)]))
    flags = ["--data-dir", data, "--vae", checks.folder / "run", "--output", checks.folder / "few.safetensors", "--batch-size", "2"]
    whole = read_safetensors(checks.must_run("encode", *flags) and checks.folder / "few.safetensors")[0]
    cut = data / "train/a/1.png"
    cut.write_bytes(cut.read_bytes()[:60])
    done = checks.run("encode", *flags, "--overwrite")
    checks.that("a broken picture ends it by its name, and the finished file stays", done.returncode == 1 and "1.png" in done.stderr
                and "--on-bad-image skip" in done.stderr and (checks.folder / "few.safetensors").exists(), done.stderr)
    said = checks.must_run("encode", *flags, "--overwrite", "--on-bad-image", "skip").stdout
    left = read_safetensors(checks.folder / "few.safetensors")[0]
    row = len(whole["moments"].data) // 5
    checks.that("skip leaves it out and says so", "4 images (1 broken ones left out)" in said and left["moments"].shape[0] == 4, said)
    checks.that("the others keep their moments and labels", left["moments"].data == whole["moments"].data[:row] +
                whole["moments"].data[2 * row:] and struct.unpack("<4q", left["labels"].data) == (0, 0, 1, 1))
    done = checks.run("encode", "--data-dir", data, "--verify-data")
    checks.that("--verify-data lists it", done.returncode == 1 and "1 of 5 images are broken" in done.stdout, done.stdout)


def main():
    with EncodingChecks(build_of(__doc__)) as checks:
        checks.must_run("train_vae", *tiny_model("train_vae"), "--dataset", "builtin", "--fraction", "0.01", "--epochs",
                        1, "--batch-size", 16, "--workers", 0, "--no-report", "--output", checks.folder / "run")
        checks.that("originals and reconstructions after each epoch", (checks.folder / "run/pictures/epoch-0001.png").exists())
        check_same(checks, check_file(checks))
        check_stop(checks)
        check_broken(checks)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
