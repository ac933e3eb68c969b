#!/usr/bin/env python3
"""TensorBoard's own reader reads our event files: check_events.py BUILD_FOLDER [RUN_FOLDER...]

Needs tensorboard; build the target `interop` first. Of every RUN_FOLDER the tags are listed.
"""
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def read(folder):
    everything = {"scalars": 0, "images": 0, "tensors": 0}
    accumulator = EventAccumulator(str(folder), size_guidance=everything)
    accumulator.Reload()
    return accumulator


def check_written(folder):
    events = read(folder)
    assert events.Tags()["scalars"] == ["train/loss"], events.Tags()
    losses = events.Scalars("train/loss")
    assert [e.step for e in losses] == list(range(100))
    assert all(math.isclose(e.value, 1 / (e.step + 1), rel_tol=1e-6) for e in losses)
    image = events.Images("confusion")[0]
    assert (image.step, image.width, image.height) == (9, 6, 4), image
    assert image.encoded_image_string.startswith(b"\x89PNG")
    text = events.Tensors("config")[0]
    assert text.step == 7 and text.tensor_proto.string_val == [b"**bold** text"], text
    plugin = events.SummaryMetadata("config").plugin_data.plugin_name
    assert plugin == "text", plugin


def main():
    interop = str(Path(sys.argv[1]) / "tests" / "interop" / "interop")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([interop, "events", folder], check=True)
        check_written(folder)
        subprocess.run([interop, "events", folder], check=True)  # a run that was continued
        assert len(list(Path(folder).iterdir())) == 2
        assert read(folder).Tags()["scalars"] == ["train/loss"]
    for folder in sys.argv[2:]:
        events = read(folder)
        for tag in events.Tags()["scalars"]:
            values = events.Scalars(tag)
            assert values, f"{folder}: {tag} is empty"
            print(f"ok  {folder}: {tag}: {len(values)} values, last {values[-1].value:.6g}"
                  f" at step {values[-1].step}")
        assert events.Tags()["scalars"], f"{folder}: no scalars"
    print("ok  TensorBoard reads our events")


if __name__ == "__main__":
    main()
