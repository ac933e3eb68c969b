#!/usr/bin/env python3
"""The first output that a newcomer sees of every program: --help, --version, model lists, the start of a training run.

    tests/programs/first_screens.py [--build build]

Prints one line per check; exits 1 if one fails.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from tiny_training import PROGRAMS as TRAINING_PROGRAMS, tiny_model

PROGRAMS = ["train_cifar", "train_imagenet", "train_mae", "train_diffusion", "train_vae", "train_detection", "train_depth", "encode", "sample", "measure", "pack",
            "evaluate", "predict", "report", "audit", "inspect", "compare", "summary", "convert", "parity", "gradcheck", "fovea_bench"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"project\(fovea VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
SHORT = ["--max-steps", "1", "--workers", "0", "--batch-size", "8", "--no-report"]


class Checks:
    def __init__(self, build):
        self.build, self.failed = build, 0

    def run(self, program, *flags):
        done = subprocess.run([self.build / program, *flags], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def that(self, what, ok, seen=""):
        self.failed += not ok
        print(f"{'ok' if ok else 'FAIL':4} {what}{'' if ok else ': ' + seen}", flush=True)


def flags_without_words(text):
    """Flags in a --help text without a description in their line or the next."""
    lines = text.splitlines()
    bare = []
    for line, following in zip(lines, lines[1:] + [""]):
        flag = re.match(r"  (-\S+)( \S+)?(?P<words> +\S.*)?$", line)
        if flag and not flag["words"] and not following.startswith(" " * 20):
            bare.append(flag[1])
    return bare


def check_every_program(checks):
    for program in PROGRAMS:
        code, text, _ = checks.run(program, "--help")
        flags = len(re.findall(r"^  -", text, re.MULTILINE))
        bare = flags_without_words(text)
        checks.that(f"{program} --help says what each flag means", code == 0 and flags >= 2 and not bare, str(bare))
        code, text, _ = checks.run(program, "--version")
        checks.that(f"{program} --version", code == 0 and re.fullmatch(rf"fovea {re.escape(VERSION)} \(.+\)\n", text), text)
        code, _, error = checks.run(program, "--no-such-flag")
        checks.that(f"{program} --no-such-flag: one line", code == 2 and error.count("\n") == 1, error)


def names_of(listing):
    """The names printed by --list-models, without its notes."""
    return [line for line in listing.splitlines() if not line.startswith("#")]


def check_lists_of_models(checks):
    for program in ["train_cifar", "train_imagenet", "train_mae", "train_diffusion", "train_detection", "train_depth", "summary"]:
        _, common, _ = checks.run(program, "--list-models")
        _, everything, _ = checks.run(program, "--list-models", "all")
        checks.that(f"{program} --list-models is short, and says how to see the others",
                    set(names_of(common)) <= set(names_of(everything)) and len(names_of(common)) < 100
                    and (names_of(common) == names_of(everything) or "--list-models all" in common), common)
        word = "dit_s" if program == "train_diffusion" else "tiny"
        code, listed, _ = checks.run(program, "--list-models", f"*{word}*")
        names = names_of(listed)
        wanted = [name for name in names_of(everything) if word in name]
        checks.that(f"{program} --list-models *{word}*", code == 0 and names == wanted and names != [], listed)
        code, _, error = checks.run(program, "--list-models", "xyz")
        checks.that(f"{program} --list-models xyz", code != 0 and "xyz" in error, error)
    code, _, error = checks.run("train_cifar", "--model", "nope")
    checks.that("--model nope: no proposal where nothing is near",
                code == 2 and "nope" in error and "mean" not in error and "--list-models" in error, error)


def check_version(checks):
    """The first heading of the changelog, the citation and ./run name the version of CMakeLists.txt."""
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    checks.that("CHANGELOG.md begins with the version", heading == VERSION, heading)
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    checks.that("CITATION.cff has the version", cited == VERSION, cited)
    text = subprocess.run([ROOT / "run", "--version"], capture_output=True, text=True, timeout=60).stdout
    checks.that("./run --version", text == f"fovea {VERSION}\n", text)


def check_verbs(checks):
    text = subprocess.run([ROOT / "run"], capture_output=True, text=True, timeout=60).stdout
    checks.that("./run names its verbs", "train_cifar" in text, text)
    checks.that("./run fits a terminal of 80 columns", max(map(len, text.splitlines())) <= 80, text)


def check_start_of_training(checks, program, folder):
    tiny = [*tiny_model(program), *SHORT]
    code, text, error = checks.run(program, *tiny, "--output", folder / "a")
    lines = (text + error).splitlines()
    checks.that(f"{program}: the first screen fits one of 24 lines", code == 0 and len(lines) <= 24, "\n".join(lines))
    checks.that("and 80 columns", max(map(len, lines)) <= 80, max(lines, key=len))
    checks.that("it shows what differs from the recipe, nothing else",
                "batch-size 8" in text + error and "weight-decay" not in text + error, text + error)
    _, text, error = checks.run(program, *tiny, "--output", folder / "b", "--verbose")
    checks.that("--verbose shows every setting", "weight-decay" in text + error, text + error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    checks = Checks(parser.parse_args().build.resolve())
    check_every_program(checks)
    check_lists_of_models(checks)
    check_version(checks)
    check_verbs(checks)
    for program in TRAINING_PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            check_start_of_training(checks, program, pathlib.Path(folder))
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
