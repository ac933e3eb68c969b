#!/usr/bin/env python3
"""Checks that each header compiles on its own. Unity builds hide missing includes.

    tests/programs/headers_alone.py [HEADER...]       default: all headers in git

Kernel headers are compiled for AVX2 only, CUDA headers with the tests' emulator instead of nvcc. A header that includes
engine/tensor.h or base/error.h begins with it, precompiled: that changes only the order of its includes.
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
COMPILER = [os.environ.get("CXX", "g++"), "-std=c++20", "-Wall", "-Wextra", "-Wno-restrict", "-Werror", "-I", str(ROOT)]
AVX2 = ["-DFOVEA_ISA=v3", "-DFOVEA_ISA_v2", "-DFOVEA_ISA_v3", "-mavx2", "-mfma", "-mbmi2", "-mf16c"]
EMULATOR = ["-DFOVEA_EMULATE", "-I", str(ROOT / "tests/cuda/fake")]
PRECOMPILED = ["engine/tensor.h", "base/error.h"]  # the first one that a header includes is taken


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


def compile_as(language, flags, source, *more):
    return subprocess.run([*COMPILER, *flags, *more, "-x", language, "-"], input=source, capture_output=True, text=True)


class Precompiled:
    """The precompiled headers, for each set of flags, in a folder."""

    def __init__(self, folder):
        self.folder = folder

    @functools.cache
    def file(self, header, flags):
        name = self.folder / f"{len(list(self.folder.iterdir()))}.h"
        name.write_text(f'#include "{header}"\n')
        subprocess.run([*COMPILER, *flags, "-x", "c++-header", name, "-o", f"{name}.gch"], check=True)
        return name

    def flags(self, header):
        """What begins this header with a precompiled one that it includes."""
        flags = flags_of(header)
        first = next((name for name in PRECOMPILED if name in included(header)), None)
        return ["-include", str(self.file(first, tuple(flags)))] if first and flags is not EMULATOR else []


def main():
    headers = sys.argv[1:] or subprocess.run(["git", "ls-files", "*.h", "*.cuh"], cwd=ROOT, check=True,
                                             capture_output=True, text=True).stdout.split()
    missing = [header for header in headers if not (ROOT / header).is_file()]
    if missing:
        sys.exit(f"error: no such header in the tree: {', '.join(missing)}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        precompiled = Precompiled(pathlib.Path(folder))
        flags = [[*flags_of(header), *precompiled.flags(header)] for header in headers]
        sources = [f'#include "{header}"\n' for header in headers]
        for header, done in zip(headers, pool.map(functools.partial(compile_as, "c++"), flags, sources,
                                                  ["-fsyntax-only"] * len(headers))):
            if done.returncode != 0:
                print(f"FAIL {header}\n{done.stderr}", flush=True)
                failed += 1
    print(f"{len(headers) - failed} of {len(headers)} headers compile alone")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
