#!/usr/bin/env python3
"""Runs the programs in hostile environments, and checks their files, output and exit codes.

    tests/programs/hardening.py [--build build] [--flags]

Covers names that are not valid text, closed and full standard output, non-finite weights, two runs in one folder,
files removed during a run, signals, and pipes and devices in place of files. With --flags also every flag with a
value of every program, with extreme numbers. Prints a table; exits 1 if something failed.
"""
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import time
import xml.etree.ElementTree

from checks import ROOT, Checks, parser_of, problem_of_error
from formats import plain_png, read_safetensors, safetensors
from small_data import data_flags, small_data
from tiny_training import PROGRAMS, tiny_model

SHORT = ["--batch-size", "8", "--epochs", "1", "--warmup-epochs", "0", "--workers", "0", "--threads", "1"]
SMALL = [*tiny_model("train_cifar"), *SHORT]
LAST_LAYER = {"train_cifar": "head.weight", "train_mae": "decoder_pred.weight",
              "train_diffusion": "final_layer.linear.weight", "train_vae": "decoder.conv_out.weight",
              "train_depth": "head.weight",
              "train_detection": "class_embed.0.weight"}
NAMES = [b"caf\xe9", b"line\nerror: forged", b"\x1b[31mred\x1b[2J", b"<b>&\"'", "\u732b".encode(), b"\xc2\x9b2J"]


class Table(Checks):
    def __init__(self, build):
        super().__init__(build)
        self.all_data = self.folder / "data"
        small_data(self.all_data)
        self.data = self.all_data / "cifar10"
        self.runs = {program: self.folder / f"run of {program}" for program in PROGRAMS}
        self.run_folder = self.runs["train_cifar"]
        self.place = self.folder / "place"  # where the programs run: some flags name files relative to it
        self.place.mkdir()

    def run(self, program, *flags, **options):
        """The ended process, with its output as bytes, as it may be no text."""
        return super().run(program, *flags, **{"errors": None, "timeout": 60, "cwd": self.place, **options})

    def weights_of(self, program):
        return self.runs[program] / "best.safetensors"

    def training(self, program):
        """Flags of a run of five steps."""
        return [*data_flags(program, self.all_data), *tiny_model(program), *SHORT]

    def train(self, *flags, program="train_cifar", **options):
        return self.run(program, *self.training(program), *flags, **options)

    def start(self, *flags, program="train_cifar"):
        return subprocess.Popen(self.command(program, *self.training(program), *flags), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.place)

    def programs(self):
        """A command of each program that succeeds and prints."""
        picture = self.folder / "gray.png"
        picture.write_bytes(plain_png(90))
        run, out = self.run_folder, self.folder / "out"
        return {
            **{name: [*self.training(name), "--no-report"] for name in PROGRAMS},
            "train_imagenet": ["--dataset", "cifar10", "--data-dir", self.data, *SMALL, "--img-size", "32",
                               "--mixup", "0", "--cutmix", "0", "--no-report"],
            "evaluate": [run, "--data-dir", self.data, "--dataset", "cifar10", "--output", out],
            "predict": [picture, "--checkpoint", run],
            "report": [run],
            "inspect": ["pos-embed", run, "--output", out],
            "compare": [run],
            "summary": tiny_model("train_cifar")[1:],
            "convert": [self.weights_of("train_cifar"), "--overwrite", "--output", out.with_suffix(".safetensors")],
            "export": [self.runs["train_cifar"], "--overwrite", "--output", out.with_suffix(".onnx")],
            "encode": ["--dataset", "cifar10", "--data-dir", self.data, "--vae", self.runs["train_vae"], "--overwrite",
                       "--output", self.folder / "latents.safetensors"],
            "pack": ["--dataset", "cifar10", "--data-dir", self.data, "--overwrite", "--output", out],
            "parity": [ROOT / "tests/golden/deit_none.safetensors"],
            "gradcheck": ["relu"],
            "fovea_bench": ["--model", *tiny_model("train_cifar")[1:], "--mode", "infer", "--reps", "1", "--ceiling", "64"],
        }


def error_of(result, code=1, *words):
    """What is wrong with a rejection, which may follow other lines on standard error."""
    return problem_of_error(result, *words, codes=[code], alone=False)


def success(result):
    return f"exit code {result.returncode}: {result.stderr[-300:]}" if result.returncode else ""


def raw_codes(*streams):
    found = [re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", stream) for stream in streams]
    return next((f"control code in the output: {f.string[max(0, f.start() - 30):f.end() + 30]}" for f in found if f), "")


def damaged_file(folder):
    """The first text file below a folder that is not UTF-8 or cannot be parsed."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".json", ".jsonl", ".csv", ".svg", ".html"):
            continue
        try:
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".json":
                json.loads(text)
            elif path.suffix == ".jsonl":
                [json.loads(line) for line in text.splitlines()]
            elif path.suffix == ".svg":
                xml.etree.ElementTree.fromstring(text)
            control = re.search("[\x00-\x08\x0b-\x1f]", text)
            if control:
                return f"{path}: control code at {control.start()}"
        except (ValueError, xml.etree.ElementTree.ParseError) as error:
            return f"{path}: {error}"
    return ""


def names(table):
    """Class folders with names that are not valid text: trained on, evaluated, packed, printed."""
    root = os.fsencode(table.folder / "photographs")
    for split in (b"train", b"val"):
        for label, name in enumerate(NAMES):
            os.makedirs(root + b"/" + split + b"/" + name)
            for i in range(3):
                with open(b"/".join([root, split, name, b"\x1b%d\xff\n.png" % i]), "wb") as file:
                    file.write(plain_png(20 + 40 * label))
    run, out = table.folder / "named", table.folder / "named out"
    flags = ["--data-dir", root, "--index-cache", "none"]
    training = [*SMALL, "--img-size", "32", "--mixup", "0", "--cutmix", "0"]
    packs = table.folder / "named packs"
    steps = [("train_imagenet", [*flags, *training, "--output", run]),
             ("evaluate", [run, "--data-dir", root, "--output", out, "--json", out / "all.json"]),
             ("predict", [root, "--checkpoint", run]),
             ("predict", [root, "--checkpoint", run, "--format", "csv", "--output", out / "p.csv"]),
             ("predict", [root, "--checkpoint", run, "--format", "json", "--output", out / "p.json"]),
             ("report", [run]), ("inspect", ["pos-embed", run, "--output", out]), ("compare", [run, "--output", out]),
             ("pack", ["--data-dir", root, "--output", packs]),
             ("train_imagenet", ["--data-dir", packs, *training, "--output", table.folder / "from packs"])]
    for program, arguments in steps:
        result = table.run(program, *arguments)
        table.note(f"names that are no text: {program}", success(result) or raw_codes(result.stdout, result.stderr))
    table.note("names that are no text: files", damaged_file(run) or damaged_file(out))
    missing = table.run("predict", b"none\nerror: forged\x1b[2J.png", "--checkpoint", run)
    table.note("a name that forges an error line", error_of(missing, 1, "\\n") or raw_codes(missing.stderr))


def descriptors(table):
    for program, arguments in table.programs().items():
        for closed in ([0], [1], [2], [0, 1, 2]):
            def close():
                for number in closed:
                    os.close(number)
            output = ["--output", table.folder / f"{program} without {closed}"] if program.startswith("train") else []
            result = table.run(program, *arguments, *output, preexec_fn=close)
            table.note(f"{program} without descriptor {closed}",
                       success(result) or (damaged_file(output[1]) if output else ""))
        with open("/dev/full", "wb") as full:
            output = ["--output", table.folder / f"{program} full"] if program.startswith("train") else []
            result = subprocess.run(table.command(program, *arguments, *output), stdout=full, stderr=subprocess.PIPE,
                                    timeout=60)
        table.note(f"{program} > /dev/full", error_of(result, 1, "cannot write standard output"))


def with_nan(weights, target, name):
    tensors, metadata = read_safetensors(weights)
    data = struct.pack("<f", float("nan")) + tensors[name].data[4:]
    target.write_bytes(safetensors(tensors | {name: tensors[name]._replace(data=data)}, metadata))


def holds_nonfinite(path):
    for name, tensor in read_safetensors(path)[0].items():
        body = tensor.data
        numbers = struct.unpack(f"<{len(body) // 4}f", body) if len(body) % 4 == 0 else ()
        if not all(map(math.isfinite, numbers)):
            return f"{path.name}: {name}"
    return ""


def diverges(table):
    for program in PROGRAMS:
        ended = 0
        for steps in range(1, 9):  # an epoch is one step, after which the weights are a billion times larger
            run = table.folder / f"{program} diverges {steps}"
            result = table.train("--output", run, "--batch-size", "40", "--lr", "1e6", "--weight-decay", "1000",
                                 "--epochs", "8", "--sched", "constant", "--max-steps", steps, program=program)
            ended += result.returncode == 1 and not error_of(result, 1, "training: ")
            problem = "" if result.returncode == 0 or not error_of(result, 1, "training: ") else result.stderr
            saved = [holds_nonfinite(file) for file in run.glob("*.safetensors")]
            table.note(f"{program}: a run that diverges, {steps} steps", problem or next(filter(None, saved), ""))
        table.note(f"{program}: a run that diverges ends with exit code 1", "" if ended else "none did")


def not_finite(table):
    picture = table.folder / "gray.png"
    data = ["--dataset", "cifar10", "--data-dir", table.data]
    readers = {"train_cifar": [("predict", [picture, "--checkpoint"]), ("inspect", ["pos-embed"]),
                               ("evaluate", [*data])],
               "train_mae": [("inspect", ["pos-embed"]), ("inspect", ["mae"])],
               "train_vae": [],
               "train_depth": [("predict", [picture, "--checkpoint"]), ("evaluate", [])],
               "train_detection": [("predict", [picture, "--checkpoint"]), ("inspect", ["detection"])]}
    for trainer, programs in readers.items():
        bad, name = table.folder / f"nan {trainer}.safetensors", LAST_LAYER[trainer]
        with_nan(table.weights_of(trainer), bad, name)
        for program, arguments in programs:
            result = table.run(program, *arguments, bad)
            table.note(f"{program} with weights of {trainer} that are not finite", error_of(result, 1, bad.name, name))
        result = table.train("--initial-checkpoint", bad, "--output", table.folder / "from nan", program=trainer)
        table.note(f"{trainer} from such weights", error_of(result, 1, name))


def wait_for_steps(run):
    """Waits until a run has trained: its log has a line."""
    while not (run / "steps.jsonl").exists() or not (run / "steps.jsonl").stat().st_size:
        time.sleep(0.02)


def two_runs(table):
    for program in PROGRAMS:
        run = table.folder / f"shared {program}"
        first = table.start("--output", run, "--epochs", "100000", "--no-report", "--log-interval", "1",
                            program=program)
        wait_for_steps(run)
        for flags in ([], ["--resume", "auto"]):
            result = table.train("--output", run, *flags, program=program)
            said = result.stderr.decode()
            named = f"process {first.pid} on" in said or (not flags and "already contains a run" in said)
            table.note(f"{program}: a second run in one folder {' '.join(flags)}",
                       error_of(result, 1, run) or ("" if named else said))
        first.send_signal(signal.SIGTERM)
        first.communicate()
        table.note(f"{program}: the first ends as asked", "" if first.returncode == 143 else first.returncode)
        result = table.train("--output", run, "--resume", "auto", "--epochs", "1", program=program)
        table.note(f"{program}: the folder is free again", success(result))


def removed(table):
    run = table.folder / "robbed"
    process = table.start("--output", run, "--epochs", "300", "--no-report", "--log-interval", "1000000")
    while not (run / "best.safetensors").exists():
        time.sleep(0.01)
    (run / "steps.jsonl").unlink()
    _, error = process.communicate(timeout=120)
    problem = "" if process.returncode == 1 and b"steps.jsonl: is missing" in error else error
    table.note("a file removed while a run goes on", problem)
    cut = table.folder / "cut"
    table.run("pack", "--dataset", "cifar10", "--data-dir", table.data, "--store", "pixels", "--output", cut)
    process = subprocess.Popen([table.build / "train_imagenet", "--data-dir", cut, *SMALL, "--img-size", "32",
                                "--mixup", "0", "--cutmix", "0", "--epochs", "100000", "--no-report", "--output",
                                cut / "run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (cut / "run/state.safetensors").exists():
        time.sleep(0.02)
    os.truncate(cut / "train.pack", 5000)
    _, error = process.communicate(timeout=60)
    table.note("a pack cut short while it is trained from",
               "" if process.returncode == 1 and b"train.pack" in error else (process.returncode, error))


def signals_in_training(table):
    for program in PROGRAMS:
        of_batch_systems = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU) if program == "train_cifar" else ()
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, *of_batch_systems):
            run = table.folder / f"{program} signal {number}"
            process = table.start("--output", run, "--epochs", "100000", "--log-interval", "1", program=program)
            wait_for_steps(run)
            process.send_signal(number)
            process.communicate(timeout=60)
            saved = (run / "state.safetensors").exists()
            table.note(f"{program}: {number.name} saves the run", "" if process.returncode == 128 + number and saved
                       else f"exit code {process.returncode}, saved: {saved}")


def plans(table):
    for program in PROGRAMS:
        run = table.folder / f"planned {program}"
        result = table.train("--output", run, "--plan", program=program)
        table.note(f"{program} --plan says what it needs", success(result) or ("" if b"plan for" in result.stdout
                                                                             else result.stdout))
        table.note(f"{program} --plan trains nothing", "it made the run's folder" if run.exists() else "")


def signals(table):
    signals_in_training(table)
    for what, flags in (("a model is made", ["--embed-dim", "1536", "--num-heads", "12", "--depth", "24"]),
                        ("data are scanned", ["--dataset", "builtin"])):
        process = table.start("--output", table.folder / "early", *flags)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        process.communicate(timeout=60)
        slow = time.monotonic() - begun > 10
        table.note(f"SIGTERM while {what}", f"exit code {process.returncode}, slow: {slow}"
                   if slow or process.returncode not in (-signal.SIGTERM, 143) else "")
    run = table.folder / "reader gone"
    process = table.start("--output", run, "--epochs", "100", "--log-interval", "1")
    wait_for_steps(run)
    process.stdout.close()
    error = process.stderr.read()
    table.note("a reader of the output that goes away", "" if process.wait() == 1 and b"Broken pipe" in error
               and (run / "report.html").exists() else (process.returncode, error))
    ignored = table.train("--output", table.folder / "nohup", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    table.note("under nohup", success(ignored))
    out = table.folder / "stopped pack"
    process = subprocess.Popen([table.build / "pack", "--dataset", "builtin", "--output", out], stdout=subprocess.PIPE)
    while not out.exists():
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    left = [p.name for p in out.iterdir()]
    table.note("SIGTERM while packing", "" if process.returncode == 143 and not any(".tmp" in n for n in left)
               else (process.returncode, left))


def no_files(table):
    pipe, zero, sparse = (table.folder / name for name in ("pipe.png", "zero.png", "sparse.png"))
    os.mkfifo(pipe)
    zero.symlink_to("/dev/zero")
    sparse.touch()
    os.truncate(sparse, 1 << 40)
    out = ["--output", table.folder / "never"]
    for path in (pipe, zero, sparse):
        for what, result in ((("predict"), table.run("predict", path, "--checkpoint", table.run_folder)),
                             ("--config", table.train("--config", path, *out)),
                             ("--class-map", table.run("train_imagenet", "--data-dir", table.data, "--class-map", path, *out)),
                             ("--initial-checkpoint", table.train("--initial-checkpoint", path, *out)),
                             ("compare", table.run("compare", path)), ("parity", table.run("parity", path))):
            code = result.returncode
            table.note(f"{path.stem} as a file: {what}", "" if code in (1, 2) and b"std::bad_alloc" not in result.stderr
                       else (code, result.stderr[-200:]))
    for threads in ("1000000", "99999999999999999999", "0", "-3", "x"):
        result = table.train(*out[:1], table.folder / f"threads {threads}", env={**os.environ, "OMP_NUM_THREADS": threads})
        table.note(f"OMP_NUM_THREADS={threads}", error_of(result, 1, "OMP_NUM_THREADS"))
    table.note("a model larger than memory", error_of(table.train("--embed-dim", "24000", "--depth", "1000", *out), 2, "memory"))
    table.note("--mixup 0.001", success(table.train("--mixup", "0.001", "--output", table.folder / "mixup")))
    result = table.train("--min-lr", "1", "--warmup-epochs", "50", "--output", table.folder / "clamped")
    said = result.stdout.decode()
    table.note("rates that are clamped are said", success(result) or ("" if "--min-lr 1 is above" in said
                                                                     and "--warmup-epochs 50 covers" in said else said))


EXTREMES = ["0", "-1", "1e308", "-1e308", "1e-308", "nan", "inf", "-inf", "9223372036854775807", "-9223372036854775808",
            "9223372036854775808", "2147483648", "0.5", "1e400", "", " 1", "1x", "0x10"]


def flags_with_values(help_text):
    """Names of the flags that take a value and no choice, as printed by --help: `--lr X=0.001`, `--output X`."""
    return re.findall(r"^\s+--([A-Za-z0-9-]+) X(?:=|\s|$)", help_text, re.MULTILINE)


def problem_of(table, program, *arguments):
    """The problem with a program's end: too late, by a signal, or with other than one error line."""
    try:
        result = table.run(program, *arguments)
    except subprocess.TimeoutExpired:
        return "still runs after a minute"
    if result.returncode not in (0, 1, 2):
        return f"exit code {result.returncode}"
    return error_of(result, result.returncode) if result.returncode else ""


def flags(table):
    """Every flag that takes a value, of any type, with extreme numbers."""
    commands = {program: (arguments, flags_with_values(table.run(program, "--help").stdout.decode()))
                for program, arguments in table.programs().items()}
    unseen = {"lr", "batch-size"}.difference(commands["train_cifar"][1])
    if unseen:
        sys.exit(f"error: in what train_cifar --help prints no {', '.join(sorted(unseen))} with a value is found")
    count = sum(len(found) for _, found in commands.values())
    print(f"{count} flags that take a value, {len(EXTREMES)} values each", flush=True)
    out = table.folder / "flags"
    for program, (arguments, found) in commands.items():
        short = {"output": out, **({"max-steps": 1} if program.startswith("train") else {})}
        short = {flag: value for flag, value in short.items() if flag in found}
        result = table.run(program, *arguments, *(f"--{flag}={value}" for flag, value in short.items()))
        table.note(f"{program} without any of them", success(result))
        for flag in found:
            others = [f"--{name}={value}" for name, value in short.items() if name != flag]
            bad = []
            for value in EXTREMES:
                subprocess.run(["rm", "-rf", out], check=True)
                problem = problem_of(table, program, *arguments, *others, f"--{flag}={value}")
                if problem:
                    bad.append(f"{value!r}: {problem}")
            table.note(f"{program} --{flag}", "; ".join(bad))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--flags", action="store_true", help="also every flag that takes a value, with extremes")
    options = parser.parse_args()
    # What a shell starts in the background ignores it, and so would the programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Table(options.build) as table:
        for program in PROGRAMS:
            made = table.train("--output", table.runs[program], program=program)
            if made.returncode != 0:
                sys.exit(f"error: the run that the others look at failed: {made.stderr.decode()}")
        before = set(ROOT.iterdir())
        for part in [names, descriptors, diverges, not_finite, two_runs, removed, signals, plans, no_files] + [flags] * options.flags:
            part(table)
        table.note("the source tree is left alone", sorted(set(ROOT.iterdir()) - before))
    return table.exit_code()


if __name__ == "__main__":
    sys.exit(main())
