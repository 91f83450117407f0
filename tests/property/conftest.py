"""What tests of properties share."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.instructions import INSTRUCTIONS, kernel_with


@pytest.fixture(params=INSTRUCTIONS)
def compiled(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The compiled kernel with certain instructions, where the machine has them."""
    with kernel_with(request.param) as kernel:
        yield kernel
