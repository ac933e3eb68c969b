#!/usr/bin/env python3
"""Fine-tuning of a timm folder in hub layout, fovea compared with PyTorch: finetune_curve.py [--build build]

Needs torch and timm; build the targets `train_imagenet` and `pack` first. timm's own writer makes a folder in hub
layout (random weights), next to class folders of pictures of the built-in data set. `train_imagenet --data-dir PICTURES
--finetune FOLDER` trains 20 steps of all training pictures, unaugmented, so that their order does not matter; PyTorch
trains timm's model on the same pictures with timm's layer decay and the logged learning rates. Fails if a loss differs
by more than 1e-4 relative, or the final weights by more than 1e-3 of their change.
"""
import argparse
import json
import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import timm
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from timm.models._hub import save_config_for_hf
from timm.optim import param_groups_layer_decay

ROOT = Path(__file__).resolve().parents[2]
STEPS, DECAY, WEIGHT_DECAY, SMOOTHING, SIDE = 20, 0.75, 0.05, 0.1, 32
CLASSES, COUNT = ["disc", "ring", "square"], 12
LOSS_BOUND, WEIGHTS_BOUND = 1e-4, 1e-3
# Name, arguments of create_model.
MODELS = [
    ("vit_tiny_patch16_224", dict(depth=3, embed_dim=48, num_heads=3)),
    ("vit_tiny_patch16_224", dict(depth=3, embed_dim=48, num_heads=3, global_pool="avg")),
    ("deit_tiny_patch16_224", dict(depth=2)),
    # Layer scale is not small from the start, so that the blocks take part.
    ("vit_small_patch16_dinov3_qkvb", dict(depth=3, embed_dim=48, num_heads=3, init_values=0.5)),
    ("vit_small_patch16_rope_mixed_224", dict(depth=3, embed_dim=48, num_heads=3, init_values=0.5)),
]


def pictures_of(pack):
    """The (class, pixels) of a pack of pixels; data/sources/packed/pack_format.h has the layout."""
    data = pack.read_bytes()
    index, count, names, names_size = struct.unpack_from("<4Q", data, len(data) - 56)
    classes = data[names:names + names_size].decode().splitlines()
    for i in range(count):
        offset, size, width, height, label = struct.unpack_from("<QQIII", data, index + 40 * i)
        yield classes[label], np.frombuffer(data, np.uint8, size, offset).reshape(height, width, 3)


def write_pictures(build, folder, scratch):
    """A folder of pictures of the built-in data set, twelve of each class for training."""
    subprocess.run([build / "pack", "--dataset", "builtin", "--classes", ",".join(CLASSES), "--fraction", str(COUNT / 2000),
                    "--store", "pixels", "--output", scratch], check=True, capture_output=True)
    for split in ("train", "val"):
        for i, (name, pixels) in enumerate(pictures_of(scratch / f"{split}.pack")):
            (folder / split / name).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(folder / split / name / f"{i}.png")


def write_hub(folder, name, arguments):
    torch.manual_seed(2)
    model = timm.create_model(name, pretrained=False, num_classes=len(CLASSES), img_size=SIDE, **arguments)
    with torch.no_grad():  # a head that is not zero, so that gradients reach every layer at once
        model.head.weight.normal_(std=0.05)
    model.pretrained_cfg = {**model.pretrained_cfg, "input_size": (3, SIDE, SIDE), "mean": (0.4, 0.5, 0.6),
                            "std": (0.25, 0.25, 0.2), "crop_pct": 1.0}
    folder.mkdir()
    save_file(model.state_dict(), folder / "model.safetensors", metadata={"format": "pt"})
    save_config_for_hf(model, str(folder / "config.json"), model_config={"label_names": CLASSES},
                       model_args={"img_size": SIDE, **arguments})
    return model


def train_here(build, pictures, hub, output):
    """The rows of steps.jsonl, and the final weights."""
    flags = ["--batch-size", len(CLASSES) * COUNT, "--epochs", STEPS, "--train-crop-mode", "pad", "--crop-padding", 0,
             "--hflip", 0, "--color-jitter", 0, "--drop-path", 0, "--layer-decay", DECAY, "--weight-decay", WEIGHT_DECAY,
             "--smoothing", SMOOTHING, "--clip-grad", 1, "--lr", 1e-3, "--log-interval", 1, "--workers", 0, "--no-report"]
    result = subprocess.run([build / "train_imagenet", "--data-dir", pictures, "--finetune", hub, "--index-cache", "none",
                             "--output", output, *map(str, flags)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "recipe finetune" in result.stdout and "reinitialised" not in result.stdout, result.stdout
    return [json.loads(line) for line in (output / "steps.jsonl").read_text().splitlines()], load_file(
        output / "last.safetensors")


def train_there(model, pictures, rates):
    paths = [path for name in CLASSES for path in sorted((pictures / "train" / name).iterdir())]
    mean, std = (torch.tensor(model.pretrained_cfg[key]).view(3, 1, 1) for key in ("mean", "std"))
    images = torch.stack([(torch.from_numpy(np.array(Image.open(path))).permute(2, 0, 1) / 255 - mean) / std
                          for path in paths])
    labels = torch.tensor([CLASSES.index(path.parent.name) for path in paths])
    groups = param_groups_layer_decay(model, WEIGHT_DECAY, model.no_weight_decay(), layer_decay=DECAY)
    optimizer = torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.999), eps=1e-8)
    losses = []
    for rate in rates:
        for group in optimizer.param_groups:
            group["lr"] = rate * group["lr_scale"]
        loss = torch.nn.functional.cross_entropy(model(images), labels, label_smoothing=SMOOTHING)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def compare(build, folder, name, arguments):
    pictures, hub = folder / "pictures", folder / "hub"
    write_pictures(build, pictures, folder / "pack")
    model = write_hub(hub, name, arguments).train()
    first = {key: value.clone() for key, value in model.state_dict().items()}
    rows, ours = train_here(build, pictures, hub, folder / "run")
    theirs = train_there(model, pictures, [row["lr"] for row in rows])
    losses = [row["loss"] for row in rows]
    assert len(losses) == STEPS and theirs[-1] < theirs[0] - 0.1, (losses, theirs)
    error = max(abs(a - b) / abs(b) for a, b in zip(losses, theirs))
    last = model.state_dict()
    # Of all weights together: the keys' biases have no effect, so Adam moves them by rounding alone.
    apart = math.sqrt(sum((ours[key] - last[key]).square().sum().item() for key in last) /
                      sum((last[key] - first[key]).square().sum().item() for key in last))
    label = " ".join([name, *(f"{key} {value}" for key, value in arguments.items())])
    print(f"{label}: {STEPS} steps, loss {theirs[0]:.4f} -> {theirs[-1]:.4f}; losses differ by at most {error:.1e} "
          f"(bound {LOSS_BOUND:.0e}), weights by {apart:.1e} of their change (bound {WEIGHTS_BOUND:.0e})")
    return error <= LOSS_BOUND and apart <= WEIGHTS_BOUND


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    build = parser.parse_args().build.resolve()
    good = True
    for name, arguments in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            good &= compare(build, Path(folder), name, arguments)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
