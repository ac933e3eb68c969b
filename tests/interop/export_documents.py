#!/usr/bin/env python3
"""The programs of docs/export.md: export_documents.py BUILD_FOLDER

Needs onnxruntime, openvino, pillow and CMake; build the targets `train_cifar`, `export` and `predict` first. A model is
trained for a moment and exported; each program must print the class that `predict` finds in each of ten pictures.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import openvino.utils
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(kind):
    """The code blocks of docs/export.md in a language."""
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / "docs/export.md").read_text(), re.S)


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **options).stdout


def pictures(folder):
    """Blocks of colours, of different sizes."""
    random = np.random.default_rng(1)
    for i in range(10):
        size = random.integers(20, 200, 2)
        blocks_of = Image.fromarray(random.integers(0, 256, (4, 4, 3), dtype=np.uint8))
        picture = blocks_of.resize((int(size[0]), int(size[1])), Image.Resampling.BICUBIC)
        picture.save(folder / f"{i}.png")
        picture.save(folder / f"{i}.ppm")
        yield folder / f"{i}.png"


def compiled(folder):
    (folder / "classify.cpp").write_text(blocks("cpp")[0])
    (folder / "CMakeLists.txt").write_text(blocks("cmake")[0])
    where = openvino.utils.get_cmake_path()
    run("cmake", "-S", folder, "-B", folder / "build", f"-DOpenVINO_DIR={where}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", folder / "build")
    return folder / "build/classify"


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        run(build / "train_cifar", "--model", "vit_tiny_patch8_32", "--embed-dim", "48", "--depth", "2", "--num-heads", "2",
            "--epochs", "1", "--output", folder / "run", "--no-report")
        run(build / "export", folder / "run", "--output", folder / "model.onnx")
        for name, code in zip(("onnxruntime.py", "openvino.py"), blocks("python")):
            (folder / f"with_{name}").write_text(code)
        program, wrong = compiled(folder), 0
        for picture in pictures(folder):
            found = json.loads(run(build / "predict", folder / "run", picture, "--format", "json"))
            best = found["pictures"][0]["classes"][0]
            arguments = [folder / "model.onnx", picture]
            printed = {"onnxruntime": run(sys.executable, folder / "with_onnxruntime.py", *arguments),
                       "OpenVINO": run(sys.executable, folder / "with_openvino.py", *arguments),
                       "C++": run(program, folder / "model.onnx", picture.with_suffix(".ppm"),
                                  env={**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(openvino.__file__).parent / "libs")})}
            expected = {"onnxruntime": best["name"], "OpenVINO": str(best["index"]), "C++": str(best["index"])}
            for name, text in printed.items():
                if text.strip() != expected[name]:
                    wrong += 1
                    print(f"FAIL {picture.name}: {name} printed {text.strip()}, expected {expected[name]}")
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
