#!/usr/bin/env python3
"""Checks that the tests that repeat their work under five seeds run every kernel of the sources.

    tests/cuda/every_kernel.py FILE...      files written through FOVEA_FAKE_KERNELS
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sources = [*ROOT.glob("ops/*/*.cu"), *ROOT.glob("ops/*/*.cuh"), *ROOT.glob("engine/cuda/*.cu*")]
kernels = {name for source in sources for name in re.findall(r"__global__\s+void (\w+)\(", source.read_text())}
names = "".join(pathlib.Path(file).read_text() for file in sys.argv[1:])
missing = sorted(kernels - set(re.findall(r"\w+", names)))
print(f"{len(kernels)} kernels, {len(missing)} of which no test ran: {', '.join(missing)}")
sys.exit(1 if missing or not kernels else 0)
