#!/usr/bin/env python3
"""Writes golden files of random PerViT settings, computed in float64 with the PyTorch model of
bench/peer_models/pervit.py. It has the form of the official code and is itself checked on golden files.

    random_pervit.py FOLDER [--count 20] [--seed 0]     needs torch and safetensors
    ./run parity FOLDER/*.safetensors

Cases in which PyTorch's float32 already differs much from float64 are drawn again. For example, with one-tap
projections conv1.weight only scales the divisor of the next norm, and its gradient is the remainder that eps
leaves of a cancellation.
"""
import copy

import torch

import random_golden
from golden import outputs
from pervit import PerViT


def draw_config(rng):
    heads, stages, convs = rng.choice([1, 2, 3, 4]), rng.randint(1, 4), rng.randint(1, 3)
    stem = rng.random() < 0.7
    patch = rng.choice([1, 2, 3, 4])
    chans = rng.choice([1, 3, 4])
    # Narrow enough to be small, wide enough for norms to be smooth: over two channels a LayerNorm
    # is a sign, and its gradient rounding noise.
    dims = [heads * rng.randint(-(-6 // heads), -(-14 // heads)) for _ in range(stages)]
    if rng.random() < 0.3:
        dims = dims[:1] * stages
    phi_p = rng.random() < 0.85
    phi_c = not phi_p or rng.random() < 0.8
    side = rng.randint(2, 6) * (2 ** convs if stem else patch)
    return {
        "img_size": [side, side], "in_chans": chans, "num_classes": rng.randint(2, 11),
        "emb_dims": dims, "depths": [rng.randint(1, 2) for _ in dims],
        "convstem_dims": [chans] + [rng.randint(4, 8) for _ in range(convs - 1)] + dims[:1],
        "num_heads": heads, "mlp_ratio": rng.choice([1.0, 2.5, 4.0]),
        "norm_eps": rng.choice([1e-6, 1e-5]), "phi_p": phi_p, "phi_c": phi_c, "conv_stem": stem,
        "patch_size": patch, "cpe": rng.random() < 0.7, "ppe_embed": rng.choice(["euc", "euc", "lrn"]),
        "ppe_kernel": rng.choice([1, 3, 3, 5]), "ppe_layers": rng.choice([1, 2, 2]),
        "ppe_frozen": rng.random() < 0.15, "pos_embed": rng.choice(["none", "none", "learned"]),
        "init": None, "loss": rng.choice(["ce", "label_smoothing"]), "smoothing": 0.1,
    }


def zero_in_theory(name, config):
    """Biases in front of a norm that subtracts the mean."""
    ppe = name.endswith((".conv1.bias", ".conv2.bias")) or name == "rpe_proj.bias"
    return ppe or (name.startswith("conv_layers.conv_layers.") and name.endswith(".0.bias"))


def well_conditioned(exact, rounded, zero):
    """True if rounding to float32 changes so little that the case can also be run in bfloat16."""
    gradients = {k: v for k, v in exact.items() if k.startswith("grad") and k.removeprefix("grad/") not in zero}
    largest = max(v.norm() for v in gradients.values())
    for name, value in exact.items():
        error = (rounded[name] - value).norm()
        if name in gradients:
            close = error < 5e-5 * value.norm() and error < 3e-6 * max(value.norm(), 1e-2 * largest)
        else:
            close = name.startswith("grad") or error < 6e-7 * value.norm()
        if not close:
            return False
    return True


def make_case(rng, family):
    config = draw_config(rng)
    model = PerViT(config | {"product": True})
    random_golden.disturb(model.parameters())
    with torch.no_grad():
        for name, b in model.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                b.add_(0.3 * torch.rand_like(b))
    if config["ppe_frozen"]:
        for name, p in model.named_parameters():
            p.requires_grad_(not (".activation." in name or name.startswith("rpe_")))
    x = torch.randn(4, config["in_chans"], *config["img_size"])
    target = torch.randint(0, config["num_classes"], (4,))
    zero = [k for k, _ in model.named_parameters() if zero_in_theory(k, config)]
    rounded = outputs(copy.deepcopy(model), x, target, config)
    model, x = model.double(), x.double()
    tensors = {"buffer/" + k: b.clone() for k, b in model.named_buffers() if "running" in k}
    tensors |= {"param/" + k: p.detach().clone() for k, p in model.named_parameters()}
    exact = outputs(model, x, target, config)
    if not well_conditioned(exact, rounded, zero):
        return make_case(rng, family)
    return config, tensors | exact | {"input": x, "target": target}, zero


if __name__ == "__main__":
    random_golden.main(__doc__, lambda index: "pervit", make_case)
