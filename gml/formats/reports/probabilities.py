"""The probabilities of a model for people: of all cells where they are few, else of levels."""

from __future__ import annotations

import math
from itertools import islice, product

from gml.errors import CannotAnswer
from gml.formats.reports.terms import INDENT, number
from gml.model.inference import Inference
from gml.model.markovnet import MarkovNet
from gml.printable_text import visible
from gml.text_table import aligned

_MOST_CELLS = 24
_MOST_LINES = 60
# Tables that are summed up in a moment.
_ROOM = 1 << 23


def probabilities_in_words(net: MarkovNet) -> list[str]:
    """Return lines of probabilities; none if they would take long.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> net = MarkovNet((Variable("coin", ("heads", "tails")),), ())
    >>> print("\\n".join(probabilities_in_words(net)))
    probabilities
      coin   probability
      heads          0.5
      tails          0.5
    """
    n_cells = math.prod(len(variable.levels or ()) for variable in net.variables)
    try:
        inference = Inference(net, max_memory=_ROOM)
        rows = _of_cells(net, inference) if n_cells <= _MOST_CELLS else _of_levels(net, inference)
    except CannotAnswer:
        return []
    header, *lines = rows
    shown = aligned([header, *lines[:_MOST_LINES]], right={len(header) - 1}, indent=INDENT)
    more = len(lines) - _MOST_LINES
    left = [f"{INDENT}and {more:,} more: gml query has all"] if more > 0 else []
    return ["probabilities", *shown, *left]


def _of_cells(net: MarkovNet, inference: Inference) -> list[list[str]]:
    if len(net.names) == 1:
        table = inference.posterior(None)[0][net.names[0]]
    else:
        table = inference.joint(net.names, None)[0]
    cells = product(*(variable.levels or () for variable in net.variables))
    return [
        [*map(visible, net.names), "probability"],
        *(
            [*map(visible, cell), number(p)]
            for cell, p in zip(cells, table.reshape(-1).tolist(), strict=True)
        ),
    ]


def _of_levels(net: MarkovNet, inference: Inference) -> list[list[str]]:
    # What is beyond the last line is only counted.
    names = [v.name for v in islice(net.variables, _MOST_LINES)]
    found = inference.posterior(None, names)[0]
    rows = [
        [visible(variable.name), visible(level), number(p)]
        for variable in net.variables
        if variable.name in found
        for level, p in zip(variable.levels or (), found[variable.name].tolist(), strict=True)
    ]
    left = sum(len(v.levels or ()) for v in net.variables if v.name not in found)
    return [["variable", "level", "probability"], *rows, *([["", "", ""]] * left)]
