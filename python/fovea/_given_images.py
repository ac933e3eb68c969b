"""The images that train() is given: arrays or iterables of batches, and the settings that follow from them."""
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ._core import Error, ImagesCore, Tensor, array_images, from_dlpack, stream_images
from ._creation import tensor

Images = tuple[Any, Any] | Iterable[tuple[Any, Any]]

# Values f32 are the model's input as they are: the settings that would change them.
_UNCHANGED: dict[str, Any] = {
    "train_crop_mode": "keep", "crop_mode": "keep", "hflip": 0, "vflip": 0, "aa": "none", "color_jitter": 0, "grayscale_prob": 0,
    "gaussian_blur_prob": 0, "reprob": 0, "mean": [0, 0, 0], "std": [1, 1, 1]}


def shared(part: Any) -> Tensor:
    """An array as a tensor on its memory, where there is an array."""
    if isinstance(part, Tensor):
        return part
    return from_dlpack(part) if hasattr(part, "__dlpack__") else tensor(np.asarray(part))


def _pair(what: str, item: Any) -> tuple[Tensor, Tensor]:
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise Error(f"{what}: the iterable gave {type(item).__name__}, expected (images, labels)")
    return shared(item[0]), shared(item[1])


def _passes(what: str, batches: Iterable[Any]) -> Callable[[], Callable[[], tuple[Tensor, Tensor] | None]]:
    """A function that begins a pass: it returns one that gives the batches, and None at their end."""
    def begin() -> Callable[[], tuple[Tensor, Tensor] | None]:
        iterator, end = iter(batches), object()

        def next_batch() -> tuple[Tensor, Tensor] | None:
            item = next(iterator, end)
            return None if item is end else _pair(what, item)
        return next_batch
    return begin


def open_images(what: str, images: Images, classes: int = 0) -> ImagesCore:
    """Images with labels in range(classes); 0: as many as there are."""
    if isinstance(images, tuple):
        if len(images) != 2:
            raise Error(f"{what}: got a tuple of {len(images)}, expected (images, labels)")
        return array_images(shared(images[0]), shared(images[1]), classes, what)
    if hasattr(images, "__next__"):
        raise Error(f"{what}: got an iterator ({type(images).__name__}), which can be read once, expected an iterable such as a list "
                    "or a DataLoader: each epoch reads it anew")
    if not isinstance(images, Iterable):
        raise Error(f"{what}: got {type(images).__name__}, expected (images, labels) or an iterable of them")
    return stream_images(_passes(what, images), classes, what)


def _fix(wanted: dict[str, Any], name: str, value: Any, reason: str) -> None:
    """Sets what cannot be otherwise."""
    given = wanted.setdefault(name, value)
    if given != value:
        raise Error(f"train: {name}: got {given!r}, expected {value!r} or nothing: {reason}")


def settings_for(data: ImagesCore, test: ImagesCore, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a run on these images. Values f32 leave nothing to do but for mixing."""
    if data.is_f32 != test.is_f32:
        raise Error("train: got values f32 for one of data and test and pixels u8 for the other, expected both alike")
    wanted = {name.replace("-", "_"): value for name, value in settings.items()}
    if data.first_batch > 0:
        wanted.setdefault("batch_size", data.first_batch)
    if not data.is_f32:
        return wanted
    if data.shape != test.shape:
        raise Error(f"train: test: got images of shape {test.shape}, expected {data.shape} as in data")
    channels, height, width = data.shape
    if channels != 3:
        raise Error(f"train: got images of {channels} channels, expected 3; np.repeat(images, 3, axis=1) makes grey ones RGB")
    for name, value in _UNCHANGED.items():
        _fix(wanted, name, value, "values f32 are taken as they are")
    sizes = [f"{height}x{width}", f"{[height, width]}"] + [f"{height}"] * (height == width)
    given = wanted.setdefault("img_size", sizes[0])
    if str(given) not in sizes:
        raise Error(f"train: img_size: got {given!r}, expected {sizes[0]!r} or nothing: values f32 are taken as they are")
    return wanted
