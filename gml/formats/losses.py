"""What a format cannot hold of a model, said once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gml.progress import reporter

if TYPE_CHECKING:
    from gml.model.bayesnet import BayesNet
    from gml.model.conditional_models import Conditional
    from gml.model.markovnet import MarkovNet

TITLES = {
    "bif": "BIF",
    "xmlbif": "XMLBIF",
    "net": "NET",
    "uai": "UAI",
    "dot": "DOT",
    "graphml": "GraphML",
}
NAMED_TABLES = ("bif", "xmlbif", "net")
"""Formats that hold the tables of a directed model, and the names in them."""
TABLES_ONLY = (*NAMED_TABLES, "uai")
"""Formats that hold the tables of a model and nothing else."""


def lost_by(format: str, net: BayesNet | MarkovNet | Conditional) -> list[str]:
    """What a format of models cannot hold of a model; JSON alone holds a conditional field."""
    from gml.model.conditional_models import Conditional

    if format not in TABLES_ONLY or isinstance(net, Conditional):
        return []
    return [
        *["the names"] * (format == "uai" and not has_own_names(net)),
        *["which nodes are hidden"] * bool(net.graph.hidden),
        *left_open(net),
        *beside_tables(net),
    ]


def left_open(net: BayesNet | MarkovNet) -> list[str]:
    """What formats that take all arrows as drawn lose of a model that was chosen from a class."""
    from gml.model.bayesnet import BayesNet

    is_open = isinstance(net, BayesNet) and not all(net.compelled.values())
    return ["which arrows the data leave open"] * is_open


def has_own_names(net: BayesNet | MarkovNet) -> bool:
    """Whether the nodes and their levels have the names that a reader of UAI gives them."""
    return all(
        v.name == f"x{k}" and v.levels == tuple(map(str, range(len(v.levels or ()))))
        for k, v in enumerate(net.variables)
    )


def beside_tables(net: BayesNet | MarkovNet) -> list[str]:
    """What a model has that only JSON holds."""
    from gml.model.bayesnet import BayesNet
    from gml.model.network import CPT

    if not isinstance(net, BayesNet):
        return [
            *["the counts"] * any(term.counts is not None for term in net.potentials),
            *["the errors"] * any(term.errors is not None for term in net.potentials),
            *["the intervals"] * any(term.intervals is not None for term in net.potentials),
            *["the fit"] * (net.summary is not None),
            *["how it was learned"] * bool(net.learning),
            *["the baseline"] * (net.baseline is not None),
        ]

    counts = [
        cpd.n
        if not isinstance(cpd, CPT)
        else cpd.expected_counts
        if cpd.counts is None
        else cpd.counts
        for cpd in net.cpds
    ]
    has_intervals = [
        cpd.intervals is not None if isinstance(cpd, CPT) else cpd.has_intervals for cpd in net.cpds
    ]
    return [
        *["the counts"] * any(known is not None for known in counts),
        *["the intervals"] * any(has_intervals),
        *["how it was learned"] * bool(net.learning),
        *["the baseline"] * (net.baseline is not None),
    ]


def warn_of_loss(chosen: str, lost: list[str]) -> None:
    """Say what a format does not hold, if anything."""
    if lost:
        *first, last = lost
        listed = f"{', '.join(first)} and {last}" if first else last
        reporter().warn(f"{TITLES[chosen]} does not hold {listed}; JSON does")
