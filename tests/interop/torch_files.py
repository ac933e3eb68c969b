#!/usr/bin/env python3
"""Files of torch.save in fovea: torch_files.py BUILD_FOLDER [--fixtures FOLDER]

Needs torch, timm, numpy and safetensors; build the targets `convert`, `evaluate`, `predict` and `inspect` first.
PyTorch writes each case in its zip format and in its older one; `convert` turns it into safetensors, which is
compared bit for bit with PyTorch's tensors. A sparse file of 5 GB must be read in 1 GiB of memory. A whole timm model
must be evaluated like its safetensors, and the papers' names must load. --fixtures writes the small files of
tests/formats/torch_files again.
"""
import argparse
import collections
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import timm
import torch
from safetensors.torch import load_file, save_file

FORMS = {"zip": True, "old": False}
# What fovea has no type for is held in another one (engine/formats/stored_type.h).
HELD = {torch.float16: torch.float32, torch.bool: torch.uint8, torch.int32: torch.int64, torch.int16: torch.int64,
        torch.int8: torch.int64, torch.uint16: torch.int64, torch.uint32: torch.int64,
        torch.uint64: torch.int64}


def tensors():
    """Every type that fovea reads, and every layout of tensors in their storages."""
    base = torch.arange(24.0).reshape(4, 6) / 8
    whole = torch.arange(12, dtype=torch.float32)
    found = collections.OrderedDict()
    for dtype in [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
                  torch.int8, torch.uint8, torch.bool, torch.uint16, torch.uint32, torch.uint64]:
        found[f"of.{dtype}".replace("torch.", "")] = (base[:2, :3] * 8).to(dtype)
    found["special"] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-40])
    found["half.special"] = torch.tensor([float("inf"), -0.0, 3e-8, 65504.0], dtype=torch.float16)
    found["transposed"] = base.T
    found["stepped"] = base[1::2, ::3]
    found["expanded"] = base[0, 2:3].expand(5, 2)
    found["shared.a"], found["shared.b"] = whole[:6].reshape(2, 3), whole[3:]
    found["tied"] = found["shared.a"]
    found["scalar"] = torch.tensor(-2.5)
    found["empty"] = torch.empty(0, 3)
    found["parameter"] = torch.nn.Parameter(torch.ones(2, 1, 2, 1))
    found["bf16.view"] = base.to(torch.bfloat16)[:, 4]
    return found


def checkpoint():
    """A checkpoint as written by a training script."""
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    scheduler.step()
    arguments = argparse.Namespace(lr=1e-3, model="vit", betas=(0.9, 0.999), tags={"a", "b"}, output=Path("out"))
    return {"model": tensors(), "optimizer": optimizer.state_dict(), "lr_scheduler": scheduler.state_dict(),
            "scaler": {"scale": 65536.0, "growth_factor": 2.0}, "args": arguments, "epoch": 3,
            "best": np.float64(71.25), "counts": np.int64(7), "big": 2**40, "negative": -3, "raw": b"bytes",
            "device": torch.device("cpu"), "dtype": torch.float32, "size": torch.Size([2, 3]),
            "nested": {"ema": {"x": torch.ones(3)}}}


def expected_of(named):
    return {name: x.detach().to(HELD.get(x.dtype, x.dtype)).contiguous().clone() for name, x in named.items()}


def save(value, path, form):
    torch.save(value, path, _use_new_zipfile_serialization=FORMS[form])


def convert(build, path, output, *flags, check=True, **how):
    return subprocess.run([build / "convert", path, "--output", output, "--overwrite", *flags], check=check,
                          capture_output=True, text=True, **how)


def check_equal(expected, got, where):
    assert expected.keys() == got.keys(), f"{where}: {expected.keys() ^ got.keys()}"
    for name, x in expected.items():
        y = got[name]
        assert x.dtype == y.dtype and x.shape == y.shape, f"{where}: {name}: {y.dtype} {y.shape}"
        same = x.flatten().view(torch.uint8).equal(y.contiguous().flatten().view(torch.uint8))
        assert same, f"{where}: {name}: values differ"


def check_cases(build, folder):
    for form in FORMS:
        file, output = folder / f"{form}.pth", folder / "out.safetensors"
        save(tensors(), file, form)
        convert(build, file, output)
        check_equal(expected_of(tensors()), load_file(output), f"{form}: state_dict")
        save(checkpoint(), file, form)
        refused = convert(build, file, output, check=False)
        assert refused.returncode == 1 and '"model"' in refused.stderr and '"nested.ema"' in refused.stderr, refused
        convert(build, file, output, "--weights-key", "model")
        check_equal(expected_of(tensors()), load_file(output), f"{form}: model")
        convert(build, file, output, "--weights-key", "nested.ema")
        check_equal({"x": torch.ones(3)}, load_file(output), f"{form}: nested.ema")
        module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
        for value in [module, {"model": module, "epoch": 3}, [module.state_dict(), {"lr": 1e-3}], (3, module)]:
            save(value, file, form)
            convert(build, file, output)
            check_equal(expected_of(module.state_dict()), load_file(output), f"{form}: {type(value)}")
        save({name: x.numpy() for name, x in module.state_dict().items()}, file, form)
        convert(build, file, output)
        check_equal(expected_of(module.state_dict()), load_file(output), f"{form}: NumPy's arrays")
        for protocol in [3, 4, 5]:
            torch.save(tensors(), file, pickle_protocol=protocol, _use_new_zipfile_serialization=FORMS[form])
            done = convert(build, file, output, check=False)
            assert done.returncode == 0, done.stderr
            check_equal(expected_of(tensors()), load_file(output), f"{form}: protocol {protocol}")
        print(f"ok  {form} form: {len(tensors())} tensors, equal bits; checkpoints by --weights-key; protocols 2 to 5")


def check_scripts(build, folder):
    """Programs of TorchScript: their state without their code."""
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).eval()
    file, output = folder / "program.pt", folder / "program.safetensors"
    for program in [torch.jit.script(module), torch.jit.trace(module, torch.zeros(1, 3))]:
        program.save(str(file))
        convert(build, file, output)
        check_equal(expected_of(module.state_dict()), load_file(output), "TorchScript")
    print("ok  TorchScript: scripted and traced")


def check_large(build, folder):
    """A sparse storage of 5 GB and a view of its end: zip64, to be read in little memory."""
    file, output = folder / "large.pth", folder / "large.safetensors"
    count = 5 * 2**28  # f32
    probe = folder / "storage"
    with open(probe, "wb") as hole:
        hole.truncate(4 * count)
    large = torch.from_file(str(probe), shared=True, size=count)
    large[-3:] = torch.tensor([1.5, 2.5, 3.5])
    with torch.serialization.skip_data():  # leaves holes where storages would be
        torch.save({"model": {"end": large[-3:], "small": torch.ones(2)}, "rest": {"large": large}}, file)
    fill_storages(file, {4 * count: (4 * (count - 3), [1.5, 2.5, 3.5]), 8: (0, [1.0, 1.0])})
    limit = 2**30
    convert(build, file, output, "--weights-key", "model",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    check_equal({"end": large[-3:].clone(), "small": torch.ones(2)}, load_file(output), "5 GB")
    size, held = file.stat().st_size, file.stat().st_blocks * 512
    assert size > 5 * 2**30 > 2**25 > held, (size, held)
    print(f"ok  a file of {size:,} bytes ({held:,} on disk): two tensors of it, in less than {limit >> 20} MiB of memory")


def fill_storages(file, content):
    """Writes values into the holes: by the storage's size in bytes, the offset, and the numbers."""
    import zipfile
    with zipfile.ZipFile(file) as archive, open(file, "r+b") as out:
        for member in archive.infolist():
            if "/data/" not in member.filename:
                continue
            place, numbers = content[member.file_size]
            out.seek(member.header_offset + 26)
            name, extra = np.frombuffer(out.read(4), "<u2")
            out.seek(member.header_offset + 30 + int(name) + int(extra) + place)
            out.write(np.array(numbers, "<f4").tobytes())


def papers_models():
    """A model of each paper with the official names: its name here, the model, the checkpoint that its authors save."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
    from peer_models import cpvt, mae, pervit
    deit = timm.create_model("deit_tiny_distilled_patch16_224")
    return [("deit_tiny_distilled_patch16_224", deit, ["model"]),
            ("cpvt_tiny_peg0_224", cpvt.CPVT(cpvt.tiny_peg0_224()), ["model", "epoch"]),
            ("pervit_tiny_224", pervit.PerViT(pervit.tiny_224()), ["model", "optimizer", "epoch", "args"]),
            ("mae_pit_tiny_32", mae.MAE(mae.settings("mae_pit_tiny_32")),
             ["model", "optimizer", "epoch", "scaler", "args"])]


def check_papers_names(build, folder):
    """predict, and inspect of the autoencoder, give the same results for the .pth file and for safetensors."""
    from PIL import Image
    noise = np.random.default_rng(1).integers(0, 255, (97, 131, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "noise.png")
    for name, model, keys in papers_models():
        state = model.state_dict()
        beside = checkpoint() | {"model": state}
        torch.save({key: beside[key] for key in keys}, folder / "paper.pth")
        save_file({key: x.contiguous() for key, x in state.items()}, folder / "paper.safetensors")
        said = []
        for file in ["paper.pth", "paper.safetensors"]:
            flags = ["--model", name, "--checkpoint", folder / file]
            if name.startswith("mae"):
                command = [build / "inspect", "mae", *flags, "--dataset", "builtin", "--output", folder / "mae"]
            else:
                command = [build / "predict", folder / "noise.png", *flags, "--format", "csv"]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            said.append((folder / "mae/mae.csv").read_text() if name.startswith("mae") else done.stdout)
        assert said[0] == said[1] and len(said[0]) > 50, (name, said)
        print(f"ok  {name}: {', '.join(keys)} in a .pth file of {len(state)} tensors; as safetensors")


def check_model(build, folder):
    torch.manual_seed(1)
    model = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=8, num_classes=10, depth=2)
    state = {name: torch.randn_like(x) * 0.1 for name, x in model.state_dict().items()}
    model.load_state_dict(state)
    config = ["--model", "vit_tiny_patch8_32", "--dataset", "builtin"]
    shallow = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=8, num_classes=10)
    shallow.load_state_dict({**shallow.state_dict(), **state})
    save_file(shallow.state_dict(), folder / "model.safetensors")
    files = {"model.safetensors": []}
    for form in FORMS:
        save({"model": shallow.state_dict(), "args": argparse.Namespace(a=1), "epoch": 1}, folder / f"{form}-model.pth",
             form)
        files[f"{form}-model.pth"] = []
        save({"model": model.state_dict(), "model_ema": shallow.state_dict()}, folder / f"{form}-ema.pth", form)
        files[f"{form}-ema.pth"] = ["--weights-key", "model_ema"]
    logits = {}
    for name, flags in files.items():
        output = folder / f"{name}.logits"
        subprocess.run([build / "evaluate", folder / name, *config, *flags, "--output", folder / "out", "--logits", output],
                       check=True, capture_output=True)
        logits[name] = load_file(output)["logits"]
    assert logits["model.safetensors"].std() > 0.01
    for name in files:
        assert logits[name].equal(logits["model.safetensors"]), f"{name}: logits differ"
    print(f"ok  a timm ViT by torch.save evaluates as its safetensors do: {len(files)} files, equal logits")


def write_fixtures(folder):
    torch.manual_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    for form in FORMS:
        save(checkpoint(), folder / f"checkpoint-{form}.pth", form)
    save({"x": torch.arange(3.0)}, folder / "one.pt", "zip")
    save(torch.nn.Linear(2, 1), folder / "whole-model.pt", "zip")
    save_file(expected_of(tensors()), folder / "expected.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--fixtures", type=Path, help="write the tests' small files into this folder and leave")
    options = parser.parse_args()
    if options.fixtures:
        write_fixtures(options.fixtures)
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder, build = Path(name), options.build.resolve()
        check_cases(build, folder)
        check_scripts(build, folder)
        check_large(build, folder)
        check_papers_names(build, folder)
        check_model(build, folder)
    print(f"ok  PyTorch {torch.__version__}'s files are read")


if __name__ == "__main__":
    sys.exit(main())
