#!/usr/bin/env python3
"""Checks the registers and shared memory of every kernel: no spills, no stack, no float atomics.

    tests/cuda/resources.py [--write] [--cache FOLDER [--compile]]

Compiles each .cu file for sm_80 and sm_90 and compares the result with tests/cuda/resources.txt; --write
writes that file. The comparison assembles the PTX of sm_80 for both, because no kernel asks for its
architecture and the step to PTX takes most of the time; --write compiles for each, so that a difference would
show. Registers differ between versions of nvcc, so the numbers are compared only for the version that the
file names; the list of kernels is always compared. Exits 77 ("skipped") without nvcc. With --cache, a file is
compiled only if it or one of its headers has changed since the folder received its results; --compile does this
alone, for a build that is followed by the check, and leaves errors to it.
"""
import argparse
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("resources.txt")
ARCHITECTURES = ["80", "90"]
TO_PTX = ["-std=c++20", "--expt-relaxed-constexpr", "-O3", "-I", str(ROOT), "--ptx"]
TO_CUBIN = ["-O3", "-Xptxas", "-v", "--cubin"]
FLOAT_ATOMIC = re.compile(r"\b(atom|red)\.\S*\.(f16|f16x2|bf16|bf16x2|f32|f64)\b")


def nvcc(*arguments):
    result = subprocess.run(["nvcc", *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"error: nvcc failed:\n{result.stderr}")
    return result.stdout + result.stderr


def with_headers(source):
    """The file and all headers of the tree that it includes, directly or not, ignoring preprocessor conditions."""
    seen, waiting = set(), [source]
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        waiting += [ROOT / name for name in re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.MULTILINE)]
    return sorted(seen)


def asks_for_architecture(source):
    return any(re.search(r"__CUDA_ARCH__\s*[<>=!]|\bNV_IF_|<cuda_(bf|fp)", path.read_text())
               for path in with_headers(source))


def compiled(source, separately):
    """The output of ptxas by architecture, and the lines of PTX that are float atomics."""
    said, atomics = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for architecture in ARCHITECTURES:
            virtual = architecture if separately or asks_for_architecture(source) else ARCHITECTURES[0]
            ptx = pathlib.Path(folder) / f"{virtual}.ptx"
            if not ptx.exists():
                nvcc(*TO_PTX, "-arch", f"compute_{virtual}", "-o", str(ptx), str(source))
                atomics[virtual] = [line.strip() for line in ptx.read_text().splitlines() if FLOAT_ATOMIC.search(line)]
            said[architecture] = nvcc(*TO_CUBIN, "-arch", f"sm_{architecture}", "-o", f"{folder}/kernels.cubin",
                                      str(ptx))
    return {"said": said, "atomics": atomics}


class Compiler:
    """Compiles the files that the cache lacks."""

    def __init__(self, cache, version, separately):
        self.cache, self.version, self.separately, self.compilations = cache, version, separately, 0

    def __call__(self, source):
        if self.cache is None:
            return compiled(source, self.separately)
        key = hashlib.sha256(repr((self.version, TO_PTX, TO_CUBIN, self.separately)).encode())
        for path in with_headers(source):
            key.update(f"\n{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
        name = f"{source.parent.name}_{source.stem}"
        entry = self.cache / f"{name}_{key.hexdigest()[:32]}.json"
        if not entry.exists():
            result = compiled(source, self.separately)
            self.compilations += 1
            for old in self.cache.glob(f"{name}_{'?' * 32}.json"):
                old.unlink()
            unfinished = entry.with_suffix(".unfinished")
            unfinished.write_text(json.dumps(result))
            unfinished.rename(entry)
        return json.loads(entry.read_text())


def kernel_name(mangled):
    """The unqualified function name: the last nested name before its template arguments."""
    names, at = [], mangled.find("_Z") + 2
    at += mangled[at:at + 1] == "N"
    while number := re.match(r"\d+", mangled[at:]):
        start = at + number.end()
        names.append(mangled[start:start + int(number.group())])
        at = start + int(number.group())
    return names[-1] if names else mangled


def kernels_of(text):
    """(name, registers, shared, stack and spilled bytes) of each kernel in the output of ptxas."""
    for part in text.split("Compiling entry function '")[1:]:
        def number(pattern):
            found = re.search(pattern, part)
            return int(found.group(1)) if found else 0
        mangled = part.split("'")[0]
        yield (kernel_name(mangled), number(r"Used (\d+) registers"), number(r"(\d+) bytes smem"),
               number(r"(\d+) bytes stack frame"),
               number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"))


def table_of(version, rows):
    lines = [f"# nvcc {version}, largest values over a kernel's instances; tests/cuda/resources.py --write",
             f"{'file':40} {'kernel':28} {'instances':>9} {'registers sm_80':>15} {'sm_90':>5} {'shared bytes':>12}"]
    for (file, name), row in sorted(rows.items()):
        (instances, sm_80, shared), (_, sm_90, _) = (row[architecture] for architecture in ARCHITECTURES)
        lines.append(f"{file:40} {name:28} {instances:9} {sm_80:15} {sm_90:5} {shared:12}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FOLDER", help="reuse the results in this folder")
    parser.add_argument("--compile", action="store_true", help="fill that folder, and check nothing")
    options = parser.parse_args()
    if options.compile and not options.cache:
        parser.error("--compile needs --cache")
    if shutil.which("nvcc") is None:
        print("skipped: no nvcc on PATH")
        return 0 if options.compile else 77
    version = re.search(r"V([\d.]+)", nvcc("--version")).group(1)
    if options.cache:
        options.cache.mkdir(parents=True, exist_ok=True)
    sources = sorted([*ROOT.glob("engine/cuda/*.cu"), *ROOT.glob("ops/*/*.cu")])
    wrong, rows, compiler = [], {}, Compiler(options.cache, version, options.write)
    try:
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(compiler, sources))
    except SystemExit:
        if not options.compile:
            raise
    if options.compile:
        return 0
    for source, result in zip(sources, results):
        for architecture, said in result["said"].items():
            for name, registers, shared, stack, spilled in kernels_of(said):
                row = rows.setdefault((str(source.relative_to(ROOT)), name), {a: [0, 0, 0] for a in ARCHITECTURES})
                entry = row[architecture]
                entry[0] += 1
                entry[1] = max(entry[1], registers)
                entry[2] = max(entry[2], shared)
                if spilled or stack:
                    wrong.append(f"{source.name}: {name} for sm_{architecture}: {stack} bytes of stack, "
                                 f"{spilled} spilled")
        for architecture, lines in result["atomics"].items():
            wrong += [f"{source.name}: a float atomic for sm_{architecture}: {line}" for line in lines]
    new = table_of(version, rows)
    old = TABLE.read_text() if TABLE.exists() else ""
    if options.write:
        TABLE.write_text(new)
    elif f"nvcc {version}," in old and old != new:
        wrong.append(f"{TABLE.name} has other numbers; if the change is intended: tests/cuda/resources.py --write")
    elif re.findall(r"\w+_kernel", old) != re.findall(r"\w+_kernel", new):
        wrong.append(f"{TABLE.name} lists other kernels; tests/cuda/resources.py --write with its nvcc")
    print("\n".join(wrong) or f"{len(rows)} kernels: no spills, no float atomics, no stack"
          + (f"; {compiler.compilations} of {len(sources)} files were compiled" if options.cache else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
