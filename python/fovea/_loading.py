"""Loads the extension module with its threads set to wait without spinning for long.

libgomp reads GOMP_SPINCOUNT when it is loaded. Beside another busy library, threads that spin displace those that
have work. A value that the user has set stays. Where the other library's libgomp has the same name, the first one
loaded serves both.
"""
import os

_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def _load() -> None:
    is_ours = not any(name in os.environ for name in _WAITING)
    if is_ours:
        os.environ["GOMP_SPINCOUNT"] = "1000"  # as in the programs
    try:
        from . import _core  # noqa: F401
    finally:
        if is_ours:
            del os.environ["GOMP_SPINCOUNT"]  # libraries that are loaded later keep their defaults


_load()
