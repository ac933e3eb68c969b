#!/usr/bin/env python3
"""The table and the JSON of `bench --peer`, with fake peers that answer bench/peer.py's commands.

    tests/programs/bench_peers.py [--build build]

Checks that all sides alternate, that ratios are those of the times, what rows say of peers that are missing, lack
the model, are slow or cannot be limited, also with --processes, what peers are limited to under each instruction set,
and that no share of a product's rate is above 1. Needs no PyTorch.
"""
import json
import os
import re
import sys

from checks import Checks, build_of
from fake_peers import environment_of, fake_python, write_program

# A ViT of one block, and its parameters: patches, tokens, norms, qkv, projection, MLP, head.
MODEL = ["--model", "vit_tiny_patch4_32", "--patch-size", 8, "--depth", 1, "--embed-dim", 16, "--num-heads", 2,
         "--num-classes", 10]
PARAMETERS = (192 + 1) * 16 + 16 + 17 * 16 + 3 * 2 * 16 + 17 * 48 + 17 * 16 + 17 * 64 + 65 * 16 + 17 * 10
REPS = 3

# How PyTorch's libraries are limited to what a set has; "-": not.
LIMITS = {"v2": "SSE41 default SSE4_2", "v3": "AVX2 avx2 AVX2", "v4": "AVX512_CORE avx512 AVX512",
          "v4bf16": "AVX512_CORE_BF16 avx512 AVX512_E3", "amx": "AVX512_CORE_AMX avx512 AVX512_E4"}
TWINS = {"v4bf16_twin": "v4", "amx_twin": "v3"}

LIMITED = fake_python('''names = ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS")
answers = {"info": {"name": "fake", "about": "limits " + " ".join(os.environ.get(name, "-") for name in names),
                    "libraries": {"f32": "Free BLAS 3.0"}, "unlimited": ["f32"]},
           "gemm": {"gflops": 1e9}, "setup": {"lacks": "limited to " + os.environ.get("ONEDNN_MAX_CPU_ISA", "-")}}''')

# Instead of "mpirun --oversubscribe -n 2 PROGRAM": one process, whose turns are those of a side.
ALONE = '#!/bin/sh\nshift 3\nexec "$@"\n'

FAKE = fake_python(f'''seconds = {{"eager": 8.0, "compile": 4.0, "autotune": 6.0, "openvino": 2.0, "onnxruntime": 1.0}}[kind]
answers = {{
    "info": {{"name": "fake " + kind, "about": "no kernels", "libraries": {{"f32": "Slow BLAS 1.0", "bf16": "Slow BLAS 2.0"}}}},
    "gemm": {{"gflops": 0.25 if kind == "eager" else 1e9}},
    "setup": {{"parameters": {PARAMETERS}}},
    "warm": {{}}, "rep": {{"seconds": seconds}}, "peak": {{"peak_mb": 7.0}},
}}
if kind == "openvino":
    answers["info"] = {{"lacks": "openvino is not installed"}}
if kind == "onnxruntime":
    answers["setup"] = {{"lacks": "not exported"}}''')


class Bench:
    """A run of `bench --peer` beside a Python that is a fake."""

    def __init__(self, checks, python, *flags):
        log, rows = checks.folder / "commands.txt", checks.folder / "rows.json"
        environment = environment_of(write_program(checks.folder / "python", python), log)
        self.done = checks.run("fovea_bench", *MODEL, "--batch-size", 2, "--reps", REPS, "--threads", 1, "--ceiling", 64,
                               "--peer", "--json", rows, *flags, env=environment, text=True)
        self.lines = self.done.stdout.splitlines()
        self.rows = json.loads(rows.read_text()) if self.done.returncode == 0 else []
        self.commands = log.read_text().splitlines()

    def line(self, start):
        return next((line for line in self.lines if line.startswith(start)), "")

    def of(self, mode):
        return {row["peer_name"]: row for row in self.rows if row["mode"] == mode}


def check_rows(checks, bench):
    train, infer = bench.of("train"), bench.of("infer")
    checks.that("a row has an object for each peer of use", bench.done.returncode == 0 and
                [*train] == ["fake eager", "fake compile", "fake autotune"] and
                [*infer] == ["fake eager", "fake compile", "fake autotune", "openvino", "fake onnxruntime"], bench.done)
    eager, compiled = train["fake eager"], train["fake compile"]
    checks.that("a peer's speed is its images per second", eager["peer_img_s"] == 2 / 8 and compiled["peer_img_s"] == 2 / 4,
                str(train))
    checks.that("ratios compare the times", abs(eager["ratio"] / compiled["ratio"] - 2) < 1e-9 and eager["ratio"] > 1, str(train))
    checks.that("the faster peer is marked", compiled["peer_is_fastest"] and not eager["peer_is_fastest"], str(train))
    checks.that("our line has the ratio to the faster peer", f" {compiled['ratio']:.2f} " in bench.line("vit_tiny"),
                bench.done)
    checks.that("a slow peer is shown with its rate and what limits it",
                "Slow BLAS 1.0 multiplies f32 at 0 of our" in bench.line("  fake eager") and eager["peer_gemm_gflops"] == 0.25 and
                eager["peer_note"].startswith("Slow BLAS 1.0"), bench.done)
    checks.that("a fast peer has no note", compiled["peer_note"] is None, str(compiled))
    checks.that("memory is the peer's own", eager["peer_peak_mb"] == 7.0 and eager["peak_mb"] != 7.0, str(eager))
    missing, lacking = infer["openvino"], infer["fake onnxruntime"]
    checks.that("a missing peer is a row that says so", missing["peer_note"] == "openvino is not installed" and
                missing["ratio"] is missing["peer_img_s"] is None and
                bench.line("  openvino").endswith("-  openvino is not installed"), bench.done)
    checks.that("so is a peer without the model", lacking["peer_note"] == "not exported" and lacking["ratio"] is None,
                str(lacking))
    checks.that("a share of the products' rate is at most 1", all(0 < row["mfu"] <= 1 for row in bench.rows), str(bench.rows))


def check_order(checks, commands):
    runs = [line for line in commands if line.endswith((" rep", " warm"))]
    turns = [f"{kind} rep" for kind in ("eager", "compile", "autotune")]
    once = ["eager warm", "compile warm", "autotune warm", *(2 + REPS) * turns]  # two turns warm up
    checks.that("the peers run once and then alternate", runs == 2 * once, str(runs))


def check_limits(checks):
    """Under each set that the processor has."""
    def limits_of(isa):
        python = write_program(checks.folder / "python", LIMITED)
        environment = environment_of(python, checks.folder / "commands.txt")
        environment.pop("FOVEA_ISA", None)
        done = checks.run("fovea_bench", *MODEL, "--batch-size", 1, "--reps", 1, "--threads", 1, "--ceiling", 16, "--peer",
                          "--mode", "infer", env={**environment, **({"FOVEA_ISA": isa} if isa else {})}, text=True)
        found = re.search("limits (.*)", done.stdout)
        return found[1] if found else None, done

    free, done = limits_of("")
    best = re.search("instruction set (.*)", done.stdout)[1]
    checks.that("peers have the processor's best instructions, as we do", free == "- - -", done)
    for isa in [*LIMITS, *TWINS]:
        limits, done = limits_of(isa)
        if "this processor supports" in done.stderr:
            continue
        own = TWINS.get(isa, isa)
        expected = "- - -" if own == best else LIMITS[own]
        checks.that(f"under {isa} peers have the instructions of {own}", limits == expected, done)
        if own != best:
            checks.that(f"under {isa} a library that cannot be limited is named",
                        "Free BLAS 3.0 cannot be limited to " in done.stdout, done)


def check_processes(checks):
    """DistributedDataParallel in a row of its own."""
    programs = checks.folder / "programs"
    programs.mkdir()
    write_program(programs / "mpirun", ALONE)

    def rows_of(python):
        environment = environment_of(write_program(checks.folder / "python", python), checks.folder / "commands.txt")
        environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        done = checks.run("fovea_bench", "--workload", "vit_tiny_patch4_32", "--mode", "train", "--batch-size", 8, "--reps", 1,
                          "--threads", 1, "--processes", 2, "--peer", env=environment, text=True)
        return [line for line in done.stdout.splitlines() if line.startswith("vit_tiny")], done

    parameters = 5553832  # of the workload
    rows, done = rows_of(FAKE.replace(str(PARAMETERS), str(parameters)))
    checks.that("DistributedDataParallel has a row, with its products' rate and what limits it",
                done.returncode == 0 and len(rows) == 5 and "DistributedDataParallel" in rows[-1] and
                re.search(r" 1\.0 img/s .* 1\.00  Slow BLAS 1\.0 multiplies f32 at 0 of our \d+ GFLOP/s$", rows[-1]), done)
    rows, done = rows_of(FAKE.replace(f'{{"parameters": {PARAMETERS}}}', '{"lacks": "no such model"}'))
    checks.that("without the model its row says so", done.returncode == 0 and len(rows) == 5 and
                rows[-1].endswith(" -  no such model"), done)


def main():
    with Checks(build_of(__doc__)) as checks:
        all_peers = Bench(checks, FAKE, "--compile", "--autotune", "--runtimes")
        check_rows(checks, all_peers)
        check_order(checks, all_peers.commands)
        bf16 = Bench(checks, FAKE, "--precision", "bf16", "--mode", "infer")
        checks.that("in bf16 the products in bf16 decide", "Slow BLAS 2.0 multiplies bf16" in bf16.line("  fake eager"), bf16.done)
        other = Bench(checks, FAKE.replace(str(PARAMETERS), "3").replace("0.25", "1e9"), "--mode", "infer")
        checks.that("another model is not compared", other.rows and other.rows[0]["ratio"] is None and
                    f"has 3 parameters, ours {PARAMETERS}" in other.line("  fake eager"), other.done)
        bare = Bench(checks, f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', "--mode", "infer")
        checks.that("without PyTorch the row says so", "torch is not installed" in bare.line("  eager"), bare.done)
        check_limits(checks)
        check_processes(checks)
        alone = checks.run("fovea_bench", *MODEL, "--compile", text=True)
        checks.that("--compile needs --peer", alone.returncode == 2 and "--compile without --peer" in alone.stderr, alone)
        return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
