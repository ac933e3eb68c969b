"""What test scripts share: their arguments, a line for each check, and how programs must fail."""
import argparse
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parser_of(description):
    """Parses --build, the folder of the programs, and the arguments that a script adds."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(),
                        default=ROOT / "build")
    return parser


def build_of(description):
    """The folder of the programs, for a script without other arguments."""
    return parser_of(description).parse_args().build


def in_one_line(text):
    """A text that was broken at 80 columns, with a blank between words."""
    return " ".join(text.split())


class Checks:
    """Runs programs in a temporary folder, prints a line for each check and counts failures."""

    def __init__(self, build):
        self.build, self.count, self.failed = build, 0, 0
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name).resolve()
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "cache")  # instead of the user's

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.temporary.cleanup()

    def note(self, what, problem=""):
        """A check that fails if there is a problem."""
        self.count += 1
        self.failed += bool(problem)
        line = f"FAIL {what}: {problem}" if problem else f"ok   {what}"
        print(line, flush=True)

    def that(self, what, holds, seen=""):
        """A check that fails unless the condition holds, and then prints what was seen instead.

        `seen` is any value, or an ended process.
        """
        if isinstance(seen, subprocess.CompletedProcess):
            seen = f"exit code {seen.returncode}: {seen.stdout}{seen.stderr}"
        self.note(what, "" if holds else seen or "does not hold")

    def exit_code(self):
        """Prints the counts; returns the exit code of the script."""
        print(f"{self.count} checks, {self.failed} failed")
        return 1 if self.failed else 0

    def command(self, program, *flags):
        return [str(self.build / program), *(f if isinstance(f, bytes) else str(f) for f in flags)]

    def execute(self, command, **options):
        """The ended process of a command. Its output is text, or bytes with errors=None."""
        options = {"errors": "replace", "timeout": 600, "cwd": self.folder, **options}
        return subprocess.run(command, capture_output=True, **options)

    def run(self, program, *flags, **options):
        """The ended process of a program."""
        return self.execute(self.command(program, *flags), **options)

    def must_run(self, program, *flags, **options):
        """The same for a program that other checks depend on: if it fails, the script ends."""
        done = self.run(program, *flags, **options)
        if done.returncode != 0:
            command = " ".join(map(str, done.args))
            raise SystemExit(f"error: {command} ended with {done.returncode}: {done.stderr}")
        return done


def problem_of_error(done, *words, codes=(1, 2), alone=True):
    """What is wrong with how a program fails, or "".

    It must end with one of the exit codes and print one line "error: ..." that contains the words.
    If `alone`, standard error has no other line.
    """
    text = done.stderr if isinstance(done.stderr, str) else done.stderr.decode(errors="replace")
    lines = text.strip().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    if done.returncode not in codes:
        expected = " or ".join(map(str, codes))
        return f"exit code {done.returncode}, expected {expected}: {text.strip()[-300:]}"
    if len(errors) != 1 or (alone and len(lines) != 1):
        return f"{len(errors)} errors in {len(lines)} lines: {text.strip()[-300:]}"
    missing = [word for word in words if str(word) not in errors[0]]
    return f"'{missing[0]}' is not in: {errors[0]}" if missing else ""
