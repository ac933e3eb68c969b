#!/usr/bin/env python3
"""Writes golden files of random settings of DETR and Deformable DETR, computed in float64 with the PyTorch models of
bench/peer_models/detr.py. They have the form of the official code and are themselves checked on the golden files.

    random_detr.py FOLDER [--count 20] [--seed 0]       needs torch, torchvision, scipy and safetensors
    ./run parity FOLDER/*.safetensors
"""
import torch

import random_golden
import detr  # random_golden has put its folder on the path


def draw_config(rng, family):
    stages, layers = rng.randint(1, 4), rng.randint(1, 3)
    heads = rng.choice([1, 2, 4])
    config = {
        "num_classes": rng.randint(1, 6), "num_queries": rng.randint(1, 9),
        "d_model": 32 * rng.randint(1, 2) if family == "ddetr" else 4 * heads * rng.randint(1, 4), "nheads": heads,
        "enc_layers": layers, "dec_layers": rng.randint(1, 3), "dim_feedforward": rng.randint(3, 20),
        "stem": rng.randint(2, 5), "planes": [rng.randint(1, 4) for _ in range(stages)],
        "blocks": [rng.randint(1, 2) for _ in range(stages)], "dilation": stages > 1 and rng.random() < 0.3,
        "encoder_pos": rng.choice(["sine", "none", "peg"]), "eos_coef": rng.choice([0.1, 0.3]),
        "pre_norm": family == "detr" and rng.random() < 0.5,
    }
    if config["encoder_pos"] == "peg" and rng.random() < 0.5:
        config["peg_positions"] = sorted(rng.sample(range(-1, layers), rng.randint(1, layers)))
        config["peg_mask_input"] = rng.random() < 0.5
    if family == "ddetr":
        config |= {"enc_n_points": rng.randint(1, 4), "dec_n_points": rng.randint(1, 4),
                   "focal_alpha": rng.choice([0.25, 0.6])}
    return config


def draw_images(rng, config):
    """Images of different sizes, padded, and their objects. A map has two rows and columns at least."""
    stride = 2 ** (len(config["planes"]) + 1 - config["dilation"])
    config["sizes"] = [[rng.randint(stride + 1, 3 * stride) for _ in range(2)] for _ in range(rng.randint(2, 3))]
    config["boxes"] = [rng.randint(0, 4) for _ in config["sizes"]]
    height, width = (max(side) for side in zip(*config["sizes"]))
    tensors = {"input": torch.zeros(len(config["sizes"]), 3, height, width),
               "mask": torch.ones(len(config["sizes"]), height, width, dtype=torch.long)}
    for b, ((h, w), count) in enumerate(zip(config["sizes"], config["boxes"])):
        tensors["input"][b, :, :h, :w] = torch.randn(3, h, w)
        tensors["mask"][b, :h, :w] = 0
        if count:
            size = 0.1 + 0.5 * torch.rand(count, 2)
            centre = size / 2 + (1 - size) * torch.rand(count, 2)
            tensors |= {f"target/{b}/labels": torch.randint(0, config["num_classes"], (count,)),
                        f"target/{b}/boxes": torch.cat([centre, size], 1)}
    return tensors


def disturb_norms(model):
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            if name.endswith(("weight", "running_var")):
                buffer.copy_(0.5 + torch.rand_like(buffer))
            elif buffer.is_floating_point():
                buffer.copy_(0.3 * torch.randn_like(buffer))


def make_case(rng, family):
    torch.set_default_dtype(torch.float64)
    config = draw_config(rng, family)
    model = detr.build(family, config | {"dropout": 0})
    random_golden.disturb(model.parameters())
    disturb_norms(model)
    tensors = draw_images(rng, config)
    tensors |= {f"param/{name}": p.detach().clone() for name, p in model.named_parameters()}
    tensors |= {f"buffer/{name}": b.clone() for name, b in model.named_buffers() if b.is_floating_point()}
    found = detr.outputs(family, model, config, tensors)
    # Some gradients are zero in theory, whatever the settings.
    norms = {name: x.norm() for name, x in found.items() if name.startswith("grad/")}
    zero = [name.removeprefix("grad/") for name, norm in norms.items() if norm < 1e-12 * max(norms.values())]
    return config, tensors | found, zero


if __name__ == "__main__":
    random_golden.main(__doc__, lambda index: ("detr", "ddetr")[index % 2], make_case)
