#!/usr/bin/env python3
"""A training curve of four processes, fovea under mpirun compared with PyTorch's DistributedDataParallel on gloo.

    PYTHON tests/interop/ddp_curve.py [--build build] [--processes 4] [--csv FILE]     (PYTHON has torch and timm)

Both take 100 steps in f32 from the same weights. Every step has all 64 pictures of a small data set in CIFAR-10's
format, unaugmented, so that their order does not matter; PyTorch takes the logged learning rates. fovea runs with its
own sums over 8 shards and with --shards 0, MPI's all-reduce. Fails if a loss differs by more than 1e-3 relative.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import timm
import torch
import torch.distributed as dist
from safetensors.torch import save_file
from timm.optim import param_groups_weight_decay

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS, IMAGES, WEIGHT_DECAY, BOUND = 100, 64, 0.05, 1e-3
ARCHITECTURE = dict(img_size=32, patch_size=4, embed_dim=48, depth=2, num_heads=3, num_classes=10)
FLAGS = ["--dataset", "cifar10", "--model", "vit_tiny_patch4_32", "--embed-dim", "48", "--depth", "2", "--num-heads", "3",
         "--batch-size", IMAGES, "--epochs", STEPS, "--crop-padding", 0, "--hflip", 0, "--color-jitter", 0, "--mixup", 0,
         "--cutmix", 0, "--reprob", 0, "--aa", "none", "--drop-path", 0, "--weight-decay", WEIGHT_DECAY, "--smoothing", 0,
         "--lr", 1e-3, "--mean", "0.5,0.5,0.5", "--std", "0.25,0.25,0.25", "--log-interval", 1, "--workers", 0,
         "--no-report"]


def make_data(folder):
    """Pictures of a colour for each class under noise; returns them normalised, and their labels."""
    random = np.random.default_rng(3)
    labels = np.arange(IMAGES, dtype=np.uint8) % 10
    colours = random.integers(64, 192, (10, 3, 1, 1))
    pictures = np.clip(colours[labels] + random.normal(0, 60, (IMAGES, 3, 32, 32)), 0, 255).astype(np.uint8)
    records = np.concatenate([labels[:, None], pictures.reshape(IMAGES, -1)], axis=1)
    for i in range(5):
        records[i::5].tofile(folder / f"data_batch_{i + 1}.bin")
    records[:10].tofile(folder / "test_batch.bin")
    return (torch.from_numpy(pictures) / 255 - 0.5) / 0.25, torch.from_numpy(labels).long()


def new_model():
    torch.manual_seed(1)
    model = timm.models.VisionTransformer(**ARCHITECTURE)
    with torch.no_grad():  # a head that is not zero, so that gradients reach every layer at once
        model.head.weight.normal_(std=0.05)
    return model.train()


def train_here(build, folder, name, processes, shards):
    """The rows of steps.jsonl."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", str(processes), build / "train_cifar", "--data-dir", folder,
                           "--initial-checkpoint", folder / "first.safetensors", "--output", folder / name, "--shards",
                           str(shards), *map(str, FLAGS)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / name / "steps.jsonl").read_text().splitlines()]


def train_there(rank, processes, address, images, labels, rates, losses):
    """One of the processes of DistributedDataParallel; the first one fills `losses`."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{address}", rank=rank, world_size=processes)
    model = torch.nn.parallel.DistributedDataParallel(new_model())
    optimizer = torch.optim.AdamW(param_groups_weight_decay(model.module, WEIGHT_DECAY, model.module.no_weight_decay()),
                                  lr=1.0, betas=(0.9, 0.999), eps=1e-8)
    own = slice(rank * IMAGES // processes, (rank + 1) * IMAGES // processes)
    for step, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = torch.nn.functional.cross_entropy(model(images[own]), labels[own])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses[step] = mean / processes
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--csv", type=pathlib.Path, help="write the curves here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        images, labels = make_data(folder)
        save_file(new_model().state_dict(), folder / "first.safetensors", {"format": "pt"})
        ours = {f"--shards {shards}": train_here(options.build.resolve(), folder, f"run-{shards}", options.processes, shards)
                for shards in (8, 0)}
        rates = [row["lr"] for row in ours["--shards 8"]]
        assert len(rates) == STEPS, len(rates)
        losses = torch.zeros(STEPS).share_memory_()
        torch.multiprocessing.spawn(train_there, nprocs=options.processes,
                                    args=(options.processes, folder / "meeting", images, labels, rates, losses))
        theirs = losses.tolist()
    assert theirs[-1] < theirs[0] - 0.5, theirs  # it has learned
    curves = {name: [row["loss"] for row in rows] for name, rows in ours.items()}
    if options.csv:
        rows = zip(range(STEPS), theirs, *curves.values())
        options.csv.write_text("\n".join(["step,ddp,shards_8,shards_0", *(",".join(map(str, row)) for row in rows), ""]))
    good = True
    for name, losses in curves.items():
        worst = max(abs(a - b) / b for a, b in zip(losses, theirs))
        good &= worst <= BOUND
        print(f"{options.processes} processes, {name}: {STEPS} steps, loss {theirs[0]:.4f} -> {theirs[-1]:.4f} (PyTorch "
              f"{torch.__version__}, gloo), {losses[-1]:.4f}; largest relative difference {worst:.1e}, bound {BOUND:.0e}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
