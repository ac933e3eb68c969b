"""tensor(): new tensors from numbers, lists and arrays."""
from typing import Any

import numpy as np

from ._core import DType, Error, Tensor, from_dlpack

# Kinds of numpy's types, and the types in between that fovea has. Others are errors.
_NEAREST: dict[str, dict[int, Any]] = {"f": {2: np.float32, 4: np.float32, 8: np.float64}, "b": {1: np.uint8}, "u": {1: np.uint8}}


def _supported(array: np.ndarray[Any, Any]) -> Any:
    """The type of numpy's, among those that fovea has, that holds all values of the array's type."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    nearest = _NEAREST.get(kind, {}).get(size)
    if nearest is None and kind in "iu" and (kind, size) != ("u", 8):
        nearest = np.int64
    if nearest is None:
        raise Error(f"tensor: got values of numpy's type {array.dtype}, expected floats of 16 to 64 bits, integers or booleans")
    return nearest


def tensor(data: Any, dtype: DType | None = None, *, device: str = "cpu", requires_grad: bool = False) -> Tensor:
    """A new tensor with the values of a number, of nested lists, of an array or of a tensor.

    Numbers and lists become f32, whatever is in them; arrays keep their type, except that f16 becomes f32, booleans
    u8 and other integers i64. `dtype` chooses another type. The values are copied; from_dlpack() shares memory.
    """
    if dtype is not None and not isinstance(dtype, DType):
        raise TypeError(f"tensor: dtype: got {dtype!r}, expected one of fovea's, such as fovea.f32")
    if isinstance(data, Tensor):
        new = data.detach().clone()
    else:
        array = np.asarray(data)
        target = _supported(array)
        if not hasattr(data, "dtype") and dtype is None:
            dtype = DType.f32
        new = from_dlpack(np.array(array, dtype=target, order="C"))
    new = new.to(dtype) if dtype is not None else new
    new = new.to(device)
    return new.requires_grad_() if requires_grad else new
