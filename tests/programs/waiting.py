#!/usr/bin/env python3
"""Checks that a program's idle threads go to sleep early, unless the user configures how they wait.

    tests/programs/waiting.py [--build build] [--times]

Reads the environment of running programs: libgomp reads it before main(), so the variables must exist from a
program's start. --times prints how long two runs take one after the other and concurrently, with libgomp's
default waiting and with the programs' own.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from checks import Checks, parser_of, problem_of_error
from tiny_training import PROGRAMS, tiny_model

VARIABLES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")


def training(build, program, folder, steps, env, **streams):
    """A run of that many steps, with the variables of `env` and none of the others above."""
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    command = [build / program, *tiny_model(program), "--epochs", "1000", "--max-steps", str(steps), "--workers", "0",
               "--batch-size", "8", "--no-report", "--output", folder]
    return subprocess.Popen(command, env={**clean, **env}, stderr=subprocess.DEVNULL, **streams)


def seen_inside(build, program, env):
    """The variables of a program that has started training, and its name."""
    with tempfile.TemporaryDirectory() as folder:
        child = training(build, program, folder, 100000, env, stdout=subprocess.PIPE)
        try:
            child.stdout.readline()
            entries = pathlib.Path(f"/proc/{child.pid}/environ").read_bytes().split(b"\0")
            name = pathlib.Path(f"/proc/{child.pid}/comm").read_text().strip()
        finally:
            child.kill()
            child.wait()
    pairs = [entry.decode().partition("=") for entry in entries if b"=" in entry]
    return {key: value for key, _, value in pairs if key in VARIABLES}, name


def check(build):
    with Checks(build) as checks:
        for program in PROGRAMS:
            for given in ({}, *({name: value} for name, value in zip(VARIABLES, ("77", "active", "5")))):
                seen = seen_inside(build, program, given)
                checks.that(f"{program} with {given or 'nothing said'}",
                            seen == (given or {"GOMP_SPINCOUNT": "1000"}, program), seen)
        checks.note("an error's exit code and its one line",
                    problem_of_error(checks.run("evaluate", "--no-such-flag"), codes=[2]))
    return checks.exit_code()


def times(build):
    threads = {"OMP_NUM_THREADS": str(os.cpu_count())}
    for what, env in (("libgomp's waiting", {"GOMP_SPINCOUNT": "300000"}), ("the programs' own", {})):
        with tempfile.TemporaryDirectory() as folder:
            def start(name):
                return training(build, "train_cifar", pathlib.Path(folder) / name, 200, {**threads, **env},
                                stdout=subprocess.DEVNULL)
            begin = time.monotonic()
            start("a").wait()
            start("b").wait()
            middle = time.monotonic()
            for run in (start("c"), start("d")):
                run.wait()
            end = time.monotonic()
        print(f"{what}: after each other {middle - begin:.2f} s, at once {end - middle:.2f} s", flush=True)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--times", action="store_true")
    arguments = parser.parse_args()
    return (times if arguments.times else check)(arguments.build)


if __name__ == "__main__":
    sys.exit(main())
