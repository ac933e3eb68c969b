"""The training programs for small images, each with a model that takes milliseconds per step."""

PROGRAMS = {
    "train_cifar": ["--model", "vit_tiny_patch8_32"],
    "train_mae": ["--model", "mae_vit_tiny_patch8_32", "--decoder-embed-dim", "8", "--decoder-depth", "1",
                  "--decoder-num-heads", "2"],
    "train_diffusion": ["--model", "dit_s_8_32", "--noise-schedule", "linear", "--num-sampling-steps", "2"],
    "train_vae": ["--model", "vae_f4_32", "--block-out-channels", "4,4,8", "--layers-per-block", "1",
                  "--norm-num-groups", "2"],
    "train_depth": ["--model", "depth_vit_tiny_patch8_24x32"],
    "train_detection": ["--model", "deformable_detr_tiny_scenes", "--enc-layers", "1", "--dec-layers", "1",
                        "--num-queries", "5", "--model-args",
                        '{"d_model": 32, "stem": 4, "planes": [4, 8]}'],
}
TRANSFORMERS = ["train_cifar", "train_mae", "train_diffusion", "train_depth"]


def tiny_model(program, dim=24, depth=1, heads=2):
    """Flags that select this model; the sizes are those of a transformer."""
    if program not in TRANSFORMERS:
        return PROGRAMS[program]
    return [*PROGRAMS[program], "--embed-dim", str(dim), "--depth", str(depth), "--num-heads", str(heads)]


def family_of(model):
    """The first word of a model's name: vit, deformable."""
    return model.split("_")[0]


def program_of(flags):
    """The program that trains the model selected by the flags."""
    family = family_of(flags[flags.index("--model") + 1])
    return {"mae": "train_mae", "dit": "train_diffusion", "vae": "train_vae", "detr": "train_detection",
            "deformable": "train_detection", "depth": "train_depth"}.get(family, "train_cifar")
