#!/usr/bin/env python3
"""What ptxas makes of the kernels: registers and shared memory, no spills, no stack, no float atomics.

    tests/cuda/resources.py [--write]

Compiles each .cu file for sm_80 and sm_90 and compares with the table in docs/gpu.md; --write writes it.
Registers differ from one nvcc to the next: the numbers are compared for the version that the page names,
the rest always. Exits 77, "skipped", where there is no nvcc.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/gpu.md"
BEGIN, END = "<!-- tests/cuda/resources.py writes this table -->", "<!-- end of the table -->"
ARCHITECTURES = ["80", "90"]


def nvcc(*arguments):
    result = subprocess.run(["nvcc", *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"error: nvcc failed:\n{result.stderr}")
    return result.stderr


def compiled(job):
    source, architecture, folder = job
    cubin = pathlib.Path(folder) / f"{source.stem}_{source.parent.name}_{architecture}.cubin"
    text = nvcc("-std=c++20", "--expt-relaxed-constexpr", "-O3", "-I", str(ROOT), "-arch", f"sm_{architecture}",
                "-Xptxas", "-v", "--cubin", "-o", str(cubin), str(source))
    return source, architecture, text


def kernel_name(mangled):
    """The function's own name: the last of the nested names before its template arguments."""
    names, at = [], mangled.find("_Z") + 2
    at += mangled[at:at + 1] == "N"
    while number := re.match(r"\d+", mangled[at:]):
        start = at + number.end()
        names.append(mangled[start:start + int(number.group())])
        at = start + int(number.group())
    return names[-1] if names else mangled


def kernels_of(text):
    """(name, registers, shared, stack and spilled bytes) of each kernel that ptxas names."""
    for part in text.split("Compiling entry function '")[1:]:
        def number(pattern):
            found = re.search(pattern, part)
            return int(found.group(1)) if found else 0
        mangled = part.split("'")[0]
        yield (kernel_name(mangled), number(r"Used (\d+) registers"), number(r"(\d+) bytes smem"),
               number(r"(\d+) bytes stack frame"),
               number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"))


def float_atomics(source):
    with tempfile.TemporaryDirectory() as folder:
        ptx = pathlib.Path(folder) / "kernels.ptx"
        nvcc("-std=c++20", "--expt-relaxed-constexpr", "-O3", "-I", str(ROOT), "-arch", "compute_80", "--ptx", "-o",
             str(ptx), str(source))
        return [line.strip() for line in ptx.read_text().splitlines()
                if re.search(r"\b(atom|red)\.\S*\.(f16|f16x2|bf16|bf16x2|f32|f64)\b", line)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the table")
    options = parser.parse_args()
    if shutil.which("nvcc") is None:
        print("skipped: no nvcc on PATH")
        return 77
    version = re.search(r"V([\d.]+)", subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout).group(1)
    sources = sorted([*ROOT.glob("engine/cuda/*.cu"), *ROOT.glob("ops/*/*.cu")])
    wrong, rows = [], {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        jobs = [(source, a, folder) for source in sources for a in ARCHITECTURES]
        for source, architecture, text in pool.map(compiled, jobs):
            for name, registers, shared, stack, spilled in kernels_of(text):
                row = rows.setdefault((str(source.relative_to(ROOT)), name), {a: [0, 0, 0] for a in ARCHITECTURES})
                entry = row[architecture]
                entry[0] += 1
                entry[1] = max(entry[1], registers)
                entry[2] = max(entry[2], shared)
                if spilled or stack:
                    wrong.append(f"{source.name}: {name} for sm_{architecture}: {stack} bytes of stack, {spilled} spilled")
        for source, lines in zip(sources, pool.map(float_atomics, sources)):
            wrong += [f"{source.name}: a float atomic: {line}" for line in lines]
    table = [f"nvcc {version}; the most over a kernel's instances.", "",
             "| file | kernel | instances | registers, sm_80 | sm_90 | static shared bytes |", "|---|---|---|---|---|---|"]
    for (file, name), row in sorted(rows.items()):
        table.append(f"| `{file}` | `{name}` | {row['80'][0]} | {row['80'][1]} | {row['90'][1]} | {row['80'][2]} |")
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    old, after = rest.split(END)
    new = "\n" + "\n".join(table) + "\n"
    if options.write:
        PAGE.write_text(before + BEGIN + new + END + after)
    elif f"nvcc {version};" in old and old != new:
        wrong.append("docs/gpu.md has another table; if the change is meant: tests/cuda/resources.py --write")
    elif re.findall(r"`(\w+_kernel)`", old) != re.findall(r"`(\w+_kernel)`", new):
        wrong.append("docs/gpu.md lists other kernels; tests/cuda/resources.py --write with its nvcc")
    print("\n".join(wrong) or f"{len(rows)} kernels: no spills, no float atomics, no stack")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
