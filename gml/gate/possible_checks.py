"""How many checks a model can be asked at most, by family.

How far a p-value is drawn follows from this number, and not from that of the checks of a run: so it
is the same whichever families are asked, and whatever an engine has to leave out.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from gml.gate.clique_tables import parts_of
from gml.gate.families import CheckedModel, rows_behind
from gml.model.bayesnet import CPT, BayesNet
from gml.model.markovnet import MarkovNet

# Of a column: it is there, its levels (or that they are numbers), missing values.
_OF_COLUMN = 3
# Of a column of which the model knows numbers: range, codes, drift, values that repeat.
_OF_NUMBERS = 4
# Repeated rows, with numbers as they are as well.
_OF_ROWS = 2
# A regression, the spread of its errors, and where these lie.
_OF_REGRESSION = 3


def possible_checks(
    net: CheckedModel, names: Collection[str], with_numbers: Collection[str]
) -> dict[str, int]:
    """Return a number, by family, that checks with a p-value cannot exceed.

    `names` are the columns of the model that can be looked at; of those in `with_numbers` it is
    known how numbers were distributed.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> possible_checks(net, net.names, ())
    {'schema': 26, 'tables': 24, 'structure': 28, 'fit': 1}
    """
    present = [name for name in net.names if name in names]
    numeric = {v.name for v in net.variables if v.is_continuous}.union(with_numbers)
    of_numbers = sum(name in numeric for name in present)
    tables = _of_cliques(net, names) if isinstance(net, MarkovNet) else _of_tables(net, names)
    return {
        "schema": _OF_COLUMN * len(net.names) + _OF_NUMBERS * of_numbers + _OF_ROWS,
        "tables": tables,
        "structure": len(present) * (len(present) - 1) // 2,
        "fit": 1,
    }


def _of_tables(net: BayesNet, names: Collection[str]) -> int:
    """The rows of tables that have data, the tables as a whole, and regressions."""
    found = 0
    for cpd in net.cpds:
        if not all(v.name in names for v in (cpd.variable, *cpd.parents)):
            continue
        if not isinstance(cpd, CPT):
            found += _OF_REGRESSION * (len(cpd.regressions) + 1)
        else:
            seen = None if cpd.counts is None else np.count_nonzero(cpd.counts.any(axis=1))
            rows = len(cpd.table) if seen is None else int(seen)
            found += rows + (rows > 1)
    return found


def _of_cliques(net: MarkovNet, names: Collection[str]) -> int:
    """The same for the parts of the cliques' margins."""
    found, variables, most = 0, net.terms.variables, rows_behind(net)
    for part in parts_of(net.terms):
        if all(variables[k].name in names for k in (part.child, *part.parents)):
            rows = math.prod(len(variables[k].levels or ()) for k in part.parents)
            rows = rows if most is None else min(rows, most)
            found += rows + (rows > 1)
    return found
