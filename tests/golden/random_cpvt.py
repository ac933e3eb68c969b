#!/usr/bin/env python3
"""Writes golden files of random CPVT settings, computed in float64 with the PyTorch model of
bench/peer_models/cpvt.py, which is itself checked on the golden files. Besides their options it also draws
fovea's own pos_embed rpe2d and irpe.

    random_cpvt.py FOLDER [--count 20] [--seed 0]       needs torch and safetensors
    ./run parity FOLDER/*.safetensors
"""
import torch

import random_golden
from cpvt import CPVT
from golden import outputs


def draw_pegs(rng, depth):
    positions = rng.sample(range(-1, depth), rng.randint(0, depth + 1))
    return {"peg_positions": sorted(positions), "peg_stack": rng.choice([1, 1, 1, 2, 3]),
            "peg_kernel": rng.choice([1, 3, 3, 5, 7]), "peg_padding": rng.choice(["zero", "zero", "none"]),
            "peg_conv": rng.choice(["depthwise", "depthwise", "separable", "full"]),
            "peg_residual": rng.random() < 0.8, "peg_frozen": rng.random() < 0.15}


def draw_config(rng):
    patch, heads, depth = rng.choice([1, 2, 3, 4]), rng.choice([1, 2, 3]), rng.randint(1, 4)
    token, pegs = rng.random() < 0.6, draw_pegs(rng, depth)
    least = 1
    if pegs["peg_padding"] == "none":  # every PEG takes kernel - 1 off the grid
        pegs["peg_kernel"] = rng.choice([3, 5])
        pegs["peg_positions"] = pegs["peg_positions"][:2]
        least += len(pegs["peg_positions"]) * pegs["peg_stack"] * (pegs["peg_kernel"] - 1)
    return {
        "img_size": [patch * rng.randint(least, least + 4), patch * rng.randint(least, least + 4)],
        "patch_size": patch, "in_chans": rng.choice([1, 3, 4]), "num_classes": rng.randint(2, 11),
        "embed_dim": 4 * heads * rng.randint(2, 5), "depth": depth, "num_heads": heads,
        "mlp_ratio": rng.choice([1.0, 2.5, 4.0]), "qkv_bias": rng.random() < 0.7,
        "norm_eps": rng.choice([1e-6, 1e-5]), "class_token": token,
        "global_pool": rng.choice(["token", "token", "avg"]) if token else "avg",
        "pos_embed": rng.choice(["none", "none", "learned", "sincos", "rpe2d"]),
        "loss": rng.choice(["ce", "label_smoothing"]), "smoothing": 0.1,
    } | pegs


def make_case(rng, _):
    config = draw_config(rng)
    if config["pos_embed"] != "rpe2d" and rng.random() < 0.25:
        config["irpe"] = True
    model = CPVT(config).double()
    random_golden.disturb(p for name, p in model.named_parameters() if p.requires_grad or name != "pos_embed")
    batch = rng.randint(1, 4)
    x = torch.randn(batch, config["in_chans"], *config["img_size"], dtype=torch.float64)
    target = torch.randint(0, config["num_classes"], (batch,))
    tensors = {"input": x, "target": target} | outputs(model, x, target, config)
    tensors |= {"param/" + name: p for name, p in model.named_parameters()}
    # PEGs behind the last block that the class token passes, ...
    zero = [name for name, p in model.named_parameters() if p.requires_grad and p.grad.norm() < 1e-12]
    return config, tensors, zero


if __name__ == "__main__":
    random_golden.main(__doc__, lambda index: "cpvt", make_case)
