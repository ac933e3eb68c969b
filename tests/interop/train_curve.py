#!/usr/bin/env python3
"""A 200-step training curve in f32, fovea compared with PyTorch, from the same weights and batches.

    PYTHON tests/interop/train_curve.py [--build build] [--csv FILE]      (PYTHON has torch and timm)

PyTorch computes a file in the format of the `train` goldens in f32 (timm's VisionTransformer,
torch.optim.AdamW, warm-up and cosine, clipping). `parity --precision f32 --dump` runs the same steps,
and the losses are compared step by step. Fails if one differs by more than 1e-3 relative.
"""
import argparse
import math
import pathlib
import sys
import tempfile

import torch
from timm.models.vision_transformer import VisionTransformer

import curves

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS, BATCH, CLASSES = 200, 16, 10
MODEL = dict(img_size=[32, 32], patch_size=8, in_chans=3, num_classes=CLASSES, embed_dim=48, depth=3,
             num_heads=3, mlp_ratio=4.0, qkv_bias=False, class_token=True, global_pool="token", fc_norm=None,
             pos_embed="learned", no_embed_class=False, norm_eps=1e-6)
BOUND = 1e-3


def batches():
    """Noisy copies of one random picture per class: the loss falls, but not to zero."""
    generator = torch.Generator().manual_seed(5)
    pictures = torch.randn(CLASSES, 3, 32, 32, generator=generator)
    labels = torch.randint(0, CLASSES, (STEPS, BATCH), generator=generator)
    noise = torch.randn(STEPS, BATCH, 3, 32, 32, generator=generator)
    return 0.35 * pictures[labels] + noise, labels


def learning_rate(step):
    warmup, peak = 20, 1e-3
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (STEPS - warmup)))


def train(model, images, labels):
    decayed = [p for n, p in model.named_parameters() if p.ndim > 1 and n not in ("pos_embed", "cls_token")]
    others = [p for n, p in model.named_parameters() if p.ndim <= 1 or n in ("pos_embed", "cls_token")]
    optimizer = torch.optim.AdamW([dict(params=decayed, weight_decay=0.05), dict(params=others, weight_decay=0.0)],
                                  betas=(0.9, 0.999), eps=1e-8)
    losses, norms = [], []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        loss = torch.nn.functional.cross_entropy(model(images[step]), labels[step])
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


def write_case(path):
    torch.manual_seed(0)
    options = {k: v for k, v in MODEL.items() if k not in ("pos_embed", "norm_eps")}
    model = VisionTransformer(**options).train()
    images, labels = batches()
    tensors = {f"param/{n}": p.detach().double().clone() for n, p in model.named_parameters()}
    losses, norms = train(model, images, labels)
    tensors |= {f"final/{n}": p.detach().double().clone() for n, p in model.named_parameters()}
    tensors |= {"batch_input": images.double(), "batch_target": labels,
                "lr": torch.tensor([learning_rate(s) for s in range(STEPS)], dtype=torch.float64),
                "losses": torch.tensor(losses, dtype=torch.float64),
                "grad_norms": torch.tensor(norms, dtype=torch.float64)}
    config = dict(model=dict(family="vit", **MODEL), optimizer="adamw", betas=[0.9, 0.999], eps=1e-8,
                  weight_decay=0.05, clip_grad=1.0, ema_decay=None, steps=STEPS, loss="ce")
    curves.write_case(path, tensors, config)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--csv", type=pathlib.Path, help="write both curves here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = pathlib.Path(folder) / "classifier.safetensors"
        write_case(case)
        good, _, _ = curves.compare(case, options.build, BOUND, options.csv)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
