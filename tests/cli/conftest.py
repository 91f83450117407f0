"""What tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from gml.counts import open_stream
from gml.data import row_spool


@pytest.fixture
def asia(sample_data: Path) -> Path:
    """The table of the chest clinic."""
    return sample_data / "asia.csv"


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces and blocks of a few rows, so that a small table has many."""
    monkeypatch.setattr(open_stream, "_LEAST_PIECE", 1 << 11)
    monkeypatch.setattr(open_stream, "_MOST_PIECE", 1 << 11)
    monkeypatch.setattr(row_spool, "LEAST_ROWS", 16)
    monkeypatch.setattr(row_spool, "MOST_ROWS", 16)
