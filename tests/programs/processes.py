#!/usr/bin/env python3
"""Works with several processes: the same bits as one, on any number of them, and errors of one line.

    tests/programs/processes.py [--build build] [--all] [--mpirun "mpirun --oversubscribe"]

Every run has 8 shards. Its tensors, progress and logged losses and scores must equal those of one process, also if it
stops and goes on with another number of processes. --all: each task, model family, optimizer and precision on 2, 3, 4,
5 and 8 processes; otherwise a model of each task on one number of them. Exits 77 without mpirun, or if the programs
were built without MPI. `sample` and `encode` write the files of one process, also if one is stopped and others continue.
"""
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from random import Random

from checks import Checks, parser_of, problem_of_error
from formats import png, progress_of, read_safetensors, steps_of
from same_bits import RUNS
from tiny_training import PROGRAMS, program_of, tiny_model

COMMON = ["--seed", "7", "--batch-size", "16", "--shards", "8", "--warmup-epochs", "0", "--workers", "0",
          "--threads", "1", "--log-interval", "1", "--epochs", "1", "--no-report"]
ENVIRONMENT = {"TERM": "xterm", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none"}
# Settings of the step in each task's run, so that every part of a step is in one of them.
BESIDE = {
    "train_cifar": ["--mixup", "0.8", "--cutmix", "1", "--drop-path", "0.1", "--model-ema", "--clip-grad", "1"],
    "train_mae": ["--grad-accum-steps", "2", "--grad-checkpointing", "--precision", "bf16"],
    "train_diffusion": ["--opt", "lamb", "--model-ema"],
    "train_vae": ["--opt", "lion"],
    "train_depth": ["--opt", "muon"],
    "train_detection": ["--grad-accum-steps", "2"],
}
# A model whose gradients fill four buckets.
WIDE = ["--model", "vit_tiny_patch8_32", "--embed-dim", "384", "--depth", "2", "--num-heads", "6"]


class ParallelChecks(Checks):
    def __init__(self, build, mpirun):
        super().__init__(build)
        self.mpirun = mpirun

    def command(self, program, *flags, processes=1):
        launcher = [*self.mpirun, "-n", str(processes)] if processes > 1 else []
        return [*launcher, *super().command(program, *flags)]

    @staticmethod
    def environment():
        return {**os.environ, **ENVIRONMENT}

    @staticmethod
    def flags(flags, output, steps, zero=0):
        """Of a run or its continuation."""
        return [*COMMON, *flags, "--max-steps", str(steps), "--output", str(output), "--resume", "auto", "--zero", str(zero)]

    def execute(self, command, **options):
        return super().execute(command, **{"env": self.environment(), **options})

    def run(self, program, *flags, processes=1, **options):
        return self.execute(self.command(program, *flags, processes=processes), **options)

    def train(self, name, processes, program, flags, steps, zero=()):
        """What a run leaves behind, or the error that ended it. zero: on which numbers the optimizer is sharded."""
        output = self.folder / name.replace(" ", "-")
        for number, count in zip(processes, steps):
            done = self.run(program, *self.flags(flags, output, count, int(number in zero)), processes=number)
            if done.returncode != 0:
                return f"ended with {done.returncode}: {done.stderr.strip()[-300:]}"
            if "\x1b" in done.stdout:  # the terminal that mpirun gives its processes ends in a file here
                return f"codes for a terminal in {done.stdout!r}"
        return outcome(output)

    def same(self, name, program, flags, all_processes, zero=()):
        expected = self.train(f"{name} on 1", [1], program, flags, [6])
        if isinstance(expected, str):
            return self.note(f"{name} on 1 process", expected)
        for processes in all_processes:
            got = self.train(f"{name} on {processes} {zero}", processes, program, flags, [3, 6][-len(processes):], zero)
            count = ", then ".join(f"{n} (sharded optimizer)" if n in zero else str(n) for n in processes)
            self.note(f"{name} on {count} processes", got if isinstance(got, str) else difference(got, expected))

    def error(self, name, processes, flags, word, code):
        output = self.folder / "error"
        done = self.run("train_cifar", *COMMON, *tiny_model("train_cifar"), "--max-steps", "1", "--output", output,
                        *flags, processes=processes)
        problem = problem_of_error(done, word, codes=[code], alone=False)
        self.note(name, problem or ("a run was begun" if output.exists() else ""))


def errors_of(started, patience):
    """What a run wrote to standard error, or None if one of its processes still runs after `patience` seconds.

    mpirun itself may hang after its last process has ended: Open MPI 4.1 waits for a lock in PMIx_server_finalize.
    """
    try:
        return started.communicate(timeout=patience)[1]
    except subprocess.TimeoutExpired:
        states = subprocess.run(["ps", "-o", "state=", "--ppid", str(started.pid)], capture_output=True, text=True).stdout
        started.kill()
        errors = started.communicate()[1]
    if not started.args[0].startswith("mpirun") or set(states.split()) - {"Z"}:
        return None
    print("note: mpirun hung after its processes had ended", flush=True)
    return errors


def ranks_of(mpirun, program="train_cifar"):
    """Process numbers of what mpirun has started so far; itself if there are none yet."""
    children = subprocess.run(["pgrep", "-P", str(mpirun), "-x", program], capture_output=True, text=True).stdout.split()
    return [int(child) for child in children] or [mpirun]


def send(process, number):
    with contextlib.suppress(ProcessLookupError):  # it has ended by itself
        os.kill(process, number)


def saved_step(folder):
    """The step of a run's state, 0 without one."""
    state = folder / "state.safetensors"
    return progress_of(state)["step"] if state.exists() else 0


def outcome(folder):
    """Tensors, progress and log of a run, without times."""
    state = folder / "state.safetensors"
    progress = {key: value for key, value in progress_of(state).items() if "seconds" not in key}
    steps = [{k: v for k, v in step.items() if not k.endswith("_s") and k != "mfu"} for step in steps_of(folder)]
    return {**read_safetensors(state)[0], "progress": progress, "steps": steps}


def difference(got, expected):
    differing = [name for name in sorted(got.keys() | expected.keys()) if got.get(name) != expected.get(name)]
    return f"{len(differing)} of {len(expected)} differ: {', '.join(differing[:4])}" if differing else ""


MANY = [[2], [3], [4], [5], [8], [4, 2], [4, 3], [4, 8]]
MANY_SHARDED = [[2], [3], [4, 8]]


def all_families(checks):
    for name, flags in RUNS.items():
        rest = [f for f in flags if f != "--batch-size" and f != "4"] if "pervit" in name else flags
        checks.same(name, program_of(flags), rest, MANY)
        checks.same(name, program_of(flags), rest, MANY_SHARDED, zero=[2, 3, 4])


def each_task(checks, every_number):
    counts = {"train_cifar": [[2], [4, 3]], "train_vae": [[3, 1]]}
    for program in PROGRAMS:
        flags = [*tiny_model(program), *BESIDE[program]]
        checks.same(program, program, flags, MANY if every_number else counts.get(program, [[3]]))
        if every_number:
            checks.same(program, program, flags, MANY_SHARDED, zero=[2, 3, 4])
        elif program in ("train_cifar", "train_depth"):
            checks.same(program, program, flags, [[2, 3]], zero=[2])


def many_buckets(checks):
    """A model of 15 MB, so that several buckets are on their way."""
    flags = [*WIDE, "--grad-checkpointing"]
    checks.same("several buckets", "train_cifar", flags, [[2], [3]])
    checks.same("several buckets", "train_cifar", WIDE, [[2]], zero=[2])


def instruction_sets(checks):
    """All processes compute with the set of the first, here a lower one than the second would choose."""
    only_first = 'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then export FOVEA_ISA=v2; fi; exec "$0" "$@"'
    flags = [*tiny_model("train_cifar"), *BESIDE["train_cifar"]]
    alone, together = checks.folder / "v2-on-1", checks.folder / "v2-on-2"
    environment = {**checks.environment(), "FOVEA_ISA": "v2"}
    checks.run("train_cifar", *checks.flags(flags, alone, 3), env=environment)
    program = Checks.command(checks, "train_cifar", *checks.flags(flags, together, 3))
    done = checks.execute([*checks.mpirun, "-n", "2", "bash", "-c", only_first, *program])
    checks.note("the instruction set of the first process",
                difference(outcome(together), outcome(alone)) if done.returncode == 0 else done.stderr.strip()[-300:])


def mpich(checks):
    """The same bits where MPICH carries the messages."""
    if shutil.which("mpirun.mpich") is None or not (checks.build / "train_cifar_mpich").exists():
        return print("skipped: there is no MPICH, or the programs have no other MPI")
    flags = [*tiny_model("train_cifar"), *BESIDE["train_cifar"]]
    expected = outcome(checks.folder / "train_cifar-on-1")
    usual, checks.mpirun = checks.mpirun, ["mpirun.mpich"]
    for number in [2, 3]:
        got = checks.train(f"mpich on {number}", [number], "train_cifar_mpich", flags, [6])
        checks.note(f"MPICH on {number} processes", got if isinstance(got, str) else difference(got, expected))
    checks.mpirun = usual


def evaluation(checks):
    """Predictions, tables and logits of 1,003 pictures."""
    weights = checks.folder / "train_cifar-on-1" / "last.safetensors"
    random = Random(7)
    for name, images in [(f"data_batch_{i}.bin", 10) for i in range(1, 6)] + [("test_batch.bin", 1003)]:
        records = [bytes([i % 10]) + random.randbytes(3072) for i in range(images)]
        (checks.folder / name).write_bytes(b"".join(records))

    def evaluated(number):
        folder = checks.folder / f"evaluated-{number}"
        done = checks.run("evaluate", weights, "--dataset", "cifar10", "--data-dir", checks.folder, "--output", folder,
                          "--json", folder / "table.json", "--logits", folder / "logits.safetensors",
                          "--batch-size", "32", processes=number)
        if done.returncode != 0:
            return {"error": done.stderr.strip()[-300:]}
        return {path.name: without_times(path) for path in folder.iterdir()}

    expected = evaluated(1)
    checks.note("evaluation of 1,003 pictures on 1 process", expected.get("error", ""))
    for number in [2, 3, 4]:
        checks.note(f"evaluation on {number} processes", difference(evaluated(number), expected))


def without_times(path):
    if path.suffix != ".json":
        return path.read_bytes()
    lines = path.read_text().splitlines()
    return [line for line in lines if '"img_s"' not in line and '"seconds"' not in line]


def files_of(folder):
    """The bytes of all files in a folder and below it, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class SharedWork:
    """Calls of a program that writes all its files below one folder."""

    def __init__(self, checks, program, flags_for):
        self.checks, self.program, self.flags_for = checks, program, flags_for

    def files(self, name, processes):
        """What a call leaves on each of these numbers of processes in turn, or the error of one."""
        folder = self.checks.folder / f"{self.program}-{name}"
        folder.mkdir(exist_ok=True)
        for number in processes:
            done = self.checks.run(self.program, *self.flags_for(folder), processes=number)
            if done.returncode != 0:
                return {"error": done.stderr.strip()[-300:]}
        return files_of(folder)

    def same(self, what, all_processes):
        """On any number of processes: the files of one."""
        expected = self.files(f"{what}-1", [1])
        self.checks.note(f"{self.program}, {what}, on 1 process", expected.get("error", ""))
        for number in all_processes:
            got = self.files(f"{what}-{number}", [number])
            self.checks.note(f"{self.program}, {what}, on {number} processes", difference(got, expected))

    def stop(self, expected, has_begun):
        """SIGTERM at the second of two processes stops both; three continue to the files of one undisturbed process."""
        folder = self.checks.folder / f"{self.program}-stopped"
        folder.mkdir()
        started = subprocess.Popen(self.checks.command(self.program, *self.flags_for(folder), processes=2),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.checks.environment())
        while not has_begun(folder) and started.poll() is None:
            time.sleep(0.02)
        send(ranks_of(started.pid, self.program)[-1], signal.SIGTERM)
        said, errors = started.communicate(timeout=60)
        self.checks.that(f"{self.program}: SIGTERM at one process stops both", started.returncode == 143 and
                         "the same command continues" in said, f"{started.returncode}: {said}{errors}")
        self.checks.that(f"{self.program}: something is left to do", files_of(folder) != expected)
        self.checks.note(f"{self.program}: three processes continue", difference(self.files("stopped", [3]), expected))


def sampling(checks):
    run = checks.folder / "dit"
    checks.must_run("train_diffusion", *tiny_model("train_diffusion"), "--noise-schedule", "linear", "--max-steps", "2",
                    "--batch-size", "8", "--num-sampling-steps", "2", "--workers", "0", "--no-report", "--output", run)

    def shared(*flags):
        return SharedWork(checks, "sample", lambda folder: [run, "--threads", "1", "--output", folder / "pictures", "--npz",
                                                            folder / "all.npz", *flags])
    short = ["--num-sampling-steps", "3", "--film", "--first", "2"]
    shared(*short, "--count", "11", "--batch-size", "2").same("eleven pictures", [2, 3])
    shared(*short, "--count", "2").same("two pictures", [3])
    long = shared("--num-sampling-steps", "100", "--count", "40", "--batch-size", "2")
    long.stop(long.files("undisturbed", [1]), lambda folder: len(list(folder.glob("pictures/0*.png"))) >= 4)


def encoding(checks):
    vae, data = checks.folder / "vae", checks.folder / "pictures"
    checks.must_run("train_vae", *tiny_model("train_vae"), "--dataset", "builtin", "--max-steps", "2", "--batch-size", "8",
                    "--workers", "0", "--no-report", "--output", vae)
    random = Random(7)
    for k in range(23):
        picture = data / "train" / "ab"[k % 2] / f"{k}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(png([random.randbytes(96) for _ in range(32)]))
    for name in ("a/4.png", "b/21.png"):
        (data / "train" / name).write_bytes(b"broken")

    def shared(*flags):
        return SharedWork(checks, "encode", lambda folder: ["--vae", vae, "--threads", "1", "--workers", "0", "--output",
                                                            folder / "latents.safetensors", *flags])
    shared("--data-dir", data, "--on-bad-image", "skip", "--batch-size", "3").same("broken pictures among them", [2, 3, 8])
    refused = checks.run("encode", "--data-dir", data, "--vae", vae, "--output", checks.folder / "few.safetensors", processes=2)
    checks.note("encode: too many broken pictures end all processes",
                problem_of_error(refused, "images are broken", codes=[1], alone=False))
    long = shared("--dataset", "builtin", "--fraction", "0.03", "--batch-size", "1")
    long.stop(long.files("undisturbed", [1]), lambda folder: (folder / "latents.safetensors.partial").exists())


def engines_sum(checks):
    """--shards 0: equal to rounding, and the way for a run of one shard to more processes."""
    flags = [*tiny_model("train_cifar"), "--shards", "0"]
    one, two = (checks.train(f"one shard a process on {n}", [n], "train_cifar", flags, [6]) for n in (1, 2))
    if isinstance(one, str) or isinstance(two, str):
        return checks.note("--shards 0", f"{one}; {two}")
    losses = [[step["loss"] for step in run["steps"]] for run in (one, two)]
    apart = max(abs(a - b) / a for a, b in zip(*losses))
    checks.note("--shards 0 on 2 processes", "" if apart < 1e-4 else f"losses differ by {apart:.1e}")
    output = checks.folder / "one-shard-a-process-on-1"
    done = checks.run("train_cifar", *COMMON, *flags, "--max-steps", "9", "--output", output, "--resume", "auto",
                      processes=2)
    checks.note("--shards 0 continues on more processes", "" if done.returncode == 0 else done.stderr)


def errors(checks):
    checks.error("more processes than shards", 3, ["--shards", "2"], "got 2 for 3 processes", 2)
    checks.error("shards that are no power of two", 2, ["--shards", "6"], "power of two", 2)
    checks.error("fewer images than shards", 2, ["--batch-size", "4"], "--shards", 2)
    checks.error("an unknown flag", 2, ["--epoch", "3"], "did you mean epochs", 2)
    for program in ("measure", "predict"):
        refused = checks.run(program, "a", "b", processes=2)
        checks.note(f"{program} in two processes, in one line", problem_of_error(refused, "runs in one", codes=[1], alone=False))
    checks.error("no such data", 2, ["--dataset", "cifar10", "--data-dir", "nowhere"], "nowhere", 1)


def no_mpi(build):
    """Why these checks cannot run, or ""."""
    if shutil.which("mpirun") is None:
        return "there is no mpirun"
    done = subprocess.run([build / "train_cifar", "--help"], capture_output=True, text=True,
                          env={**os.environ, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"})
    return "the programs were built without MPI" if "without MPI" in done.stderr else ""


def arguments_of(description, *switches, **values):
    """The arguments of a script: --build, --mpirun, its own switches, and values or lists of them with their defaults."""
    parser = parser_of(description)
    parser.add_argument("--mpirun", type=shlex.split, default=["mpirun", "--oversubscribe"])
    for name in switches:
        parser.add_argument(f"--{name}", action="store_true")
    for name, default in values.items():
        several = isinstance(default, list)
        parser.add_argument(f"--{name}", type=type(default[0] if several else default), default=default,
                            nargs="+" if several else None)
    return parser.parse_args()


def run_checks(args, check):
    """Calls check(checks). Returns the exit code, 77 where there is no MPI."""
    if reason := no_mpi(args.build):
        print(f"skipped: {reason}")
        return 77
    with ParallelChecks(args.build, args.mpirun) as checks:
        check(checks)
    return checks.exit_code()


def main():
    args = arguments_of(__doc__, "all")

    def check(checks):
        each_task(checks, args.all)
        if args.all:
            all_families(checks)
        many_buckets(checks)
        instruction_sets(checks)
        mpich(checks)
        evaluation(checks)
        sampling(checks)
        encoding(checks)
        engines_sum(checks)
        errors(checks)
    return run_checks(args, check)


if __name__ == "__main__":
    sys.exit(main())
