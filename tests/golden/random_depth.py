#!/usr/bin/env python3
"""Writes golden files of random settings of depth transformers, computed in float64 with the PyTorch model of
bench/peer_models/depth.py, which is itself checked on the golden files.

    random_depth.py FOLDER [--count 20] [--seed 0]        needs torch, timm and safetensors
    ./run parity FOLDER/*.safetensors
"""
import torch

import random_golden
from depth import Depth, loss


def draw_config(rng):
    patch, heads = rng.randint(1, 4), rng.randint(1, 3)
    return {
        "img_size": [patch * rng.randint(1, 6), patch * rng.randint(1, 6)], "patch_size": patch,
        "in_chans": rng.choice([1, 3, 4]), "embed_dim": 4 * heads * rng.randint(2, 4), "depth": rng.randint(1, 3),
        "num_heads": heads, "mlp_ratio": rng.choice([1.0, 2.5, 4.0]), "class_token": rng.random() < 0.5,
        "pos_embed": "learned", "norm_eps": rng.choice([1e-6, 1e-5]), "loss": rng.choice(["l1", "scale_invariant"]),
    }


def show_blocks(model):
    """The inputs and outputs of the blocks, recorded by hooks as the model runs."""
    shown = {}
    model.blocks[0].register_forward_pre_hook(lambda m, x: shown.__setitem__("feat/embed", x[0]))
    for i, block in enumerate(model.blocks):
        block.register_forward_hook(lambda m, x, y, i=i: shown.__setitem__(f"feat/{i}", y))
    return shown


def measures(output, target):
    """Of output + 3, clipped: RMSE, AbsRel, log10, and the shares within 1.25, 1.25^2, 1.25^3."""
    known = target > 0
    d, t = (output + 3).clamp(1e-3, 10)[known], target[known]
    ratio = torch.maximum(d / t, t / d)
    values = [((d - t) ** 2).mean().sqrt(), ((d - t).abs() / t).mean(), (d.log10() - t.log10()).abs().mean()]
    return torch.stack(values + [(ratio < 1.25 ** k).double().mean() for k in (1, 2, 3)])


def make_case(rng, _):
    config = draw_config(rng)
    model = Depth(config).double()
    random_golden.disturb(model.parameters())
    x = torch.randn(rng.randint(1, 4), config["in_chans"], *config["img_size"], dtype=torch.float64, requires_grad=True)
    shown = show_blocks(model)
    output = model(x)
    target = 0.5 + 6 * torch.rand_like(output)
    target[torch.rand_like(output) < 0.2] = 0
    target[:, 0, 0] = 2.0  # each picture has a known pixel
    value = loss(config, output, target)
    value.backward()
    tensors = shown | {"input": x, "target": target, "output": output, "loss": value, "grad_input": x.grad,
                       "measures": measures(output, target)}
    for name, p in model.named_parameters():
        tensors["param/" + name], tensors["grad/" + name] = p, p.grad
    return config, tensors, []


if __name__ == "__main__":
    random_golden.main(__doc__, lambda index: "depth", make_case)
