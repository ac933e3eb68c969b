#!/usr/bin/env python3
"""Checks a wheel of fovea: its size, and that it has what users need and nothing of the tests.

    tests/python/check_wheel.py WHEEL
"""
import pathlib
import re
import sys
import zipfile

MOST_BYTES = 10_000_000
NEEDED = [r"fovea/__init__\.py", r"fovea/_core\.\S+\.so", r"fovea/_core/__init__\.pyi", r"fovea/_core/ops\.pyi", r"fovea/py\.typed",
          r"fovea-\S+/METADATA", r"fovea-\S+/licenses/LICENSE"]
UNWANTED = r"test|bench|golden|\.a$|\.h$|\.cpp$|__pycache__"


def main():
    wheel = pathlib.Path(sys.argv[1])
    names = zipfile.ZipFile(wheel).namelist()
    problems = [f"has no {pattern}" for pattern in NEEDED if not any(re.fullmatch(pattern, name) for name in names)]
    problems += [f"has {name}" for name in names if re.search(UNWANTED, name)]
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        problems.append(f"is larger than {MOST_BYTES / 1e6:.0f} MB")
    print(f"{wheel.name}: {size / 1e6:.1f} MB, {len(names)} files")
    for problem in problems:
        print(f"FAIL {wheel.name} {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
