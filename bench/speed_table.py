#!/usr/bin/env python3
"""Writes the rows of `bench --peer --json` as a table of docs/benchmarks.md: a line for each model, instruction set and
precision, with images/s, how many times those of the fastest peer, and MiB (those of the peer with the least).

    bench/speed_table.py ROWS.json...
"""
import json
import sys


def short(peer):
    """The peer's name without its version."""
    return " ".join(word for word in peer.split() if not word[0].isdigit())


def cells(rows):
    """Of one workload in one mode: a row for each peer."""
    best = next((r for r in rows if r["peer_is_fastest"]), None)
    beside = f"{best['ratio']:.2f}x {short(best['peer_name'])}" if best else "-"
    peaks = [r["peer_peak_mb"] for r in rows if r["peer_peak_mb"]]
    memory = f"{rows[0]['peak_mb']:.0f}" + (f" ({min(peaks):.0f})" if peaks else "")
    return [f"{rows[0]['ours_img_s']:.1f}", beside, memory]


def main():
    groups = {}
    for path in sys.argv[1:]:
        for row in json.load(open(path)):
            key = (row["workload"], row["isa"], row["precision"], row["batch"])
            groups.setdefault(key, {}).setdefault(row["mode"], []).append(row)
    print("| model | set | precision | batch | training img/s | training beside | MiB | inference img/s | inference beside | MiB |")
    print("|---" * 10 + "|")
    for (model, isa, precision, batch), modes in groups.items():
        sides = [cell for mode in ("train", "infer") for cell in (cells(modes[mode]) if mode in modes else "---")]
        print("| " + " | ".join([f"`{model}`", f"`{isa}`", precision, str(batch), *sides]) + " |")


if __name__ == "__main__":
    main()
