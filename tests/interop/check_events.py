#!/usr/bin/env python3
"""Reads fovea's event files with TensorBoard's own reader: check_events.py BUILD_FOLDER [RUN_FOLDER...]

Needs tensorboard and torch; build the target `interop` first. Lists the tags of every RUN_FOLDER.
"""
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from torch.utils.tensorboard import SummaryWriter


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


def check_killed(folder):
    """Points that a killed process logged after its last save are dropped."""
    losses = read(folder).Scalars("train/loss")
    assert [e.step for e in losses] == list(range(1, 121)), [e.step for e in losses]
    assert [e.value for e in losses] == [1] * 59 + [2] * 61


def check_pytorch(folder):
    """The file starts with the events that PyTorch writes for purge_step."""
    with SummaryWriter(str(folder / "torch"), purge_step=60) as writer:
        writer.add_scalar("train/loss", 2, 60)
    last = max((folder / "ours").iterdir())
    theirs, = (folder / "torch").iterdir()
    def begin(path):
        """The events before the first point, without the version event, which PyTorch writes twice."""
        events = list(EventFileLoader(str(path)).Load())
        first = next(i for i, e in enumerate(events) if e.HasField("summary"))
        return [(e.step, e.session_log.status) for e in events[:first] if not e.file_version]
    assert begin(last) == begin(theirs) == [(60, 1)], (begin(last), begin(theirs))


def main():
    interop = str(Path(sys.argv[1]) / "tests" / "interop" / "interop")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([interop, "events", folder], check=True)
        check_written(folder)
        subprocess.run([interop, "events", folder], check=True)  # a run that was continued
        assert len(list(Path(folder).iterdir())) == 2
        assert read(folder).Tags()["scalars"] == ["train/loss"]
    with tempfile.TemporaryDirectory() as folder:
        ours = Path(folder) / "ours"
        ours.mkdir()
        subprocess.run([interop, "killed", ours], check=True)
        check_killed(ours)
        check_pytorch(Path(folder))
    for folder in sys.argv[2:]:
        events = read(folder)
        for tag in events.Tags()["scalars"]:
            values = events.Scalars(tag)
            assert values, f"{folder}: {tag} is empty"
            steps = [e.step for e in values]
            assert all(a < b for a, b in zip(steps, steps[1:])), f"{folder}: {tag}: steps {steps}"
            print(f"ok  {folder}: {tag}: {len(values)} values, last {values[-1].value:.6g}"
                  f" at step {values[-1].step}")
        assert events.Tags()["scalars"], f"{folder}: no scalars"
    print("ok  TensorBoard reads our events")


if __name__ == "__main__":
    main()
