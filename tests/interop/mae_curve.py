#!/usr/bin/env python3
"""Masked autoencoding and fine-tuning in f32, fovea compared with PyTorch: the same weights, batches and masks.

    PYTHON tests/interop/mae_curve.py [--build build] [--csv PREFIX]      (PYTHON has torch and timm)

First checks the PyTorch model (bench/peer_models/mae.py) on the golden files. Then PyTorch runs 200 steps of
pre-training, and 100 steps of a classifier that starts from the encoder, with MAE's layer-wise learning rates.
`parity --precision f32 --dump` runs the same steps. Fails if a loss differs by more than 1e-3 relative.
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
sys.path.insert(0, str(ROOT / "bench/peer_models"))
import mae  # noqa: E402

BATCH, CLASSES, BOUND, DECAY = 16, 10, 1e-3, 0.75
ENCODER = dict(img_size=[32, 32], patch_size=4, in_chans=3, embed_dim=48, depth=3, num_heads=3, mlp_ratio=4.0,
               norm_eps=1e-6)
AUTOENCODER = ENCODER | dict(decoder_embed_dim=32, decoder_depth=2, decoder_num_heads=2, norm_pix_loss=True,
                             mask_ratio=0.75, pos_embed="sincos")
CLASSIFIER = ENCODER | dict(num_classes=CLASSES, qkv_bias=True, class_token=True, global_pool="avg", fc_norm=True,
                            pos_embed="learned", no_embed_class=False)


def pictures(steps):
    """Noisy copies of one smooth picture per class, and their labels."""
    generator = torch.Generator().manual_seed(5)
    coarse = torch.randn(CLASSES, 3, 4, 4, generator=generator)
    smooth = torch.nn.functional.interpolate(coarse, (32, 32), mode="bicubic")
    labels = torch.randint(0, CLASSES, (steps, BATCH), generator=generator)
    return smooth[labels] + 0.3 * torch.randn(steps, BATCH, 3, 32, 32, generator=generator), labels


def learning_rate(step, steps, peak):
    """MAE's schedule: linear warm-up over a tenth of the steps, then half a cosine to zero."""
    warmup = steps // 10
    if step < warmup:
        return peak * step / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def layer_scale(name, depth):
    """MAE's layer-wise learning rates."""
    if name.split(".")[0] in ("cls_token", "pos_embed", "patch_embed"):
        return DECAY ** (depth + 1)
    return DECAY ** (depth - int(name.split(".")[1])) if name.startswith("blocks.") else 1.0


def take_steps(model, losses_of, rates, weight_decay, betas, scale, exempt):
    """Trains with AdamW; returns the loss of each step."""
    groups = [dict(params=[p], scale=scale(n), weight_decay=0.0 if p.ndim == 1 or n in exempt else weight_decay)
              for n, p in model.named_parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(groups, betas=betas, eps=1e-8)
    losses = []
    for step, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"]
        loss = losses_of(step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def write_case(path, model, start, config, tensors, rates, losses, **optimizer):
    config = dict(model=config, optimizer="adamw", eps=1e-8, clip_grad=None, ema_decay=None, steps=len(rates), loss="ce",
                  **optimizer)
    tensors = tensors | {"lr": torch.tensor(rates, dtype=torch.float64),
                         "losses": torch.tensor(losses, dtype=torch.float64)}
    tensors |= {f"param/{n}": p for n, p in start.items()}
    tensors |= {f"final/{n}": p.detach().double().clone() for n, p in model.named_parameters() if p.requires_grad}
    curves.write_case(path, tensors, config)


def start_of(model):
    return {n: p.detach().double().clone() for n, p in model.named_parameters()}


def pretrain(path, steps=200):
    torch.manual_seed(0)
    model = mae.MAE(AUTOENCODER).train()
    images, _ = pictures(steps)
    noise = torch.rand(steps, BATCH, 64, generator=torch.Generator().manual_seed(6))
    rates, start = [learning_rate(s, steps, 2e-3) for s in range(steps)], start_of(model)
    losses = take_steps(model, lambda s: model(images[s], noise[s]), rates, 0.05, (0.9, 0.95), lambda n: 1.0, ())
    write_case(path, model, start, dict(family="mae", **AUTOENCODER),
               {"batch_input": images.double(), "batch_noise": noise.double()}, rates, losses, betas=[0.9, 0.95],
               weight_decay=0.05)
    return model


def finetune(path, encoder, steps=100):
    torch.manual_seed(1)
    options = {k: v for k, v in CLASSIFIER.items() if k not in ("pos_embed", "norm_eps")}
    model = VisionTransformer(**options).train()
    kept = {k: v for k, v in encoder.state_dict().items() if k in model.state_dict()}
    missing, _ = model.load_state_dict(kept, strict=False)
    assert set(missing) == {"fc_norm.weight", "fc_norm.bias", "head.weight", "head.bias"}, missing
    torch.nn.init.trunc_normal_(model.head.weight, std=2e-5)
    images, labels = pictures(steps)
    rates, start = [learning_rate(s, steps, 2e-3) for s in range(steps)], start_of(model)
    loss = lambda s: torch.nn.functional.cross_entropy(model(images[s]), labels[s])
    losses = take_steps(model, loss, rates, 0.05, (0.9, 0.999), lambda n: layer_scale(n, ENCODER["depth"]),
                        ("pos_embed", "cls_token"))
    write_case(path, model, start, dict(family="vit", **CLASSIFIER),
               {"batch_input": images.double(), "batch_target": labels}, rates, losses, betas=[0.9, 0.999],
               weight_decay=0.05, layer_decay=DECAY, layer_decay_norm="head")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--csv", help="write both curves to files that begin so")
    options = parser.parse_args()
    if mae.check(sorted((ROOT / "tests/golden").glob("mae_*.safetensors"))):
        sys.exit("the PyTorch model differs from the golden files")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        encoder = pretrain(folder / "pretraining.safetensors")
        finetune(folder / "finetuning.safetensors", encoder)
        good = [curves.compare(folder / f"{name}.safetensors", options.build, BOUND,
                               options.csv and f"{options.csv}{name}.csv")[0]
                for name in ("pretraining", "finetuning")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
