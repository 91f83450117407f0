"""The maximum likelihood of a decomposable model from its margins (Lauritzen 1996, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.terms import Scope, Terms

Table = NDArray[np.float64]


def closed_form(terms: Terms, margins: Iterable[Table]) -> dict[Scope, Table]:
    """Return log-potentials from the margins of the generators, which are the cliques.

    Each is ln of the margin of a clique, less that of its separator; 0 where it is 0.
    """
    sequence = terms.perfect_sequence
    assert sequence is not None
    of_clique = dict(zip(terms.generators, margins, strict=True))
    found = {}
    for clique, separator in zip(sequence.cliques, sequence.separators, strict=True):
        margin = of_clique[clique]
        others = tuple(axis for axis, k in enumerate(clique) if k not in separator)
        shared = margin.sum(axis=others, keepdims=True)
        ratio = np.divide(margin, shared, out=np.ones_like(margin), where=margin > 0)
        found[clique] = np.log(ratio)
    return found
