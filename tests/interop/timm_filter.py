#!/usr/bin/env python3
"""Weights under their authors' names: timm_filter.py BUILD_FOLDER [--keep FOLDER]

Needs torch, timm, safetensors and Pillow; build the target `evaluate` first. Small models of timm's class Eva with
random values are written under the names of EVA, EVA-CLIP, OpenCLIP, Perception Encoder, DINOv3 and Sapiens 2. timm's
own filter must turn them back into the model's weights. `evaluate` reads the same file, next to a config.json that
timm wrote; its logits are compared with timm's.
"""
import re
import sys
from pathlib import Path

import timm
import torch
from safetensors.torch import save_file
from timm.models.eva import checkpoint_filter_fn

from timm_registry import (BOUND, CLASSES, check_cases, disturb, our_logits, read_pictures, small_arguments, write_folder,
                           write_pictures)


def renamed(state, rules):
    """Each rule is a pattern and what stands in its place."""
    named = {}
    for name, value in state.items():
        for pattern, other in rules:
            name = re.sub(pattern, other, name)
        named[name] = value
    return named


EVA_RULES = [(r"mlp\.norm\.", "mlp.ffn_ln."), (r"attn\.norm\.", "attn.inner_attn_ln."), (r"mlp\.fc1_g\.", "mlp.w1."),
             (r"mlp\.fc1_x\.", "mlp.w2."), (r"mlp\.fc2\.", "mlp.w3."), (r"([qv])_proj\.bias", r"\1_bias")]
DINOV3_RULES = [("reg_token", "storage_tokens"), (r"gamma_(\d)", r"ls\1.gamma"), (r"mlp\.fc1_g\.", "mlp.w1."),
                (r"mlp\.fc1_x\.", "mlp.w2."), (r"mlp\.fc2\.", "mlp.w3.")]
SAPIENS2_RULES = [("reg_token", "storage_tokens"), (r"patch_embed\.proj", "patch_embed.projection"),
                  (r"^norm\.", "ln1."), (r"(blocks\.\d+)\.norm(\d)", r"\1.ln\2"), (r"attn\.([qkv])_proj", r"attn.w\1"),
                  ("gamma_1", "attn.gamma.weight"), (r"mlp\.fc1\.", "ffn.w12."), (r"mlp\.fc2\.", "ffn.w3.")]
PE_RULES = [(r"^attn_pool\.proj", "attn_pool.attn.out_proj"), (r"^attn_pool\.norm", "attn_pool.layernorm"),
            (r"^attn_pool\.latent", "attn_pool.probe"), (r"patch_embed\.proj", "conv1"),
            ("pos_embed", "positional_embedding"), (r"blocks\.", "transformer.resblocks."), ("norm_pre", "ln_pre"),
            (r"^norm\.", "ln_post."), (r"\.norm(\d)", r".ln_\1"), (r"gamma_(\d)", r"ls_\1.gamma"),
            (r"attn\.qkv\.", "attn.in_proj_"), (r"(resblocks\.\d+\.attn)\.proj", r"\1.out_proj"),
            (r"mlp\.fc1", "mlp.c_fc"), (r"mlp\.fc2", "mlp.c_proj")]


def masked_eva(state):
    """From pretraining on masked patches."""
    width = state["cls_token"].shape[-1]
    extra = {"mask_token": torch.zeros(1, 1, width), "lm_head.weight": torch.zeros(9, width),
             "lm_head.bias": torch.zeros(9), "rope.freqs_cos": torch.zeros(4, 4)}
    return renamed(state, [*EVA_RULES, ("fc_norm", "norm")]) | extra


def eva_clip(state):
    named = {"visual." + name: value for name, value in renamed(state, EVA_RULES).items()}
    return named | {"visual.rope.freqs_sin": torch.zeros(4, 4), "logit_scale": torch.zeros(()),
                    "text.ln_final.weight": torch.ones(8)}


def open_clip(state):
    named = {"visual.trunk." + name: value for name, value in state.items()}
    return named | {"logit_scale": torch.zeros(()), "text.ln_final.weight": torch.ones(8)}


def perception_encoder(state):
    state = dict(state)
    for end in ("weight", "bias"):
        state[f"attn_pool.attn.in_proj_{end}"] = torch.cat([state.pop(f"attn_pool.{part}.{end}") for part in ("q", "kv")])
    assert not state.pop("head.bias").any()
    named = renamed(state, PE_RULES)
    named["proj"] = named.pop("head.weight").T.contiguous()
    named["class_embedding"] = named.pop("cls_token")[0, 0]
    named["positional_embedding"] = named["positional_embedding"][0]
    return {"visual." + name: value for name, value in named.items()} | {"logit_scale": torch.zeros(())}


def dinov3(state):
    """Biases of queries, keys and values are one tensor, whose middle is masked; without biases it is zero."""
    width = state["cls_token"].shape[-1]
    named = renamed({k: v for k, v in state.items() if not k.endswith(("q_bias", "v_bias"))}, DINOV3_RULES)
    for name in [key for key in state if key.endswith("attn.qkv.weight")]:
        front = name[:-len("qkv.weight")]
        parts = [state.get(front + "q_bias", torch.zeros(width)), torch.full((width,), 7.0),
                 state.get(front + "v_bias", torch.zeros(width))]
        parts[1] *= front + "q_bias" in state
        named[front + "qkv.bias"] = torch.cat(parts)
        named[front + "qkv.bias_mask"] = torch.ones(3 * width)
    return named | {"rope_embed.periods": torch.ones(1), "mask_token": torch.zeros(1, width),
                    "local_cls_norm.weight": torch.ones(width)}


def sapiens2(state):
    return renamed(state, SAPIENS2_RULES) | {"mask_token": torch.zeros(1, 1, state["cls_token"].shape[-1])}


# Architecture, the names of its authors.
FILES = [
    ("eva02_base_patch14_224", masked_eva),
    ("eva02_base_patch16_clip_224", eva_clip),
    ("eva02_large_patch14_clip_224", open_clip),
    ("vit_pe_core_small_patch16_384", perception_encoder),
    ("vit_small_plus_patch16_dinov3_qkvb", dinov3),
    ("vit_small_patch16_dinov3_qkvb", dinov3),
    ("vit_small_patch16_dinov3", dinov3),
    ("vit_base_patch16_sapiens2", sapiens2),
]


def check(build, folder, name, authors):
    arguments, patch, _ = small_arguments(name)
    size = (3 * patch, 4 * patch)
    torch.manual_seed(1)
    model = timm.create_model(name, num_classes=len(CLASSES), img_size=size, **arguments).eval()
    disturb(model)
    if authors is perception_encoder:
        model.head.bias.data.zero_()
    theirs = {key: value.clone().contiguous() for key, value in authors(model.state_dict()).items()}
    again = timm.create_model(name, num_classes=len(CLASSES), img_size=size, **arguments).eval()
    again.load_state_dict(checkpoint_filter_fn(dict(theirs), again))
    pictures = folder / f"pictures-{patch}"
    if not pictures.exists():
        write_pictures(pictures, size)
    with torch.no_grad():
        expected, filtered = (m(read_pictures(pictures)).double() for m in (model, again))
    assert torch.equal(expected, filtered), f"{name}: the file is not what timm's filter expects"
    write_folder(folder / name, name, model)
    save_file(theirs, folder / name / "model.safetensors", metadata={"format": "pt"})
    apart = ((our_logits(build, folder / name, pictures, "") - expected).norm() / expected.norm()).item()
    print(f"{'ok  ' if apart < BOUND else 'FAIL'}  {name}, names of {authors.__name__}: logits differ by {apart:.1e}",
          flush=True)
    return apart < BOUND


if __name__ == "__main__":
    sys.exit(check_cases(__doc__, FILES, check))
