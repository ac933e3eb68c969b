#!/usr/bin/env python3
"""Writes golden files of random ViT and DeiT settings, computed with timm in float64.

    random_cases.py FOLDER [--count 20] [--seed 0]      needs torch, timm and safetensors
    ./run parity FOLDER/*.safetensors
"""
import functools

import torch
import torch.nn.functional as F
from timm.layers import GluMlp, LayerNorm, Mlp, RmsNorm, SwiGLU
from timm.models import vision_transformer as vit
from timm.models.deit import VisionTransformerDistilled

import random_golden

NORMS = {"layernorm": LayerNorm, "rmsnorm": RmsNorm}
MLPS = {"mlp": Mlp, "glu": functools.partial(GluMlp, gate_last=False), "swiglu": SwiGLU}
BLOCKS = {"block": vit.Block, "res_post": vit.ResPostBlock,
          "parallel_scaling": vit.ParallelScalingBlock,
          "diff_parallel_scaling": vit.DiffParallelScalingBlock,
          "parallel_things": vit.ParallelThingsBlock}


def sincos(dim, grid, prefix):
    """MAE's table: the first half of the channels encodes the column."""
    omega = 10000.0 ** (-torch.arange(dim // 4, dtype=torch.float64) / (dim // 4))
    rows = []
    for y in range(grid[0]):
        for x in range(grid[1]):
            rows.append(torch.cat([torch.sin(x * omega), torch.cos(x * omega),
                                   torch.sin(y * omega), torch.cos(y * omega)]))
    return torch.cat([torch.zeros(prefix, dim, dtype=torch.float64), torch.stack(rows)])[None]


def draw_block(rng):
    """The parts of a block that newer models change."""
    one_projection = rng.random() < 0.2
    if one_projection:
        block = {"block_fn": rng.choice(["parallel_scaling", "diff_parallel_scaling"])}
    else:
        block = {"block_fn": rng.choice(["block", "block", "block", "res_post", "parallel_things"]),
                 "attn_layer": rng.choice(["attn", "attn", "diff"]),
                 "mlp_layer": rng.choice(list(MLPS)),
                 "scale_attn_norm": rng.random() < 0.3, "scale_mlp_norm": rng.random() < 0.3}
    return block | {"act_layer": rng.choice(["gelu", "gelu_tanh", "quick_gelu", "silu"]),
                    "norm_layer": rng.choice(list(NORMS)), "init_values": rng.choice([0, 0.5, 1e-5]),
                    "proj_bias": rng.random() < 0.7, "qk_norm": rng.random() < 0.3}


def draw_config(rng, distilled):
    patch, heads = rng.choice([1, 2, 3, 4]), rng.choice([1, 2, 3])
    config = {
        "img_size": [patch * rng.randint(1, 4), patch * rng.randint(2, 5)],
        "patch_size": patch, "in_chans": rng.choice([1, 3, 4]), "num_classes": rng.randint(2, 11),
        "embed_dim": 4 * heads * rng.randint(1, 4), "depth": rng.randint(1, 3), "num_heads": heads,
        "mlp_ratio": rng.choice([1.0, 2.5, 4.0]), "qkv_bias": rng.random() < 0.7,
        "norm_eps": rng.choice([1e-6, 1e-5]),
        "loss": rng.choice(["ce", "label_smoothing"]), "smoothing": 0.1,
    }
    if distilled:
        return config | {"distilled": True, "distillation_type": "none", "alpha": 0.5, "tau": 1.0}
    token = rng.random() < 0.6
    pools = ["avg", "avg", "avgmax", "max", "map"] + ["token"] * (4 * token)
    modern = rng.random() < 0.6
    if modern:
        # The norm of a patch of one value would hide it: gradients of zero in theory.
        norms = NORMS if patch * patch * config["in_chans"] > 1 else []
        config |= draw_block(rng) | {
            "pre_norm": rng.random() < 0.3, "final_norm": rng.random() < 0.8,
            "reg_tokens": rng.choice([0, 0, 1, 4]), "pool_include_prefix": rng.random() < 0.2,
            "embed_norm_layer": rng.choice(["none", "none", *norms])}
    return config | {
        "class_token": token, "global_pool": rng.choice(pools),
        "fc_norm": rng.choice([None, True, False]),
        "pos_embed": rng.choice(["learned", "sincos", "none"]),
        "no_embed_class": rng.random() < 0.3,
        "permutation": False, "permute_T": 0, "permute_delta": None,
    }


def without_rounding(module):
    """timm rounds the factor of differential attention to f32; here it stays in f64."""
    first = torch.exp(torch.sum(module.lambda_q1 * module.lambda_k1))
    second = torch.exp(torch.sum(module.lambda_q2 * module.lambda_k2))
    return first - second + module.lambda_init


def in_f64(model):
    for module in model.modules():
        if hasattr(module, "_compute_lambda"):
            module._compute_lambda = functools.partial(without_rounding, module)
    return model.double()


def build(config, distilled):
    # What both families share.
    common = {k: config[k] for k in ("img_size", "patch_size", "in_chans", "num_classes",
                                     "embed_dim", "depth", "num_heads", "mlp_ratio", "qkv_bias")}
    norm = functools.partial(LayerNorm, eps=config["norm_eps"])
    if distilled:
        model = VisionTransformerDistilled(**common, norm_layer=norm)
        model.set_distilled_training(True)
        return model
    parts = {k: config[k] for k in
             ("class_token", "global_pool", "fc_norm", "no_embed_class", "pre_norm", "final_norm",
              "reg_tokens", "pool_include_prefix", "act_layer", "init_values", "proj_bias",
              "qk_norm", "scale_attn_norm", "scale_mlp_norm", "attn_layer") if k in config}
    if "init_values" in parts:
        parts["init_values"] = parts["init_values"] or None
    norm = functools.partial(NORMS[config.get("norm_layer", "layernorm")], eps=config["norm_eps"])
    embed_norm = config.get("embed_norm_layer", "none")
    if embed_norm != "none":
        parts["embed_norm_layer"] = functools.partial(NORMS[embed_norm], eps=config["norm_eps"])
    return vit.VisionTransformer(**common, norm_layer=norm, **parts,
                                 block_fn=BLOCKS[config.get("block_fn", "block")],
                                 mlp_layer=MLPS[config.get("mlp_layer", "mlp")])


def make_case(rng, family):
    distilled = family == "deit"
    config = draw_config(rng, distilled)
    model = in_f64(build(config, distilled))
    random_golden.disturb(model.parameters())
    kind = config.get("pos_embed", "learned")
    if kind != "learned":
        grid = [s // config["patch_size"] for s in config["img_size"]]
        prefix = model.pos_embed.shape[1] - grid[0] * grid[1]
        table = sincos(config["embed_dim"], grid, prefix)
        model.pos_embed.data = table if kind == "sincos" else torch.zeros_like(table)
        model.pos_embed.requires_grad_(False)

    return config, *computed(rng, config, model, kind)


def computed(rng, config, model, positions="learned"):
    """The tensors of a case, and the names of gradients that are zero."""
    distilled = isinstance(model, VisionTransformerDistilled)
    batch = rng.randint(1, 4)
    x = torch.randn(batch, config["in_chans"], *config["img_size"],
                    dtype=next(model.parameters()).dtype, requires_grad=True)
    target = torch.randint(config["num_classes"], (batch,))
    feats = {}
    for i, block in enumerate(model.blocks):
        block.register_forward_hook(lambda m, a, out, i=i: feats.__setitem__(f"feat/{i}", out))
    model.blocks[0].register_forward_pre_hook(lambda m, a: feats.__setitem__("feat/embed", a[0]))
    model.train()
    out = model(x)
    tensors = {"input": x, "target": target} | feats
    logits = out[0] if distilled else out
    tensors["logits"] = logits
    if distilled:
        tensors["logits_dist"] = out[1]
    smoothing = config["smoothing"] if config["loss"] == "label_smoothing" else 0.0
    loss = F.cross_entropy(logits, target, label_smoothing=smoothing)
    loss.backward()
    tensors |= {"loss": loss, "grad_input": x.grad}
    state = dict(model.named_parameters())
    for name, p in state.items():
        if name == "pos_embed" and positions == "none":
            continue
        tensors["param/" + name] = p
        if p.requires_grad:
            tensors["grad/" + name] = torch.zeros_like(p) if p.grad is None else p.grad
    model.eval()
    if distilled:
        model.set_distilled_training(False)
    tensors["logits_eval"] = model(x.detach())
    zero = ["head_dist.weight", "head_dist.bias"] if distilled else []
    # The same shift of all logits of a query, which softmax ignores.
    zero += [name for name in state if name.endswith("k_norm.bias")]
    return tensors, zero


if __name__ == "__main__":
    random_golden.main(__doc__, lambda index: "deit" if index % 4 == 3 else "vit", make_case)
