#!/usr/bin/env python3
"""VAEs of diffusers, loaded by fovea in all forms: vae_files.py BUILD_FOLDER [--keep FOLDER]

Needs diffusers; build the target `interop` first. An AutoencoderKL with random values in every parameter is saved by
save_pretrained(), as safetensors alone, with diffusers' older names of the attention, with 1 x 1 convolutions in
their place, and with CompVis' names, alone, under `first_stage_model.` within a larger file, and as a torch pickle of
a whole training state. fovea makes the model from each file; moments, decoded latents and the hash of the weights are
compared.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import diffusers
import torch
from safetensors.torch import load_file, save_file

BOUND = 1e-5  # relative error of a tensor
CONFIG = dict(block_out_channels=(32, 64, 64), layers_per_block=2, latent_channels=4, sample_size=16,
              down_block_types=("DownEncoderBlock2D",) * 3, up_block_types=("UpDecoderBlock2D",) * 3)


def random_vae():
    torch.manual_seed(3)
    vae = diffusers.AutoencoderKL(**CONFIG)
    with torch.no_grad():
        for name, parameter in vae.named_parameters():
            scale = 1 / parameter[0].numel() ** 0.5 if parameter.ndim > 1 else 0.1
            parameter.copy_(torch.randn(parameter.shape) * scale
                            + (1 if "norm" in name and name.endswith("weight") else 0))
    return vae.eval()


def older(state, convolutions):
    """diffusers' names before 0.14; `convolutions`: the attention's weights are (C, C, 1, 1)."""
    names = {"to_q": "query", "to_k": "key", "to_v": "value", "to_out.0": "proj_attn"}
    renamed = {}
    for name, value in state.items():
        for ours, theirs in names.items():
            if f".{ours}." in name:
                name = name.replace(f".{ours}.", f".{theirs}.")
                value = value[:, :, None, None] if convolutions and value.ndim == 2 else value
        renamed[name] = value
    return renamed


def compvis(state):
    """The names of CompVis' repositories, after their modules."""
    levels = len(CONFIG["block_out_channels"])
    rules = [(r"encoder\.down_blocks\.(\d+)\.resnets\.(\d+)\.", r"encoder.down.\1.block.\2."),
             (r"encoder\.down_blocks\.(\d+)\.downsamplers\.0\.", r"encoder.down.\1.downsample."),
             (r"mid_block\.resnets\.0\.", "mid.block_1."), (r"mid_block\.resnets\.1\.", "mid.block_2."),
             (r"mid_block\.attentions\.0\.group_norm\.", "mid.attn_1.norm."),
             (r"mid_block\.attentions\.0\.to_([qkv])\.", r"mid.attn_1.\1."),
             (r"mid_block\.attentions\.0\.to_out\.0\.", "mid.attn_1.proj_out."),
             (r"conv_norm_out", "norm_out"), (r"conv_shortcut", "nin_shortcut")]
    up = [(r"decoder\.up_blocks\.(\d+)\.resnets\.(\d+)\.", "decoder.up.{}.block.{}."),
          (r"decoder\.up_blocks\.(\d+)\.upsamplers\.0\.", "decoder.up.{}.upsample.")]
    renamed = {}
    for name, value in state.items():
        for pattern, form in up:
            name = re.sub(pattern, lambda m: form.format(levels - 1 - int(m[1]), *m.groups()[1:]), name)
        for pattern, form in rules:
            name = re.sub(pattern, form, name)
        value = value[:, :, None, None] if "attn_1" in name and value.ndim == 2 else value
        renamed[name] = value.contiguous()
    return renamed


def write_forms(vae, folder):
    """Path -> a word that the notes must have."""
    state = {name: value.contiguous() for name, value in vae.state_dict().items()}
    first_stage = {f"first_stage_model.{name}": value for name, value in compvis(state).items()}
    whole = {**first_stage, "model.diffusion_model.out.2.weight": torch.ones(2, 2),
             "cond_stage_model.transformer.text_model.final_layer_norm.weight": torch.ones(3),
             "betas": torch.ones(5), "model_ema.num_updates": torch.tensor(3)}
    vae.save_pretrained(folder / "diffusers")
    (folder / "pipeline").mkdir()
    vae.save_pretrained(folder / "pipeline/vae")
    (folder / "pipeline/model_index.json").write_text("{}")
    files = {"alone": state, "older": older(state, False), "older convolutions": older(state, True),
             "compvis": compvis(state), "first stage": first_stage, "whole": whole}
    for name, tensors in files.items():
        (folder / name).mkdir()
        save_file({key: value.contiguous() for key, value in tensors.items()}, folder / name / "vae.safetensors")
    torch.save({"state_dict": whole, "epoch": 3, "global_step": 7, "callbacks": {"x": [1, 2]}}, folder / "sd.ckpt")
    torch.save(vae.state_dict(), folder / "vae.pth")
    forms = {folder / "diffusers": "", folder / "pipeline": "", folder / "sd.ckpt": "ignores", folder / "vae.pth": ""}
    words = {"whole": "ignores", "older": "older versions of diffusers", "compvis": "CompVis"}
    return {**forms, **{folder / name / "vae.safetensors": words.get(name, "") for name in files}}


def check(interop, path, word, folder, expected):
    done = subprocess.run([interop, "vae", path, folder / "inputs.safetensors", folder / "out.safetensors"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return done.stdout + done.stderr, ""
    got = load_file(folder / "out.safetensors")
    for name, reference in expected.items():
        error = float((got[name] - reference).norm() / reference.norm())
        if not error < BOUND:
            return f"{name}: relative error {error:.1e}", ""
    return "" if word in done.stdout else f"'{word}' is not in {done.stdout}", done.stdout.splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    interop = (options.build / "tests/interop/interop").resolve()
    failed, hashes = 0, set()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        vae = random_vae()
        torch.manual_seed(4)
        images, latents = torch.randn(2, 3, 16, 24), torch.randn(2, 4, 4, 6)
        with torch.no_grad():
            distribution = vae.encode(images).latent_dist
            expected = {"moments": torch.cat([distribution.mean, distribution.logvar], 1),
                        "images": vae.decode(latents).sample}
        save_file({"images": images, "latents": latents}, folder / "inputs.safetensors")
        for path, word in write_forms(vae, folder).items():
            problem, last = check(interop, path, word, folder, expected)
            failed += problem != ""
            hashes.add(last)
            print(f"{'ok  ' if not problem else 'FAIL'} {path.relative_to(folder)}  {problem}")
    if len(hashes) != 1:
        failed += 1
        print(f"FAIL the hash of the weights differs: {hashes}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
