#!/usr/bin/env python3
"""Writes golden files of random settings of the diffusion transformer, computed in float64 with the PyTorch model of
bench/peer_models/dit.py. It has the form of the official code and is itself checked on the golden files.

    random_dit.py FOLDER [--count 20] [--seed 0]        needs torch, timm and safetensors
    ./run parity FOLDER/*.safetensors
"""
import torch

import random_golden
import dit  # random_golden has put its folder on the path


def draw_config(rng):
    patch, heads, chans = rng.randint(1, 4), rng.randint(1, 3), rng.choice([1, 3, 4])
    return {
        "input_size": patch * rng.randint(1, 5), "patch_size": patch, "in_channels": chans,
        "hidden_size": 4 * heads * rng.randint(2, 4), "depth": rng.randint(1, 3), "num_heads": heads,
        "mlp_ratio": rng.choice([1.0, 2.5, 4.0]), "class_dropout_prob": rng.choice([0.0, 0.1, 0.5]),
        "num_classes": rng.randint(1, 7), "learn_sigma": rng.random() < 0.7,
        "pos_embed": rng.choice(["sincos", "learned"]), "cfg_scale": None,
    }


def add_guidance(rng, config, model, tensors):
    """The model guides three channels, so it needs as many."""
    if config["class_dropout_prob"] == 0 or config["in_channels"] < 3 or rng.random() < 0.5:
        return
    config["cfg_scale"], n = rng.choice([1.5, 4.0]), rng.randint(1, 3)
    x, y = tensors["input"][:1], torch.randint(0, config["num_classes"], (n,))
    tensors["cfg_input"] = torch.randn(2 * n, *x.shape[1:], dtype=torch.float64)
    tensors["cfg_t"] = torch.randint(0, 1000, (n,)).repeat(2)
    tensors["cfg_y"] = torch.cat([y, torch.full((n,), config["num_classes"])])


def make_case(rng, _):
    config, batch = draw_config(rng), rng.randint(1, 4)
    model = dit.DiT(config).double()
    random_golden.disturb(p for p in model.parameters() if p.requires_grad)
    size = config["input_size"]
    tensors = {"input": torch.randn(batch, config["in_channels"], size, size, dtype=torch.float64),
               "t": torch.randint(0, 1000, (batch,)), "y": torch.randint(0, config["num_classes"], (batch,)),
               "drop_noise": torch.rand(batch, dtype=torch.float64),
               "cotangent": torch.randn(batch, model.channels, size, size, dtype=torch.float64)}
    add_guidance(rng, config, model, tensors)
    tensors |= {f"param/{name}": p for name, p in model.named_parameters()}
    # Rows of absent classes have no gradient.
    return config, tensors | dit.outputs(model, tensors, config), []


if __name__ == "__main__":
    random_golden.main(__doc__, lambda _: "dit", make_case)
