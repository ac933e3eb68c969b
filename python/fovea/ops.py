"""All ops, under their names in the C++ library: shapes, options and limits are in each docstring."""
from ._core.ops import *  # noqa: F403
