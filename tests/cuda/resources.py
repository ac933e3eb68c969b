#!/usr/bin/env python3
"""Checks the registers and shared memory of every kernel: no spills, no stack, no float atomics.

    tests/cuda/resources.py [--write] [--build BUILD]

Assembles the PTX in the objects of a build with nvcc for sm_80 and sm_90, and compares the result with
tests/cuda/resources.txt; --write writes that file. It is the PTX for compute_80, of a build without a GPU or with
-DCMAKE_CUDA_ARCHITECTURES=80. Registers differ between versions of nvcc, so the numbers are compared only for the version that the
file names; the list of kernels is always compared. Exits 77 ("skipped") without ptxas, libzstd or that PTX.
"""
import argparse
import ctypes
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
PTX_TARGET = b"\n.target sm_80\n"
FLOAT_ATOMIC = re.compile(r"\b(atom|red)\.\S*\.(f16|f16x2|bf16|bf16x2|f32|f64)\b")
ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
MOST_PTX = 1 << 30


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def decompressed(frame):
    """The contents of the zstd frame at the start of some bytes; none if there is no frame after all."""
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError:
        skip("no libzstd.so.1, which reads the PTX in objects")
    for function in (zstd.ZSTD_findFrameCompressedSize, zstd.ZSTD_decompress):
        function.restype = ctypes.c_size_t
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    length = ctypes.c_size_t(zstd.ZSTD_findFrameCompressedSize(frame, ctypes.c_size_t(len(frame))))
    if zstd.ZSTD_isError(length):
        return b""
    size = zstd.ZSTD_getFrameContentSize(frame, length)
    if size > MOST_PTX:  # also where it is unknown
        return b""
    contents = ctypes.create_string_buffer(size)
    done = ctypes.c_size_t(zstd.ZSTD_decompress(contents, ctypes.c_size_t(size), frame, length))
    return b"" if zstd.ZSTD_isError(done) else contents.raw


def ptx_of(source, build):
    """The PTX in a source's object, where nvcc stores it as a zstd frame; cuobjdump may not come with nvcc."""
    room, *rest = source.relative_to(ROOT).parts
    objects = list(build.glob(f"rooms/{room}/**/{'/'.join(rest)}.o"))
    if not objects:
        sys.exit(f"error: {build} has no object of {source.relative_to(ROOT)}; configure it with -DFOVEA_CUDA=ON, and "
                 "build it")
    code = max(objects, key=lambda path: path.stat().st_mtime).read_bytes()
    for frame in re.finditer(re.escape(ZSTD_FRAME), code):
        ptx = decompressed(code[frame.start():])
        if PTX_TARGET in ptx:
            return ptx.rstrip(b"\0").decode()
    skip(f"{objects[0].name} has no PTX for compute_80, or not in zstd, which nvcc 13.0 uses; configure the build with "
         "-DCMAKE_CUDA_ARCHITECTURES=80")


def ptxas(*arguments):
    result = subprocess.run(["ptxas", *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"error: ptxas failed:\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def assembled(ptx, architecture):
    """What ptxas says of the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "kernels.ptx"
        file.write_text(ptx)
        return ptxas("-O3", "-v", f"-arch=sm_{architecture}", "-o", f"{folder}/kernels.cubin", str(file))


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
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="a build with nvcc")
    options = parser.parse_args()
    if shutil.which("ptxas") is None:
        skip("no ptxas on PATH, which comes with nvcc")
    version = re.search(r"V([\d.]+)", ptxas("--version")).group(1)
    sources = sorted([*ROOT.glob("engine/cuda/*.cu"), *ROOT.glob("ops/*/*.cu")])
    wrong, rows = [], {}
    codes = {source: ptx_of(source, options.build) for source in sources}
    with ThreadPoolExecutor(2) as pool:
        jobs = {(source, architecture): pool.submit(assembled, codes[source], architecture)
                for source in sources for architecture in ARCHITECTURES}
    for (source, architecture), job in jobs.items():
        for name, registers, shared, stack, spilled in kernels_of(job.result()):
            row = rows.setdefault((str(source.relative_to(ROOT)), name), {a: [0, 0, 0] for a in ARCHITECTURES})
            entry = row[architecture]
            entry[0] += 1
            entry[1] = max(entry[1], registers)
            entry[2] = max(entry[2], shared)
            if spilled or stack:
                wrong.append(f"{source.name}: {name} for sm_{architecture}: {stack} bytes of stack, {spilled} spilled")
    for source, ptx in codes.items():
        wrong += [f"{source.name}: a float atomic: {line.strip()}" for line in ptx.splitlines()
                  if FLOAT_ATOMIC.search(line)]
    new = table_of(version, rows)
    old = TABLE.read_text() if TABLE.exists() else ""
    if options.write:
        TABLE.write_text(new)
    elif f"nvcc {version}," in old and old != new:
        wrong.append(f"{TABLE.name} has other numbers; if the change is intended: tests/cuda/resources.py --write")
    elif re.findall(r"\w+_kernel", old) != re.findall(r"\w+_kernel", new):
        wrong.append(f"{TABLE.name} lists other kernels; tests/cuda/resources.py --write with its nvcc")
    print("\n".join(wrong) or f"{len(rows)} kernels: no spills, no float atomics, no stack")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
