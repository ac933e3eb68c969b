#!/usr/bin/env python3
"""Exported models in onnxruntime and OpenVINO: onnx_models.py BUILD_FOLDER [--names NAME... | --all] [--keep FOLDER]

Needs onnx, onnxruntime, openvino and safetensors; build the target `export_models` first. Each model of the golden
files, which have each setting of all families at least once, or each registry name given (--all: each there is), with
two blocks and narrow heads, is written with its inputs and outputs for batches of 1 and 3, of two image sizes where it takes
any. onnx's full check and strict shape inference must pass; outputs must be within ||a - b|| / ||b|| of 1e-5 in
onnxruntime and of 1e-4 in OpenVINO with f32.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import openvino
from safetensors.numpy import load_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOUNDS = {"onnxruntime": 1e-5, "OpenVINO": 1e-4}


def checked(path):
    """Raises if the file is not valid, or the shapes that it states are not those of its operators."""
    onnx.checker.check_model(path, full_check=True)
    onnx.shape_inference.infer_shapes(onnx.load(path), strict_mode=True, data_prop=True)


def in_onnxruntime(path):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(None, inputs)))


def in_openvino(path):
    model = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda inputs: {name: values for output, values in model(inputs).items() for name in output.get_names()}


def difference(got, expected):
    if expected.dtype.kind == "i":
        return float((got != expected).mean())
    return float(np.linalg.norm(got - expected) / max(np.linalg.norm(expected), 1e-30))


def differences(path, run):
    """The largest over outputs, batches and sizes."""
    worst = 0.0
    for file in path.parent.glob(f"{path.stem}.*.safetensors"):
        trial = load_file(file)
        inputs = {name[3:]: value for name, value in trial.items() if name.startswith("in.")}
        outputs = run(inputs)
        for name, expected in trial.items():
            if name.startswith("out."):
                worst = max(worst, difference(outputs[name[4:]], expected))
    return worst


def write(build, folder, names):
    """The models' files, in the folder."""
    subprocess.run([build / "tests/interop/export_models", folder, *names], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "FOVEA_GOLDEN": str(ROOT / "tests/golden")})


def check_files(folder):
    """How many results are wrong."""
    wrong = 0
    for path in sorted(folder.glob("*.onnx")):
        checked(str(path))
        found = {"onnxruntime": differences(path, in_onnxruntime(str(path))),
                 "OpenVINO": differences(path, in_openvino(str(path)))}
        bad = [program for program, bound in BOUNDS.items() if not found[program] <= bound]
        wrong += len(bad)
        print("FAIL" if bad else "ok  ", path.stem, *[f"{name} {value:.1e}" for name, value in found.items()], flush=True)
    return wrong


def check_name(build, name):
    """A model alone: the files of all together would fill a disk."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            write(build, folder, [name])
            return check_files(pathlib.Path(folder))
        except Exception as error:  # the other models are checked as well
            print("FAIL", name, error, flush=True)
            return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--names", nargs="*", default=[])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep")
    options = parser.parse_args()
    names = options.names
    if options.all:
        names = subprocess.run([options.build / "tests/interop/export_models", "--list"], check=True, text=True,
                               capture_output=True).stdout.split()
    if names and not options.keep:
        wrong = sum(check_name(options.build, name) for name in names)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(options.keep or temporary)
            write(options.build, folder, names)
            wrong = check_files(folder)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
