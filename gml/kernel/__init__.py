"""The loops: compiled where a compiler was at hand, the reference in Python otherwise.

`GML_KERNEL` chooses by hand: `reference`, or the vector instructions `portable`, `avx2`, `avx512`.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from gml.kernel.interface import Kernel

__all__ = ["active", "description"]


_loaded: ModuleType | None = None


def active() -> Kernel:
    """Return the kernel in use: `_kernel` or `reference`."""
    return cast("Kernel", _module())


def _module() -> ModuleType:
    global _loaded
    if _loaded is None:
        _loaded = _load(os.environ.get("GML_KERNEL", ""))
    return _loaded


def _load(wanted: str) -> ModuleType:
    if wanted != "reference":
        try:
            compiled = importlib.import_module("gml.kernel._kernel")
        except ImportError:
            return importlib.import_module("gml.kernel.reference")
        if wanted in compiled.INSTRUCTIONS:
            compiled.limit_instructions(wanted)
        return compiled
    return importlib.import_module("gml.kernel.reference")


def description() -> str:
    """Name the kernel in use, for `gml --version`."""
    module = _module()
    if module.__name__.endswith("reference"):
        return "NumPy (no compiled kernel: install a C compiler and reinstall for speed)"
    return f"compiled, {module.instructions()}"
