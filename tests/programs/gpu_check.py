#!/usr/bin/env python3
"""bench/gpu_check.sh without a GPU: its dry run, its steps beside programs that are fakes, its archive and its table.

    tests/programs/gpu_check.py [--build build]
"""
import json
import os
import re
import shutil
import sys

from checks import ROOT, Checks, build_of
from fake_peers import write_program

SCRIPT, RESULTS = ROOT / "bench/gpu_check.sh", ROOT / "bench/gpu_results.py"
NO_PEER = "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n"

# Numbers that nobody measured.
KERNELS = [{"workload": "pit_tiny_32", "mode": "train", "precision": "f32", "batch": 16, "ours_img_s": 1600.0, "peer_name": None,
            "kernels": [{"name": "mma_dkv_kernel", "launches": 12, "ms": 2.5}, {"name": "cuBLASLt linear", "launches": 48, "ms": 2.0},
                        {"name": "mma_dq_kernel", "launches": 12, "ms": 1.5}]}]
PREDICTED = [{**{key: KERNELS[0][key] for key in ("workload", "mode", "precision", "batch")}, "ms": 7.25, "not_predicted": [],
              "kernels": [{"name": "mma_dkv_kernel", "launches": 12, "ms": 3.25, "bound": "products"},
                          {"name": "mma_dq_kernel", "launches": 12, "ms": 2.0, "bound": "products"},
                          {"name": "norm_kernel", "launches": 12, "ms": 2.0, "bound": "memory"}]}]
EAGER = [{**{key: KERNELS[0][key] for key in ("workload", "mode", "precision", "batch", "ours_img_s")},
          "peer_name": "torch 2.11 eager", "ratio": 1.5, "peer_note": None}]


class Runs(Checks):
    def check_script(self, name, *flags, **variables):
        """An ended run of gpu_check.sh, and its results."""
        out = self.folder / name
        done = self.execute([SCRIPT, *map(str, flags)], env={**os.environ, "OUT": str(out), **variables})
        file = out / "results.json"
        return done, json.loads(file.read_text())["steps"] if file.exists() else {}


def states_of(steps):
    return {name: step["state"] for name, step in steps.items()}


def check_dry_run(checks):
    steps = "rates counts predict attention attention-memcheck kernels-bf16 eager-f32 compile-vit_tiny memcheck"
    done, found = checks.check_script("dry", "--dry-run", "--no-build", "--only", steps, checks.build)
    checks.that("the dry run runs the steps that need no GPU, and says why it skips the others", done.returncode == 2 and
                states_of(found) == {"rates": "ok", "counts": "ok", "predict": "ok", "attention": "ok",
                                     "attention-memcheck": "skipped", "kernels-bf16": "ok", "eager-f32": "skipped", "compile-vit_tiny": "skipped", "memcheck": "skipped"}, done)
    if done.returncode != 2:
        return
    rates = {rate["name"] for rate in found["rates"]["rows"]}
    checks.that("every rate has a row", rates == {"copy", "mma bf16", "mma TF32", "ex2", "launch", "node"} | {
        f"{model} {layer} {precision}" for model in ("ViT-Ti", "ViT-S", "ViT-B") for layer in ("qkv", "proj", "fc1", "fc2")
        for precision in ("f32", "TF32", "bf16")}, rates)
    kernels = {kernel["name"]: kernel["launches"] for kernel in found["kernels-bf16"]["rows"][0]["kernels"]}
    checks.that("a step of training is timed by kernel", kernels.get("mma_dkv_kernel") == 2 and "cuBLASLt linear" in kernels,
                kernels)
    predicted = {row["mode"]: {kernel["name"]: kernel["launches"] for kernel in row["kernels"] + row["not_predicted"]}
                 for row in found["predict"]["rows"]}
    checks.that("and each of its kernels is predicted, or it says why not", predicted["train"] == kernels, (predicted, kernels))
    done, found = checks.check_script("late", "--dry-run", "--no-build", "--limit", 1, "--only", "cases rates", checks.build)
    checks.that("a step that takes too long fails, and the step before it keeps its result", done.returncode == 1 and
                "at its limit of 1 s" in found["cases"]["message"] and found["cases"]["state"] == "FAILED", done)


def check_gpu(checks):
    """The order and the states of the real run, where all programs are fakes."""
    tools, build = checks.folder / "tools", checks.folder / "gpu"
    tools.mkdir()
    build.mkdir()
    write_program(tools / "nvidia-smi", "#!/bin/sh\ncase $1 in *compute*) echo 9.0 ;; *) echo 'A GPU, 580, 1 MiB' ;; esac\n")
    write_program(tools / "compute-sanitizer", "#!/bin/sh\necho 'Error: ERR_NVGPUCTRPERM: not permitted'\nexit 1\n")
    write_program(tools / "python", NO_PEER)
    write_program(build / "gpu_rates", '#!/bin/sh\necho \'[{"name": "copy", "value": 4.0, "unit": "TB/s"}]\' >"$2"\nexit 3\n')
    write_program(build / "cuda_attention", "#!/bin/sh\nexit 0\n")
    (build / "rows").write_text(json.dumps(EAGER))
    write_program(build / "fovea_bench", f'#!/bin/sh\nwhile [ "$1" != --json ]; do shift; done\ncp "{build}/rows" "$2"\n')
    variables = {"PATH": f"{tools}:{os.environ['PATH']}", "FOVEA_PEER_PYTHON": str(tools / "python")}
    steps = "rates attention attention-memcheck eager-f32 compile-deit_small"
    done, found = checks.check_script("gpu-out", "--no-build", "--only", steps, build, **variables)
    checks.that("a program that fails is a failure; a refusal is skipped with its message", done.returncode == 1 and
                states_of(found) == {"rates": "FAILED", "attention": "ok", "attention-memcheck": "skipped",
                                     "eager-f32": "skipped", "compile-deit_small": "skipped"} and
                "ERR_NVGPUCTRPERM" in found["attention-memcheck"]["message"] and
                found["eager-f32"]["message"] == "ModuleNotFoundError: No module named 'torch'", done)
    write_program(tools / "python", "#!/bin/sh\nexit 0\n")
    beside, rows = checks.check_script("peers-out", "--no-build", "--only", "eager-f32 autotune-vit_tiny", build, **variables)
    checks.that("where PyTorch is, models run beside it", beside.returncode == 0 and
                states_of(rows) == {"eager-f32": "ok", "autotune-vit_tiny": "ok"} and
                rows["eager-f32"]["rows"][0]["ratio"] == 1.5, beside)
    checks.that("what a failed step measured stays", found["rates"]["rows"][0]["value"] == 4.0, found["rates"])
    checks.that("the GPU heads the table", "\nA GPU, 580, 1 MiB\n" in done.stdout, done)


def check_archive(checks):
    programs, archive = checks.folder / "built", checks.folder / "programs.tar.xz"
    names = re.search(r"packed_programs=\((.*?)\)", (ROOT / "bench/gpu_archive.sh").read_text(), re.DOTALL)[1].split()
    for name in names:
        (programs / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shutil.which("true"), programs / name)
    (programs / "counts.json").write_text("[]")
    done, _ = checks.check_script("packing", "--pack", archive, "--no-build", programs)
    checks.that("the programs are packed", done.returncode == 0 and f"{len(names)} programs" in done.stdout, done)
    unpacked = checks.folder / "unpacked"
    done, found = checks.check_script("unpacking", "--unpack", archive, "--only", "rates", unpacked)
    checks.that("and run from the archive, or say that there is no GPU", list(found) == ["rates"] and
                all((unpacked / name).exists() for name in [*names, "counts.json"]), done)
    (programs / "counts.json").unlink()
    done, _ = checks.check_script("packing", "--pack", archive, "--no-build", programs)
    checks.that("without counts too", done.returncode == 0, done)
    (programs / "fovea_bench").unlink()
    done, _ = checks.check_script("packing", "--pack", checks.folder / "other.tar.xz", "--no-build", programs)
    checks.that("a program that is missing makes no archive", done.returncode != 0 and
                not (checks.folder / "other.tar.xz").exists(), done)


def check_table(checks):
    folder = checks.folder / "results"
    folder.mkdir()

    def write(*flags):
        return checks.execute([RESULTS, folder, *flags])

    def store(name, rows):
        (folder / f"{name}.json").write_text(json.dumps(rows))
        write("--step", name, "--state", "ok", "--seconds", "7")

    write("--machine", "A GPU")
    store("rates", [{"name": "copy", "value": 4.1, "unit": "TB/s"}, {"name": "ViT-S fc1 bf16", "value": 700.0, "unit": "TFLOP/s"}])
    store("predict", PREDICTED)
    store("kernels-f32", KERNELS)
    store("eager-f32", EAGER)
    store("attention-alone", [{"workload": "pit_tiny_32", "mode": "train", "precision": "f32", "ours_ms": 2.0, "peer_ms": 3.0,
                               "backend": "efficient_attention", "ratio": 1.5}])
    write("--step", "memcheck", "--state", "skipped", "--seconds", "0", "--message", "no tool | none")
    done = write("--exit-code")
    lines = done.stdout.splitlines()
    checks.that("the table has what is expected beside what was measured",
                "| copy | TB/s | 4.3 | 4.1 |" in lines and "| ViT-S fc1 bf16 | TFLOP/s | 742 | 700 |" in lines, done)
    checks.that("a workload has a row with its kernels, what was predicted of them, and its peer",
                "| pit_tiny_32 | 16 | train | f32 | 10 | 7.25 | 6 | 5.25 | 4 | mma_dkv_kernel 2.5, cuBLASLt linear 2, mma_dq_kernel 1.5 | 1.50 "
                "| - | - |" in lines, done)
    checks.that("a kernel has a row with what was predicted of it, if anything was",
                "| pit_tiny_32 | f32 | mma_dkv_kernel | 12 | 3.25 | 2.5 |" in lines and
                "| pit_tiny_32 | f32 | cuBLASLt linear | 48 | not predicted | 2 |" in lines, done)
    checks.that("attention alone has a row with the fastest backend",
                "| pit_tiny_32 | train | f32 | 2 | 3 | efficient_attention | 1.50 |" in lines, done)
    checks.that("a step has a row with its message, in one cell",
                "| memcheck | skipped | 0 | no tool \\| none |" in lines and done.returncode == 2, done)
    checks.that("the file is what is printed", (folder / "table.md").read_text() == done.stdout, done)


def main():
    with Runs(build_of(__doc__)) as checks:
        check_table(checks)
        check_archive(checks)
        check_gpu(checks)
        check_dry_run(checks)
        return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
