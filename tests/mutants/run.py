#!/usr/bin/env python3
"""Breaks derivatives, augmentations, training and models one at a time and checks that a test fails each time.

    tests/mutants/run.py [--only EXPRESSION] [--build DIR]
    tests/mutants/run.py --every 3               every third mutant
    tests/mutants/run.py --every 3 --changed-since COMMIT
                                                 all mutants of files that changed since, every third of the others
    tests/mutants/run.py --table mutants.md      also writes a table: every mutant, and the test that caught it
    tests/mutants/run.py --check                 builds nothing; checks that every mutant still fits its file
                                                 and that the documents state the right number of mutants

Works on a copy of the tree in the folder --build; runs with different folders may stand side by side. A mutant is one
replaced piece of text, listed in mutants.txt: blocks of `file:`, `why:`, `old:` and `new:` lines. Every `old` must occur
exactly once in its file, so that no mutant can silently change nothing. A line `suite: test_data *augment*` names the
program that must fail and the source files of its tests. `suite: parity cpvt_*` compares with those golden files, and
`suite: cases softmax` runs these rows of the op table on the fake CUDA device. `suite: python test_dlpack` builds the
Python package and runs tests/python/test_dlpack.py; without numpy and nanobind such mutants are skipped. The default is
gradcheck.
Exits 1 when a mutant survives or cannot be built.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIELDS = ("file", "why", "old", "new", "suite")
COUNTS = {  # how documents state the number of mutants
    "README.md": r"\b(\d+) (?:broken derivatives|mutants|injected bugs|bugs|deliberate bugs|mutations)\b",
    "docs/experiments.md": r"\d+ of (\d+) caught",
}


def read_mutants(path):
    """Parses blocks separated by blank lines; a line without a known field continues the previous one."""
    mutants = []
    for block in path.read_text().split("\n\n"):
        mutant, field = {}, None
        for line in block.splitlines():
            head, _, rest = line.partition(": ")
            if head.rstrip(":") in FIELDS and (rest or line.endswith(":")):
                field = head.rstrip(":")
                if field in mutant:
                    sys.exit(f"error: {path}: a block has two fields {field}; a blank line is missing: {mutant}")
                mutant[field] = rest
            elif not line.startswith("#") and field:
                mutant[field] += "\n" + line
        if mutant:
            missing = [f for f in FIELDS if f not in mutant and f != "suite"]
            if missing:
                sys.exit(f"error: {path}: a block lacks {missing}: {mutant}")
            mutants.append(mutant)
    return mutants


def copy_tree(target):
    """Copies the sources to a fixed place, so that a second run can reuse its build."""
    target.mkdir(parents=True, exist_ok=True)
    rooms = re.findall(r"^([a-z_]+)", (ROOT / "cmake/rooms.txt").read_text(), re.MULTILINE)
    for name in ("CMakeLists.txt", *sorted(set(rooms) - {"docs"})):
        source = ROOT / name
        if source.is_dir():
            for path in source.rglob("*"):
                copy_if_changed(path, target / path.relative_to(ROOT))
            for path in (target / name).rglob("*"):  # files removed from the tree must not be built
                if path.is_file() and not (ROOT / path.relative_to(target)).exists():
                    path.unlink()
        else:
            copy_if_changed(source, target / name)


def copy_if_changed(source, destination):
    if source.is_dir():
        destination.mkdir(parents=True, exist_ok=True)
    elif not destination.exists() or source.read_bytes() != destination.read_bytes():
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, destination)


def suite_of(mutant):
    """The program that must catch the mutant, with its arguments."""
    program, *files = mutant.get("suite", "gradcheck").split()
    if program == "cases":
        return "fake_cuda_cases", tuple(files)
    if program == "python":
        return "fovea_python", tuple(files)
    if program == "parity":
        return program, tuple(sorted(str(f) for f in (ROOT / "tests/golden").glob(f"{files[0]}.safetensors")))
    return program, tuple(f"--source-file={','.join(files)}" for _ in files[:1])


def build(build_dir, program):
    return subprocess.run(["cmake", "--build", build_dir, "--target", program],
                          capture_output=True, text=True)


def has_python_tools():
    return subprocess.run([sys.executable, "-c", "import nanobind, numpy"], capture_output=True).returncode == 0


def without_skipped(mutants):
    """Without those of the Python package, where it cannot be built."""
    if has_python_tools():
        return mutants
    kept = [m for m in mutants if suite_of(m)[0] != "fovea_python"]
    if len(kept) < len(mutants):
        print(f"SKIPPED: {len(mutants) - len(kept)} mutants of the Python package: {sys.executable} has no nanobind or no numpy")
    return kept


def configure(tree, build_dir, apart, with_python):
    """`apart`: the files that mutants change, of which each mutant builds one."""
    command = ["cmake", "-S", tree, "-B", build_dir, "-G", "Ninja", "-DFOVEA_CUDA=OFF", "-DCMAKE_BUILD_TYPE=Release",
               "-DFOVEA_APART=" + ";".join(str(tree / file) for file in apart)]
    processor = pathlib.Path("/proc/cpuinfo").read_text()
    if "avx2" in processor:  # the set that the programs choose, and those that multiply bf16
        best = ";v4;v4bf16_twin" if "avx512vl" in processor else ""
        command.append(f"-DFOVEA_ONLY_ISA=v3;amx_twin{best}")
    command += ["-DFOVEA_PYTHON=" + ("ON" if with_python else "OFF"), "-DPython_EXECUTABLE=" + sys.executable]
    if shutil.which("ld.lld"):
        command.append("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld")
    if shutil.which("ccache"):
        command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    subprocess.run(command, check=True, capture_output=True)


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def changed_since(commit):
    """The files that differ from the commit's in more than their place and their #include lines."""
    fields = git("diff", "--numstat", "-z", "-M", "--ignore-blank-lines", "-I^#include ", commit).split("\0")
    changed = set(git("ls-files", "-z", "--others", "--exclude-standard").split("\0"))
    while len(fields) > 1:  # "ADDED\tREMOVED\tPATH", or with an empty PATH and the old and new ones after it
        added, removed, path = fields.pop(0).split("\t")
        if not path:
            _, path = fields.pop(0), fields.pop(0)
        if (added, removed) != ("0", "0"):
            changed.add(path)
    return changed


def selected(mutants, options):
    """Those that fit --only: all of changed files, and every Nth of the others. Mutants of a file follow one another,
    so that it is built as it was only after the last one."""
    mutants = [m for m in mutants if re.search(options.only, m["file"] + ": " + m["why"])]
    changed = changed_since(options.changed_since) if options.changed_since else set()
    others = [m for m in mutants if m["file"] not in changed][::options.every]
    return sorted((m for m in mutants if m["file"] in changed or m in others), key=lambda m: m["file"])


def run_python_tests(build_dir, modules):
    package = build_dir / "package/fovea"
    shutil.copytree(build_dir / "tree/python/fovea", package, dirs_exist_ok=True)
    for library in (build_dir / "rooms/python").glob("_core*.so"):
        shutil.copy(library, package)
    return subprocess.run([sys.executable, "-m", "unittest", "--failfast", *modules], cwd=ROOT / "tests/python", capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(package.parent), "OMP_NUM_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1"})


def run_suite(build_dir, suite):
    """The exit code, and the row or test case that failed first."""
    program, arguments = suite
    if program == "gradcheck":
        result = subprocess.run([build_dir / program, "--fail-fast"], capture_output=True, text=True)
        rows = [line.split()[0] for line in result.stdout.splitlines()
                if line.rstrip().endswith("FAIL")]
    elif program == "parity":
        result = subprocess.run([build_dir / program, *arguments], capture_output=True, text=True)
        rows = [line.split()[1] for line in result.stdout.splitlines() if line.startswith("FAIL")][:3]
    elif program == "fovea_python":
        result = run_python_tests(build_dir, arguments)
        rows = re.findall(r"^(?:FAIL|ERROR): (\w+)", result.stderr, re.MULTILINE)
    elif program == "fake_cuda_cases":
        result = subprocess.run([build_dir / "fake/cuda_cases", *arguments], capture_output=True, text=True)
        rows = [line.split()[0] for line in result.stdout.splitlines() if line.rstrip().endswith("FAIL")]
    else:
        path = next(p for p in (build_dir / "tests" / program, build_dir / "tests/cuda" / program) if p.exists())
        result = subprocess.run([path, "--abort-after=1", *arguments], capture_output=True, text=True)
        rows = [line.removeprefix("TEST CASE:").strip() for line in result.stdout.splitlines()
                if line.startswith("TEST CASE:")]
    return result.returncode, sorted(set(rows))


def try_mutant(mutant, tree, build_dir):
    path = tree / mutant["file"]
    original = path.read_text()
    if original.count(mutant["old"]) != 1:
        return "NOT APPLICABLE", f"`old` occurs {original.count(mutant['old'])} times"
    path.write_text(original.replace(mutant["old"], mutant["new"]))
    try:
        suite = suite_of(mutant)
        compiled = build(build_dir, suite[0])
        if compiled.returncode != 0:
            return "DOES NOT BUILD", compiled.stdout[-600:]
        code, rows = run_suite(build_dir, suite)
        return ("caught" if code != 0 else "SURVIVED"), ", ".join(rows) or f"exit code {code}"
    finally:
        path.write_text(original)


def check_all(mutants):
    """Prints each mutant whose `old` does not occur exactly once or equals its `new`; returns how many."""
    bad = 0
    for mutant in mutants:
        path = ROOT / mutant["file"]
        count = path.read_text().count(mutant["old"]) if path.exists() else 0
        if count != 1 or mutant["old"] == mutant["new"]:
            print(f"{mutant['file']}: {mutant['why']}: `old` occurs {count} times")
            bad += 1
    print(f"{len(mutants)} mutants, {bad} do not fit")
    return bad


def check_counts(number):
    """Prints each document with another number of mutants; returns how many."""
    bad = 0
    for name, pattern in COUNTS.items():
        found = re.search(pattern, (ROOT / name).read_text())
        if not found or int(found[1]) != number:
            print(f"{name}: states {found[1] if found else 'no number of'} mutants, mutants.txt has {number}")
            bad += 1
    return bad


def one_line(text):
    return " ".join(text.split()).replace("|", "\\|")


def write_table(path, rows):
    caught = sum(status == "caught" for _, status, _ in rows)
    lines = ["# Mutants", "",
             "Each row breaks one derivative, one augmentation, one part of training or of a model. `tests/mutants/run.py`",
             "rebuilds the library with it and runs `./run gradcheck`, or the tests or golden files that the row names.", f"{caught} of {len(rows)} caught, {len(rows) - caught} survivors.", "",
             "| file | what is broken | from | to | result | caught by |", "|---|---|---|---|---|---|"]
    for mutant, status, detail in rows:
        lines.append(f"| `{mutant['file']}` | {one_line(mutant['why'])} | `{one_line(mutant['old'])}` "
                     f"| `{one_line(mutant['new'])}` | {status} | {one_line(detail)} |")
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="run only mutants whose file or reason fits this regular expression")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run only every Nth of them")
    parser.add_argument("--changed-since", metavar="COMMIT",
                        help="but all of files that have changed since: not only moved, nor #include lines alone")
    parser.add_argument("--build", default=ROOT / "build-mutants", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path, help="write a Markdown table to this file")
    parser.add_argument("--check", action="store_true", help="build nothing; check that mutants fit their files and documents count them")
    options = parser.parse_args()
    everything = read_mutants(pathlib.Path(__file__).with_name("mutants.txt"))
    mutants = selected(everything, options)
    if options.check:
        return 1 if check_all(mutants) + check_counts(len(everything)) else 0
    mutants = without_skipped(mutants)
    build_dir = options.build.resolve()
    tree = build_dir / "tree"
    copy_tree(tree)
    configure(tree, build_dir, sorted({mutant["file"] for mutant in everything}),
              any(suite_of(mutant)[0] == "fovea_python" for mutant in mutants))
    for suite in sorted({suite_of(mutant) for mutant in mutants}):
        compiled = build(build_dir, suite[0])
        if compiled.returncode != 0:
            sys.exit(f"{compiled.stdout[-2000:]}error: {suite[0]} must build before anything is broken")
        code, rows = run_suite(build_dir, suite)
        if code != 0:
            sys.exit(f"error: {' '.join((suite[0], *suite[1]))} must pass before anything is broken: "
                     f"{', '.join(rows) or f'exit code {code}'}")
    rows = []
    for number, mutant in enumerate(mutants, 1):
        start = time.time()
        status, detail = try_mutant(mutant, tree, build_dir)
        rows.append((mutant, status, detail))
        print(f"[{number}/{len(mutants)}] {status:14} {mutant['file']}: {mutant['why']} "
              f"({time.time() - start:.0f} s) {detail}", flush=True)
    if options.table:
        write_table(options.table, rows)
    bad = sum(status != "caught" for _, status, _ in rows)
    print(f"{len(rows)} mutants, {bad} survivors")
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ.setdefault("CCACHE_NOHASHDIR", "1")
    os.environ["FOVEA_GOLDEN"] = str(ROOT / "tests/golden")  # as in CTest
    sys.exit(main())
