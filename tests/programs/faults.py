#!/usr/bin/env python3
"""Fault injection: fails each system call of a training run on its own files in turn, and shows that nothing is lost.

    tests/programs/faults.py [--build build] [--every 1] [--kind KIND]... [--program train_mae]...

For each program, a short run (two epochs, averages, a save within the epochs) and its continuation first run once to
count their calls by kind (open, read, write, fsync, rename, mkdir, unlink, truncate, lock, close). Then they run once
per call, which fails with "Input/output error" alone, or with "No space left on device" together with all later ones.
After each:

- exit code 0 only if every file exists, is complete, and the weights equal those of the undisturbed run;
- otherwise exactly one line "error: ..." that names a file below the run's folder and the system's reason;
- a state that existed before is complete and not older;
- resumed without faults, the run ends with exactly the weights of the undisturbed one.
"""
import errno
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from checks import parser_of
from formats import progress_of, read_safetensors, steps_of
from small_data import data_flags, small_data
from tiny_training import PROGRAMS, tiny_model

KINDS = ["open", "read", "write", "fsync", "rename", "mkdir", "unlink", "truncate", "lock", "close"]


def step_of(state):
    return progress_of(state)["step"] if state.exists() else -1


class Runs:
    def __init__(self, build, program, folder):
        self.build, self.program, self.folder, self.data = build, program, folder, folder / "data"
        folder.mkdir()
        small_data(self.data)

    def train(self, output, *flags, fault=None, counts=None):
        command = [self.build / self.program, *data_flags(self.program, self.data), *tiny_model(self.program),
                   "--batch-size", "8", "--epochs", "2", "--warmup-epochs", "0", "--recovery-interval", "2", "--log-interval", "1", "--model-ema",
                   "--workers", "0", "--threads", "1", "--checkpoint-hist", "1", "--state-hist", "2", "--max-steps", "0", "--output", output,
                   "--resume", "auto", *flags]
        environment = dict(os.environ, LD_PRELOAD=str(self.build / "libfault_shim.so"),
                           FOVEA_FAULT_BELOW=str(output))
        if fault:
            environment["FOVEA_FAULT"] = fault
        if counts:
            environment["FOVEA_FAULT_COUNTS"] = str(counts)
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    def counts(self, output, *flags):
        path = self.folder / "counts"
        result = self.train(output, *flags, counts=path)
        if result.returncode != 0:
            sys.exit(f"error: the run ends with {result.returncode} without any fault:\n{result.stderr}")
        return {kind: int(n) for kind, n in (line.split() for line in path.read_text().splitlines())}


def damage(program, output, reference):
    """The first problem of a run that reports success; "" if there is none."""
    try:
        for name in ("state", "last", "best", "last_ema", "best_ema"):
            path = output / f"{name}.safetensors"
            if read_safetensors(path)[0] != reference[name]:
                return f"{path.name} differs from that of the undisturbed run"
        kept = sorted(path.name for path in (output / "states").iterdir())
        if kept != ["step-10.safetensors", "step-8.safetensors"]:
            return f"the states are {kept}"
        if step_of(output / "states" / kept[1]) != 8 or read_safetensors(output / "states" / kept[0])[0] != reference["state"]:
            return "a kept state differs"
        if len((output / "log.csv").read_text().splitlines()) != 3:
            return "log.csv has not two rows"
        steps = [row["step"] for row in steps_of(output)]
        if steps != list(range(1, 11)):
            return f"steps.jsonl has the steps {steps}"
        json.loads((output / "config.json").read_text())
        if not (output / "curves.svg").read_text().rstrip().endswith("</svg>"):
            return "curves.svg is cut short"
        pictures = sorted(path.name for path in (output / "pictures").glob("*"))
        if program != "train_cifar" and pictures != ["epoch-0001.png", "epoch-0002.png"]:
            return f"its pictures are {pictures}"
    except (OSError, ValueError, KeyError) as error:
        return str(error)
    return ""


def problem_of(runs, output, fault, code, before, reference):
    result = runs.train(output, fault=fault)
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    if result.returncode == 0:
        wrong = damage(runs.program, output, reference)
        if wrong:
            return f"exit code 0, but {wrong}"
        if not (output / "report.html").exists() and "note: no report" not in result.stdout:
            return "exit code 0 without a report or a word about it"
    elif result.returncode != 1:
        return f"exit code {result.returncode}: {result.stderr[-200:]}"
    elif len(lines) != 1 or str(output) not in lines[0] or os.strerror(code) not in lines[0]:
        return f"the error names not both file and reason: {result.stderr[-300:]}"
    try:
        if step_of(output / "state.safetensors") < before:
            return "the state is older than before, or lost"
    except ValueError as error:
        return f"the state is damaged: {error}"
    again = runs.train(output)
    if again.returncode != 0:
        return f"cannot be continued: {again.stderr[-300:]}"
    return damage(runs.program, output, reference)


def reference_of(runs, whole):
    return {name: read_safetensors(whole / f"{name}.safetensors")[0]
            for name in ("state", "last", "best", "last_ema", "best_ema")}


def check_program(runs, options):
    """Injects every fault into its run and a continuation; returns the number of faults and of those with a problem."""
    folder, rows, failed = runs.folder, 0, 0
    stopped, whole = folder / "stopped", folder / "whole"
    counts = {"a run": runs.counts(whole)}
    reference = reference_of(runs, whole)
    if runs.train(stopped, "--max-steps", "5").returncode != 0:
        sys.exit("error: cannot make the stopped run")
    before = step_of(stopped / "state.safetensors")
    shutil.copytree(stopped, folder / "resumed")
    counts["a continued run"] = runs.counts(folder / "resumed")
    for what, calls in counts.items():
        for kind in options.kind or KINDS:
            for mode, code in (("once", errno.EIO), ("always", errno.ENOSPC)):
                bad = 0
                numbers = range(1, calls[kind] + 1, options.every)
                for number in numbers:
                    output = folder / "output"
                    shutil.rmtree(output, ignore_errors=True)
                    if what != "a run":
                        shutil.copytree(stopped, output)
                    problem = problem_of(runs, output, f"{kind} {number} {code} {mode}", code,
                                         -1 if what == "a run" else before, reference)
                    if problem:
                        bad += 1
                        print(f"FAIL {what}: {kind} {number} of {calls[kind]}, {mode}: {problem}", flush=True)
                rows += len(numbers)
                failed += bad
                print(f"{'FAIL' if bad else 'ok':4} {what} of {runs.program}: {kind} fails {mode}: "
                      f"{len(numbers)} places", flush=True)
    return rows, failed


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every so many calls, to be done sooner")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="not all of them")
    options = parser.parse_args()
    if not (options.build / "libfault_shim.so").exists():
        sys.exit(f"error: {options.build} has no libfault_shim.so; build everything, with tests (./run build)")
    rows = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for program in options.program or PROGRAMS:
            runs = Runs(options.build, program, pathlib.Path(folder).resolve() / program)
            tried, bad = check_program(runs, options)
            rows, failed = rows + tried, failed + bad
    print(f"{rows} faults, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
