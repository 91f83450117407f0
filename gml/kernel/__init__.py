"""The loops: compiled where there was a compiler, otherwise the reference in Python.

`GML_KERNEL` chooses by hand: `reference`, or the vector instructions `portable`, `avx2`, `avx512`.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gml.kernel.interface import Kernel

__all__ = ["active", "description"]

_loaded: Kernel | None = None


def active() -> Kernel:
    """Return the kernel in use: `_kernel` or `reference`."""
    global _loaded
    if _loaded is None:
        _loaded = _load(os.environ.get("GML_KERNEL", ""))
    return _loaded


def _load(wanted: str) -> Kernel:
    if wanted != "reference":
        try:
            compiled: Any = importlib.import_module("gml.kernel._kernel")
        except ImportError:
            compiled = None
        if compiled is not None:
            if wanted in compiled.INSTRUCTIONS:
                compiled.limit_instructions(wanted)
            found: Kernel = compiled
            return found
    from gml.kernel import reference

    return reference


def description() -> str:
    """Name the kernel in use, for `gml --version`."""
    kernel: Any = active()
    if kernel.__name__.endswith("reference"):
        return "NumPy (no compiled kernel: install a C compiler and reinstall for speed)"
    return f"compiled, {kernel.instructions()}"
