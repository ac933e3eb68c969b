#!/usr/bin/env python3
"""Writes the golden files of RMS norm, QuickGELU and amax, computed in float64 with torch.

    make_ops.py FOLDER        needs torch and safetensors
    ./run parity FOLDER/*.safetensors
"""
import argparse
import json
import pathlib

import torch
from safetensors.torch import save_file


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def rms_norm(x, w=None, *, eps):
    return torch.nn.functional.rms_norm(x, x.shape[-1:], w, eps)


def quick_gelu(x):
    return x * torch.sigmoid(1.702 * x)


def amax(x, *, dims, keepdim):
    return torch.amax(x, dims, keepdim)


def with_ties():
    """Rows of few distinct values, so that most maxima occur several times."""
    return torch.randint(-2, 3, (3, 4, 6)).double().requires_grad_()


def files():
    """For each file: its notes, and its cases as name, op, arguments and inputs."""
    return {
        "ops_rms_norm": ("torch.nn.functional.rms_norm", [
            ("rms_norm", rms_norm, {"eps": 1e-6}, {"x": normal(2, 5, 12), "w": normal(12)}),
            ("rms_norm_plain", rms_norm, {"eps": 1e-6}, {"x": normal(3, 4, 7)}),
            ("rms_norm_eps", rms_norm, {"eps": 0.01}, {"x": normal(4, 3), "w": normal(3)}),
            ("rms_norm_wide", rms_norm, {"eps": 1e-5}, {"x": normal(3, 67), "w": normal(67)}),
        ]),
        "ops_quick_gelu": ("x sigmoid(1.702 x), CLIP's activation", [
            ("quick_gelu", quick_gelu, {}, {"x": normal(4, 9)}),
        ]),
        "ops_amax": ("torch.amax, whose gradient equal maxima share", [
            ("amax_all", amax, {"dims": [], "keepdim": False}, {"x": normal(3, 4, 5)}),
            ("amax_tokens", amax, {"dims": [1], "keepdim": False}, {"x": normal(2, 7, 6)}),
            ("amax_image", amax, {"dims": [2, 3], "keepdim": True}, {"x": normal(2, 3, 4, 5)}),
            ("amax_outer", amax, {"dims": [0, -1], "keepdim": False}, {"x": normal(3, 4, 5)}),
            ("amax_ties", amax, {"dims": [2], "keepdim": False}, {"x": with_ties()}),
            ("amax_ties_outer", amax, {"dims": [0, 2], "keepdim": False}, {"x": with_ties()}),
        ]),
    }


def write(path, notes, cases):
    tensors, config = {}, []
    for name, op, arguments, inputs in cases:
        y = op(*inputs.values(), **arguments)
        cotangent = torch.randn_like(y)
        y.backward(cotangent)
        config.append({"name": name, "op": op.__name__, **arguments})
        tensors |= {f"{name}/out/y": y.detach(), f"{name}/cotangent/y": cotangent}
        for argument, value in inputs.items():
            tensors |= {f"{name}/in/{argument}": value.detach(), f"{name}/grad/{argument}": value.grad}
    metadata = {"format": "fovea-golden-1", "family": "ops", "config": json.dumps({"cases": config}),
                "zero_grad": "[]", "notes": notes}
    save_file({k: v.contiguous() for k, v in tensors.items()}, path, metadata)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    torch.manual_seed(1)
    for name, (notes, cases) in files().items():
        write(folder / f"{name}.safetensors", notes, cases)


main()
