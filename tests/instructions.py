"""The compiled kernel, held to some instructions of the processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

INSTRUCTIONS = ("portable", "avx2", "avx512")


@contextmanager
def kernel_with(instructions: str) -> Iterator[ModuleType]:
    """The compiled kernel with certain instructions, where the machine has them."""
    kernel = pytest.importorskip("gml.kernel._kernel")
    before = kernel.instructions()
    kernel.limit_instructions(instructions)
    try:
        yield kernel
    finally:
        kernel.limit_instructions(before)
