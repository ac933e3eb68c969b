"""train(): a run as the programs make it, and read_run(): what its folder says."""
import csv
import dataclasses
import json
import os
import pathlib
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _core
from ._core import Error, Tensor
from ._given_images import Images, open_images, settings_for, shared
from ._models import Model, create_model

Columns = dict[str, np.ndarray[Any, Any]]


@dataclasses.dataclass
class Run:
    """What a run's folder says.

    `epochs` has the columns of log.csv, arrays with an entry per epoch: epoch (from 0), train_loss, eval_top1 and
    others. `config` has all settings, under the names that train() takes.
    """

    folder: pathlib.Path
    epochs: Columns
    config: dict[str, Any]
    finished: bool = True

    def model(self) -> Model:
        """The model with the run's best weights."""
        return create_model(self.folder)


def _as_in_the_call(value: Any) -> Any:
    """A number that config.json has as text, as in "depth": "2", because a list may stand there."""
    is_number = isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?", value)
    return json.loads(value) if is_number else value


def read_run(folder: str | os.PathLike[str]) -> Run:
    """The log and the settings of a run, of this package or of the programs. Empty fields are NaN."""
    folder = pathlib.Path(folder)
    if not (folder / "log.csv").is_file():
        raise Error(f"read_run: {folder} has no log.csv, expected the folder of a run")
    with open(folder / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = rows[0].keys() if rows else []
    epochs = {name: np.array([float(row[name] or "nan") for row in rows]) for name in names}
    stored = json.loads((folder / "config.json").read_text())
    return Run(folder, epochs, {name.replace("-", "_"): _as_in_the_call(value) for name, value in stored.items()})


@dataclasses.dataclass
class Prediction:
    """Probabilities f32 [N, K] of each image's classes, and the names of the K classes."""

    probabilities: Tensor
    classes: list[str]

    def names(self) -> list[str]:
        """The likeliest class of each image."""
        return [self.classes[best] for best in self.probabilities.argmax(1).tolist()]


def predict(checkpoint: Run | str | os.PathLike[str], images: Any) -> Prediction:
    """The classes of images u8 [N, H, W, 3], prepared as for the model: resized, cropped, normalised.

    A model that was trained on values f32 [N, 3, H, W] takes such values; another refuses them. `checkpoint` is a
    run or its folder, a hub's folder, or a weights file that names its model.
    """
    path = checkpoint.folder if isinstance(checkpoint, Run) else checkpoint
    return Prediction(*_core.predict(os.fspath(path), shared(images)))


def _progress() -> tuple[Callable[[str], None] | None, bool]:
    """Where progress goes, None for standard output, and whether a line can be drawn over there, as in notebooks."""
    out = sys.stdout
    if out is None or out is sys.__stdout__:
        return None, False

    def write(text: str) -> None:
        out.write(text)
        out.flush()
    return write, type(out).__module__ == "ipykernel.iostream"


def train(config: Mapping[str, Any] | None = None, data: Images | None = None, test: Images | None = None, *,
          on_epoch: Callable[[dict[str, float]], None] | None = None, **settings: Any) -> Run:
    """Trains a classifier as `fovea train_cifar` does with these settings, and returns the run.

    `fovea train_cifar --help` lists the settings; --batch-size is batch_size here: train(dataset="cifar10", epochs=20,
    output="runs/a", resume="auto"). `data` and `test` are tuples (images, labels [N]): pixels u8 [N, H, W, 3], which
    are augmented as files are, or values f32 [N, 3, H, W], which are taken as they are. Or they are iterables of such
    tuples, read once before the first step and anew in each epoch, in their order.

    `on_epoch` gets a row of the log after each epoch: epoch (from 0), train_loss, eval_top1 and others. An exception
    in it or in an iterable ends the run, whose state is saved. So is it after Ctrl-C, which ends the run early
    (`finished` is False); the main thread alone heeds it. Progress goes to standard output.
    """
    wanted = {**(config or {}), **settings}
    if on_epoch is not None and not callable(on_epoch):
        raise TypeError(f"train: on_epoch: got {type(on_epoch).__name__}, expected a function of a row")
    if wanted.get("resume") is True:
        raise Error('train: resume: got True, expected "auto", the run in `output`, or the path of a state')
    wanted.setdefault("output", time.strftime("runs/%Y%m%d-%H%M%S-python"))
    if (data is None) != (test is None):
        raise Error("train: got data without test, or test without data, expected both: evaluation needs images too")
    images = None
    if data is not None and test is not None:
        first = open_images("train: data", data)
        images = (first, open_images("train: test", test, first.classes))
        wanted = settings_for(*images, wanted)
    write, redraws = _progress()
    code = _core.train(json.dumps(wanted), images, on_epoch, write=write, redraws=redraws,
                       heeds_signals=threading.current_thread() is threading.main_thread())
    run = read_run(wanted["output"])
    run.finished = code == 0
    return run
