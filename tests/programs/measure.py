#!/usr/bin/env python3
"""Runs `measure` on small sets of pictures, good and bad.

    tests/programs/measure.py [--build build]
    tests/programs/measure.py --fake build/fake      the same numbers on the fake CUDA device

Trains a tiny classifier, measures folders and .npz files with it, and checks tables, JSON, statistics files,
errors, interruption, and that threads and batch sizes change nothing. Prints one line per check.
"""
import json
import pathlib
import signal
import struct
import subprocess
import sys
import time
import zipfile

from checks import Checks, parser_of, problem_of_error
from formats import png, read_safetensors, safetensors
from tiny_training import tiny_model


def drawn(index, size=16):
    """A picture that differs from all others."""
    row = 3 * size
    pixels = bytes((37 * index + 11 * (i % 3) + i * (3 + index % 5)) * (1 + index) % 256 for i in range(row * size))
    return png([pixels[i:i + row] for i in range(0, len(pixels), row)])


def write_set(folder, first, count, size=16, named=False):
    folder.mkdir(parents=True)
    for i in range(count):
        name = f"{i:06}-class{i % 10}-seed5.png" if named else f"{i}.png"
        (folder / name).write_bytes(drawn(first + i, size))
    return folder


def distance(result):
    """The samples' Frechet distance."""
    comparison = result["comparisons"][0]
    return comparison["rows"][0][comparison["distance"]]


class MeasureChecks(Checks):
    def measured(self, *flags, program="measure"):
        """The JSON and the table of a call that succeeds."""
        file = self.folder / "measured.json"
        file.unlink(missing_ok=True)
        done = self.run(program, *flags, "--json", file)
        if done.returncode != 0:
            self.note(f"measure {flags}", done.stderr)
            return None, ""
        return json.loads(file.read_text()), done.stdout

    def fails(self, what, word, *flags, code=1):
        before = set(self.folder.rglob("*"))
        problem = problem_of_error(self.run("measure", *flags), word, codes=[code])
        left = [path.name for path in self.folder.rglob("*") if path not in before]
        self.note(f"error: {what}", problem or (f"left {left}" if left else ""))


def check_good(checks, folder, run):
    samples, real = write_set(folder / "samples", 0, 24, named=True), write_set(folder / "real", 100, 30)
    (samples / "grid.png").write_bytes(drawn(3, 64))
    (samples / "samples.json").write_text(json.dumps({"sampler": "ddim", "num_sampling_steps": 50, "cfg_scale": 4.0,
                                                      "seed": 5}))
    result, table = checks.measured(samples, real, "--features", run)
    comparison = result["comparisons"][0]
    rows = {row["set"]: row for row in comparison["rows"]}
    checks.that("samples, real pictures and a Gaussian stand in one table", list(rows) == ["samples", "real", "Gaussian"], rows)
    checks.that("grid.png is no sample", rows["samples"]["count"] == 24 and rows["Gaussian"]["count"] == 24, rows)
    checks.that("without --real the row real is a random half against the other", rows["real"]["count"] == 15 and
                rows["real"]["reference_count"] == 15 and "drawn at random" in rows["real"]["pictures"], rows)
    checks.that("features of a run are FD, never FID",
                comparison["distance"] == "FD(run, last)" and "FD(run, last)" in table and "FID" not in table, table)
    made_by = "sampler ddim, steps 50, guidance 4.0, seed 5"
    checks.that("the table says how the samples were made", made_by in table, table)
    checks.that("the JSON has hash, protocol, k and the samples' settings",
                len(comparison["sha256"]) == 64 and comparison["k"] == 3 and result["samples"]["seed"] == 5 and
                "32x32" in comparison["protocol"], comparison)
    checks.that("conditional accuracy comes from the names", 0 <= rows["samples"]["conditional_accuracy"] <= 1, rows)
    checks.that("few pictures are noted", any("not more than the 24 features" in note for note in comparison["notes"]),
                comparison["notes"])
    own, _ = checks.measured(samples, samples, "--features", run)
    row = own["comparisons"][0]["rows"][0]
    checks.that("a set against itself: distance 0, precision and recall 1",
                distance(own) == 0 and row["precision"] == row["recall"] == 1, row)
    checks.that("equal pictures are noted", any("24 of 24 pictures have exactly the features" in note
                                                for note in own["comparisons"][0]["notes"]), own["comparisons"][0]["notes"])
    for flags in (["--threads", "1"], ["--threads", "2"], ["--batch-size", "5"], ["--workers", "0"]):
        other, _ = checks.measured(samples, real, "--features", run, *flags)
        checks.that(f"{' '.join(flags)} changes no bit", other == result, other)
    other, _ = checks.measured(samples, real, "--features", run, "--real", write_set(folder / "more", 200, 9))
    checks.that("--real is the row real", other["comparisons"][0]["rows"][1]["count"] == 9, other)
    return samples, real, result


def check_statistics(checks, folder, run, samples, real, result):
    file = folder / "real.npz"
    done = checks.run("measure", real, "--features", run, "--save-statistics", file)
    checks.that("one set alone saves its statistics", done.returncode == 0 and file.exists(), done.stderr)
    by_file, _ = checks.measured(samples, file, "--features", run)
    ours, theirs = distance(by_file), distance(result)
    checks.that("statistics give the pictures' distance", abs(ours - theirs) < 1e-9 + 1e-9 * theirs, (ours, theirs))
    checks.that("statistics have no row of real, and the notes say so",
                any("no row of real" in note for note in by_file["comparisons"][0]["notes"]), by_file)
    both = checks.run("measure", file, file)
    checks.that("two statistics need no network", both.returncode == 0 and "Frechet distance" in both.stdout and
                "FID" not in both.stdout, both.stdout + both.stderr)
    train(checks, folder / "again", "--seed", "9")
    checks.fails("statistics of other weights", "has statistics of the weights", samples, file, "--features",
                 folder / "again")


def npz_of(path, labels):
    """An .npz file of tiny pictures with these labels."""
    def member(kind, shape, data):
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data
    with zipfile.ZipFile(path, "w") as file:
        size = len(labels) * 16 * 16 * 3
        file.writestr("arr_0.npy", member("|u1", f"({len(labels)}, 16, 16, 3)", bytes(i * i % 251 for i in range(size))))
        file.writestr("arr_1.npy", member("<i8", f"({len(labels)},)", struct.pack(f"<{len(labels)}q", *labels)))
    return path


def check_real(checks, folder, run):
    """Alternating kinds and neighbouring frames: what every second picture would compare wrongly."""
    kinds = folder / "kinds"
    kinds.mkdir()
    for i in range(40):
        level = 20 if i % 2 else 220
        rows = [bytes((level + (7 * i + x * y) % 20) % 256 for x in range(48)) for y in range(16)]
        (kinds / f"{i:03}.png").write_bytes(png(rows))
    twice = folder / "twice"
    twice.mkdir()
    for i in range(20):
        for k in range(2):
            (twice / f"{i:03}-{k}.png").write_bytes(drawn(500 + i))
    few = write_set(folder / "few samples", 900, 12)
    apart, _ = checks.measured(few, kinds, "--features", run)
    rows = {row["set"]: row for row in apart["comparisons"][0]["rows"]}
    name = apart["comparisons"][0]["distance"]
    checks.that("the row real has as many pictures as the samples", rows["real"]["count"] == 12 and
                rows["real"]["reference_count"] == 28, rows["real"])
    checks.that("a row real of alternating kinds has both on both sides", rows["real"]["precision"] > 0.5 and
                rows["real"]["recall"] > 0.5, rows)
    other, _ = checks.measured(few, kinds, "--features", run, "--seed", "1")
    checks.that("--seed draws other halves", other["comparisons"][0]["rows"][1][name] != rows["real"][name], other)
    pairs, _ = checks.measured(few, twice, "--features", run)
    checks.that("equal pictures in both parts of the row real are noted",
                any("lower it" in note for note in pairs["comparisons"][0]["notes"]), pairs["comparisons"][0]["notes"])


def check_features_file(checks, folder, run, samples, real, result):
    file = folder / "features.safetensors"
    done = checks.run("measure", samples, real, "--features", run, "--save-features", file)
    tensors, _ = read_safetensors(file)
    checks.that("--save-features has both sets", done.returncode == 0 and tensors["reference"].shape == [30, 24] and
                tensors["samples"].shape == [24, 24], done.stderr)
    stored, _ = checks.measured(samples, file, "--features", run)
    expected, got = ({row["set"]: row for row in r["comparisons"][0]["rows"]} for r in (result, stored))
    names = [key for key in expected["samples"] if key not in ("pictures",)]
    checks.that("... and is a REFERENCE that gives the same numbers",
                [got["samples"][key] for key in names] == [expected["samples"][key] for key in names], got)
    checks.that("... with the same row of real pictures", got["real"] == expected["real"], got["real"])
    checks.that("... and a note about the Gaussian", any("no Gaussian" in note for note in stored["comparisons"][0]["notes"]),
                stored["comparisons"][0]["notes"])
    checks.fails("features of other weights", "has features of the weights", samples, file, "--features", folder / "again")
    checks.fails("features as samples", "expected SAMPLES with pictures", file, real, "--features", run)
    for flag in ("--json", "--save-features", "--save-statistics"):
        checks.fails(f"{flag} into a missing folder", f"{flag}: cannot write", samples, real, "--features", run, flag,
                     folder / "none" / "x")
    whole, rest, table = folder / "whole.json", folder / "rest.safetensors", checks.measured(samples, real, "--features", run)[1]
    done = checks.run("measure", samples, real, "--features", run, "--save-statistics", "/dev/full", "--save-features", rest,
                      "--json", whole)
    printed = table.strip() and table[table.index("FD(run, last)"):] in done.stdout
    checks.that("results are printed and the other files written when one cannot be", printed and whole.exists() and rest.exists()
                and not problem_of_error(done, "/dev/full", codes=[1]), done)


def check_notes(checks, folder, run, real):
    result, _ = checks.measured(npz_of(folder / "from1.npz", [1 + i % 10 for i in range(20)]), real, "--features", run)
    notes = result["comparisons"][0]["notes"]
    checks.that("labels that are counted from 1 are noted", any("labels run from 1 to 10" in note for note in notes), notes)
    clear = write_set(folder / "clear", 0, 6)
    (clear / "3.png").write_bytes(png([bytes((x * y) % 256 for x in range(64)) for y in range(16)], channels=4))
    result, _ = checks.measured(clear, real, "--features", run)
    notes = result["comparisons"][0]["notes"]
    checks.that("transparent pixels are noted", any("1 picture has transparent pixels" in note for note in notes), notes)


def train(checks, run, *flags):
    checks.must_run("train_cifar", *tiny_model("train_cifar"), "--max-steps", "2", "--workers", "0", "--no-report",
                    "--output", run, *flags)


def check_bad(checks, folder, run, samples, real):
    features = ["--features", run]
    checks.fails("no network", "--features RUN", samples, real, code=2)
    checks.fails("one set", "expected SAMPLES and REFERENCE", samples, *features, code=2)
    checks.fails("three sets", "got 3 sets", samples, real, real, *features, code=2)
    checks.fails("an unknown protocol", "pytorch-fid", samples, real, *features, "--protocol", "tf", code=2)
    checks.fails("k of 0", "--k", samples, real, *features, "--k", "0", code=2)
    checks.fails("a missing folder", "none: does not exist", samples, "none", *features)
    checks.fails("a missing run", "nowhere", samples, real, "--features", "nowhere")
    checks.fails("weights that are not Inception's", "is not the Inception network", samples, real, "--inception",
                 run / "last.safetensors")
    empty = folder / "empty"
    empty.mkdir()
    checks.fails("a folder without pictures", "contains no", samples, empty, *features)
    one = write_set(folder / "one", 0, 1)
    checks.fails("one picture", "expected at least 2", one, real, *features)
    broken = write_set(folder / "broken", 0, 5)
    (broken / "3.png").write_bytes(b"no picture")
    checks.fails("a broken picture", "3.png", broken, real, *features)
    few, table = checks.measured(write_set(folder / "few", 0, 3), real, *features)
    row = few["comparisons"][0]["rows"][0]
    checks.that("three pictures have no precision and recall at k = 3, and the table says why",
                "precision" not in row and "need more than k = 3" in table, table)
    mixed = write_set(folder / "mixed", 0, 6, size=24)
    (mixed / "9.png").write_bytes(drawn(1, 40))
    _, table = checks.measured(mixed, real, *features)
    checks.that("other sizes are noted", "24x24" in table and "crop and resize" in table, table)
    tensors, metadata = read_safetensors(run / "last.safetensors")
    norm = tensors["norm.weight"]
    for name, value, word in [("nan", float("nan"), "NaN"), ("huge", 3e38, "not finite")]:
        changed = tensors | {"norm.weight": norm._replace(data=struct.pack("<f", value) * (len(norm.data) // 4))}
        (folder / f"{name}.safetensors").write_bytes(safetensors(changed, metadata))
        checks.fails(f"weights with {name} values", word, samples, real, "--features", folder / f"{name}.safetensors")


def check_interrupt(checks, folder, run):
    many = write_set(folder / "many", 0, 400)
    file = folder / "never.json"
    command = [checks.build / "measure", many, many, "--features", run, "--json", file, "--batch-size", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    ended = process.returncode in (-signal.SIGINT, 130) or (process.returncode == 0 and file.exists())
    left = [path.name for path in folder.iterdir() if ".tmp" in path.name]
    checks.that("Ctrl-C ends it and leaves no part of a file", ended and not left, (process.returncode, left))


def check_fake_cuda(checks, fake, run, samples, real, result):
    on_cuda, _ = checks.measured(samples, real, "--features", run, "--device", "cuda", program=fake / "measure")
    if on_cuda is None:
        return
    pairs = [(a[key], b[key]) for a, b in zip(on_cuda["comparisons"][0]["rows"], result["comparisons"][0]["rows"])
             for key in (result["comparisons"][0]["distance"], "inception_score")]
    checks.that("--device cuda gives the same", all(abs(a - b) <= 1e-4 * max(1, abs(b)) for a, b in pairs), pairs)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--fake", type=pathlib.Path)
    arguments = parser.parse_args()
    with MeasureChecks(arguments.build) as checks:
        folder, run = checks.folder, checks.folder / "run"
        train(checks, run)
        samples, real, result = check_good(checks, folder, run)
        if arguments.fake:
            check_fake_cuda(checks, arguments.fake.resolve(), run, samples, real, result)
        else:
            check_statistics(checks, folder, run, samples, real, result)
            check_real(checks, folder, run)
            check_features_file(checks, folder, run, samples, real, result)
            check_notes(checks, folder, run, real)
            check_bad(checks, folder, run, samples, real)
            check_interrupt(checks, folder, run)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
