#!/usr/bin/env python3
"""timm's ViT and DeiT files in hub layout, loaded by fovea: timm_checkpoint.py BUILD_FOLDER [--keep FOLDER]

Needs timm; build the targets `predict` and `evaluate` first. For each model, timm's own writer makes a folder in hub
layout (model.safetensors and config.json, random weights), next to a few pictures of odd sizes. The probabilities of
`predict` are compared with those of timm's model behind timm's own evaluation transform; likewise at other image
sizes, where positions are resized as in timm. Files of models that fovea lacks must be rejected by name.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import timm
import torch
from PIL import Image
from safetensors.torch import save_file
from timm.data import create_transform, resolve_data_config
from timm.layers import resample_abs_pos_embed
from timm.models._hub import save_config_for_hf

# Name, arguments of create_model, what its data config is changed to.
MODELS = [
    ("vit_tiny_patch16_224", dict(num_classes=7), dict()),
    ("vit_tiny_patch16_224", dict(num_classes=7, global_pool="avg", img_size=96), dict()),
    ("vit_small_patch32_224", dict(num_classes=7, img_size=160), dict(interpolation="bilinear", crop_pct=1.0)),
    ("deit_tiny_patch16_224", dict(num_classes=7), dict(crop_mode="squash")),
    ("deit_tiny_distilled_patch16_224", dict(num_classes=7), dict(crop_mode="border")),
    ("deit3_small_patch16_224", dict(num_classes=7), dict()),
    ("vit_xsmall_patch16_clip_224", dict(num_classes=7), dict(crop_pct=1.0)),
    ("test_vit3", dict(num_classes=7), dict(crop_pct=0.95)),
    ("vit_base_patch16_sapiens2", dict(num_classes=7, depth=2, num_kv_heads=(12, 6), img_size=(128, 96)),
     dict(input_size=(3, 128, 96))),
]
# Name, its size, the size at which it is looked at: turned, as many patches, more, fewer.
SIZES = [
    ("vit_tiny_patch16_224", (64, 128), (128, 64)),
    ("vit_tiny_patch16_224", (64, 256), (128, 128)),
    ("vit_tiny_patch16_224", (128, 128), (96, 160)),
    ("deit_tiny_distilled_patch16_224", (160, 160), (64, 96)),
]
REFUSED = [
    ("cait_xxs24_224", "cait_xxs24_224"),
]
BOUND = 2e-5  # of probabilities: f32 sums in another order; one level of one pixel would show


def write_folder(folder, name, arguments, data):
    torch.manual_seed(1)
    model = timm.create_model(name, pretrained=False, **arguments).eval()
    with torch.no_grad():  # larger weights than at the start of training: they tell pictures apart
        for key, parameter in model.named_parameters():
            if parameter.ndim == 2 or parameter.ndim == 4:
                parameter.normal_(std=1.5 / parameter[0].numel() ** 0.5)
            elif "gamma" in key:  # layer scale
                parameter.fill_(1.0)
    model.pretrained_cfg = {**model.pretrained_cfg, **data}
    folder.mkdir()
    save_file(model.state_dict(), folder / "model.safetensors", metadata={"format": "pt"})
    save_config_for_hf(model, str(folder / "config.json"))
    return model


def write_pictures(folder):
    """Smooth pictures, which reveal a slightly wrong resize, and rough ones; JPEG and PNG."""
    folder.mkdir()
    generator = np.random.default_rng(3)
    for i, (height, width) in enumerate([(300, 400), (200, 150), (97, 231), (224, 224), (40, 33)]):
        y, x = np.mgrid[0:height, 0:width]
        waves = [127 + 90 * np.sin(x / (7 + 3 * i) + c) * np.cos(y / (11 + c)) for c in range(3)]
        noise = generator.normal(0, 20, (height, width, 3))
        picture = Image.fromarray(np.clip(np.stack(waves, -1) + noise, 0, 255).astype(np.uint8))
        if i % 2 == 0:
            picture.save(folder / f"{i}.jpg", quality=92)
        else:
            picture.save(folder / f"{i}.png")
    return sorted(folder.iterdir())


def timms_probabilities(model, folder, pictures, size=None):
    saved = json.loads((folder / "config.json").read_text())["pretrained_cfg"]
    saved["input_size"] = (3, *(size or saved["input_size"][1:]))
    transform = create_transform(**resolve_data_config(pretrained_cfg=saved), is_training=False)
    with torch.no_grad():
        batch = torch.stack([transform(Image.open(path).convert("RGB")) for path in pictures])
        return model(batch).softmax(-1).double().numpy()


def our_probabilities(build, folder, pictures, *flags):
    result = subprocess.run([build / "predict", "--checkpoint", folder, "--format", "json", "--topk", "1000", *flags,
                             *pictures], check=True, capture_output=True, text=True)
    rows = []
    for picture in json.loads(result.stdout)["pictures"]:
        row = np.zeros(len(picture["classes"]))
        for entry in picture["classes"]:
            row[entry["index"]] = entry["probability"]
        rows.append(row)
    return np.stack(rows)


def at_size(model, name, grid, size, antialias):
    """The model with its weights at another size."""
    other = timm.create_model(name, pretrained=False, num_classes=7, img_size=size).eval()
    state = dict(model.state_dict())
    state["pos_embed"] = resample_abs_pos_embed(state["pos_embed"], [side // 16 for side in size], old_size=grid,
                                                num_prefix_tokens=other.num_prefix_tokens, antialias=antialias)
    other.load_state_dict(state)
    return other


def compare_sizes(build, folder, pictures):
    for number, (name, own, size) in enumerate(SIZES):
        target = folder / f"size-{number}-{name}"
        model = write_folder(target, name, dict(num_classes=7, img_size=own), dict(input_size=(3, *own)))
        for way, antialias in (("timm", True), ("deit", False)):
            flags = ["--img-size", "x".join(map(str, size))] + (["--pos-resize", way] if way == "deit" else [])
            other = at_size(model, name, [side // 16 for side in own], size, antialias)
            compare(build, target, other, pictures, f"{name} {own} at {size}, {way}'s way", size, flags)


def compare(build, folder, model, pictures, label, size=None, flags=()):
    theirs = timms_probabilities(model, folder, pictures, size)
    worst = np.abs(our_probabilities(build, folder, pictures, *flags) - theirs).max()
    spread = (theirs.max(0) - theirs.min(0)).max()
    assert spread > 0.05, f"{label}: the pictures look alike to it ({spread}), so this compares nothing"
    assert worst < BOUND, f"{label}: probabilities differ by {worst:.2e}"
    print(f"ok  {label}: {len(pictures)} pictures, probabilities differ by at most {worst:.1e}")


def check_refusals(build, folder, pictures):
    for name, said in REFUSED:
        target = folder / name
        write_folder(target, name, dict(num_classes=3), dict())
        result = subprocess.run([build / "predict", "--checkpoint", target, *pictures[:1]], capture_output=True,
                                text=True)
        assert result.returncode == 1 and said in result.stderr, (name, result.stderr)
        forced = subprocess.run([build / "predict", "--checkpoint", target, "--model", "vit_small_patch16_224",
                                 *pictures[:1]], capture_output=True, text=True)
        assert forced.returncode == 1 and "weights do not fit" in forced.stderr, (name, forced.stderr)
        print(f"ok  {name} is refused: {forced.stderr.split('; ')[-1].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--keep", type=Path, help="leave the files in this new folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        build = options.build.resolve()
        pictures = write_pictures(folder / "pictures")
        for number, (name, arguments, data) in enumerate(MODELS):
            target = folder / f"{number}-{name}"
            model = write_folder(target, name, arguments, data)
            changed = ", ".join(f"{k} {v}" for k, v in {**arguments, **data}.items() if k != "num_classes")
            compare(build, target, model, pictures, f"{name} {changed}".strip())
        compare_sizes(build, folder, pictures)
        check_refusals(build, folder, pictures)
    print(f"ok  timm {timm.__version__}'s checkpoints load with their preprocessing")


if __name__ == "__main__":
    sys.exit(main())
