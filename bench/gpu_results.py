#!/usr/bin/env python3
"""The results of gpu_check.sh, as JSON and as a table: one step at a time, as they come.

    bench/gpu_results.py FOLDER --machine TEXT     begins: this machine, no steps
    bench/gpu_results.py FOLDER --step NAME --state ok|FAILED|skipped --seconds S [--message TEXT]
    bench/gpu_results.py FOLDER [--exit-code]      prints the table; with the code: 1 after a failure, 2 if nothing
                                                   failed but a step was skipped, else 0

Writes FOLDER/results.json and FOLDER/table.md, the form of docs/gpu.md. The rows that a step measured, also one that was
stopped, are those of FOLDER/NAME.json.
"""
import argparse
import json
import pathlib
import sys

from gpu_model import Rates

LONGEST = 10  # kernels of a step beside their predictions


def total_of(kernels):
    return sum(kernel["ms"] for kernel in kernels)


def attention_of(kernels):
    return total_of(k for k in kernels if "attention" in k["name"] or k["name"].startswith("mma_"))


def shown(value, digits=3):
    return "-" if value is None else f"{value:.{digits}g}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)] if rows else []


def rate_rows(steps):
    return [[rate["name"], rate["unit"], shown(Rates().of(rate["name"])), shown(rate["value"])]
            for rate in steps.get("rates", {}).get("rows", [])]


def key_of(row):
    return row["workload"], str(row["batch"]), row["mode"], row["precision"]


def predictions(steps):
    """Of gpu_model.py, by workload, batch, mode and precision."""
    return {key_of(row): row for row in steps.get("predict", {}).get("rows", [])}


def workload_rows(steps):
    """A row for each workload, mode and precision that was timed by kernel, or beside a peer."""
    found, predicted = {}, predictions(steps)
    for name, step in steps.items():
        for row in step["rows"] if name.startswith(("kernels-", "eager-", "compile-", "autotune-")) else []:
            entry = found.setdefault(key_of(row), {"ms": 1e3 * row["batch"] / row["ours_img_s"]})
            if "kernels" in row:
                entry["kernels"], entry["attention"] = total_of(row["kernels"]), attention_of(row["kernels"])
                entry["longest"] = ", ".join(f"{k['name']} {k['ms']:.3g}" for k in row["kernels"][:3])
            if row["peer_name"] is not None:
                kind = row["peer_name"].split()[-1]
                entry[kind] = row["peer_note"] if row["ratio"] is None else f"{row['ratio']:.2f}"
            if key_of(row) in predicted:
                kernels = predicted[key_of(row)]["kernels"]
                entry["predicted"], entry["predicted attention"] = total_of(kernels), attention_of(kernels)
    numbers = ("ms", "predicted", "kernels", "predicted attention", "attention")
    texts = ("longest", "eager", "compile", "autotune")
    return [[*key, *(shown(entry.get(number)) for number in numbers), *(entry.get(text, "-") for text in texts)]
            for key, entry in found.items()]


def kernel_rows(steps):
    """The longest kernels of training, beside what was predicted of them."""
    rows, predicted = [], predictions(steps)
    for name, step in steps.items():
        for row in step["rows"] if name.startswith("kernels-") else []:
            if row["mode"] != "train":
                continue
            expected = {k["name"]: k["ms"] for k in predicted.get(key_of(row), {"kernels": []})["kernels"]}
            rows += [[row["workload"], row["precision"], k["name"], str(k["launches"]),
                      shown(expected[k["name"]]) if k["name"] in expected else "not predicted", shown(k["ms"])]
                     for k in row["kernels"][:LONGEST]]
    return rows


def attention_rows(steps):
    """Attention alone, beside the fastest of PyTorch's backends."""
    return [[row["workload"], row["mode"], row["precision"], shown(row["ours_ms"]), shown(row["peer_ms"]), row["backend"],
             f"{row['ratio']:.2f}"] for row in steps.get("attention-alone", {}).get("rows", [])]


def table_of(results):
    parts = [
        table(["rate", "unit", "expected", "measured"], rate_rows(results["steps"])),
        table(["model", "batch", "mode", "precision", "ms a step", "kernels predicted, ms", "kernels, ms",
               "attention predicted, ms", "attention, ms", "longest kernels, ms", "to eager PyTorch", "to compiled",
               "to max-autotune"], workload_rows(results["steps"])),
        table(["kernel of training", "precision", "kernel", "launches", "predicted, ms", "ms"], kernel_rows(results["steps"])),
        table(["attention of", "mode", "precision", "ms", "PyTorch, ms", "its backend", "ratio"],
              attention_rows(results["steps"])),
        table(["step", "result", "seconds", "message"],
              [[name, step["state"], str(step["seconds"]), step["message"].replace("|", "\\|")]
               for name, step in results["steps"].items()])]
    return "\n\n".join([results["machine"], *("\n".join(part) for part in parts if part)]) + "\n"


def rows_of(file):
    return json.loads(file.read_text()) if file.exists() else []


def write(path, text):
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text)
    unfinished.rename(path)


def exit_code(results):
    states = [step["state"] for step in results["steps"].values()]
    return 1 if "FAILED" in states else 2 if "skipped" in states else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--machine", help="what the results are of")
    parser.add_argument("--step", help="the name of a step that has ended")
    parser.add_argument("--state", choices=("ok", "FAILED", "skipped"))
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--message", default="")
    parser.add_argument("--exit-code", action="store_true", help="end with what the results say")
    options = parser.parse_args()
    file = options.folder / "results.json"
    if options.machine is not None:
        results = {"machine": options.machine, "steps": {}}
    else:
        results = json.loads(file.read_text())
    if options.step:
        results["steps"][options.step] = {
            "state": options.state, "seconds": options.seconds, "message": options.message,
            "rows": rows_of(options.folder / f"{options.step}.json")}
    write(file, json.dumps(results, indent=1) + "\n")
    write(options.folder / "table.md", table_of(results))
    if options.machine is None and not options.step:
        print(table_of(results), end="")
    return exit_code(results) if options.exit_code else 0


if __name__ == "__main__":
    sys.exit(main())
