#!/usr/bin/env python3
"""examples/vit_from_scratch.cpp: what it uses, whether it equals the library's model, whether it learns.

    tests/programs/vit_from_scratch.py [--build build]

What it uses is read off its object file, so that operators (+ is ops::add) and default arguments count too.
"""
import argparse
import pathlib
import re
import subprocess
import sys

OPS = {"add", "cross_entropy", "gelu", "layer_norm", "linear", "matmul", "mul", "reshape", "transpose"}
# Everything else: tensors, the tape, data and, for --compare, a model by its name.
OTHERS = re.compile(r"(Tensor|Shape|Storage|OpLabel|NoGrad|Loader)::.*|empty|zeros|ones|full|arange|from_values|"
                    r"rand_normal|record|backward|fail|open_dataset|training_pipeline|evaluation_pipeline|"
                    r"evaluation_loader_options|make_model|refuse_kind")
STEPS, BATCH, FACTOR = 150, 16, 0.8


def functions_of(build):
    """The fovea functions that the object file calls, without the namespace and their arguments."""
    path = next(build.glob("examples/CMakeFiles/example_vit_from_scratch.dir/vit_from_scratch.cpp.o*"))
    symbols = subprocess.run(["nm", "-C", "--undefined-only", path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ +U fovea::([\w:~]+)", symbols, re.MULTILINE))


def check_uses(build, source):
    functions = functions_of(build)
    ops = {name.removeprefix("ops::") for name in functions if name.startswith("ops::")}
    yield ops == OPS, f"uses the ops {', '.join(sorted(ops))}; expected {', '.join(sorted(OPS))}"
    others = sorted(name for name in functions if not name.startswith("ops::") and not OTHERS.fullmatch(name))
    yield not others, f"uses functions beyond tensors, tape and data: {others}"
    includes = re.findall(r'^#include [<"](.*)[>"]$', source.read_text(), re.MULTILINE)
    headers = [name for name in includes if "." in name or "/" in name]
    yield headers == ["fovea/fovea.h"], f"includes {headers} besides the standard library"


def check_runs(program):
    compared = subprocess.run([program, "--compare"], capture_output=True, text=True)
    yield compared.returncode == 0 and "PASS" in compared.stdout, f"--compare:\n{compared.stdout}{compared.stderr}"
    trained = subprocess.run([program, "--steps", str(STEPS), "--batch", str(BATCH)], capture_output=True, text=True)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)$", trained.stdout, re.MULTILINE)]
    learned = trained.returncode == 0 and len(losses) == STEPS // 25 and losses[-1] < FACTOR * losses[0]
    yield learned, f"{STEPS} steps: losses {losses} {trained.stderr}; expected the last below {FACTOR} of the first"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    build = parser.parse_args().build
    source = pathlib.Path(__file__).resolve().parents[2] / "examples/vit_from_scratch.cpp"
    checks = [*check_uses(build, source), *check_runs(build.resolve() / "examples/example_vit_from_scratch")]
    for ok, what in checks:
        if not ok:
            print(f"FAIL {what}")
    print(f"{len(checks)} checks, {sum(not ok for ok, _ in checks)} failed")
    sys.exit(not all(ok for ok, _ in checks))


if __name__ == "__main__":
    main()
