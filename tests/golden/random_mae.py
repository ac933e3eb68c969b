#!/usr/bin/env python3
"""Writes golden files of random settings of the masked autoencoder, computed in float64 with the PyTorch
model of bench/peer_models/mae.py. It has the form of the official code and is itself checked on the golden files.

    random_mae.py FOLDER [--count 20] [--seed 0]        needs torch, timm and safetensors
    ./run parity FOLDER/*.safetensors
"""
import torch

import random_golden
from mae import MAE


def draw_grid(rng):
    """Rows, columns, and a mask ratio that hides at least one patch and keeps at least one."""
    grid, ratio = [rng.randint(1, 6), rng.randint(1, 6)], rng.choice([0.75, 0.6, 0.5, rng.uniform(0.02, 0.98)])
    count = grid[0] * grid[1]
    return (grid, ratio) if 0 < int(count * (1 - ratio)) < count else draw_grid(rng)


def draw_config(rng):
    patch, heads, decoder_heads = rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 3)
    grid, ratio = draw_grid(rng)
    chans = rng.choice([1, 3, 4])
    return {
        "img_size": [patch * side for side in grid], "patch_size": patch, "in_chans": chans,
        "embed_dim": 4 * heads * rng.randint(2, 4), "depth": rng.randint(1, 3), "num_heads": heads,
        "decoder_embed_dim": 4 * decoder_heads * rng.randint(2, 4), "decoder_depth": rng.randint(1, 2),
        "decoder_num_heads": decoder_heads, "mlp_ratio": rng.choice([1.0, 2.5, 4.0]),
        "norm_eps": rng.choice([1e-6, 1e-5]), "mask_ratio": ratio,
        "norm_pix_loss": patch * patch * chans > 1 and rng.random() < 0.5,
        "pos_embed": rng.choice(["sincos", "learned"]),
    }


def show_blocks(model):
    """The inputs and outputs of the encoder's blocks, recorded by hooks as the model runs."""
    shown = {}
    model.blocks[0].register_forward_pre_hook(lambda m, x: shown.__setitem__("feat/embed", x[0]))
    for i, block in enumerate(model.blocks):
        block.register_forward_hook(lambda m, x, y, i=i: shown.__setitem__(f"feat/{i}", y))
    return shown


def make_case(rng, _):
    config = draw_config(rng)
    model = MAE(config).double().train()
    random_golden.disturb(p for p in model.parameters() if p.requires_grad)
    batch = rng.randint(1, 4)
    x = torch.randn(batch, config["in_chans"], *config["img_size"], dtype=torch.float64, requires_grad=True)
    noise = torch.rand(batch, model.count, dtype=torch.float64)
    tensors, shown = {"input": x, "noise": noise}, show_blocks(model)
    tensors["loss"] = model(x, noise, tensors)
    tensors["loss"].backward()
    tensors |= shown | {"grad_input": x.grad}
    for name, p in model.named_parameters():
        tensors["param/" + name] = p
        if p.grad is not None:
            tensors["grad/" + name] = p.grad
    return config, tensors, []


if __name__ == "__main__":
    random_golden.main(__doc__, lambda index: "mae", make_case)
