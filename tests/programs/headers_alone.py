#!/usr/bin/env python3
"""Checks that each header compiles on its own. Unity builds hide missing includes.

    tests/programs/headers_alone.py [HEADER...]       default: all headers in git but those of python/,
                                                   which need nanobind

Kernel headers are compiled for AVX2 only, CUDA headers with the tests' emulator instead of nvcc. A header that includes
one of the PRECOMPILED begins with it: that changes only the order of its includes.
"""
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = [os.environ.get("CXX", "g++"), "-std=c++20", "-Wall", "-Wextra", "-Wno-restrict", "-Winvalid-pch", "-Werror",
            "-I", str(ROOT), "-DFOVEA_SOURCE_DIR=\"\""]
AVX2 = ["-DFOVEA_ISA=v3", "-DFOVEA_ISA_v2", "-DFOVEA_ISA_v3", "-mavx2", "-mfma", "-mbmi2", "-mf16c"]
EMULATOR = ["-DFOVEA_EMULATE", "-I", str(ROOT / "tests/cuda/fake")]
PRECOMPILED = ["train/settings/config.h", "models/model.h", "data/dataset.h", "engine/tensor.h",
               "engine/base/error.h"]  # the first one that a header includes is taken


@functools.cache
def included(header):
    """The headers of the tree that it includes, directly or not."""
    names = re.findall(r'^\s*#\s*include "([^"]+)"', (ROOT / header).read_text(), re.MULTILINE)
    direct = {name for name in names if (ROOT / name).exists()}
    return direct.union(*map(included, direct))


def flags_of(header):
    if header.endswith(".cuh") or re.search(r"/cuda[^/]*\.h$|^engine/cuda/|^tests/cuda/", header):
        return EMULATOR
    return AVX2 if header.startswith("ops/") else []


def start_of(header):
    """The precompiled header with which this one begins, and its flags; or None."""
    flags = flags_of(header)
    first = next((name for name in PRECOMPILED if name in included(header)), None)
    return (first, tuple(flags)) if first and flags is not EMULATOR else None


def compile_header(header, flags, *more):
    return subprocess.run([*COMPILER, *flags, *more, "-x", "c++", "-fsyntax-only", "-"], input=f'#include "{header}"\n',
                          capture_output=True, text=True)


def precompile(header, flags, file):
    """Writes FILE.gch, which the compiler takes for -include FILE."""
    file.write_text(f'#include "{header}"\n')
    done = subprocess.run([*COMPILER, *flags, "-x", "c++-header", file, "-o", f"{file}.gch"], capture_output=True,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"error: {header} does not compile alone\n{done.stderr}")


def main():
    headers = sys.argv[1:] or subprocess.run(["git", "ls-files", "*.h", "*.cuh", ":!python"], cwd=ROOT, check=True,
                                             capture_output=True, text=True).stdout.split()
    missing = [header for header in headers if not (ROOT / header).is_file()]
    if missing:
        sys.exit(f"error: no such header in the tree: {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        starts = sorted({start_of(header) for header in headers} - {None})
        files = {start: pathlib.Path(folder) / f"{number}.h" for number, start in enumerate(starts)}

        def errors_of(header):
            begin = ["-include", str(files[start_of(header)])] if start_of(header) else []
            done = compile_header(header, flags_of(header), *begin)
            return done.stderr if done.returncode != 0 else None

        list(pool.map(lambda start: precompile(*start, files[start]), starts))
        failed = 0
        for header, errors in zip(headers, pool.map(errors_of, headers)):
            if errors is not None:
                print(f"FAIL {header}\n{errors}", flush=True)
                failed += 1
    print(f"{len(headers) - failed} of {len(headers)} headers compile alone")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
