#!/usr/bin/env python3
"""Training in several processes of which one fails: all end within seconds, with one line, and nothing is lost.

    tests/programs/process_faults.py [--build build] [--kills 2] [--seed 1]

One process is killed (--kills moments for each of three ranks), stopped past --comm-timeout, out of file descriptors, on
a full disk; or it has another flag, build or data, or no MPI in common with its launcher. After each, the state that was
saved before is there, and training continues from it. Exits 77 without mpirun or MPI.
"""
import itertools
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from processes import WIDE, arguments_of, errors_of, ranks_of, run_checks, saved_step, send
from tiny_training import tiny_model

FLAGS = ["--recovery-interval", "1", "--comm-timeout", "8"]
LONG = 100000  # steps: longer than any test
PATIENCE = 90  # seconds after which a run hangs


class Faults:
    def __init__(self, checks, model, note=""):
        self.checks, self.flags, self.note = checks, [*model, *FLAGS], note
        self.numbers = itertools.count(1)

    def start(self, environment=None):
        """A run of three processes after its first saved steps: its mpirun and its folder."""
        output = self.checks.folder / f"fault-{next(self.numbers)}{self.note}"
        started = subprocess.Popen(self.checks.command("train_cifar", *self.checks.flags(self.flags, output, LONG),
                                                       processes=3),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**self.checks.environment(), **(environment or {})})
        while saved_step(output) < 3 and started.poll() is None:
            time.sleep(0.02)
        return started, output

    def ended(self, name, started, output, word):
        """Checks that all have ended, with a line that has the word, and that the run continues."""
        before, problem = saved_step(output), ""
        errors = errors_of(started, PATIENCE)
        if errors is None:
            problem = f"still running after {PATIENCE} s"
        elif started.returncode == 0:
            problem = "the run went on"
        elif not re.search(word, errors, re.MULTILINE):
            problem = f"no line with '{word}': {errors.strip()[-300:]}"
        elif len([line for line in errors.splitlines() if line.startswith("error: ")]) > 1:
            problem = f"several errors: {errors}"
        after = saved_step(output)
        if not problem and after < max(before, 1):
            problem = f"the saved step fell from {before} to {after}"
        if not problem:
            done = self.checks.run("train_cifar", *self.checks.flags(self.flags, output, after + 2), processes=2)
            if done.returncode != 0 or saved_step(output) != after + 2:
                problem = f"does not continue: {done.stderr.strip()[-300:]}"
        self.checks.note(name + self.note, problem)

    def killed(self, rank, delay):
        started, output = self.start()
        time.sleep(delay)
        send(process_of(started, rank), signal.SIGKILL)
        self.ended(f"process {rank} is killed", started, output, "[Kk]illed")

    def stopped(self, rank):
        started, output = self.start()
        send(process_of(started, rank), signal.SIGSTOP)
        self.ended(f"process {rank} is stopped", started, output, f"no word from process {rank} for .*comm-timeout")

    def out_of_descriptors(self):
        started, output = self.start()
        subprocess.run(["prlimit", f"--pid={process_of(started, 0)}", "--nofile=3:3"], check=True)
        self.ended("process 0 is out of file descriptors", started, output, "^error: .*[Tt]oo many open files")

    def full_disk(self):
        """The library that faults.py preloads fails the writes of the first process."""
        shim = self.checks.build / "libfault_shim.so"
        started, output = self.start({"LD_PRELOAD": str(shim), "FOVEA_FAULT": "write 400 28 always",
                                      "FOVEA_FAULT_BELOW": str(self.checks.folder)})
        self.ended("the disk of process 0 is full", started, output, "^error: .*No space left")

    def refused(self, name, commands, word):
        """Several programs that mpirun starts together, which must not begin."""
        output = self.checks.folder / f"refused-{name.replace(' ', '-')}"
        line = [*self.checks.mpirun]
        for number, command in enumerate(commands):
            line += [*([":"] if number else []), "-n", "1", *map(str, command), "--output", str(output)]
        done = self.checks.execute(line, timeout=60)
        errors = [text for text in done.stderr.splitlines() if text.startswith("error: ")]
        problem = "" if len(errors) == 1 and word in errors[0] else f"got {errors or done.stderr[-300:]}, expected '{word}'"
        if output.exists():
            problem = "a run was begun"
        self.checks.note(name, problem)


def process_of(mpirun, rank):
    """The number of the process of that rank."""
    def has_rank(process):
        return f"OMPI_COMM_WORLD_RANK={rank}".encode() in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    return next(filter(has_rank, ranks_of(mpirun.pid)))


def differences(faults, build):
    """Processes that were not started alike."""
    plain = [build / "train_cifar", *tiny_model("train_cifar"), "--max-steps", "1"]
    faults.refused("another flag", [plain, [*plain, "--seed", "2"]], "process 1 has other flags")
    other = faults.checks.folder / "train_cifar"
    shutil.copy(build / "train_cifar", other)
    with other.open("ab") as file:
        file.write(b"\0")
    faults.refused("another build", [plain, [other, *plain[1:]]], "process 1 has other build")
    for name, images in [("ours", 30), ("theirs", 31)]:
        folder = faults.checks.folder / name / "data"
        folder.mkdir(parents=True)
        for part in [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]:
            (folder / f"{part}.bin").write_bytes(bytes(3073 * images))
    data = [*plain, "--dataset", "cifar10", "--data-dir", "data"]
    folders = [["--wdir", faults.checks.folder / name, *data] for name in ("ours", "theirs")]
    faults.refused("other data", folders, "process 1 has other images")


def other_launcher(faults, build):
    """MPICH's mpirun starts programs that have Open MPI: each believes to be alone."""
    if shutil.which("mpirun.mpich") is None or not (build / "train_cifar_mpich").exists():
        return print("skipped: there is no second MPI")
    output = faults.checks.folder / "launcher"
    done = faults.checks.execute(["mpirun.mpich", "-n", "2", build / "train_cifar", "--output", output,
                                  "--max-steps", "1"], timeout=60)
    problem = "" if "MPI knows one" in done.stderr else f"got {done.stderr[-300:]}"
    faults.checks.note("a launcher of another MPI", "a run was begun" if output.exists() else problem)


def of_running(checks, seed, kills):
    """Faults of processes that train, as functions."""
    draws = random.Random(seed)
    faults = Faults(checks, tiny_model("train_cifar"))
    wide = Faults(checks, WIDE, " while several buckets are on their way")
    return [partial(faults.stopped, 0), partial(wide.stopped, 1), faults.out_of_descriptors, faults.full_disk,
            partial(wide.killed, 2, draws.uniform(0, 0.3)),
            *(partial(faults.killed, rank, draws.uniform(0, 0.3)) for rank in range(3) for _ in range(kills))]


def main():
    args = arguments_of(__doc__, kills=2, seed=1)

    def check(checks):
        with ThreadPoolExecutor(3) as pool:  # each waits most of its time
            list(pool.map(lambda fault: fault(), of_running(checks, args.seed, args.kills)))
        faults = Faults(checks, tiny_model("train_cifar"))
        differences(faults, args.build)
        other_launcher(faults, args.build)
    return run_checks(args, check)


if __name__ == "__main__":
    sys.exit(main())
