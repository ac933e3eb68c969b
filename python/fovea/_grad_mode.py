"""no_grad(): computing without the tape."""
import contextlib
from typing import Any

from ._core import NoGrad


class no_grad(contextlib.ContextDecorator):
    """While it is entered, ops of this thread are not recorded: `with fovea.no_grad():`, or `@fovea.no_grad()`."""

    def __init__(self) -> None:
        self._entered: list[NoGrad] = []

    def __enter__(self) -> "no_grad":
        self._entered.append(NoGrad())
        return self

    def __exit__(self, *exception: Any) -> None:
        self._entered.pop()
