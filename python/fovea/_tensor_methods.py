"""The methods of Tensor that are written in Python: numpy, lists, iteration, printing."""
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._core import DType, Error, OutOfMemory, Tensor


def numpy(self: Tensor) -> np.ndarray[Any, Any]:
    """The values as a numpy array on the same memory: what one side writes, the other reads."""
    if self.requires_grad:
        raise Error("numpy: the tensor requires a gradient, which numpy would not see; use .detach().numpy()")
    if self.dtype == DType.bf16:
        raise Error("numpy: the tensor is bf16, a type that numpy lacks; use .float().numpy()")
    return np.from_dlpack(self)  # type: ignore[arg-type]  # numpy's stub knows an older protocol


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    return np.array(numpy(self), dtype=dtype, copy=copy)


def tolist(self: Tensor) -> Any:
    """The values as nested lists; of a tensor without axes, the number."""
    values = self.detach().to("cpu")
    return numpy(values.float() if values.dtype == DType.bf16 else values).tolist()


def __iter__(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a tensor without axes")
    return (self[i] for i in range(len(self)))


def __repr__(self: Tensor) -> str:
    values = self.detach().to("cpu")
    array = numpy(values.float() if values.dtype == DType.bf16 else values)
    finite = array[np.isfinite(array)]
    is_whole = bool((finite == np.floor(finite)).all()) and bool((abs(finite) < 1e6).all())
    text = np.array2string(array, precision=4, separator=", ", prefix="tensor(", suppress_small=True,
                           floatmode="maxprec" if is_whole else "fixed")
    notes = [f"dtype={self.dtype}"] if self.dtype not in (DType.f32, DType.i64) else []
    notes += [f"device='{self.device}'"] if self.device != "cpu" else []
    if self.op is not None:
        notes.append(f"op={self.op}")
    elif self.requires_grad:
        notes.append("requires_grad=True")
    if 0 in self.shape:
        notes.insert(0, f"shape={self.shape}")
    return f"tensor({', '.join([text, *notes])})"


def add_methods() -> None:
    """Gives them to the classes, which are defined in C++."""
    for method in (numpy, __array__, tolist, __iter__, __repr__):
        setattr(Tensor, method.__name__, method)
    setattr(DType, "__repr__", lambda self: f"fovea.{self.name}")
    setattr(DType, "__str__", DType.__repr__)
    for error in (Error, OutOfMemory):
        error.__module__ = "fovea"
