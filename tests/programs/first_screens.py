#!/usr/bin/env python3
"""The first output that a newcomer sees of every program: --help, --version, model lists, the start of a training run.

    tests/programs/first_screens.py [--build build]

Prints one line per check; exits 1 if one fails.
"""
import contextlib
import os
import pty
import re
import subprocess
import sys

from checks import ROOT, Checks, build_of, problem_of_error
from program_list import all_programs
from tiny_training import PROGRAMS as TRAINING_PROGRAMS, tiny_model

PROGRAMS = all_programs()
VERSION = re.search(r"project\(fovea VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
SHORT = ["--max-steps", "1", "--workers", "0", "--batch-size", "8", "--no-report"]


def flags_without_words(text):
    """Flags in a --help text without a description, which begins in column 34 of their first line or of a later one."""
    entries = re.split(r"^  (?=-)", text, flags=re.MULTILINE)[1:]
    return [entry.split()[0] for entry in entries
            if not re.search(r"^.{33} \S", "  " + entry, re.MULTILINE)]


def check_every_program(checks):
    for program in PROGRAMS:
        done = checks.run(program, "--help")
        flags = len(re.findall(r"^  -", done.stdout, re.MULTILINE))
        bare = flags_without_words(done.stdout)
        checks.that(f"{program} --help says what each flag means", done.returncode == 0 and flags >= 2 and not bare,
                    bare)
        wide = [line for line in done.stdout.splitlines() if len(line) > 80]
        checks.that(f"{program} --help fits 80 columns", not wide, wide)
        done = checks.run(program, "--version")
        version = re.fullmatch(rf"fovea {re.escape(VERSION)} \(.+\)\n", done.stdout)
        checks.that(f"{program} --version", done.returncode == 0 and version, done.stdout)
        error = problem_of_error(checks.run(program, "--no-such-flag"), codes=[2])
        checks.note(f"{program} --no-such-flag: one line", error)


def names_of(listing):
    """The names printed by --list-models, without its notes."""
    return [line for line in listing.splitlines() if not line.startswith("#")]


def check_lists_of_models(checks):
    for program in ["train_cifar", "train_imagenet", "train_mae", "train_diffusion", "train_detection", "train_depth", "summary"]:
        common = checks.run(program, "--list-models").stdout
        everything = checks.run(program, "--list-models", "all").stdout
        checks.that(f"{program} --list-models is short, and says how to see the others",
                    set(names_of(common)) <= set(names_of(everything)) and len(names_of(common)) < 100
                    and (names_of(common) == names_of(everything) or "--list-models all" in common), common)
        word = "dit_s" if program == "train_diffusion" else "tiny"
        done = checks.run(program, "--list-models", f"*{word}*")
        names = names_of(done.stdout)
        wanted = [name for name in names_of(everything) if word in name]
        checks.that(f"{program} --list-models *{word}*", done.returncode == 0 and names == wanted and names != [],
                    done.stdout)
        done = checks.run(program, "--list-models", "xyz")
        checks.that(f"{program} --list-models xyz", done.returncode != 0 and "xyz" in done.stderr, done.stderr)
    done = checks.run("train_cifar", "--model", "nope")
    checks.note("--model nope: no proposal where nothing is near",
                problem_of_error(done, "nope", "--list-models", codes=[2]) or ("mean" in done.stderr and done.stderr))


def check_version(checks):
    """The first heading of the changelog, the citation and ./run name the version of CMakeLists.txt."""
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    checks.that("CHANGELOG.md begins with the version", heading == VERSION, heading)
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    checks.that("CITATION.cff has the version", cited == VERSION, cited)
    text = checks.execute([ROOT / "run", "--version"]).stdout
    checks.that("./run --version", text == f"fovea {VERSION}\n", text)


def check_verbs(checks):
    text = checks.execute([ROOT / "run"]).stdout
    missing = [name for name in PROGRAMS if f"\n  {name.removeprefix('fovea_')} " not in text]
    checks.that("./run names its verbs", not missing, str(missing))
    checks.that("./run fits a terminal of 80 columns", max(map(len, text.splitlines())) <= 80, text)


def check_start_of_training(checks, program):
    tiny = [*tiny_model(program), *SHORT]
    done = checks.run(program, *tiny, "--output", f"{program}-a")
    text = done.stdout + done.stderr
    lines = text.splitlines()
    checks.that(f"{program}: the first screen fits one of 24 lines", done.returncode == 0 and len(lines) <= 24, done)
    checks.that("and 80 columns", max(map(len, lines)) <= 80, max(lines, key=len))
    checks.that("it shows what differs from the recipe, nothing else",
                "batch-size 8" in text and "weight-decay" not in text,
                text)
    done = checks.run(program, *tiny, "--output", f"{program}-b", "--verbose")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("    ")]
    sources = {row[0]: row[2] for row in rows}  # of names and values without blanks
    for name, source in ("weight-decay", "recipe"), ("output", "flag"), ("zero", "default"):
        checks.that(f"--verbose shows the source of {name}", sources.get(name) == source, done.stdout)


def check_last_screen(checks):
    """Below what they are for, commands stand in one piece. A note in a file is one line."""
    tiny = [*tiny_model("train_mae"), "--fraction", "0.001", "--epochs", "1", "--batch-size", "16", "--workers", "0", "--no-report"]
    done = checks.run("train_mae", *tiny, "--output", "mae")
    wide = [line for line in done.stdout.splitlines() if len(line) > 80 and not line.startswith("note: ")]
    checks.that("the last screen fits 80 columns, too", "\nnext steps\n" in done.stdout and not wide, wide or done)
    checks.that("and names programs as they were called", "\n    ./run inspect mae mae\n" in done.stdout
                and "\n    ./run train_cifar --dataset" in done.stdout, done.stdout)


def check_notes(checks):
    """A note is a line of a file, and lines of 80 columns of a terminal."""
    few = [*tiny_model("train_detection"), *SHORT, "--fraction", "0.002"]
    text = checks.run("train_detection", *few, "--output", "noted").stdout
    checks.that("a note is a line of a file", re.search("^note: .*are few for.*trained backbone$", text, re.MULTILINE), text)
    shown, terminal = pty.openpty()
    done = subprocess.Popen(checks.command("train_detection", *few, "--output", "shown"), cwd=checks.folder,
                            stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    screen = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(shown, 4096):
            screen += part
    done.wait()
    os.close(shown)
    lines = re.sub(r".*\r(?!\n)", "", screen.decode().replace("\r\n", "\n")).splitlines()
    wide = [line for line in lines if len(line) > 80]
    checks.that("and lines of 80 columns of a terminal", any(line.startswith("      ") for line in lines) and not wide, screen)


def check_batches(checks):
    """The screen shows what an epoch leaves out: 90 images, 9 of each class, make two batches of 32."""
    few = [*tiny_model("train_cifar"), "--fraction", "0.0045", "--max-steps", "1", "--workers", "0", "--no-report"]
    for flags, line in ((["--batch-size", "32"], "batch     32 images, 2 steps per epoch; 26 of 90 images left out of each epoch"),
                        (["--batch-size", "30"], "batch     30 images, 3 steps per epoch"),
                        (["--batch-size", "15", "--grad-accum-steps", "2"], "batch     2 x 15 images, 3 steps per epoch")):
        done = checks.run("train_cifar", *few, *flags, "--output", f"batch-{flags[1]}")
        checks.that(f"{' '.join(flags)}: {line}", line in done.stdout.splitlines(), done)


def main():
    with Checks(build_of(__doc__)) as checks:
        check_every_program(checks)
        check_lists_of_models(checks)
        check_version(checks)
        check_verbs(checks)
        for program in TRAINING_PROGRAMS:
            check_start_of_training(checks, program)
        check_last_screen(checks)
        check_notes(checks)
        check_batches(checks)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
