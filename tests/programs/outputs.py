#!/usr/bin/env python3
"""Where results go: names that never collide, places that cannot be written, two runs of one name.

    tests/programs/outputs.py [--build build]

Prints one line per check; exits 1 if one fails.
"""
import shutil
import sys

from checks import Checks, build_of, in_one_line, problem_of_error
from formats import png
from tiny_training import tiny_model

SHORT = ["--batch-size", "8", "--workers", "0", "--no-report"]


def picture(index, size=32):
    return png([bytes((3 * index + x * y) % 256 for x in range(3 * size)) for y in range(size)])


def check_unwritable(checks, run, pictures):
    """A result that cannot be written is refused before the work; none is lost without being printed."""
    nowhere, file = checks.folder / "not" / "there", checks.folder / "a file"
    file.write_text("")
    for flag, name in (("--csv", "a.csv"), ("--json", "a.json"), ("--logits", "a.safetensors")):
        done = checks.run("evaluate", run, flag, nowhere / name)
        checks.note(f"evaluate {flag} into a missing folder", problem_of_error(done, f"{flag}: cannot write") or
                    ("after the work" if "ECE" in done.stdout else ""))
    done = checks.run("evaluate", run, "--output", file / "below")
    checks.note("evaluate --output below a file", problem_of_error(done, "--output: cannot write") or
                ("after the work" if "ECE" in done.stdout else ""))
    out = checks.folder / "made" / "by evaluate"
    done = checks.run("evaluate", run, "--output", out, "--json", out / "a.json", "--csv", out / "more/a.csv")
    checks.that("evaluate makes the folders below --output", done.returncode == 0 and (out / "a.json").exists() and
                (out / "more/a.csv").exists() and (out / "classes.csv").exists(), done)
    done = checks.run("evaluate", run, "--csv", "/dev/full", "--output", checks.folder / "out")
    checks.that("a full disk: the table is printed before the error", done.returncode == 1 and "ECE" in done.stdout and
                "No space left" in done.stderr, done)
    for flags in (["--output", nowhere / "a.csv"], ["--output", file / "a.csv"]):
        done = checks.run("predict", *pictures, "--checkpoint", run, *flags)
        checks.note(f"predict {flags[0]} {flags[1].name}", problem_of_error(done, "--output: cannot write"))
    done = checks.run("predict", *pictures, "--checkpoint", run, "--output", "/dev/full")
    checks.that("... predict prints what it cannot write", done.returncode == 1 and "model  " in done.stdout, done)


def check_models(checks, runs):
    """Two runs, and files of them, whose names are equal."""
    first, second = runs
    out = checks.folder / "two"
    done = checks.run("evaluate", first, second, "--output", out)
    folders = sorted(folder.name for folder in out.iterdir())
    checks.that("evaluate: a folder for each of two runs called seed0", len(folders) == 2 and
                f"{folders[1]} is of {second}" in in_one_line(done.stdout), (folders, done.stdout))
    done = checks.run("compare", first, second)
    rows = [line.split(" | ")[0] for line in done.stdout.splitlines() if "/seed0" in line]
    checks.that("compare: a row for each of them", rows == ["| lr1/seed0", "| lr2/seed0"] and
                "note" not in done.stdout and "last evaluated epoch" in done.stdout, done)
    best = checks.run("compare", first, "--epoch", "best", "--output", checks.folder / "compared")
    log = (first / "log.csv").read_text().splitlines()
    column = log[0].split(",").index("eval_top1")
    scores = [float(line.split(",")[column]) for line in log[1:]]
    table = checks.run("evaluate", first).stdout
    checks.that("compare --epoch best shows what evaluate shows",
                f"| {max(scores):.2f} |" in best.stdout and f"{max(scores):.2f}" in table.split(), (scores, best.stdout, table))


def check_other_data(checks, run):
    less = checks.folder / "less/seed0"
    checks.must_run("train_cifar", *tiny_model("train_cifar"), *SHORT, "--fraction", "0.004", "--epochs", "1", "--output", less)
    done = checks.run("compare", run, less)
    checks.that("compare notes other training images", f"note: {less}: its training images (80) are not those of {run} (160)"
                in in_one_line(done.stdout) and "held-out images" not in done.stdout, done)


def check_pictures(checks):
    """Pictures whose names differ only by their folder, or by a number."""
    root = checks.folder / "p"
    for index, name in enumerate(("a/room", "b/room", "c/room-2")):
        (root / name).parent.mkdir(parents=True)
        (root / f"{name}.png").write_bytes(picture(index, 64))
    for program, flag, pattern in (("train_depth", "--output", "*-depth.png"), ("train_detection", "--pictures", "*.svg")):
        run, out = checks.folder / program, checks.folder / f"of {program}"
        checks.must_run(program, *tiny_model(program), *SHORT, "--max-steps", "1", "--output", run)
        done = checks.run("predict", run, root, flag, out)
        names = sorted(path.name for path in out.glob(pattern))
        checks.that(f"{program}: three pictures, three files", len(names) == 3, (names, done.stderr))
    run, out = checks.folder / "train_depth", checks.folder / "whole"
    done = checks.run("predict", run, root / "a/room.png", "--output", out, "--depth-size", "picture")
    sizes = {path.name: path.read_bytes()[16:24] for path in out.glob("*.png")}
    whole = (root / "a/room.png").read_bytes()[16:24]  # width and height
    checks.that("--depth-size picture: a map of the picture's size", sizes.get("room-depth.png") == whole and
                "room-depth-view.png" in sizes, (sizes, done))
    done = checks.run("predict", checks.folder / "train_detection", root, "--depth-size", "model")
    checks.note("--depth-size is for depth models", problem_of_error(done, "--depth-size: got model", codes=[2]))


def check_inspection(checks, run):
    source = checks.folder / "inspect"  # as in a folder of sources
    source.mkdir()
    done = checks.run("inspect", "attention", run, "--count", "1")
    checks.that("inspect writes into the run", done.returncode == 0 and not any(source.iterdir()) and
                any((run / "inspect").iterdir()), done)
    shutil.copy(run / "best.safetensors", checks.folder / "alone.safetensors")
    done = checks.run("inspect", "pos-embed", checks.folder / "alone.safetensors")
    checks.that("... and without a run, not into a folder of sources", done.returncode == 0 and
                not any(source.iterdir()) and (checks.folder / "inspection").exists(), done)


def check_vae(checks):
    """A VAE that is continued after latents were made of it still decodes them."""
    vae, file, run = checks.folder / "vae", checks.folder / "latents.safetensors", checks.folder / "latent run"
    vae_flags = [*tiny_model("train_vae"), *SHORT, "--lr", "1e-2"]
    checks.must_run("train_vae", *vae_flags, "--fraction", "0.004", "--epochs", "1", "--output", vae)
    checks.must_run("encode", "--dataset", "builtin", "--fraction", "0.002", "--vae", vae, "--output", file)
    trained = checks.must_run("train_diffusion", "--model", "dit_s_2", "--img-size", "8", "--embed-dim", "24", "--depth", "1",
                              "--num-heads", "2", "--model-args", '{"in_chans": 3}', *SHORT, "--num-sampling-steps", "2",
                              "--dataset", "latents", "--val-fraction", "0.3", "--data-dir", file, "--epochs", "1", "--output", run).stdout
    checks.that("a run on latents: its next step names a VAE, its sheets are said to be latents",
                f"sample {run} --vae VAE" in trained.replace("'", "") and "shown as latents" in trained, trained)
    checks.must_run("report", run)
    page = (run / "report.html").read_text()
    checks.that("... and its page does not call them held-out images", "Latents of samples after epoch 1." in page and
                "Held-out images after" not in page)
    flags = [run, "--vae", vae, "--num-sampling-steps", "2", "--count", "2"]
    checks.must_run("sample", *flags, "--output", checks.folder / "before")
    checks.must_run("train_vae", "--resume", vae, "--epochs", "2")
    done = checks.run("sample", *flags, "--output", checks.folder / "after")
    same = [path.read_bytes() == (checks.folder / "after" / path.name).read_bytes()
            for path in (checks.folder / "before").glob("0*.png")] if done.returncode == 0 else []
    checks.that("the same pictures after its VAE was continued", same == [True, True], done)
    refused = checks.run("evaluate", vae)
    checks.note("evaluate names the programs for a VAE", problem_of_error(refused, "an image autoencoder", "./run encode"))


def main():
    with Checks(build_of(__doc__)) as checks:
        runs = [checks.folder / "lr1/seed0", checks.folder / "lr2/seed0"]
        for run, rate in zip(runs, ("1e-2", "1e-7")):
            checks.must_run("train_cifar", *tiny_model("train_cifar"), *SHORT, "--fraction", "0.008", "--epochs", "2", "--lr", rate,
                            "--output", run)
        pictures = [checks.folder / f"{index}.png" for index in range(2)]
        for index, path in enumerate(pictures):
            path.write_bytes(picture(index))
        check_unwritable(checks, runs[0], pictures)
        check_models(checks, runs)
        check_other_data(checks, runs[0])
        check_pictures(checks)
        check_inspection(checks, runs[0])
        check_vae(checks)
    return checks.exit_code()


if __name__ == "__main__":
    sys.exit(main())
