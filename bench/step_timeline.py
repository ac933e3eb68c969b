#!/usr/bin/env python3
"""Draws a step of a run of several processes from its profile: what the first process computes and sends, over time.

    bench/step_timeline.py RUN FILE.svg

RUN/profile.json comes from --profile 1 or more; the last step that it has whole is drawn. A bar below the computation is
a bucket of gradients, from the moment it begins to leave to the moment its sum has arrived.
"""
import json
import pathlib
import sys

WIDTH, LEFT, TOP, HEIGHT, GAP = 760, 90, 12, 26, 6
COLOURS = {"forward": "#4c78a8", "backward": "#72b7b2", "exchange": "#e45756", "optimizer": "#f2a541", "bucket": "#b279a2"}
NAMES = {"forward": "forward", "backward": "backward", "exchange": "waiting", "optimizer": "update", "bucket": "buckets"}


def last_step(spans):
    """The spans of the last whole step, and when it begins and ends."""
    ends = [span["ts"] + span["dur"] for span in spans if span["name"] == "optimizer"]
    begin, end = (ends[-2] if len(ends) > 1 else 0), ends[-1]
    return [span for span in spans if begin <= span["ts"] and span["ts"] + span["dur"] <= end], begin, end


def lanes_of(spans):
    """Stages of the computation first, then the threads that send."""
    stages = [span for span in spans if span["cat"] == "stage"]
    buckets = [span for span in spans if span["cat"] == "sending"]
    threads = sorted({span["tid"] for span in buckets})
    return [stages, *([span for span in buckets if span["tid"] == thread] for thread in threads)]


def main():
    run, file = map(pathlib.Path, sys.argv[1:])
    spans = json.loads((run / "profile.json").read_text())["traceEvents"]
    spans, begin, end = last_step([span for span in spans if span["name"] in COLOURS])
    lanes = lanes_of(spans)
    scale = (WIDTH - LEFT - 12) / (end - begin)
    shapes = []
    for lane, members in enumerate(lanes):
        y = TOP + lane * (HEIGHT + GAP)
        shapes.append(f'<text x="8" y="{y + 18}">{"computing" if lane == 0 else "sending" if lane == 1 else ""}</text>')
        for span in members:
            x, width = LEFT + (span["ts"] - begin) * scale, max(span["dur"] * scale - 0.7, 0.7)
            shapes.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT}" fill="{COLOURS[span["name"]]}"/>')
            label = f'{NAMES[span["name"]]} {span["dur"] / 1000:.0f} ms'
            if width > 7.5 * len(label):
                shapes.append(f'<text x="{x + 5:.1f}" y="{y + 18}" fill="#fff">{label}</text>')
    y = TOP + len(lanes) * (HEIGHT + GAP) + 6
    for number, name in enumerate(COLOURS):
        x = LEFT + 110 * number
        shapes.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[name]}"/>'
                      f'<text x="{x + 18}" y="{y + 11}">{NAMES[name]}</text>')
    file.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 24}" font-family="sans-serif" '
                    f'font-size="13"><rect width="{WIDTH}" height="{y + 24}" fill="#fff"/>' + "".join(shapes) + "</svg>\n")


if __name__ == "__main__":
    main()
