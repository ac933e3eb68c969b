"""train(): a run as the programs make it, and read_run(): what its folder says."""
import csv
import dataclasses
import json
import os
import pathlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _core
from ._core import Error, Tensor
from ._creation import tensor
from ._models import Model, create_model

Arrays = tuple[Any, Any]
Columns = dict[str, np.ndarray[Any, Any]]


@dataclasses.dataclass
class Run:
    """What a run's folder says: `epochs` has the columns of log.csv, `config` all settings."""

    folder: pathlib.Path
    epochs: Columns
    config: dict[str, Any]
    finished: bool = True

    def model(self) -> Model:
        """The model with the run's best weights."""
        return create_model(self.folder)


def read_run(folder: str | os.PathLike[str]) -> Run:
    """The log and the settings of a run, of this package or of the programs. Empty fields are NaN."""
    folder = pathlib.Path(folder)
    if not (folder / "log.csv").is_file():
        raise Error(f"read_run: {folder} has no log.csv, expected the folder of a run")
    with open(folder / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = rows[0].keys() if rows else []
    epochs = {name: np.array([float(row[name] or "nan") for row in rows]) for name in names}
    return Run(folder, epochs, json.loads((folder / "config.json").read_text()))


@dataclasses.dataclass
class Prediction:
    """Probabilities f32 [N, K] of each image's classes, and the names of the K classes."""

    probabilities: Tensor
    classes: list[str]

    def names(self) -> list[str]:
        """The likeliest class of each image."""
        return [self.classes[best] for best in self.probabilities.argmax(1).tolist()]


def predict(checkpoint: str | os.PathLike[str], images: Any) -> Prediction:
    """The classes of images u8 [N, H, W, 3], prepared as for the model: resized, cropped, normalised.

    `checkpoint` is a run's folder, a hub's folder or a weights file that names its model.
    """
    pixels = images if isinstance(images, Tensor) else tensor(np.asarray(images))
    return Prediction(*_core.predict(os.fspath(checkpoint), pixels))


def _shared(name: str, arrays: Arrays) -> tuple[Tensor, Tensor]:
    if not isinstance(arrays, tuple) or len(arrays) != 2:
        raise Error(f"train: {name}: expected a tuple (images, labels)")
    images, labels = (part if isinstance(part, Tensor) else tensor(np.asarray(part)) for part in arrays)
    return images, labels


def train(config: Mapping[str, Any] | None = None, data: Arrays | None = None, test: Arrays | None = None, *,
          on_epoch: Callable[[dict[str, float]], None] | None = None, **settings: Any) -> Run:
    """Trains a classifier as `fovea train_cifar` does with these settings, and returns the run.

    The names are those of the flags: train(dataset="cifar10", epochs=20, output="runs/a", resume="auto"). With `data`
    and `test`, tuples (images u8 [N, H, W, 3], labels [N]), it trains on arrays; they are augmented as files are.
    `on_epoch` gets a row of the log after each epoch; an exception in it ends the run, whose state is saved. So is it
    after Ctrl-C, which ends the run early (`finished` is False). Progress goes to standard output.
    """
    wanted = {**(config or {}), **settings}
    wanted.setdefault("output", time.strftime("runs/%Y%m%d-%H%M%S-python"))
    if (data is None) != (test is None):
        raise Error("train: got data without test, or test without data, expected both: evaluation needs images too")
    arrays = None
    if data is not None and test is not None:
        if "dataset" in wanted or "data_dir" in wanted:
            raise Error("train: got both data and the setting dataset or data_dir, expected one of them")
        arrays = [*_shared("data", data), *_shared("test", test)]
    code = _core.train(json.dumps(wanted), arrays, on_epoch)
    run = read_run(wanted["output"])
    run.finished = code == 0
    return run
