#!/usr/bin/env python3
"""Round trip of safetensors files between fovea and PyTorch: check_checkpoints.py BUILD_FOLDER [CHECKPOINT...]

Needs torch, safetensors and numpy; build the target `interop` first. Every CHECKPOINT (a file written by fovea)
is loaded and written by Python, copied by fovea and compared bit for bit.
"""
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

TORCH = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "i64": torch.int64,
         "u8": torch.uint8}


def metadata(path):
    with safe_open(path, framework="pt") as file:
        return file.metadata()


def check_equal(a, b, where):
    assert a.keys() == b.keys(), f"{where}: names differ: {a.keys() ^ b.keys()}"
    for name in a:
        x, y = a[name], b[name]
        assert x.dtype == y.dtype and x.shape == y.shape, f"{where}: {name}: {x.dtype} {x.shape}"
        same = x.contiguous().flatten().view(torch.uint8).equal(
            y.contiguous().flatten().view(torch.uint8))
        assert same, f"{where}: {name}: values differ"


def check_ours_in_torch(interop, folder):
    path = folder / "ours.safetensors"
    subprocess.run([interop, "tensors", path], check=True)
    tensors = load_file(path)
    expected = {}
    for name, dtype in TORCH.items():
        x = (torch.arange(6, dtype=torch.float64) / 4).reshape(2, 3).to(dtype)
        expected[name] = x
        expected[name + ".transposed"] = x.T
        expected[name + ".scalar"] = torch.tensor(3, dtype=dtype)
        expected[name + ".empty"] = torch.empty(2, 0, dtype=dtype)
    check_equal(expected, tensors, "ours in torch")
    assert metadata(path) == {"format": "pt", "note": "café \"quoted\"\n"}, metadata(path)


def check_same_bytes(interop, folder):
    """fovea copies the reference library's file byte for byte (its metadata is a hash map)."""
    path, copy = folder / "reference.safetensors", folder / "copy.safetensors"
    tensors = {f"t{i}.{name}": torch.randn(i + 1, 3).to(dtype)
               for i, (name, dtype) in enumerate(TORCH.items())}
    save_file(tensors, path, metadata={"format": "pt"})
    subprocess.run([interop, "copy", path, copy], check=True)
    assert path.read_bytes() == copy.read_bytes(), "our file differs from the reference library's"


def check_torch_in_ours(interop, folder):
    """Types that fovea lacks are converted as documented in its header."""
    path, copy = folder / "torch.safetensors", folder / "copy.safetensors"
    save_file({"half": torch.tensor([1.0, -0.5, 6.1e-5, 3e-8, float("inf")], dtype=torch.float16),
               "bool": torch.tensor([True, False]),
               "i32": torch.tensor([-5, 7], dtype=torch.int32),
               "i16": torch.tensor([-5, 7], dtype=torch.int16),
               "i8": torch.tensor([-128, 127], dtype=torch.int8)}, path)
    subprocess.run([interop, "copy", path, copy], check=True)
    held = {"half": torch.float32, "bool": torch.uint8}
    expected = {name: x.to(held.get(name, torch.int64)) for name, x in load_file(path).items()}
    check_equal(expected, load_file(copy), "torch in ours")


def check_file(interop, folder, checkpoint):
    """fovea -> Python -> fovea -> Python."""
    again, copy = folder / "again.safetensors", folder / "copy.safetensors"
    tensors = load_file(checkpoint)
    save_file(tensors, again, metadata=metadata(checkpoint))
    subprocess.run([interop, "copy", again, copy], check=True)
    check_equal(tensors, load_file(copy), checkpoint)
    assert metadata(copy) == metadata(checkpoint), f"{checkpoint}: metadata differ"
    print(f"ok  {checkpoint}: {len(tensors)} tensors")


def check_alignment(path):
    content = Path(path).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    sizes = {"F64": 8, "I64": 8, "F32": 4, "BF16": 2, "U8": 1}
    assert length % 8 == 0
    for name, entry in header.items():
        if name != "__metadata__":
            assert entry["data_offsets"][0] % sizes[entry["dtype"]] == 0, name


def main():
    interop = str(Path(sys.argv[1]) / "tests" / "interop" / "interop")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_ours_in_torch(interop, folder)
        check_alignment(folder / "ours.safetensors")
        check_same_bytes(interop, folder)
        check_torch_in_ours(interop, folder)
        for checkpoint in sys.argv[2:]:
            check_file(interop, folder, checkpoint)
    print("ok  safetensors go to PyTorch and come back")


if __name__ == "__main__":
    main()
