"""The same training steps in PyTorch and in fovea: a golden file of them, and the comparison."""
import json
import pathlib
import subprocess

import torch
from safetensors.torch import load_file, save_file


def write_case(path, tensors, config):
    """Writes PyTorch's steps in f32 as a golden file; `tensors` holds their losses."""
    save_file(tensors, path, {"format": "fovea-golden-1", "family": "train",
                              "config": json.dumps(config), "zero_grad": "[]",
                              "notes": f"PyTorch {torch.__version__}, f32"})


def compare(case, build, bound, csv=None):
    """Takes the steps of a case by `parity` and compares the losses with PyTorch's.

    Returns whether their relative differences are within the bound, and all that fovea and PyTorch
    computed. Writes both curves to the file `csv`.
    """
    folder = case.parent / "ours"
    folder.mkdir(exist_ok=True)
    # Parity's own bounds are meant for 30 steps in f64.
    subprocess.run([build / "parity", "--precision", "f32", "--dump", folder, case],
                   stdout=subprocess.DEVNULL, check=False)
    computed = load_file(folder / case.name), load_file(case)
    ours, theirs = (tensors["losses"].tolist() for tensors in computed)
    errors = [abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True)]
    if csv:
        rows = "".join(f"{i},{a:.9g},{b:.9g}\n" for i, (a, b) in enumerate(zip(ours, theirs)))
        pathlib.Path(csv).write_text("step,fovea,pytorch\n" + rows)
    worst = max(range(len(errors)), key=errors.__getitem__)
    print(f"{case.stem}: {len(errors)} steps, loss {theirs[0]:.4f} -> {theirs[-1]:.4f} (PyTorch "
          f"{torch.__version__}), fovea ends at {ours[-1]:.4f}; largest relative difference "
          f"{errors[worst]:.1e} at step {worst}, bound {bound:.0e}")
    return errors[worst] <= bound, *computed
