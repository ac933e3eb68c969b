#!/usr/bin/env python3
"""examples/vit_from_scratch.cpp: what it uses, whether it equals the library's model, whether it learns.

    tests/programs/vit_from_scratch.py [--build build]

What it uses is read off its object file, so that operators (+ is ops::add) and default arguments count too.
"""
import re
import subprocess
import sys

from checks import ROOT, Checks, build_of

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


def check_uses(checks):
    functions = functions_of(checks.build)
    ops = {name.removeprefix("ops::") for name in functions if name.startswith("ops::")}
    checks.that(f"uses {len(OPS)} ops", ops == OPS, f"{', '.join(sorted(ops))}; expected {', '.join(sorted(OPS))}")
    others = sorted(name for name in functions if not name.startswith("ops::") and not OTHERS.fullmatch(name))
    checks.note("uses nothing beyond them, tensors, the tape and data", others)
    source = (ROOT / "examples/vit_from_scratch.cpp").read_text()
    includes = re.findall(r'^#include [<"](.*)[>"]$', source, re.MULTILINE)
    headers = [name for name in includes if "." in name or "/" in name]
    checks.that("includes one header besides the standard library's", headers == ["fovea/fovea.h"], headers)


def check_runs(checks):
    compared = checks.run("examples/example_vit_from_scratch", "--compare")
    checks.that("--compare", compared.returncode == 0 and "PASS" in compared.stdout, compared)
    trained = checks.run("examples/example_vit_from_scratch", "--steps", STEPS, "--batch", BATCH)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)$", trained.stdout, re.MULTILINE)]
    learned = trained.returncode == 0 and len(losses) == STEPS // 25 and losses[-1] < FACTOR * losses[0]
    checks.that(f"{STEPS} steps: the last loss is below {FACTOR} of the first", learned, trained)


def main():
    with Checks(build_of(__doc__)) as checks:
        check_uses(checks)
        check_runs(checks)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
