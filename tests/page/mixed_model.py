"""A model of labels and numbers for pages: the flats of the sample data."""

from __future__ import annotations

import gml
from tests.places import ROOT

NUMBERS = ("size", "rent", "heating")
EDGES = [
    *(("district", "-->", name) for name in ("parking", "size", "rent")),
    *(("condition", "-->", name) for name in ("rent", "heating")),
    *(("size", "-->", name) for name in ("rent", "heating")),
]


def flats() -> gml.BayesNet:
    """Return the model, fitted."""
    names = ["district", "condition", "parking", *NUMBERS]
    graph = gml.Graph.from_edges(names, EDGES)
    net = gml.fit(ROOT / "sample_data/flats.csv", graph, numeric=NUMBERS)
    assert isinstance(net, gml.BayesNet)
    return net
