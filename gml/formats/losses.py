"""What a format cannot hold of a model, said once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gml.progress import reporter

if TYPE_CHECKING:
    from gml.model.bayesnet import BayesNet

TITLES = {"bif": "BIF", "xmlbif": "XMLBIF", "net": "NET", "dot": "DOT", "graphml": "GraphML"}
TABLES_ONLY = ("bif", "xmlbif", "net")
"""Formats that hold the tables of a model and nothing else."""


def beside_tables(net: BayesNet) -> list[str]:
    """What a model has that only JSON holds."""
    from gml.model.bayesnet import LinearGaussian

    has = [
        (cpd.n if isinstance(cpd, LinearGaussian) else cpd.counts, cpd.intervals)
        for cpd in net.cpds
    ]
    return [
        *["the counts"] * any(counts is not None for counts, _ in has),
        *["the intervals"] * any(intervals is not None for _, intervals in has),
        *["how it was learned"] * bool(net.learning),
        *["the baseline"] * (net.baseline is not None),
    ]


def warn_of_loss(chosen: str, lost: list[str]) -> None:
    """Say what a format does not hold, if anything."""
    if lost:
        *first, last = lost
        listed = f"{', '.join(first)} and {last}" if first else last
        reporter().warn(f"{TITLES[chosen]} does not hold {listed}; JSON does")
