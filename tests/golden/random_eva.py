#!/usr/bin/env python3
"""Writes golden files of random settings of timm's class Eva, computed with timm in float64.

    random_eva.py FOLDER [--count 20] [--seed 0] [--f32]      needs torch, timm and safetensors
    ./run parity FOLDER/*.safetensors                         with --f32: ./run parity --precision f32

timm computes the tables of rotary positions in float32; here tables in float64 stand in their place. With --f32 timm
stays as it is. Its angles are at most 24 (the largest coordinate times a frequency of at most 1) and pass four
roundings, so they are off by at most 24 * 4 * 2^-24 = 5.7e-6. A query and a key turn by such angles: their product is
off by at most 1.2e-5 of their lengths, which leaves room for the sums in parity's bound of 2e-5 for outputs.

A gradient that almost cancels is as good as its rounding. One setting has images of one value a patch, whose embeddings
all lie on one line: the norm after it hides the value, except for its eps, about a millionth of the variance. The
embeddings' own rounding, by 2^-24, is already a thousandth of what is left, whoever computes the norm. So each gradient
is computed in f64 too. Where timm's own error is above a tenth of parity's bound, the file has the exact gradient and,
as f32_errors, the root mean square of timm's errors over 16 copies of the model and its images, all numbers nudged by
about 2^-22: one error alone is a matter of chance. Another order of sums draws its error from the same spread, and one
normal draw in 16,000 is above four times its root mean square: parity's bound, if it is above 2e-4.
"""
import copy
import functools
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from timm.layers import LayerNorm, RmsNorm, RotaryEmbeddingDinoV3, RotaryEmbeddingMixed
from timm.models.eva import Eva

import random_golden
from random_cases import computed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
from timm_settings import eva_settings  # noqa: E402

NORMS = [LayerNorm, RmsNorm]
BOUND = 2e-4  # parity's for gradients in f32
COPIES = 16


def coordinates(rope, grid):
    """Of the rows and of the columns."""
    reference = getattr(rope, "ref_feat_shape", None) or grid
    offset = getattr(rope, "grid_offset", 0)
    axes = []
    for count, known in zip(grid, reference):
        index = torch.arange(count, dtype=torch.float64) + offset
        centred = 2 * math.pi * (2 * (index + 0.5) / count - 1)
        axes.append(centred if isinstance(rope, RotaryEmbeddingDinoV3) else index / count * known)
    return axes


def angles(rope, grid):
    """[patches, pairs], or [blocks, heads, patches, pairs]."""
    y, x = (axis.reshape(-1, 1) for axis in torch.meshgrid(*coordinates(rope, grid), indexing="ij"))
    first, second = (x, y) if rope.grid_indexing == "xy" else (y, x)
    if isinstance(rope, RotaryEmbeddingMixed):
        return first * rope.freqs[0].unsqueeze(-2) + second * rope.freqs[1].unsqueeze(-2)
    count = rope.dim // 4
    frequencies = rope.temperature ** (-torch.arange(count, dtype=torch.float64) / count)
    return torch.cat([first * frequencies, second * frequencies], -1)


def table(rope, grid):
    """What get_embed() returns: the sine, then the cosine of each channel."""
    turn = angles(rope, grid)
    is_half = getattr(rope, "rotate_half", False)
    channels = [torch.cat([part, part], -1) if is_half else part.repeat_interleave(2, -1)
                for part in (turn.sin(), turn.cos())]
    return torch.cat(channels, -1)


def in_f64(model):
    model.double()
    if model.rope is not None:
        model.rope.get_embed = lambda *shape, **more: table(model.rope, model.patch_embed.grid_size)
    return model


def draw_rotary(rng):
    kind = rng.choice(["none", "cat", "cat", "mixed", "dinov3"])
    if kind == "none":
        return {}
    rotary = {"use_rot_pos_emb": True, "rope_type": kind, "rope_temperature": rng.choice([10.0, 100.0, 10000.0]),
              "rope_grid_indexing": rng.choice(["ij", "xy"])}
    if kind != "mixed":
        rotary |= {"rope_rotate_half": rng.random() < 0.5, "rope_grid_offset": rng.choice([0.0, 0.0, 1.0, -0.25])}
    if kind == "cat" and rng.random() < 0.5:
        rotary["ref_feat_shape"] = (rng.randint(2, 24),) * 2
    return rotary


def draw_attention(rng, heads, depth, post_norm, rotary):
    """Heads of keys and values, and biases. Post-norm blocks have fewer choices, and timm's tables of mixed
    frequencies fit as many heads of keys as of queries."""
    attention = {"attn_type": rng.choice(["eva", "rope"]), "qkv_bias": rng.random() < 0.7,
                 "qkv_fused": rng.random() < 0.5, "scale_attn_inner": rng.random() < 0.3}
    if post_norm:
        return attention
    attention["qk_norm"] = rng.random() < 0.3
    has_choice = attention["attn_type"] == "rope" and rotary.get("rope_type") != "mixed"
    if has_choice and not attention["qkv_fused"] and rng.random() < 0.6:
        attention["num_kv_heads"] = tuple(rng.choice([h for h in range(1, heads + 1) if heads % h == 0])
                                          for _ in range(depth))
    return attention


def draw_norms(rng, pool):
    """The norms before and after the blocks. timm can have both last ones, fovea has one of them."""
    norms = {"use_pre_transformer_norm": rng.random() < 0.3, "use_fc_norm": rng.choice([None, None, True, False]),
             "norm_layer": functools.partial(rng.choice(NORMS), eps=rng.choice([1e-6, 1e-5]))}
    pooled = pool == "avg" if norms["use_fc_norm"] is None else norms["use_fc_norm"]
    return norms | {"use_post_transformer_norm": rng.choice([None, False] if pooled else [None, True, False])}


def draw_arguments(rng):
    """Arguments of timm's class."""
    patch, heads, depth = rng.choice([1, 2, 3, 4]), rng.choice([1, 2, 4]), rng.randint(1, 3)
    token, post_norm = rng.random() < 0.6, rng.random() < 0.2
    pool = rng.choice(["avg", "avg", "avgmax", "max", "map"] + ["token"] * (4 * token))
    has_scale, rotary = not post_norm and rng.random() < 0.5, draw_rotary(rng)
    return {
        "img_size": (patch * rng.randint(1, 4), patch * rng.randint(2, 5)), "patch_size": patch,
        "in_chans": rng.choice([1, 3, 4]), "num_classes": rng.randint(2, 11), "global_pool": pool,
        "embed_dim": 4 * heads * rng.randint(1, 3), "depth": depth, "num_heads": heads,
        "mlp_ratio": rng.choice([1.0, 2.5, 8 / 3]), "swiglu_mlp": rng.random() < 0.5,
        "swiglu_align_to": rng.choice([0, 0, 8]), "scale_mlp": rng.random() < 0.3,
        "class_token": token, "num_reg_tokens": rng.choice([0, 0, 1, 4]), "no_embed_class": rng.random() < 0.3,
        "use_abs_pos_emb": rng.random() < 0.5, "use_post_norm": post_norm,
        "init_values": 0.5 if has_scale else None, "attn_only_layer_scale": has_scale and rng.random() < 0.3,
        "attn_pool_num_heads": rng.choice([None, 2]) if pool == "map" else None,
        "attn_pool_mlp_ratio": rng.choice([None, 2.0]) if pool == "map" else None,
    } | draw_norms(rng, pool) | draw_attention(rng, heads, depth, post_norm, rotary) | rotary


def gradients(model, images, target, smoothing):
    """By their names in the file."""
    images = images.detach().clone().requires_grad_()
    model.train()
    model.zero_grad()
    F.cross_entropy(model(images), target, label_smoothing=smoothing).backward()
    return {"grad_input": images.grad} | {"grad/" + name: p.grad.clone() for name, p in model.named_parameters()
                                          if p.grad is not None}


class Rounding:
    """A model in float32 beside itself in float64."""

    def __init__(self, model, images, *loss):
        self.model, self.exact, self.images, self.loss = model, in_f64(copy.deepcopy(model)), images, loss

    def measure(self):
        """The exact gradients, and the relative errors of timm's."""
        exact = gradients(self.exact, self.images.double(), *self.loss)
        rounded = gradients(self.model, self.images, *self.loss)
        return exact, {name: float((rounded[name] - exact[name]).norm() / exact[name].norm()) for name in exact}

    def nudge(self, generator):
        def near(values):
            return values * (1 + 2 ** -22 * torch.randn(values.shape, generator=generator))

        model = copy.deepcopy(self.model)
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(near(p))
        return Rounding(model, near(self.images.detach()), *self.loss)


def inexact(rounding, zero):
    """The exact gradients that timm's float32 is far from, and by how much."""
    exact, once = rounding.measure()
    names = [name for name, error in once.items() if error > BOUND / 10 and name.removeprefix("grad/") not in zero]
    if not names:
        return {}, {}
    generator = torch.Generator().manual_seed(0)  # its own: the next settings are the same with and without
    errors = [rounding.nudge(generator).measure()[1] for _ in range(COPIES)]
    return ({name: exact[name] for name in names},
            {name: math.sqrt(sum(e[name] ** 2 for e in errors) / COPIES) for name in names})


def make_case(rng, _family, f32):
    arguments = draw_arguments(rng)
    model = Eva(**arguments) if f32 else in_f64(Eva(**arguments))
    random_golden.disturb(model.parameters())
    config = eva_settings(arguments) | {key: arguments[key] for key in ("img_size", "in_chans", "num_classes")}
    config |= {"loss": rng.choice(["ce", "label_smoothing"]), "smoothing": 0.1}
    tensors, zero = computed(rng, config, model)
    if arguments.get("use_rot_pos_emb"):
        zero = []
    elif not arguments.get("qk_norm"):  # the same shift of all logits of a query, which softmax ignores
        zero += [name for name, _ in model.named_parameters() if name.endswith("k_proj.bias")]
    if not f32:
        return config, tensors, zero
    smoothing = config["smoothing"] if config["loss"] == "label_smoothing" else 0.0
    exact, errors = inexact(Rounding(model, tensors["input"], tensors["target"], smoothing), zero)
    return config, tensors | exact, zero, {"f32_errors": errors}


if __name__ == "__main__":
    random_golden.main(__doc__, lambda index: "vit", make_case, [("f32", "timm as it is, in float32")])
