"""Shared by the scripts random_*.py: the command line, and writing a case as a golden file."""
import argparse
import json
import pathlib
import random
import sys

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peer_models"))


def disturb(parameters):
    """Perturbs the initial values, because norms start at 1 and biases at 0."""
    with torch.no_grad():
        for p in parameters:
            p.add_(0.2 * torch.randn_like(p))


def write(folder, index, family, case):
    config, tensors, zero, *more = case
    metadata = {"format": "fovea-golden-1", "family": family, "config": json.dumps(config),
                "zero_grad": json.dumps(zero), "notes": "random"}
    metadata |= {key: json.dumps(value) for part in more for key, value in part.items()}
    tensors = {k: v.detach().clone().contiguous() for k, v in tensors.items()}
    save_file(tensors, folder / f"{family}_random{index:03d}.safetensors", metadata)


def main(doc, family_of, make_case, switches=()):
    """make_case(rng, family) returns a configuration, its tensors, the names of zero gradients and perhaps further
    metadata. `switches` are the names and meanings of flags, which make_case takes as further arguments."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    for name, meaning in switches:
        parser.add_argument("--" + name, action="store_true", help=meaning)
    args = parser.parse_args()
    chosen = {name: getattr(args, name) for name, _ in switches}
    args.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    for index in range(args.count):
        family = family_of(index)
        write(args.folder, index, family, make_case(rng, family, **chosen))
