"""Steps of a network of the posterior, nodes by rank or by position."""

from __future__ import annotations

from typing import NamedTuple

from gml.model.mixed.lines import Array


class LineStep(NamedTuple):
    """A number given labels and numbers, for each configuration of the labels, the last fastest."""

    node: int
    labels: tuple[int, ...]
    parents: tuple[int, ...]
    intercepts: Array
    coefficients: Array
    """Configurations × parents."""
    sds: Array
