#!/usr/bin/env python3
"""Training that is killed, stopped and continued on other numbers of processes: always the same weights.

    tests/programs/process_schedules.py [--build build] [--schedules 200] [--seed 1]

Each schedule is a run of 40 steps in pieces, each on 1 to 4 processes with or without a sharded optimizer. A piece ends
by SIGKILL of one process, by SIGTERM of one, by Ctrl-C of mpirun, or at its number of steps. The saved step may never
fall, and the final tensors, progress and logged losses must equal those of a run on one process that nothing disturbed.
Exits 77 without mpirun or MPI.
"""
import random
import signal
import subprocess
import sys
import time

from processes import arguments_of, difference, errors_of, outcome, ranks_of, run_checks, saved_step, send
from tiny_training import tiny_model

STEPS = 40
FLAGS = [*tiny_model("train_cifar"), "--mixup", "0.8", "--model-ema", "--recovery-interval", "3"]


class Schedule:
    def __init__(self, checks, number, seed):
        self.checks, self.number, self.random = checks, number, random.Random(f"{seed} {number}")
        self.output = checks.folder / f"schedule-{number}"
        self.told = []  # the pieces so far

    def begin(self, processes, steps):
        zero = self.random.randrange(2)
        self.told.append(f"{processes}{' sharded' if zero else ''}")
        return subprocess.Popen(
            self.checks.command("train_cifar", *self.checks.flags(FLAGS, self.output, steps, zero),
                                processes=processes),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.checks.environment())

    def disturb(self, started, processes):
        """Ends the piece early, at a moment that may also be before or after its steps."""
        how = self.random.choice(["kill", "kill", "stop", "interrupt"])
        time.sleep(self.random.uniform(0.1, 1.6))
        self.told[-1] += f" {how}"
        if how == "interrupt":
            return started.send_signal(signal.SIGINT)
        one = self.random.choice(ranks_of(started.pid) if processes > 1 else [started.pid])
        send(one, signal.SIGKILL if how == "kill" else signal.SIGTERM)

    def piece(self):
        """Runs a piece. Returns what is wrong, or ""."""
        before = saved_step(self.output)
        processes = self.random.randint(1, 4)
        to_the_end = self.random.random() < 0.2
        steps = STEPS if to_the_end else min(STEPS, before + self.random.randint(1, STEPS))
        started = self.begin(processes, steps)
        if not to_the_end:
            self.disturb(started, processes)
        errors = errors_of(started, 120)
        if errors is None:
            return "hangs"
        after = saved_step(self.output)
        if after < before:
            return f"the saved step fell from {before} to {after}"
        lines = [line for line in errors.splitlines() if line.startswith("error: ")]
        return f"error: {lines[0]}" if lines and to_the_end else ""

    def run(self, expected):
        while saved_step(self.output) < STEPS and len(self.told) < 40:
            if problem := self.piece():
                return problem
        return difference(outcome(self.output), expected)


def main():
    args = arguments_of(__doc__, schedules=200, seed=1)

    def check(checks):
        expected = checks.train("undisturbed", [1], "train_cifar", FLAGS, [STEPS])
        if isinstance(expected, str):
            sys.exit(expected)
        for number in range(args.schedules):
            schedule = Schedule(checks, number, args.seed)
            problem = schedule.run(expected)
            checks.note(f"schedule {number}: {', '.join(schedule.told)}", problem)
    return run_checks(args, check)


if __name__ == "__main__":
    sys.exit(main())
