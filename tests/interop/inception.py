#!/usr/bin/env python3
"""Compares `measure --inception` with pytorch-fid and clean-fid, with the same random weights.

    tests/interop/inception.py [--build build] [--pictures 500]
    tests/interop/inception.py --write FILE      the values that tests/measures/inception_test.cpp expects

Needs torch, torchvision, safetensors, scipy, pytorch-fid and clean-fid; nothing is downloaded: both packages'
network is built with weights that a formula gives, saved by torch.save under pytorch-fid's names. Two folders
of drawn pictures of different sizes are then measured by both packages and by the program `measure`:
features must agree within 1e-5, distances within 1e-3.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest.mock

import numpy as np
import torch
import torchvision
from PIL import Image
from safetensors.numpy import load_file, save_file


def hashed(name, count):
    """Numbers in [-1, 1) that C++ makes too: SplitMix64's finaliser of the position and the name's letters."""
    z = np.arange(count, dtype=np.uint64) + np.uint64(sum(name.encode()) << 32)
    with np.errstate(over="ignore"):
        z = z + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1


def value_of(name, shape):
    unit = hashed(name, int(np.prod(shape))).reshape(shape)
    if name.endswith("running_var"):
        return 0.5 + 0.25 * (unit + 1)
    if name.endswith("bn.weight"):
        return 1 + 0.1 * unit
    if len(shape) == 1:
        return 0.1 * unit
    return unit * np.sqrt(6 / np.prod(shape[1:]))


def network():
    """pytorch-fid's Inception with the formula's weights instead of the published ones."""
    import pytorch_fid.inception as module
    plain = torchvision.models.inception_v3(num_classes=1008, aux_logits=False, weights=None, init_weights=False)
    state = {name: value if name.endswith("num_batches_tracked") else
             torch.tensor(value_of(name, tuple(value.shape)), dtype=torch.float32)
             for name, value in plain.state_dict().items()}
    with unittest.mock.patch.object(module, "load_state_dict_from_url", lambda *_, **__: state):
        return module.InceptionV3([3]).eval(), module.fid_inception_v3().eval(), state


def whole_outputs(net, images):
    """Features, sFID's channels and logits without bias of images in [-1, 1]."""
    kept = {}
    hooks = [net.Mixed_6d.branch1x1.register_forward_hook(lambda _, __, y: kept.update(spatial=y[:, :7])),
             net.avgpool.register_forward_hook(lambda _, __, y: kept.update(features=y.flatten(1)))]
    with torch.no_grad():
        net(images)
    for hook in hooks:
        hook.remove()
    return {"features": kept["features"], "spatial": kept["spatial"].flatten(1),
            "logits": kept["features"] @ net.fc.weight.T}


def write_expected(path):
    torch.set_default_dtype(torch.float64)
    _, net, _ = network()
    net = net.double()
    for name, parameter in list(net.named_parameters()) + list(net.named_buffers()):
        if parameter.is_floating_point():
            parameter.data = torch.tensor(value_of(name, tuple(parameter.shape)))
    images = torch.tensor(hashed("images", 2 * 3 * 107 * 139).reshape(2, 3, 107, 139))
    outputs = {name: np.ascontiguousarray(value.detach().numpy())
               for name, value in whole_outputs(net, images).items()}
    shapes = {f"shape/{name}": np.array(value.shape, dtype=np.int64) for name, value in net.state_dict().items()
              if not name.endswith("num_batches_tracked")}
    save_file({**outputs, **shapes}, path)
    print({name: value.shape for name, value in outputs.items()}, len(shapes), "weights")


def draw_pictures(folder, count, shift, rng):
    folder.mkdir()
    for i in range(count):
        height, width = rng.integers(24, 65, 2)
        y, x = np.mgrid[:height, :width]
        picture = np.stack([127 + 120 * np.sin((x * rng.uniform(.05, .4) + y * rng.uniform(.05, .4)) + shift * c)
                            for c in range(3)], axis=-1) + rng.normal(0, 12 + 8 * shift, (height, width, 3))
        Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(folder / f"{i:04}.png")


def torch_fid_features(blocks, folder):
    """By pytorch-fid's own loop, one picture a batch: it cannot stack pictures of different sizes."""
    from pytorch_fid.fid_score import get_activations
    return get_activations(sorted(folder.glob("*.png")), blocks, 1, 2048, "cpu", 0)


def clean_fid_features(net, folder):
    """By clean-fid's own loop. Its network scales the values itself, here the extractor does."""
    from cleanfid.fid import get_folder_features

    def extractor(batch):
        return whole_outputs(net, (batch - 128) / 128)["features"]
    return get_folder_features(str(folder), extractor, num_workers=0, device=torch.device("cpu"), mode="clean",
                               verbose=False)


def frechet(x, y):
    """By singular values: sqrtm of covariances without full rank, as both packages take it, is less exact."""
    a, b = ((z - z.mean(0)) / np.sqrt(len(z) - 1) for z in (x, y))
    mean = x.mean(0) - y.mean(0)
    return mean @ mean + (a * a).sum() + (b * b).sum() - 2 * np.linalg.svd(a @ b.T, compute_uv=False).sum()


def own_distance(protocol, x, y):
    if protocol == "pytorch-fid":
        from pytorch_fid.fid_score import calculate_frechet_distance as distance
    else:
        from cleanfid.fid import frechet_distance as distance
    try:
        return float(distance(x.mean(0), np.cov(x, rowvar=False), y.mean(0), np.cov(y, rowvar=False)))
    except (TypeError, ValueError) as error:
        print(f"  {protocol}'s own distance does not run with this SciPy: {error}")
        return None


def measured(build, weights, folders, protocol, scratch):
    result = scratch / f"{protocol}.json"
    command = [build / "measure", *folders, "--inception", weights, "--protocol", protocol, "--json", result,
               "--save-features", scratch / f"{protocol}.safetensors", "--ceiling-count", "8"]
    subprocess.run([str(part) for part in command], check=True)
    return json.loads(result.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--pictures", type=int, default=500)
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.write:
        return write_expected(arguments.write)
    failed = []

    def compare(what, ours, theirs, bound):
        error = np.linalg.norm(np.asarray(ours) - theirs) / np.linalg.norm(theirs)
        print(f"{'ok  ' if error <= bound else 'FAIL'} {what}: {error:.1e} (bound {bound:.0e})", flush=True)
        if not error <= bound:
            failed.append(what)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        blocks, net, state = network()
        torch.save(state, scratch / "inception.pth")
        rng = np.random.default_rng(0)
        folders = [scratch / "samples", scratch / "reference"]
        for path, shift in zip(folders, (0.3, 0.0)):
            draw_pictures(path, arguments.pictures, shift, rng)
        sources = {"pytorch-fid": lambda path: torch_fid_features(blocks, path),
                   "clean-fid": lambda path: clean_fid_features(net, path)}
        for protocol, features_of in sources.items():
            result = measured(arguments.build, scratch / "inception.pth", folders, protocol, scratch)
            ours = load_file(scratch / f"{protocol}.safetensors")
            theirs = [features_of(path) for path in folders]
            for path, features in zip(folders, theirs):
                compare(f"{protocol}: features of the {path.name}", ours[path.name], features, 1e-5)
            fid = result["comparisons"][0]["rows"][0]["FID"]
            compare(f"{protocol}: FID {fid:.6g} by singular values", fid, frechet(*map(np.float64, theirs)), 1e-3)
            own = own_distance(protocol, *theirs)
            if own is not None:
                compare(f"{protocol}: FID {fid:.6g}, its own {own:.6g}", fid, own, 1e-3)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
