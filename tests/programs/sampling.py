#!/usr/bin/env python3
"""Runs `sample` on a tiny diffusion model: its files, what a picture depends on, an interruption, invalid flags.

    tests/programs/sampling.py [--build build]

Prints a table; exits 1 if something failed.
"""
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import zipfile

from checks import Checks, build_of, in_one_line, problem_of_error
from formats import losses_of
from latent_files import latents_file
from tiny_training import tiny_model

TINY = ["--model", "dit_s_8_32", "--embed-dim", "24", "--depth", "1", "--num-heads", "2"]
TRAINING = [*TINY, "--max-steps", "60", "--batch-size", "8", "--workers", "0", "--lr", "3e-2",
            "--model-ema", "--model-ema-decay", "0.5", "--num-sampling-steps", "2", "--no-report"]
FAST = ["--num-sampling-steps", "3"]


class Table(Checks):
    def __init__(self, build):
        super().__init__(build)
        self.made, self.run_folder, self.classifier = 0, self.folder / "run", self.folder / "classifier"

    def pictures(self, *flags, model=None, **options):
        """Name -> bytes of the single pictures that `sample` writes."""
        self.made += 1
        output = self.folder / f"out {self.made}"
        model = [self.run_folder] if model is None else model
        result = self.run("sample", *model, *FAST, "--output", output, *flags, **options)
        if result.returncode != 0:
            self.note(f"sample {' '.join(map(str, flags))}", result.stderr.strip() or result.returncode)
            return {}
        return {path.name: path.read_bytes() for path in output.glob("0*.png")}


def differing(got, expected):
    """The difference between two sets of pictures as text."""
    if not expected or got.keys() != expected.keys():
        return f"{sorted(got)}, expected {sorted(expected)}"
    names = [name for name in got if got[name] != expected[name]]
    return f"{names} differ" if names else ""


def check_files(table):
    result = table.run("sample", table.run_folder, *FAST, "--film")
    output = table.run_folder / "samples"
    names = sorted(path.name for path in output.glob("*")) if output.exists() else []
    singles = [f"{i:06d}-class{i % 10}-seed0.png" for i in range(40)]
    table.note("without flags: four pictures of each class, their grid, a film, the settings",
               "" if names == [*singles, "film.png", "grid.png", "samples.json"] else names or result.stderr)
    said = json.loads((output / "samples.json").read_text())
    expected = {"count": 40, "seed": 0, "sampler": "ddpm", "cfg_scale": 4.0, "num_sampling_steps": 3, "dataset": "builtin"}
    table.note("samples.json tells how", {k: said.get(k) for k in expected if said.get(k) != expected[k]})
    table.note("the output names the files", "" if "grid.png" in result.stdout else result.stdout)
    result = table.run("sample", table.run_folder, *FAST, "--seed", "5", "--count", "1")
    made = (table.run_folder / "samples-2/000000-class0-seed5.png").exists() and not list(output.glob("*seed5*"))
    table.note("samples made otherwise go to another folder", "" if made else result.stderr or result.stdout)
    result = table.run("sample", table.run_folder, *FAST, "--seed", "6", "--output", output)
    refused = result.returncode == 1 and "another --output" in result.stderr
    table.note("... and are refused in a folder of others", "" if refused else result.stderr or "accepted")


def check_scales(table):
    """Several --cfg-scale: the pictures of calls with each, in folders of their own, and a sheet."""
    output = table.folder / "scales"
    flags = ["--classes", "0,3", "--count", "2"]
    result = table.run("sample", table.run_folder, *FAST, *flags, "--cfg-scale", "1,2.5", "--output", output)
    names = sorted(path.name for path in output.glob("*"))
    table.note("several --cfg-scale: a folder for each and a sheet",
               "" if names == ["cfg-1", "cfg-2.5", "guidance.png"] else names or result.stderr)
    got = {path.name: path.read_bytes() for path in (output / "cfg-2.5").glob("0*.png")}
    table.note("... with the pictures of a call of its own", differing(got, table.pictures(*flags, "--cfg-scale", "2.5")))


def check_independence(table):
    """The picture of a seed and an index does not depend on anything around it."""
    flags = ["--classes", "0,3", "--count", "7"]
    expected = table.pictures(*flags)
    table.note("seven pictures of two classes", "" if sorted(expected) == [
        f"{i:06d}-class{3 * (i % 2)}-seed0.png" for i in range(7)] else sorted(expected))
    table.note("all pictures differ", "" if len(set(expected.values())) == 7 else "some are equal")
    for batch in ("1", "3", "64"):
        table.note(f"--batch-size {batch}", differing(table.pictures(*flags, "--batch-size", batch), expected))
    for threads in ("1", "2"):
        free = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
        table.note(f"--threads {threads}", differing(table.pictures(*flags, "--threads", threads, env=free), expected))
    apart = table.pictures(*flags[:2], "--count", "4") | table.pictures(*flags[:2], "--count", "3", "--first", "4")
    table.note("in two parts, by --first", differing(apart, expected))
    table.note("by class names", differing(table.pictures("--classes", table.names[0] + "," + table.names[3], "--count",
                                                          "7"), expected))
    for flag in (["--seed", "1"], ["--cfg-scale", "1"], ["--cfg-scale", "2", "--cfg-channels", "1"], ["--sampler", "ddim"],
                 ["--sampler", "ddim", "--eta", "1"], ["--num-sampling-steps", "5"], ["--no-use-ema"]):
        got = table.pictures(*flags, *flag)
        same = [name for name in got if got[name] in expected.values()]
        table.note(f"{' '.join(flag)}: other pictures", f"{len(same)} equal" if same or len(got) != 7 else "")
    table.note("averaged weights by default", differing(table.pictures(*flags, "--use-ema"), expected))
    table.note("bf16", "" if len(table.pictures(*flags, "--precision", "bf16")) == 7 else "failed")
    weights = table.folder / "alone.safetensors"
    shutil.copy(table.run_folder / "last_ema.safetensors", weights)
    clip = ["--clip-denoised"] if json.loads((table.run_folder / "config.json").read_text()).get("clip-denoised") else []
    alone = table.pictures(*flags, *clip, model=["--checkpoint", weights])
    table.note("from a weights file alone", differing(alone, expected))


def npz_arrays(path):
    """Name -> (header, data) of the .npy files in a .npz file."""
    arrays = {}
    with zipfile.ZipFile(path) as file:
        if file.testzip() is not None:
            raise ValueError("a checksum is wrong")
        for name in file.namelist():
            data = file.read(name)
            length, = struct.unpack("<H", data[8:10])
            arrays[name] = data[10:10 + length].decode().strip(), data[10 + length:]
    return arrays


def check_npz(table):
    npz = table.folder / "all.npz"
    result = table.run("sample", table.run_folder, *FAST, "--classes", "5,1", "--count", "5", "--npz", npz)
    arrays = npz_arrays(npz) if npz.exists() else {}
    headers = {"arr_0.npy": "{'descr': '|u1', 'fortran_order': False, 'shape': (5, 32, 32, 3), }",
               "arr_1.npy": "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }"}
    table.note("--npz: NumPy's headers", "" if {k: v[0] for k, v in arrays.items()} == headers else arrays or result.stderr)
    table.note("--npz: labels", "" if arrays and struct.unpack("<5q", arrays["arr_1.npy"][1]) == (5, 1, 5, 1, 5) else "differ")
    other = table.folder / "other.npz"
    table.run("sample", table.run_folder, *FAST, "--classes", "5,1", "--count", "5", "--npz", other,
              "--batch-size", "2")
    table.note("--npz: the same file in other batches", "" if npz.read_bytes() == other.read_bytes() else "differs")
    table.note("--npz: no other files but its settings", "" if npz.with_suffix(".json").exists() and
               not (table.folder / "samples").exists() else "found some")


def check_interruption(table):
    """A stopped or killed call keeps what it made, and the same call continues it."""
    output, npz, whole = table.folder / "stopped", table.folder / "stopped.npz", table.folder / "whole.npz"
    flags = [table.run_folder, "--num-sampling-steps", "100", "--count", "40", "--batch-size", "2"]
    table.must_run("sample", *flags, "--npz", whole)
    flags += ["--output", output, "--npz", npz]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
        before = len(list(output.glob("0*.png")))
        process = subprocess.Popen(table.command("sample", *flags), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        for _ in range(600):
            if len(list(output.glob("0*.png"))) >= before + 2:
                break
            time.sleep(0.02)
        process.send_signal(number)
        said, error = process.communicate(timeout=30)
        left = sorted(path.name for path in table.folder.iterdir() if path.name.startswith("stopped"))
        problem = ""
        if process.returncode != code:
            problem = f"exit code {process.returncode}, {error}"
        elif left != ["stopped", "stopped.json", "stopped.npz.partial"]:
            problem = left
        elif number != signal.SIGKILL and ("same command continues" not in said or not (output / "grid.png").exists()):
            problem = said
        table.note(f"{number.name}: what is made stays, no .npz appears", problem)
    listed = json.loads((output / "samples.json").read_text())
    table.note("samples.json is there with the call", "" if listed["calls"] == [{"first": 0, "count": 40}] else listed)
    refused = table.run("measure", output, output, "--features", table.classifier)
    table.note("measure refuses the unfinished folder", problem_of_error(refused, "of the 40 samples in samples.json"))
    other = table.run("sample", *flags, "--cfg-scale", "2")
    table.note("another guidance is refused", problem_of_error(other, "cfg_scale: 4.0 and 2.0", alone=False))
    result = table.run("sample", *flags)
    table.note("the same call continues", "" if "are there already" in result.stdout else result.stdout + result.stderr)
    table.note("... to the file of one call", "" if npz.exists() and npz.read_bytes() == whole.read_bytes() else "differs")
    table.note("... and to all pictures", "" if len(list(output.glob("0*.png"))) == 40 else sorted(output.glob("*")))
    again = table.run("sample", *flags)
    table.note("a finished call makes nothing again", "" if "40 of 40 samples are there already" in again.stdout else again.stdout)


def check_notes(table):
    """What makes samples doubtful is said before they are made."""
    start = [*TINY, "--max-steps", "4", "--batch-size", "8", "--workers", "0", "--num-sampling-steps", "2", "--no-report"]
    early, dropped = table.folder / "early", table.folder / "dropped"
    table.must_run("train_diffusion", *start, "--model-ema", "--no-model-ema-warmup", "--model-ema-decay", "0.999", "--output", early)
    said = table.run("sample", early, *FAST, "--count", "1").stdout
    table.note("an average of four updates is noted", "" if "note: the averaged weights still keep 99.60 %" in said else said)
    said = table.run("sample", early, *FAST, "--count", "1", "--no-use-ema").stdout
    table.note("... not for the trained weights", said if "averaged weights still" in said else "")
    state = early / "state.safetensors"
    whole = state.read_bytes()
    for left in (len(whole) // 2, 100):
        state.write_bytes(whole[:left])
        done = table.run("sample", early, *FAST, "--count", "1", "--output", table.folder / "without state")
        table.that(f"a state of which {left} bytes are left is noted: samples need the weights alone", done.returncode == 0 and
                   "note: unknown how far the averaged weights are from the initial ones" in in_one_line(done.stdout) and
                   "state.safetensors" in done.stdout, done)
    trained = in_one_line(table.must_run("train_diffusion", *start, "--class-dropout-prob", "1", "--output", dropped).stdout)
    said = in_one_line(table.run("sample", dropped, *FAST, "--count", "1").stdout)
    table.note("dropping every label is noted in training and sampling",
               "" if "drops every label" in trained and "drops every label" in said else trained[-300:] + said)
    refused = table.run("evaluate", dropped)
    table.note("evaluate names the programs for a diffusion model", problem_of_error(refused, "./run sample", "--eval"))


BAD_FLAGS = [
    (["--classes", "10"], "expected 0 to 9"), (["--classes", "no such class"], "no such class"),
    (["--classes", "0,,1"], "--classes"), (["--eta", "0.5"], "--sampler ddim"),
    (["--sampler", "euler"], "ddpm"), (["--cfg-scale", "-1"], "cfg-scale"), (["--cfg-scale", "nan"], "cfg-scale"),
    (["--cfg-channels", "0"], "expected all"), (["--cfg-channels", "some"], "expected all"),
    (["--num-sampling-steps", "1001"], "--num-sampling-steps"), (["--num-sampling-steps", "0"], "--num-sampling-steps"),
    (["--num-sampling-steps", "x"], "--num-sampling-steps"), (["--num-sampling-steps", "ddim999"], "--num-sampling-steps"),
    (["--count", "-1"], "count"), (["--batch-size", "0"], "batch-size"), (["--npz", "a.zip"], "ends in .npz"),
    (["--npz", "none/a.npz"], "cannot write none/a.npz"), (["--noise-schedule", "linear"], "was trained with"),
    (["--diffusion-steps", "50"], "was trained with 1000"), (["--device", "tpu"], "cpu"), (["--seed", "-1"], "seed"),
    (["--precision", "f64"], "bf16"), (["--clases", "0"], "classes"), (["--checkpoint", "x"], "expected one"),
]


def check_bad_flags(table):
    cases = [([table.run_folder, *FAST, *flags], word) for flags, word in BAD_FLAGS]
    cases += [([], "name a run"), ([table.folder / "none"], "does not exist"),
              ([table.run_folder, table.run_folder], "expected one"), ([table.classifier], "train_diffusion"),
              (["--checkpoint", table.folder / "alone.safetensors", "--noise-schedule", "cosine"], "squaredcos_cap_v2"),
              (["--checkpoint", table.folder / "alone.safetensors", "--noise-schedule", "linear"], "was trained with")]
    for flags, word in cases:
        result = table.run("sample", *flags)
        table.note(f"sample {' '.join(map(str, flags[1:])) or 'no flags'}", problem_of_error(result, word))


LATENT = ["--model", "dit_s_2", "--img-size", "8", *TINY[2:], "--dataset", "latents", "--batch-size", "4", "--workers", "0",
          "--num-sampling-steps", "2", "--no-report", "--val-fraction", "0.3"]


def check_latents(table):
    """Training on stored latents, and latents of another VAE."""
    own, other, run = table.folder / "own.safetensors", table.folder / "other.safetensors", table.folder / "latent run"
    own.write_bytes(latents_file(16))
    other.write_bytes(latents_file(16, vae_hash="cd34"))

    def train(output, *flags):
        return table.run("train_diffusion", *LATENT, "--data-dir", own, "--output", output, "--log-interval", "1",
                         *flags)
    result = train(run, "--epochs", "2")
    table.note("training on latents", result.stderr.strip())
    train(table.folder / "again", "--epochs", "2", "--workers", "2")
    table.note("the same losses with two workers",
               "" if losses_of(run) == losses_of(table.folder / "again") else "differ")
    train(table.folder / "no flips", "--epochs", "2", "--hflip", "0")
    table.note("other draws without flips", "" if losses_of(run) != losses_of(table.folder / "no flips") else "none")
    for what, flags, word in (
            ("resuming on latents of another VAE", ["--resume", run, "--output", run, "--epochs", "3", "--data-dir", other],
             "another VAE"),
            ("fine-tuning on latents of another VAE", ["--initial-checkpoint", run / "last.safetensors", "--output",
                                                       table.folder / "tuned", "--data-dir", other], "another VAE")):
        result = table.run("train_diffusion", *LATENT, *flags)
        table.note(what, "" if result.returncode == 1 and word in result.stderr else result.stderr or "was accepted")


def check_chain(table):
    """A VAE of one's own, its latents, a diffusion model of them, and pictures."""
    if not (table.build / "encode").exists():
        return table.note("chain: encode is not built, skipped")
    vae, other, file, run = (table.folder / name for name in ("vae", "other vae", "chain.safetensors", "chain"))
    short = ["--max-steps", "2", "--batch-size", "8", "--workers", "0", "--no-report"]
    steps = [("train_vae", [*tiny_model("train_vae"), *short, "--output", vae]),
             ("train_vae", [*tiny_model("train_vae"), *short, "--seed", "7", "--output", other]),
             ("encode", ["--dataset", "builtin", "--fraction", "0.002", "--vae", vae, "--output", file]),
             ("train_diffusion", [*LATENT, "--model-args", '{"in_chans": 3}', "--data-dir", file, "--max-steps", "2",
                                  "--output", run]),
             ("sample", [run, *FAST, "--vae", vae, "--classes", "4", "--count", "3", "--npz", table.folder / "chain.npz"])]
    for program, flags in steps:
        result = table.run(program, *flags)
        if result.returncode != 0:
            return table.note(f"chain: {program}", result.stderr)
    header = npz_arrays(table.folder / "chain.npz")["arr_0.npy"][0]
    table.note("chain: from a VAE of one's own to pictures", "" if "(3, 32, 32, 3)" in header else header)
    expected = table.pictures("--vae", vae, "--classes", "4", "--count", "3", model=[run])
    got = table.pictures("--vae", vae, "--classes", "4", "--count", "3", "--batch-size", "1", "--film", model=[run])
    table.note("chain: the same pictures in other batches", differing(got, expected))
    for what, model, flags, word in (("another VAE", run, ["--vae", other], "another VAE"), ("no VAE", run, [], "--vae FILE"),
                                     ("a VAE for pixels", table.run_folder, ["--vae", vae], "makes pixels")):
        result = table.run("sample", model, *flags)
        table.note(f"chain: {what}", "" if result.returncode in (1, 2) and word in result.stderr else result.stderr)
    return check_encoded_images(table, vae, other)


def check_encoded_images(table, vae, other):
    """Training on images that a VAE encodes in each step."""
    run = table.folder / "encoded"
    flags = ["--model", "dit_s_2", "--img-size", "8", *TINY[2:], "--model-args", '{"in_chans": 3}', "--batch-size", "4",
             "--workers", "0", "--num-sampling-steps", "2", "--no-report", "--max-steps", "2"]
    result = table.run("train_diffusion", *flags, "--vae", vae, "--output", run)
    if result.returncode != 0:
        return table.note("images through a VAE", result.stderr)
    pictures = table.pictures("--count", "2", model=[run])
    table.note("images through a VAE: sample takes the run's VAE", "" if len(pictures) == 2 else sorted(pictures))
    for what, more in (("resumed with another", ["--resume", run, "--max-steps", "3"]),
                       ("begun with weights of another", [*flags, "--initial-checkpoint", run, "--output", table.folder / "x"])):
        result = table.run("train_diffusion", *more, "--vae", other)
        table.note(f"images through a VAE: {what}", "" if "latents of another VAE" in result.stderr else result.stderr or "ran")
    return None


def check_fake_device(table):
    """Other products round otherwise, which may move a level."""
    if not (table.build / "fake/sample").exists():
        return table.note("fake device: not built, skipped")
    pixels = []
    for program, flags in (("sample", []), ("fake/sample", ["--device", "cuda"])):
        npz = table.folder / f"on {len(pixels)}.npz"
        result = table.run(program, table.run_folder, *FAST, "--classes", "0,3", "--count", "7", "--npz", npz, *flags)
        if result.returncode != 0:
            return table.note(f"{program} {' '.join(flags)}", result.stderr.strip())
        pixels.append(npz_arrays(npz)["arr_0.npy"][1])
    furthest = max(abs(a - b) for a, b in zip(*pixels))
    table.note("the same pictures on the fake device", f"{furthest} levels apart" if furthest > 1 else "")
    return None


def main():
    with Table(build_of(__doc__)) as table:
        table.must_run("train_diffusion", *TRAINING, "--output", table.run_folder)
        table.must_run("train_cifar", *tiny_model("train_cifar"), "--max-steps", "1", "--batch-size", "8", "--workers",
                       "0", "--no-report", "--output", table.classifier)
        check_files(table)
        table.names = json.loads((table.run_folder / "samples/samples.json").read_text())["class_names"]
        for check in (check_scales, check_independence, check_npz, check_interruption, check_notes, check_bad_flags, check_latents, check_chain,
                      check_fake_device):
            check(table)
    return table.exit_code()


if __name__ == "__main__":
    sys.exit(main())
