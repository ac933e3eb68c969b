#!/usr/bin/env python3
"""Every plain ViT, DeiT and Eva of timm's: timm_registry.py BUILD_FOLDER [--only PATTERN] [--keep FOLDER]

Needs torch, timm, safetensors and Pillow; build the target `evaluate` first. For each architecture, timm makes a small
model of the same kind (two narrow blocks; random values in all parameters) and its own writer makes a hub's folder
(model.safetensors and config.json). `evaluate` is given nothing but this folder. Its logits are compared with those of
timm's model in f32, at the model's image size and at two others, to which timm resizes the positions itself.
"""
import argparse
import fnmatch
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import timm
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from timm.models import deit, eva, vision_transformer
from timm.models._hub import save_config_for_hf

from timm_settings import architectures, is_published, recorded

CLASSES = ["ant", "bee", "cat", "dog", "emu"]
GRIDS = [(4, 4), (3, 5), (6, 6)]  # the model's own first
BOUND = 1e-5  # of the logits' norm
MEAN, STD = (0.5, 0.25, 0.375), (0.5, 0.25, 0.625)


def small_arguments(name):
    """The least width that is even per head and at least 48; rotary positions divide it by four. What a size leaves
    beyond whole patches stays."""
    cls, arguments = recorded(name)
    heads, patch = arguments["num_heads"], arguments.get("patch_size", 16)
    step = 4 if cls is eva.Eva else 2
    width = next(heads * part for part in range(step, 49, step) if heads * part >= 48)
    rest = timm.get_pretrained_cfg(name).input_size[-1] % patch
    small = dict(embed_dim=width, depth=2, num_heads=heads)
    kv_heads = arguments.get("num_kv_heads")
    if kv_heads is not None:  # one block of each kind
        small["num_kv_heads"] = (max(kv_heads), min(kv_heads))
    return small, patch, rest


def disturb(model):
    """Values for which no parameter is without effect."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "gamma" in name:  # layer scale
                parameter.normal_(0.5, 0.3)
            elif parameter.ndim in (2, 4):
                parameter.normal_(std=1.2 / parameter[0].numel() ** 0.5)
            elif parameter.ndim == 3:  # tokens and positions
                parameter.normal_(std=0.5)
            else:  # norms begin at 1, biases at 0
                parameter.add_(0.2 * torch.randn_like(parameter))


def write_folder(folder, name, model):
    model.pretrained_cfg = {**model.pretrained_cfg, "mean": MEAN, "std": STD, "crop_pct": 1.0}
    folder.mkdir()
    state = {key: value.contiguous() for key, value in model.state_dict().items()}
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    save_config_for_hf(model, str(folder / "config.json"), model_config={"label_names": CLASSES})


def write_pictures(folder, size):
    """Two pictures of each class, in the size that the model sees: nothing is resized or cropped."""
    generator = np.random.default_rng(3)
    for label in CLASSES:
        (folder / label).mkdir(parents=True)
        for i in range(2):
            picture = generator.integers(0, 256, (*size, 3), dtype=np.uint8)
            Image.fromarray(picture).save(folder / label / f"{i}.png")


def read_pictures(folder):
    pictures = [np.asarray(Image.open(path)) for path in sorted(folder.glob("*/*.png"))]
    batch = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 255
    return (batch - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)


def at_size(name, model, arguments, size):
    """The model at another image size, as timm makes it from the weights of this one."""
    if getattr(model, "dynamic_img_size", False):
        return model
    other = timm.create_model(name, num_classes=len(CLASSES), img_size=size, **arguments).eval()
    module = deit if name.startswith("deit") else eva if isinstance(model, eva.Eva) else vision_transformer
    other.load_state_dict(module.checkpoint_filter_fn(dict(model.state_dict()), other))
    return other


def our_logits(build, folder, pictures, named):
    """Of `evaluate`, with --img-size unless `named` is empty."""
    result, flags = folder / "logits.safetensors", ["--img-size", named] if named else []
    run = subprocess.run([build / "evaluate", folder, "--dataset", "folder", "--data-dir", pictures, *flags,
                          "--logits", result, "--threads", "1"], capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip().splitlines()[-1])
    return load_file(result)["logits"].double()


def compare(build, folder, name):
    """The largest difference, relative to the logits."""
    arguments, patch, rest = small_arguments(name)
    sizes = [tuple(patch * side + rest for side in grid) for grid in GRIDS]
    torch.manual_seed(1)
    model = timm.create_model(name, num_classes=len(CLASSES), img_size=sizes[0], **arguments).eval()
    disturb(model)
    write_folder(folder / name, name, model)
    worst = 0.0
    for size in sizes:
        pictures = folder / f"pictures-{size[0]}x{size[1]}"
        with torch.no_grad():
            theirs = at_size(name, model, arguments, size)(read_pictures(pictures)).double()
        assert (theirs[0] - theirs[-1]).norm() > 0.01 * theirs.norm(), "the pictures look alike to it"
        ours = our_logits(build, folder / name, pictures, "" if size == sizes[0] else f"{size[0]}x{size[1]}")
        worst = max(worst, ((ours - theirs).norm() / theirs.norm()).item())
    return worst


def check(build, folder, name):
    try:
        worst = compare(build, folder, name)
    except Exception as error:  # the other architectures are looked at as well
        return False, f"FAIL  {name}: {error}"
    fits = worst < BOUND
    return fits, f"{'ok  ' if fits else 'FAIL'}  {name}: logits differ by {worst:.1e}"


def check_cases(about, cases, check):
    """The program of a script: whether check(build, folder, *case) holds for all cases, as an exit code."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--keep", type=Path, help="leave the files in this new folder")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        good = [check(options.build.resolve(), folder, *case) for case in cases]
    return 0 if all(good) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--only", metavar="PATTERN", default="*", help="only these architectures")
    parser.add_argument("--keep", type=Path, help="leave the files in this new folder")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = fnmatch.filter(architectures(), options.only)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        for patch, rest in {small_arguments(name)[1:] for name in names}:
            for rows, columns in GRIDS:
                size = (patch * rows + rest, patch * columns + rest)
                write_pictures(folder / f"pictures-{size[0]}x{size[1]}", size)
        good = []
        for name in names:
            fits, line = check(options.build.resolve(), folder, name)
            good += [name] if fits else []
            print(line, flush=True)
    published = [name for name in names if is_published(name)]
    print(f"{len(good)} of {len(names)} architectures of timm {timm.__version__} give PyTorch's logits; of those with "
          f"published weights, {len(set(good) & set(published))} of {len(published)}")
    return 0 if good == names else 1


if __name__ == "__main__":
    sys.exit(main())
