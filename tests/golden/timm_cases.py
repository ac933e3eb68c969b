#!/usr/bin/env python3
"""Writes golden files of timm's vision transformers, computed in float64: timm_cases.py FOLDER

Needs torch, timm and safetensors. Each of CASES is a timm architecture made small: vit_*.safetensors has a forward
and a backward pass, train_*.safetensors (of TRAINED) a few optimizer steps.
"""
import json
import pathlib
import random
import sys

import timm
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from timm.models.eva import Eva
from timm.optim import param_groups_layer_decay, param_groups_weight_decay

import random_cases
import random_eva
import random_golden
from random_cases import computed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
from timm_settings import settings_of  # noqa: E402

# File, architecture, what it is changed to besides its size.
CASES = [
    ("clip", "vit_base_patch16_clip_quickgelu_224", {}),
    ("siglip", "vit_base_patch32_siglip_256", {}),
    ("siglip_gap", "vit_base_patch16_siglip_gap_224", {}),
    ("dinov2", "vit_giant_patch14_reg4_dinov2", {}),
    ("deit3", "deit3_small_patch16_224", {}),
    ("aimv2", "aimv2_large_patch14_224", {}),
    ("so150m2", "vit_so150m2_patch16_reg1_gap_256", {}),
    ("rpn", "vit_base_patch16_rpn_224", {}),
    ("parallel", "vit_pwee_patch16_reg1_gap_256", {}),
    ("diff_parallel", "vit_dpwee_patch16_reg1_gap_256", {}),
    ("diff", "vit_dwee_patch16_reg1_gap_256", {}),
    ("beit3", "beit3_base_patch16_224", {}),
    ("radio", "vit_base_patch16_radio_v3", {}),
    ("map_prefix", "test_vit3", {}),
    ("avgmax_qknorm", "vit_small_patch16_224", {"global_pool": "avgmax", "qk_norm": True}),
    ("max", "vit_medium_patch16_reg4_gap_256", {"global_pool": "max"}),
    ("eva02", "eva02_base_patch14_224", {}),
    ("eva02_clip", "eva02_large_patch14_clip_224", {}),
    ("eva_post", "eva02_enormous_patch14_clip_224", {}),
    ("rope_gap", "vit_betwixt_patch16_rope_reg4_gap_256", {}),
    ("rope_mixed", "vit_small_patch16_rope_mixed_ape_224", {}),
    ("pe", "vit_pe_core_small_patch16_384", {}),
    ("dinov3", "vit_small_plus_patch16_dinov3_qkvb", {}),
    ("sapiens2", "vit_large_patch16_sapiens2", {"num_kv_heads": [2, 1], "rope_rescale_coords": None}),
]
TRAINED = {"clip": "adamw", "siglip": "sgd", "dinov2": "adamw", "aimv2": "sgd", "rpn": "adamw", "diff_parallel": "sgd",
           "rope_mixed": "adamw", "dinov3": "adamw", "sapiens2": "sgd"}
LAYER_DECAY = 0.6


def small_model(name, changes, width, depth):
    if "num_kv_heads" in changes:
        changes = {**changes, "num_kv_heads": changes["num_kv_heads"][-depth:]}
    config = {**settings_of(name), **changes, "img_size": [8, 12], "patch_size": 4, "in_chans": 2, "num_classes": 5,
              "embed_dim": width, "depth": depth, "num_heads": 2, "mlp_ratio": 2.0}
    own = ("img_size", "patch_size", "in_chans", "num_classes", "embed_dim", "depth", "num_heads", "mlp_ratio")
    model = timm.create_model(name, **{key: config[key] for key in own}, **changes)
    (random_eva if isinstance(model, Eva) else random_cases).in_f64(model)
    for parameter_name, parameter in model.named_parameters():
        if "gamma" in parameter_name:  # layer scale begins near 0, where gradients vanish
            parameter.data.fill_(0.7)
    random_golden.disturb(model.parameters())
    return config, model


def write(path, family, config, tensors, zero, notes):
    metadata = {"format": "fovea-golden-1", "family": family, "config": json.dumps(config),
                "zero_grad": json.dumps(zero), "notes": notes}
    save_file({k: v.detach().clone().contiguous() for k, v in tensors.items()}, path, metadata)


def write_pass(folder, label, name, changes):
    width = 16 if settings_of(name).get("block_fn", "").startswith("eva") else 12  # a multiple of 4 a head
    config, model = small_model(name, changes, width, depth=1 if label in ("siglip", "map_prefix") else 2)
    config |= {"loss": "label_smoothing", "smoothing": 0.1}
    tensors, zero = computed(random.Random(1), config, model)
    write(folder / f"vit_{label}.safetensors", "vit", config, tensors, zero, f"timm {timm.__version__}, {name}")


def optimizer_of(kind, model):
    """AdamW with layer decay, as for fine-tuning; or SGD."""
    if kind == "adamw":
        groups = param_groups_layer_decay(model, 0.05, no_weight_decay_list=model.no_weight_decay(),
                                          layer_decay=LAYER_DECAY)
        return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.99), eps=1e-6)
    groups = param_groups_weight_decay(model, 0.05, no_weight_decay_list=model.no_weight_decay())
    return torch.optim.SGD(groups, lr=0.0, momentum=0.9)


def write_training(folder, label, name, changes, steps=6):
    kind = TRAINED[label]
    if kind == "adamw":
        changes = {**changes, "qkv_bias": False}  # AdamW scales up the rounding of a key bias' zero gradient
    config, model = small_model(name, changes, width=8, depth=1)
    optimizer = optimizer_of(kind, model)
    rates = [(1e-3 if kind == "adamw" else 1e-2) * min(1.0, (step + 1) / 3) for step in range(steps)]
    images = torch.randn(steps, 4, 2, *config["img_size"], dtype=torch.float64)
    targets = torch.randint(5, (steps, 4))
    tensors = {"batch_input": images, "batch_target": targets, "lr": torch.tensor(rates, dtype=torch.float64)}
    tensors |= {"param/" + key: p.detach().clone() for key, p in model.named_parameters()}
    losses, norms = [], []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rates[step] * group.get("lr_scale", 1.0)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images[step]), targets[step])
        loss.backward()
        losses.append(loss.detach())
        norms.append(torch.stack([p.grad.norm() for p in model.parameters()]).norm())
        optimizer.step()
    tensors |= {"losses": torch.stack(losses), "grad_norms": torch.stack(norms)}
    tensors |= {"final/" + key: p for key, p in model.named_parameters()}
    training = {"model": config | {"family": "vit"}, "optimizer": kind, "betas": [0.9, 0.99], "eps": 1e-6,
                "momentum": 0.9, "nesterov": False, "weight_decay": 0.05, "clip_grad": None, "ema_decay": None,
                "layer_decay": LAYER_DECAY if kind == "adamw" else 1.0, "steps": steps, "loss": "ce", "smoothing": 0.0}
    write(folder / f"train_{label}.safetensors", "train", training, tensors, [],
          f"timm {timm.__version__}, {name}; torch.optim of PyTorch {torch.__version__}")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for label, name, changes in CASES:
        torch.manual_seed(1)
        write_pass(folder, label, name, changes)
        if label in TRAINED:
            write_training(folder, label, name, changes)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
