"""The programs that train on small images, each with a model that takes milliseconds a step."""

PROGRAMS = {
    "train_cifar": ["--model", "vit_tiny_patch8_32"],
    "train_mae": ["--model", "mae_vit_tiny_patch8_32", "--decoder-embed-dim", "8", "--decoder-depth", "1",
                  "--decoder-num-heads", "2"],
}


def tiny_model(program, dim=24, depth=1, heads=2):
    """Flags that choose it."""
    return [*PROGRAMS[program], "--embed-dim", str(dim), "--depth", str(depth), "--num-heads", str(heads)]


def program_of(flags):
    """The one that trains the model which flags name."""
    return "train_mae" if flags[flags.index("--model") + 1].startswith("mae_") else "train_cifar"
