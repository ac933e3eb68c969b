#!/usr/bin/env python3
"""The interpreter of export/ against onnx's own tests of operators: onnx_nodes.py BUILD_FOLDER

Needs onnx, numpy and safetensors; build the target `run_onnx` first. Each test of a single node whose operator the
interpreter has is run, in opsets 17 to 20 and in newer ones of the same meaning. What the interpreter refuses, naming
the node, is counted: types and attributes that are never written. A result other than onnx's is an error.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.backend.test.case.node as cases
from onnx import numpy_helper
from safetensors.numpy import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
HELD = {np.dtype(kind) for kind in ("float32", "float64", "int64", "uint8", "bool")}


def known_operators():
    """The rows of the interpreter's tables."""
    text = "".join(path.read_text() for path in sorted((ROOT / "export").glob("operators_*.cpp")))
    return set(re.findall(r'^ +\{"(\w+)",', text, re.M))


def arrays(values, names):
    made = [numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v for v in values]
    return {name: np.array(value, order="C") for name, value in zip(names, made)}


def outcome(build, folder, case):
    """"", a refusal, or what is wrong."""
    graph, (inputs, outputs) = case.model.graph, case.data_sets[0]
    if graph.node[0].op_type == "LayerNormalization":  # the others are for training
        del graph.node[0].output[1:], graph.output[1:]
    given = arrays(inputs, [value.name for value in graph.input])
    expected = arrays(outputs, [value.name for value in graph.output])
    if any(value.dtype not in HELD or value.ndim > 6 for value in (*given.values(), *expected.values())):
        return "refused: a type or rank that is never written"
    onnx.save(case.model, folder / "node.onnx")
    save_file({name: value.astype(np.uint8) if value.dtype == bool else value for name, value in given.items()},
              folder / "in.safetensors")
    result = subprocess.run([build / "tests/interop/run_onnx", folder / "node.onnx", folder / "in.safetensors",
                             folder / "out.safetensors"], capture_output=True, text=True)
    if result.returncode:
        return f"refused: {result.stderr.strip()}"
    got = load_file(folder / "out.safetensors")
    for name, value in expected.items():
        if got[name].shape != value.shape:
            return f"shape {got[name].shape}, expected {value.shape}"
        if not np.allclose(got[name].astype(np.float64), value.astype(np.float64), rtol=1e-4, atol=1e-6, equal_nan=True):
            return f"{name} differs"
    return ""


def main():
    build, operators = pathlib.Path(sys.argv[1]), known_operators()
    passed, refused, wrong, reached = 0, 0, 0, set()
    with tempfile.TemporaryDirectory() as temporary:
        for case in cases.collect_testcases(None):
            nodes = case.model.graph.node
            if len(nodes) != 1 or nodes[0].op_type not in operators or case.model.graph.initializer:
                continue
            said = outcome(build, pathlib.Path(temporary), case)
            if not said:
                passed += 1
                reached.add(nodes[0].op_type)
            elif said.startswith("refused"):
                refused += 1
                if "--verbose" in sys.argv:
                    print(case.name, said)
            else:
                wrong += 1
                print(f"FAIL {case.name}: {said}")
    missing = sorted(operators - reached)
    print(f"{passed} passed, {refused} refused, {wrong} wrong; {len(reached)} operators"
          + (f", without {', '.join(missing)}" if missing else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
