#!/usr/bin/env python3
"""Compares every program on --device cuda with the CPU: on the fake device, or on a GPU.

    tests/cuda/programs.py [--build build]         the programs of build/fake
    tests/cuda/programs.py --programs build        the programs of a CUDA build, on a machine with a GPU

Trains a small model, evaluates it, classifies a picture, inspects it, prints its summary and times it.
Prints one line per check; exits 1 if one fails. Errors that the fake device detects make a program fail.
"""
import json
import math
import os
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
from checks import Checks, parser_of  # noqa: E402
from formats import losses_of  # noqa: E402
from small_data import small_cifar, small_coco  # noqa: E402
from tiny_training import tiny_model  # noqa: E402

ENVIRONMENT = {"FOVEA_FAKE_DEVICES": "2", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none"}
ROOMS = ["--dataset", "rooms", "--fraction", "0.005"]
MAE = ["--decoder-embed-dim", "8", "--decoder-depth", "1", "--decoder-num-heads", "2"]
SMALL = ["--depth", "2", "--embed-dim", "12", "--num-heads", "2", "--patch-size", "8"]
VAE = ["--block-out-channels", "4,8", "--layers-per-block", "1", "--norm-num-groups", "2", "--img-size", "8"]
PERVIT = {"convstem_dims": [3, 6, 12], "depths": [1, 1], "emb_dims": [12, 16], "num_heads": 2, "num_classes": 10,
          "img_size": [32, 32]}
ANALYSES = {  # of the model that is trained, or of another one's initial values
    "attention": [], "attention-distance": [], "attention-offset": [], "locality": [], "pos-embed": [],
    "peg-kernels": ["cpvt_tiny_peg0_patch4_32", {"depth": 2, "embed_dim": 12, "num_heads": 2}],
    **{name: ["pervit_tiny_32", PERVIT] for name in
       ("pervit-phi", "pervit-regions", "pervit-nonlocality", "pervit-impact", "pervit-attention")}}


class DeviceChecks(Checks):
    def __init__(self, programs):
        super().__init__(programs)
        self.launcher = []
        self.screens = {}  # what training printed, by its folder

    def start(self, program, *flags, **variables):
        environment = {**os.environ, **ENVIRONMENT, "FOVEA_DATA": str(self.folder / "cifar"), **variables}
        return self.execute([*self.launcher, *self.command(program, *flags)], timeout=900, env=environment)

    def output_of(self, program, *flags):
        done = self.start(program, *flags)
        if done.returncode != 0:
            self.note(f"{program} {' '.join(map(str, flags[:3]))}", (done.stderr or done.stdout).strip()[-300:])
        return done.stdout


def numbers_of(text):
    return [float(n) for n in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", text)]


def differ(a, b, within):
    """The first pair of numbers that differ by more than the tolerance, relative to the larger one or 1."""
    if len(a) != len(b):
        return f"{len(a)} and {len(b)} numbers"
    for x, y in zip(a, b):
        if not math.isclose(x, y, rel_tol=within, abs_tol=within):
            return f"{x} and {y}"
    return ""


def check_evaluate(checks, model):
    results = []
    for device in ("cpu", "cuda"):
        checks.output_of("evaluate", model, "--device", device, "--dataset", "builtin", "--fraction", "0.002",
                         "--split", "train", "--json", f"{device}.json", "--workers", "0")
        result = json.loads((checks.folder / f"{device}.json").read_text())["results"][0]
        del result["img_s"], result["seconds"]
        results.append(numbers_of(json.dumps(result)))
    checks.that("evaluate: the CPU's numbers", not differ(*results, 1e-4), differ(*results, 1e-4))


def check_predict(checks, model, picture):
    rows = [checks.output_of("predict", picture, "--checkpoint", model, "--device", device, "--format", "json")
            for device in ("cpu", "cuda")]
    found = differ(*map(numbers_of, rows), 1e-4)
    checks.that("predict: the CPU's classes", rows[0] != "" and not found, found)


def losses_until_failure(run):
    return losses_of(run) if (run / "steps.jsonl").exists() else []


def train(checks, program, model, device, output, *more):
    """Losses of three steps on a few pictures."""
    checks.screens[output] = checks.output_of(
        program, *(ROOMS if program == "train_depth" else ["--dataset", "cifar10"]), "--model", model, *more,
        "--max-steps", "3", "--batch-size", "4", "--workers", "0", "--log-interval", "1", "--device", device,
        "--output", output)
    return losses_until_failure(checks.folder / output)


def check_training(checks, program, model, *more):
    cpu = train(checks, program, model, "cpu", f"{program}-cpu", *more)
    cuda = train(checks, program, model, "cuda", program, *more)
    found = differ(cpu, cuda, 1e-5)
    checks.that(f"{program}: the CPU's losses", len(cuda) == 3 and not found, found or f"{len(cuda)} losses")
    uploads = "f32 values" if program == "train_depth" else "u8 pixels"
    screens = checks.screens[f"{program}-cpu"], checks.screens[program]
    checks.that(f"{program}: the first screen says what is uploaded",
                "uploads" not in screens[0] and f"\nuploads   {uploads}: " in screens[1], screens[1][:800])


def check_detection(checks):
    """Losses of training, boxes of evaluate and of predict."""
    flags = ["--dataset", "coco", "--data-dir", checks.folder / "coco", *tiny_model("train_detection"), "--dropout", "0"]
    losses, boxes = [], []
    for device in ("cpu", "cuda"):
        run = f"detection-{device}"
        checks.output_of("train_detection", *flags, "--max-steps", "3", "--batch-size", "4", "--workers", "0",
                         "--log-interval", "1", "--device", device, "--output", run)
        losses.append(losses_until_failure(checks.folder / run))
        checks.output_of("evaluate", "detection-cpu", "--device", device, "--json", f"boxes-{device}.json",
                         "--workers", "0", "--output", f"evaluated-{device}")
        result = json.loads((checks.folder / f"boxes-{device}.json").read_text())["results"][0]
        boxes.append(numbers_of(json.dumps(result["numbers"])))
    found = differ(*losses, 1e-4)
    checks.that("train_detection: the CPU's losses", len(losses[1]) == 3 and not found, found or losses)
    checks.that("evaluate: the CPU's average precision", not differ(*boxes, 1e-4), differ(*boxes, 1e-4))


def check_processes(checks):
    """Two processes with a GPU each, through host memory, have one process's losses."""
    if shutil.which("mpirun") is None or checks.build.name != "fake":
        return print("skipped: two processes: there is no mpirun, or the programs are not those of a fake device")
    losses = []
    for processes in (1, 2):
        checks.launcher = ["mpirun", "--oversubscribe", "-n", "2"] if processes == 2 else []
        losses.append(train(checks, "train_cifar", "vit_tiny_patch8_32", "cuda", f"on-{processes}", *SMALL, "--shards", "2"))
    checks.that("train_cifar: two processes have one's losses", len(losses[1]) == 3 and losses[0] == losses[1], losses)
    refused = checks.start("train_cifar", "--device", "cuda", "--dataset", "builtin", FOVEA_FAKE_DEVICES="1")
    checks.launcher = []
    checks.that("train_cifar: two processes on one GPU", "2 processes of a machine see 1 GPU(s)" in refused.stderr,
                refused.stderr[-300:])


def check_older_gpu(checks):
    """A GPU without tensor cores for bf16 says so once."""
    if checks.build.name != "fake":
        return print("skipped: an older GPU: the programs are not those of a fake device")
    done = checks.start("train_cifar", "--dataset", "builtin", "--model", "vit_tiny_patch8_32", *SMALL, "--device", "cuda",
                        "--max-steps", "1", "--batch-size", "4", "--workers", "0", "--output", "older",
                        FOVEA_FAKE_COMPUTE="75")
    text = done.stdout + done.stderr
    checks.that("train_cifar: a GPU before compute capability 8.0", done.returncode == 0
                and text.count("this device has 7.5 and runs plain kernels") == 1, text[-300:])


def check_inspect(checks, model, analyses):
    for name, other in analyses.items():
        what = ["--model", other[0], "--model-args", json.dumps(other[1])] if other else [model]
        for device in ("cpu", "cuda"):
            checks.output_of("inspect", name, *what, "--device", device, "--output", f"{name}-{device}", "--count", "2")
        tables = sorted((checks.folder / f"{name}-cpu").rglob("*.csv"))
        found = "" if tables else "no table"
        for table in tables:
            other_table = checks.folder / f"{name}-cuda" / table.relative_to(checks.folder / f"{name}-cpu")
            found = found or differ(numbers_of(table.read_text()), numbers_of(other_table.read_text()), 1e-3)
        checks.that(f"inspect {name}: the CPU's table", not found, found)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--programs", type=pathlib.Path, help="the folder that has them (default: BUILD/fake)")
    options = parser.parse_args()
    with DeviceChecks((options.programs or options.build / "fake").resolve()) as checks:
        small_cifar(checks.folder / "cifar")
        small_coco(checks.folder / "coco")
        check_training(checks, "train_cifar", "vit_tiny_patch8_32", *SMALL)
        check_training(checks, "train_mae", "mae_vit_tiny_patch8_32", *SMALL, *MAE)
        check_training(checks, "train_vae", "vae_f4_32", *VAE)
        check_training(checks, "train_diffusion", "dit_s_8_32", *SMALL, "--img-size", "16")
        check_training(checks, "train_depth", "depth_cpvt_tiny_peg0_patch8_24x32", *SMALL)
        check_evaluate(checks, "train_cifar")
        check_processes(checks)
        check_older_gpu(checks)
        check_detection(checks)
        text = checks.output_of("summary", "vit_tiny_patch8_32", *SMALL, "--device", "cuda")
        checks.that("summary: memory of the device", "(cuda:0)" in text, text[-300:])
        check_inspect(checks, "train_cifar", ANALYSES)
        check_inspect(checks, "train_mae", {"mae": []})
        check_predict(checks, "train_cifar", next((checks.folder / "attention-cpu").rglob("*.png")))
        text = checks.output_of("fovea_bench", "--device", "cuda", "--model", "vit_tiny_patch8_32", *SMALL,
                                "--mode", "infer", "--batch", 1, "--reps", 1, "--ceiling", 64)
        checks.that("fovea_bench: a row", re.search(r"vit_tiny_patch8_32 +infer +f32 +1 ", text) is not None, text)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
