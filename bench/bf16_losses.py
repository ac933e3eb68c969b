#!/usr/bin/env python3
"""How far training in bf16 strays from training in f32, in fovea and in PyTorch.

    bench/bf16_losses.py OUT --data-dir DIR [--build build] [--steps 200] [--seeds 3]   needs torch, torchvision, timm

Both train the same small ViT on CIFAR-10 images without augmentation, with AdamW and a constant learning rate, once in
f32 and once in bf16 (PyTorch: autocast) from the same weights on the same batches. Prints the mean and the largest
difference of the two losses of a step, and the ratio of fovea's to PyTorch's. Writes OUT/losses.json.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F
from timm.models.vision_transformer import VisionTransformer

from timm_curve import MEAN, STD, read_cifar

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/programs"))
from formats import losses_of  # noqa: E402

BATCH, RATE, DECAY = 64, 5e-4, 0.05
SIZES = {"embed_dim": 96, "depth": 6, "num_heads": 3}


def fovea(args, seed, precision):
    """The losses of the steps."""
    run = args.out / f"fovea-{precision}-{seed}"
    shutil.rmtree(run, ignore_errors=True)
    sizes = [word for key, value in SIZES.items() for word in ("--" + key.replace("_", "-"), str(value))]
    subprocess.run([args.build / "train_cifar", "--dataset", "cifar10", "--data-dir", args.data_dir, "--config",
                    ROOT / "recipes/cifar_plain.json", "--model", "vit_tiny_patch4_32", *sizes,
                    "--batch-size", str(BATCH), "--lr", str(RATE), "--weight-decay", str(DECAY), "--sched", "constant",
                    "--warmup-epochs", "0", "--epochs", "1", "--crop-padding", "0", "--hflip", "0", "--clip-grad", "none",
                    "--no-model-ema", "--max-steps", str(args.steps), "--log-interval", "1", "--seed", str(seed),
                    "--precision", precision, "--threads", "1", "--no-report", "--output", run],
                   check=True, stdout=subprocess.DEVNULL)
    return losses_of(run)


def training_images(folder):
    """Normalised images [N, 3, 32, 32] and labels."""
    images, labels = read_cifar(folder, [f"data_batch_{i}.bin" for i in range(1, 6)])
    images = (images / 255 - MEAN) / STD
    return torch.from_numpy(images.transpose(0, 3, 1, 2).astype(np.float32)), torch.from_numpy(labels)


def pytorch(args, images, labels, seed, precision):
    """The losses of the steps."""
    torch.manual_seed(seed)
    model = VisionTransformer(img_size=32, patch_size=4, num_classes=10, **SIZES)
    groups = [{"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": DECAY},
              {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    losses = []
    for step in range(args.steps):
        batch = order[step * BATCH:(step + 1) * BATCH]
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            logits = model(images[batch])
        loss = F.cross_entropy(logits.float(), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--data-dir", type=pathlib.Path, required=True, help="the folder of CIFAR-10's .bin files")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    if not (args.data_dir / "data_batch_1.bin").exists():
        parser.error(f"--data-dir {args.data_dir}: no data_batch_1.bin of CIFAR-10 lies there")
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    images, labels = training_images(args.data_dir)
    sides = {"fovea": lambda seed, precision: fovea(args, seed, precision),
             "PyTorch": lambda seed, precision: pytorch(args, images, labels, seed, precision)}
    losses, rows = {}, {}
    for name, train in sides.items():
        pairs = [(train(seed, "f32"), train(seed, "bf16")) for seed in range(args.seeds)]
        losses[name] = pairs
        apart = np.abs([np.subtract(*pair) for pair in pairs])
        rows[name] = apart.mean(), apart.max()
        print(f"{name:8} mean {rows[name][0]:.5f}  largest {rows[name][1]:.5f}", flush=True)
    print("ratio    mean {:.2f}  largest {:.2f}".format(*np.divide(rows["fovea"], rows["PyTorch"])))
    (args.out / "losses.json").write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
