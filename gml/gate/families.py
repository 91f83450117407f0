"""The counts behind a model beside those of new rows, family by family.

New rows may have levels that the model does not know: they come after its own. The counts of a node
say what the rows held that the model was fitted on; a model without counts is taken as exact. The
tables of an undirected model are parts of the margins of its cliques (`clique_tables`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.data.dataset import Variable
from gml.errors import DataError, GraphError, quote
from gml.model.bayesnet import CPT, BayesNet
from gml.model.configurations import configuration
from gml.model.markovnet import MarkovNet

CheckedModel = BayesNet | MarkovNet

_PLAIN = re.compile(r"[\w.+/%()<>\[\] -]+")
_MARKS = ("->", "independent of")


@dataclass(frozen=True)
class FamilyCounts:
    """One row per configuration of the parents and one column per level, the model's first.

    `old` is None if the model has no counts; `probabilities` are the model's own.
    """

    variable: Variable
    parents: tuple[Variable, ...]
    levels: tuple[str, ...]
    old: NDArray[np.int64] | None
    new: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    of_clique: bool = False
    """Whether it is a part of the margin of a clique: a variable may have several such tables."""

    @property
    def key(self) -> tuple[str, ...]:
        """Tells the table from others: its variable, and its parents where that has several."""
        name = self.variable.name
        return (name, *(parent.name for parent in self.parents)) if self.of_clique else (name,)

    @property
    def n_known(self) -> int:
        """Levels that the model knows."""
        return len(self.variable.levels or ())

    def configuration(self, row: int) -> tuple[tuple[str, str], ...]:
        """The levels of the parents in a row."""
        names = (parent.name for parent in self.parents)
        return tuple(zip(names, configuration(self.parents, row), strict=True))


def family_counts(net: BayesNet, counter: Counter) -> list[FamilyCounts]:
    """Count the families of a model in new rows; those that lack a column are left out."""
    return counts_beside([table_of(cpd) for cpd in net.cpds], counter)


def counts_beside(
    tables: Sequence[CPT], counter: Counter, *, of_cliques: bool = False
) -> list[FamilyCounts]:
    """Count in new rows what tables are about; those that lack a column are left out."""
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    present = [
        cpt for cpt in tables if all(v.name in position for v in (cpt.variable, *cpt.parents))
    ]
    families = [
        (position[cpt.variable.name], tuple(position[parent.name] for parent in cpt.parents))
        for cpt in present
    ]
    found = []
    for cpt, (child, parents), cells in zip(
        present, families, counter.family_tables(families), strict=True
    ):
        levels = counter.variables[child].levels or ()
        sizes = [max(1, len(counter.variables[j].levels or ())) for j in parents]
        known = tuple(slice(len(parent.levels or ())) for parent in cpt.parents)
        new = cells.reshape(*sizes, -1)[known].reshape(len(cpt.table), -1)
        extra = new.shape[1] - cpt.n_levels
        old = None if cpt.counts is None else np.pad(whole_counts(cpt), ((0, 0), (0, extra)))
        probabilities = np.pad(cpt.table, ((0, 0), (0, extra)))
        found.append(
            FamilyCounts(cpt.variable, cpt.parents, levels, old, new, probabilities, of_cliques)
        )
    return found


def table_of(cpd: object) -> CPT:
    """Return the table of a node of levels."""
    if not isinstance(cpd, CPT):
        raise GraphError("a model of levels was expected, and this one is of numbers")
    return cpd


def whole_counts(cpt: CPT) -> NDArray[np.int64]:
    """Return the counts of a table, which must be whole rows."""
    assert cpt.counts is not None
    return _whole(cpt.counts, cpt.variable.name)


def _whole(counted: NDArray[Any], name: str) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.rint(counted).astype(np.int64)
    if not np.array_equal(counts, counted):
        raise DataError(
            f"the counts of {quote(name)} are not whole numbers; a check needs a model that was "
            "fitted on rows, not on fractional weights"
        )
    return counts


def level_counts(net: CheckedModel, name: str) -> NDArray[np.int64] | None:
    """The rows of each level of a column that a model was fitted on; None if not known."""
    if isinstance(net, BayesNet):
        cpt = table_of(net.cpd(name))
        return None if cpt.counts is None else whole_counts(cpt).sum(axis=0)
    for potential in net.potentials:
        if potential.counts is not None and name in potential.names:
            at = potential.names.index(name)
            others = tuple(axis for axis in range(potential.counts.ndim) if axis != at)
            return _whole(potential.counts.sum(axis=others), name)
    return None


def rows_behind(net: CheckedModel) -> int | None:
    """The number of rows that a model was fitted on, by its counts; None if not known, or whole."""
    if isinstance(net, MarkovNet):
        behind = [float(p.counts.sum()) for p in net.potentials if p.counts is not None]
        return max((int(n) for n in behind if n.is_integer()), default=None)
    sizes = []
    for cpd in net.cpds:
        if isinstance(cpd, CPT):
            sizes.append(None if cpd.counts is None else int(np.sum(cpd.counts)))
        else:
            behind = [line.n for line in cpd.regressions if line.n is not None]
            whole = [n for n in behind if isinstance(n, int)]
            sizes.append(sum(whole) if behind and len(whole) == len(behind) else None)
    return max((n for n in sizes if n is not None), default=None)


def label(name: str, marks: Sequence[str] = _MARKS) -> str:
    """Write a name so that an identifier made of several names can be taken apart.

    Examples
    --------
    >>> label("blood pressure"), label("a,b")
    ('blood pressure', '"a,b"')
    """
    plain = _PLAIN.fullmatch(name) and not any(mark in name for mark in marks)
    return name if plain else json.dumps(name, ensure_ascii=False)


def listed(given: Sequence[tuple[str, str | None]]) -> str:
    """Write a configuration, or the names of a conditioning set."""
    return ",".join(
        label(name) if level is None else f"{label(name)}={label(level)}" for name, level in given
    )
