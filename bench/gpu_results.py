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

# What is to be expected of an H200, from its data sheet and published measurements: mma.sync reaches 62 % of the peak of
# 989 TFLOP/s in bf16 and half of that in TF32; 132 processors of 1.98 GHz make 16 powers of two a cycle; cuBLASLt reaches 75 %
# of the peak, and half of it at width 192.
EXPECTED = {"copy": 4.3, "mma bf16": 615, "mma TF32": 307, "ex2": 4.2, "launch": 2.5}
PEAKS = {"f32": 67, "TF32": 494, "bf16": 989}
SHARES = {"ViT-Ti": 0.5, "ViT-S": 0.75, "ViT-B": 0.75}

# Rates of attention on such a GPU in TFLOP/s, forward and backward, by precision and width: the sum of the times of its
# products, exponentials and other arithmetic, which a warp hardly overlaps. Of 4 B H N^2 D operations forward, 2.5 times that
# backward.
ATTENTION_RATES = {"bf16": {16: (111, 92), 48: (246, 187), 64: (289, 215)}, "f32": {16: (52, 43), 48: (78, 60), 64: (83, 63)}}
ATTENTION = {  # layers, heads, tokens and width
    "vit_tiny_patch4_32": (12, 3, 65, 64), "deit_tiny_patch16_224": (12, 3, 197, 64), "cpvt_tiny_peg0_224": (12, 3, 197, 64),
    "pervit_tiny_224": (12, 4, 196, 48), "pit_tiny_32": (12, 12, 1025, 16), "deit_small_patch16_224": (12, 6, 197, 64)}


def expected_rate(name):
    model, _, rest = name.partition(" ")
    if model in SHARES:
        return PEAKS[rest.split()[-1]] * SHARES[model]
    return EXPECTED.get(name)


def expected_attention(row):
    """Milliseconds of a step's attention, or None."""
    if row["workload"] not in ATTENTION:
        return None
    layers, heads, tokens, width = ATTENTION[row["workload"]]
    forward, backward = ATTENTION_RATES[row["precision"]][width]
    flop = 4e-9 * layers * row["batch"] * heads * tokens ** 2 * width
    return flop / forward + (2.5 * flop / backward if row["mode"] == "train" else 0)


def attention_of(row):
    return sum(kernel["ms"] for kernel in row["kernels"] if "attention" in kernel["name"] or kernel["name"].startswith("mma_"))


def shown(value, digits=3):
    return "-" if value is None else f"{value:.{digits}g}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)] if rows else []


def rate_rows(steps):
    return [[rate["name"], rate["unit"], shown(expected_rate(rate["name"])), shown(rate["value"])]
            for rate in steps.get("rates", {}).get("rows", [])]


def key_of(row):
    return row["workload"], str(row["batch"]), row["mode"], row["precision"]


def workload_rows(steps):
    """A row for each workload, mode and precision that was timed by kernel, or beside a peer."""
    found = {}
    for name, step in steps.items():
        for row in step["rows"] if name.startswith(("kernels-", "eager-", "compile-", "autotune-")) else []:
            entry = found.setdefault(key_of(row), {"ms": 1e3 * row["batch"] / row["ours_img_s"]})
            if "kernels" in row:
                entry["attention"], entry["expected"] = attention_of(row), expected_attention(row)
                entry["longest"] = ", ".join(f"{k['name']} {k['ms']:.3g}" for k in row["kernels"][:3])
            if row["peer_name"] is not None:
                kind = row["peer_name"].split()[-1]
                entry[kind] = row["peer_note"] if row["ratio"] is None else f"{row['ratio']:.2f}"
    return [[*key, shown(entry["ms"]), shown(entry.get("expected")), shown(entry.get("attention")), entry.get("longest", "-"),
             *(entry.get(kind, "-") for kind in ("eager", "compile", "autotune"))] for key, entry in found.items()]


def attention_rows(steps):
    """Attention alone, beside the fastest of PyTorch's backends."""
    return [[row["workload"], row["mode"], row["precision"], shown(row["ours_ms"]), shown(row["peer_ms"]), row["backend"],
             f"{row['ratio']:.2f}"] for row in steps.get("attention-alone", {}).get("rows", [])]


def table_of(results):
    parts = [
        table(["rate", "unit", "expected", "measured"], rate_rows(results["steps"])),
        table(["model", "batch", "mode", "precision", "ms a step", "attention expected, ms", "attention, ms",
               "longest kernels, ms", "to eager PyTorch", "to compiled", "to max-autotune"], workload_rows(results["steps"])),
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
