#!/usr/bin/env python3
"""Kills a training run at random moments, also while it saves, and shows that nothing is lost.

    tests/programs/kill_resume.py [--kills 100] [--build build] [--seed 1] [--program train_mae]...

For each program, a run is started with --resume auto and --recovery-interval 3, killed by SIGKILL after a random time,
checked and started again, until the requested number of kills is reached; then it runs to its end. After each kill
the state must be complete, and its step a multiple of the interval (or the end of an epoch) and not smaller than
before. In the end every weight must equal, bit for bit, that of an uninterrupted run, also in the states that
--state-hist keeps, no unfinished file is left, and TensorBoard's reading of the event files must give the same points.

Then a run of one epoch of the first program is killed before each call that makes a file of it appear or go, from its start to the end of
its first save. What it leaves must be logs alone, or a state; continued, it must end with all files of an uninterrupted
run.
"""
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

from checks import parser_of
from faults import Runs
from formats import progress_of, read_safetensors
from tiny_training import PROGRAMS, tiny_model

INTERVAL = 3
KEPT = 2


# train_detection looks at the boxes of all scenes before its first step, and evaluates its 1,024 test scenes for longer
# than a run lives here, so that no epoch would end: fewer of both.
SCENES, NOT_HELD_OUT = 4096, 16220
DETECTION = ["--val-fraction", "0.01", "--fraction", str(SCENES / NOT_HELD_OUT)]


def epoch_of(program):
    """Steps of an epoch, whose end is saved as well."""
    return {"train_detection": SCENES, "train_depth": 8192}.get(program, 20000) // 16


def command(build, program, output, steps):
    own = {"train_cifar": ["--mixup", "0.8", "--drop-path", "0.1"], "train_mae": ["--drop-path", "0.1"],
           "train_detection": DETECTION}
    return [build / program, *tiny_model(program, 48, 2, 3), "--batch-size", "16", "--epochs", "1000",
            "--max-steps", str(steps), "--recovery-interval", str(INTERVAL), "--log-interval", "1", "--model-ema",
            "--state-hist", str(KEPT),
            *own.get(program, []), "--workers", "1", "--output", output, "--resume", "auto"]


def fields_of(message):
    """The fields of a protobuf message: field number and value, or the bytes of a length-delimited field."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            at, shift = at + 1, shift + 7
            value |= (message[at - 1] & 0x7F) << (shift - 7)
            if message[at - 1] < 0x80:
                return value
    while at < len(message):
        key = varint()
        size = {0: 0, 1: 8, 2: 0, 5: 4}[key & 7] or (varint() if key & 7 == 2 else 0)
        yield key >> 3, message[at:at + size] if key & 7 else varint()
        at += size


def points(folder):
    """Tag -> steps, as read by TensorBoard: files in order of name; a session start drops its step and later ones."""
    seen = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data = path.read_bytes()
        while len(data) >= 16 + (length := struct.unpack("<Q", data[:8].ljust(8, b"\0"))[0]):
            event, data = dict(fields_of(data[12:12 + length])), data[16 + length:]
            step = event.get(2, 0)
            if event.get(7) == b"\x08\x01":
                seen = {tag: [s for s in steps if s < step] for tag, steps in seen.items()}
            for value in [dict(fields_of(event[5]))] if 5 in event else []:
                seen.setdefault(dict(fields_of(value[1]))[1].decode(), []).append(step)
    return seen


def unfinished(folder):
    return [path for path in folder.rglob("*") if ".tmp-" in path.name]


def kept_states(folder):
    return sorted(str(path.relative_to(folder)) for path in (folder / "states").iterdir())


def run_to_end(build, program, output, steps):
    result = subprocess.run(command(build, program, output, steps), capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"error: the run ended with {result.returncode}:\n{result.stderr}")


def kill_often(options, program, rng, output):
    """Starts and kills the run in that folder; returns its state's step and the number of interrupted saves."""
    step, kills, during_save = 0, 0, 0
    while kills < options.kills:
        process = subprocess.Popen(command(options.build, program, output, 10**6), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.02, 1.0))
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            sys.exit(f"error: the run of {program} ended by itself before it was killed")
        kills += 1
        during_save += bool(unfinished(output))
        state = output / "state.safetensors"
        if not state.exists():
            continue
        now = progress_of(state)["step"]
        if now < step or (now % INTERVAL != 0 and now % epoch_of(program) != 0):
            sys.exit(f"error: after kill {kills} the state is at step {now}, before it was at {step}")
        step = now
        print(f"\r{program}: kill {kills}: state at step {step}", end="", flush=True)
    print()
    return step, during_save


def check_program(options, program, rng, folder):
    killed, whole = folder / "killed", folder / "whole"
    step, during_save = kill_often(options, program, rng, killed)
    steps = step + 2 * INTERVAL + 1
    run_to_end(options.build, program, killed, steps)
    run_to_end(options.build, program, whole, steps)
    kept = kept_states(whole)
    if len(kept) != KEPT or kept_states(killed) != kept or unfinished(killed):
        sys.exit(f"error: {program}: kept {kept_states(killed)}, expected {kept}; unfinished: {unfinished(killed)}")
    for name in ("state.safetensors", "last.safetensors", *kept):
        (ours, _), (reference, _) = read_safetensors(killed / name), read_safetensors(whole / name)
        different = sorted(k for k in reference if ours.get(k) != reference[k])
        if different or ours.keys() != reference.keys():
            sys.exit(f"error: {program}: {name} differs from that of an uninterrupted run: {different[:5]}")
    ours, reference = points(killed), points(whole)
    if ours != reference or reference["train/loss"] != list(range(1, steps + 1)):
        sys.exit(f"error: {program}: TensorBoard sees other points than an uninterrupted run's: {ours}")
    print(f"{program}: {options.kills} kills ({during_save} of them left an unfinished file beside the state), "
          f"{steps} steps: every tensor and point equals the uninterrupted run's")


FIRST_SAVE = ["--epochs", "1", "--max-steps", "0", "--recovery-interval", "0", "--no-report"]
WEIGHTS = ["last", "best", "last_ema", "best_ema", "checkpoint-0"]


def tensors_of(folder):
    return {name: read_safetensors(folder / f"{name}.safetensors")[0] for name in ("state", *WEIGHTS)}


def problem_after_kill(runs, output, fault, whole):
    """Kills a run before a call and continues it; returns what is wrong, or ""."""
    if runs.train(output, *FIRST_SAVE, fault=fault).returncode != -signal.SIGKILL:
        return "was not killed"
    states = [path for path in (output / "state.safetensors", output / "state.unevaluated.safetensors") if path.exists()]
    weights = [name for name in WEIGHTS if (output / f"{name}.safetensors").exists()]
    if weights and not states:
        return f"left {weights} without a state"
    again = runs.train(output, *FIRST_SAVE)
    if again.returncode != 0:
        return f"cannot be continued: {again.stderr[-300:]}"
    if states and "from step" not in again.stdout:
        return "started anew, although there was a state"
    if tensors_of(output) != whole:
        return "ends with other weights"
    left = [path.name for path in output.rglob("*") if ".tmp-" in path.name or "unevaluated" in path.name]
    return f"left {left}" if left else ""


def check_first_save(build, program, folder):
    """Kills a run before each rename and removal up to the end of its first save."""
    runs = Runs(build, program, folder)
    counts, tried = runs.counts(folder / "whole", *FIRST_SAVE), 0
    whole = tensors_of(folder / "whole")
    for kind in ("rename", "unlink"):
        for number in range(1, counts[kind] + 1):
            output = folder / f"{kind}-{number}"
            problem = problem_after_kill(runs, output, f"{kind} {number} 0 kill", whole)
            if problem:
                sys.exit(f"error: {program}: a run killed before {kind} {number} of {counts[kind]} {problem}")
            tried += 1
    print(f"{program}: {tried} kills up to the end of the first save: nothing was lost")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="not all of them")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    programs = options.program or list(PROGRAMS)
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            check_program(options, program, rng, pathlib.Path(folder))
            has_shim = (options.build / "libfault_shim.so").exists()  # not with sanitizers
            if has_shim and program == programs[0]:
                check_first_save(options.build, program, pathlib.Path(folder).resolve() / "first")


if __name__ == "__main__":
    main()
