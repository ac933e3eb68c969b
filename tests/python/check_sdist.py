#!/usr/bin/env python3
"""Checks that a source archive of fovea has the clone's files, but for tests, benchmarks and CI: its wheel is then the clone's.

    tests/python/check_sdist.py SDIST.tar.gz
"""
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_OUT = ("tests/", "bench/", ".ci/")
ADDED = {"PKG-INFO"}


def files_of_clone():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name: (ROOT / name).read_bytes() for name in names if name and not name.startswith(LEFT_OUT) and (ROOT / name).is_file()}


def files_of_archive(path):
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2]: archive.extractfile(member).read() for member in archive if member.isfile()}


def main():
    clone, archive = files_of_clone(), files_of_archive(sys.argv[1])
    problems = [f"lacks {name}" for name in sorted(clone.keys() - archive.keys())]
    problems += [f"has {name}, which the clone does not track" for name in sorted(archive.keys() - clone.keys() - ADDED)]
    problems += [f"has another {name}" for name in sorted(clone.keys() & archive.keys()) if clone[name] != archive[name]]
    print(f"{pathlib.Path(sys.argv[1]).name}: {len(archive)} files")
    for problem in problems:
        print(f"FAIL {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
