"""Configurations of parents with levels, as the rows of a table count them: the last is fastest."""

from __future__ import annotations

from collections.abc import Sequence

from gml.data.dataset import Variable


def configuration(parents: Sequence[Variable], row: int) -> tuple[str, ...]:
    """Return the levels of the parents that a row of a table is for."""
    labels = []
    for parent in reversed(parents):
        assert parent.levels is not None
        row, code = divmod(row, len(parent.levels))
        labels.append(parent.levels[code])
    return tuple(reversed(labels))


def described_row(parents: Sequence[Variable], row: int) -> str:
    """Say which configuration a row of a table is for, in parentheses; nothing without parents."""
    labels = zip(parents, configuration(parents, row), strict=True)
    shown = ", ".join(f"{parent.name}={label}" for parent, label in labels)
    return f" ({shown})" if shown else ""
