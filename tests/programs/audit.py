#!/usr/bin/env python3
"""Audits a short run: its fingerprints, computed again from a kept state, agree; an altered one is named.

    tests/programs/audit.py [--build build] [--all] [--mpirun "mpirun --oversubscribe"]

Also: a run that was stopped and continued has the log and the states of one that was not; an audit leaves the run's
folder as it is; errors are one line. With mpirun, and MPI at build time, two processes give the same answers. --all:
also a run of three epochs of each task. Prints one line per check; exits 1 if one fails.
"""
import json
import shutil
import sys

from checks import problem_of_error
from formats import log_lines_of, steps_of
from processes import BESIDE, ParallelChecks, arguments_of, no_mpi, outcome
from tiny_training import PROGRAMS, tiny_model

TRAINING = [*tiny_model("train_cifar"), "--seed", "7", "--batch-size", "16", "--shards", "2", "--warmup-epochs", "0",
            "--workers", "0", "--epochs", "1", "--no-report", "--mixup", "0.8", "--drop-path", "0.1", "--model-ema",
            "--log-interval", "5", "--recovery-interval", "4"]
KEPT = ["--fingerprint-interval", "2", "--state-hist", "2"]


class AuditChecks(ParallelChecks):
    def train(self, output, *flags, program="train_cifar", training=TRAINING):
        self.must_run(program, *training, "--output", output, *flags)

    def answer(self, what, code, words, *flags, processes=1):
        """An audit that prints these words to standard output; processes beside the first print nothing."""
        done = self.run("audit", *flags, processes=processes)
        told = done.stdout.count("auditing ") == 1 and all(word in done.stdout for word in words)
        self.that(what, done.returncode == code and told, done)

    def error(self, what, code, words, program, *flags):
        self.note(what, problem_of_error(self.run(program, *flags), *words, codes=[code]))


def content(folder):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def altered(run, step):
    """A copy of a run whose log has another fingerprint at a step."""
    copy = run.with_name(f"altered-{step}")
    shutil.copytree(run, copy)
    rows = log_lines_of(copy)
    for row in rows:
        if row["step"] == step:
            row["fingerprint"] = row["fingerprint"][::-1]
    (copy / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return copy


def check_log(checks, folder):
    """Makes the runs; returns the one to audit."""
    run, stopped = folder / "run", folder / "stopped"
    checks.train(run, *KEPT, "--max-steps", "12")
    for steps in ("5", "9", "12"):
        checks.train(stopped, *KEPT, "--max-steps", steps, "--resume", "auto")
    rows = steps_of(run)
    checks.that("a line at each interval and each fingerprint", [row["step"] for row in rows] == [2, 4, 5, 6, 8, 10, 12])
    checks.that("fingerprints every two steps, all different",
                len({row.get("fingerprint") for row in rows}) == 7 and "fingerprint" not in rows[2], rows)
    checks.that("a run that was stopped twice has the same weights, progress and log", outcome(run) == outcome(stopped))
    for kept in (run, stopped):
        names = sorted(path.name for path in (kept / "states").iterdir())
        checks.that(f"the states of {kept.name}", names == ["step-12.safetensors", "step-8.safetensors"], names)
    return run


def check_audits(checks, run, processes):
    on = f" on {processes} processes" if processes > 1 else ""
    before = content(run)
    checks.answer(f"all agree{on}", 0, ["all 3 fingerprints of the steps 8 to 12 agree"], run, "--steps", "8-12",
                  processes=processes)
    checks.answer(f"one agrees{on}", 0, ["the fingerprint of the steps 9 to 10 agrees", "from step 8",
                                         "note: the log has no fingerprint of step 11"], run, "--steps",
                  "9-11", "--threads", "1", processes=processes)
    checks.answer(f"a stretch beyond the run's end{on}", 0,
                  ["all 3 fingerprints of the steps 8 to 12 agree", "note: the log has no fingerprint of the steps 13 to 500"],
                  run, "--steps", "8-500", processes=processes)
    checks.that(f"the folder is as before{on}", content(run) == before)
    for step in (8, 10):
        wrong = altered(run, step)
        checks.answer(f"the altered step {step}{on}", 1, [f"step {step}: the fingerprint differs"], wrong, "--steps",
                      "8-12", processes=processes)
        shutil.rmtree(wrong)


def check_errors(checks, run, folder):
    checks.error("no state before", 1, ["no state of step 2 or before", "the oldest is of step 8", "--state-hist"],
                 "audit", run, "--steps", "2-6")
    checks.error("no fingerprint", 1, ["no fingerprint of the steps 9 to 9", "--fingerprint-interval"], "audit", run,
                 "--steps", "9-9")
    checks.error("no such run", 1, [str(folder / "none"), "No such file"], "audit", folder / "none", "--steps", "1-2")
    checks.error("no stretch", 2, ["FIRST-LAST"], "audit", run, "--steps", "8")
    listed = checks.run("audit", run)
    checks.that("without a stretch, a list of what can be audited", listed.returncode == 0 and
                "--steps 8-10  2 fingerprints\n  --steps 12-12  1 fingerprint\n" in listed.stdout, listed)
    checks.error("an unknown device", 2, ["--device", "cuda:N"], "audit", run, "--steps", "8-12", "--device", "gpu")
    checks.error("no run", 2, ["expected one"], "audit", "--steps", "1-2")
    lone = folder / "lone"
    shutil.copytree(run, lone)
    (lone / "state.safetensors").unlink()
    checks.answer("an audit needs no state.safetensors", 0, ["all 3 fingerprints"], lone, "--steps", "8-12")
    (lone / "states/step-12.safetensors").unlink()
    checks.error("a new run does not replace states of another", 1, ["already contains a run"], "train_cifar",
                 "--output", lone)
    checks.train(lone, *KEPT, "--max-steps", "12", "--resume", "auto")
    checks.that("a run without its last state continues from the one before", outcome(lone) == outcome(run))


def check_ends(checks, folder):
    """Ends of epochs, and of a run within one, have fingerprints that enter no chain."""
    run = folder / "ends"
    flags = ["--fraction", "0.006", "--epochs", "2", "--state-hist", "9", "--max-steps", "12"]  # 7 steps an epoch
    checks.train(run, *flags, "--fingerprint-interval", "5")
    lines = [(line["step"], "loss" in line) for line in log_lines_of(run) if "fingerprint" in line]
    checks.that("fingerprints at the interval, the epoch's end and the run's end",
                lines == [(5, True), (7, False), (10, True), (12, False)], log_lines_of(run))
    checks.answer("they are audited", 0, ["all 3 fingerprints of the steps 6 to 12 agree"], run, "--steps", "6-12")
    wrong = altered(run, 7)
    checks.answer("an altered one is named", 1, ["step 7: the fingerprint differs"], wrong, "--steps", "5-12")
    old = folder / "old"
    shutil.copytree(run, old)
    (old / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in steps_of(run)))
    checks.answer("a log without them is audited as before", 0, ["all 2 fingerprints of the steps 5 to 10 agree"], old,
                  "--steps", "5-10")
    checks.train(run, "--resume", "auto", "--epochs", "2", "--max-steps", "13")
    lines = [line["step"] for line in log_lines_of(run) if "fingerprint" in line]
    checks.that("a run that continues drops the end that is none", lines == [5, 7, 10, 13], lines)


def check_tasks(checks, folder, all_processes):
    """Three epochs of each task, from the first state on."""
    for program in PROGRAMS:
        run = folder / program
        training = [*tiny_model(program), *BESIDE[program], "--seed", "7", "--batch-size", "16", "--shards", "4",
                    "--epochs", "3", "--fraction", "0.01", "--no-report", "--recovery-interval", "4"]
        checks.train(run, "--fingerprint-interval", "3", "--state-hist", "99", program=program, training=training)
        steps = [int(path.stem[len("step-"):]) for path in (run / "states").iterdir()]
        stretch = f"{min(steps)}-{max(steps)}"
        for processes in all_processes:
            checks.answer(f"{program}: steps {stretch} on {processes} processes", 0, ["fingerprints", " agree"], run,
                          "--steps", stretch, processes=processes)


def main():
    args = arguments_of(__doc__, "all")
    with AuditChecks(args.build, args.mpirun) as checks:
        run = check_log(checks, checks.folder)
        check_audits(checks, run, 1)
        check_errors(checks, run, checks.folder)
        check_ends(checks, checks.folder)
        reason = no_mpi(checks.build)
        if reason:
            print(f"skipped: several processes: {reason}")
        else:
            check_audits(checks, run, 2)
        if args.all:
            check_tasks(checks, checks.folder, [1] if reason else [1, 2, 3])
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
