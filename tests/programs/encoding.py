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

from checks import Checks, build_of
from formats import read_safetensors
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
    path = checks.folder / "stopped.safetensors"
    process = subprocess.Popen([checks.build / "encode", "--dataset", "builtin", "--vae", checks.folder / "run", "--output",
                                path], stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    left = [file.name for file in checks.folder.iterdir() if file.name.startswith("stopped") or ".tmp" in file.name]
    checks.that("Ctrl-C leaves no file", process.returncode == 130 and not left and "stopped" in said,
                (process.returncode, left, said))


def main():
    with EncodingChecks(build_of(__doc__)) as checks:
        checks.must_run("train_vae", *tiny_model("train_vae"), "--dataset", "builtin", "--fraction", "0.01", "--epochs",
                        1, "--batch-size", 16, "--workers", 0, "--no-report", "--output", checks.folder / "run")
        checks.that("originals and reconstructions after each epoch", (checks.folder / "run/pictures/epoch-0.png").exists())
        check_same(checks, check_file(checks))
        check_stop(checks)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
