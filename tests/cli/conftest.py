"""What tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def asia(sample_data: Path) -> Path:
    """The table of the chest clinic."""
    return sample_data / "asia.csv"
