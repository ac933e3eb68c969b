#!/usr/bin/env python3
"""Draws a step of a run of several processes from its log: computing and sending, over time.

    bench/step_timeline.py RUN FILE.svg

The lanes have the medians of the stages in steps.jsonl; messages are drawn as they leave, evenly spread over the
backward pass of the last shard and what follows it.
"""
import json
import pathlib
import statistics
import sys

WIDTH, LEFT, LANE, GAP = 760, 96, 34, 14
COLOURS = {"forward": "#4c78a8", "backward": "#72b7b2", "exchange": "#e45756", "optimizer": "#f2a541", "sending": "#b279a2"}
NAMES = {"forward": "forward", "backward": "backward", "exchange": "waiting", "optimizer": "update", "sending": "buckets"}


def main():
    run, file = map(pathlib.Path, sys.argv[1:])
    rows = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()][2:]
    steps = rows[1]["step"] - rows[0]["step"]
    stage = {name: statistics.median(row.get(name + "_s", 0) for row in rows) / steps for name in COLOURS}
    order = ["forward", "backward", "exchange", "optimizer"]
    total = sum(stage[name] for name in order)
    scale = (WIDTH - LEFT - 16) / total
    shapes, at = [], 0.0

    def bar(lane, start, seconds, name, label=""):
        x, y = LEFT + start * scale, 16 + lane * (LANE + GAP)
        shapes.append(f'<rect x="{x:.1f}" y="{y}" width="{max(seconds * scale, 1):.1f}" height="{LANE}" fill="{COLOURS[name]}"/>')
        if label and seconds * scale > 7 * len(label):
            shapes.append(f'<text x="{x + 5:.1f}" y="{y + 22}" fill="#fff">{label}</text>')

    for name in order:
        if name == "exchange":
            end = at + stage[name]
        bar(0, at, stage[name], name, f"{NAMES[name]} {1000 * stage[name]:.0f} ms")
        at += stage[name]
    bar(1, end - stage["sending"], stage["sending"], "sending", f"{NAMES['sending']} {1000 * stage['sending']:.0f} ms")
    for lane, text in enumerate(["computing", "sending"]):
        shapes.append(f'<text x="8" y="{16 + lane * (LANE + GAP) + 22}">{text}</text>')
    legend, x = [], LEFT
    for name in [*order, "sending"]:
        y = 16 + 2 * (LANE + GAP)
        legend.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[name]}"/>'
                      f'<text x="{x + 18}" y="{y + 11}">{NAMES[name]}</text>')
        x += 110
    height = 16 + 2 * (LANE + GAP) + 28
    file.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
                    f'font-size="13"><rect width="{WIDTH}" height="{height}" fill="#fff"/>' + "".join(shapes + legend) + "</svg>\n")


if __name__ == "__main__":
    main()
