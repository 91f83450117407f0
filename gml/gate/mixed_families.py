"""Nodes of numbers in a model of labels and numbers: a regression per configuration of labels.

Each is compared by itself with the new rows of its configuration (`gaussian_families`). Which
parents are weak, and what the choice of the parents may have gained, is asked of all regressions of
a node together (`lines_of_node`), since the parents were chosen for all of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml.counts.answers import Moments, StratifiedMoments
from gml.counts.counter import Counter
from gml.counts.orthogonal_terms import bases_from
from gml.counts.row_sums import Found, NumberTable, Steps, Sums, together
from gml.data.dataset import Variable
from gml.gate.enough_rows import enough_rows
from gml.gate.gaussian_families import (
    GaussianFamily,
    NewRegression,
    NodeChoice,
    OldRegression,
    allowance,
    gaussian_family,
    new_regression,
    old_regression,
    regression_of_sums,
)
from gml.gate.lines_of_node import LinesOfNode, lines_of_node
from gml.gate.regression_sums import ErrorSums, RegressionDesign
from gml.gate.selection import gain_of_choice, level_beyond_doubt
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.configurations import configuration
from gml.model.regressions import NumberCpd


@dataclass(frozen=True)
class NumberNode:
    """A node of numbers: its regressions that rows of either side are behind, in order.

    `places` says which of all configurations each is of; `weak` names the parents that the model's
    own rows do not show beyond doubt.
    """

    cpd: NumberCpd
    families: tuple[GaussianFamily, ...]
    places: tuple[int, ...]
    weak: tuple[str, ...]
    allowance: float

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.cpd.variable.name

    @property
    def label_parents(self) -> tuple[Variable, ...]:
        """The parents with levels."""
        return self.cpd.label_parents

    @property
    def rows_old(self) -> int | None:
        """The rows of the model behind all regressions, if they are whole."""
        sizes = [line.n for line in self.cpd.regressions if line.n is not None]
        whole = [n for n in sizes if isinstance(n, int)]
        return sum(whole) if sizes and len(whole) == len(sizes) else None

    @property
    def rows_new(self) -> int:
        """The new rows behind all regressions."""
        return sum(family.rows_new for family in self.families)


def number_cpds(net: BayesNet) -> list[NumberCpd]:
    """The nodes that are numbers, in the order of the model."""
    return [cpd for cpd in net.cpds if not isinstance(cpd, CPT)]


def number_nodes(net: BayesNet, table: NumberTable, alpha: float) -> list[NumberNode]:
    """Fit the regressions of a model to new rows; nodes that lack a column are left out."""
    level = level_beyond_doubt(alpha, len(net.names))
    there = [
        cpd
        for cpd in number_cpds(net)
        if all(v.name in table.names for v in (cpd.variable, *cpd.parents))
    ]
    return together(table, (_node(cpd, level, len(net.names)) for cpd in there))


def number_nodes_of_sums(net: BayesNet, counter: Counter, alpha: float) -> list[NumberNode]:
    """The same from sums of numbers, where there are no rows; nothing is known of single errors."""
    level = level_beyond_doubt(alpha, len(net.names))
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    nodes = []
    for cpd in number_cpds(net):
        if not all(v.name in position for v in (cpd.variable, *cpd.parents)):
            continue
        own = _seen_lines(cpd)
        old = [old_regression(line) for line in own]
        design = RegressionDesign.of(own, cpd.label_parents)
        columns = [position[name] for name in (*design.parents, design.child)]
        labels = [position[name] for name in design.sizes]
        moments = _by_place(counter.moments(columns, labels), list(design.sizes.values()))
        new = {}
        for place, of_place in moments.items():
            side = old[place]
            if side is not None and enough_rows(of_place.n, design.n_terms):
                fitted = regression_of_sums(design, place, side, of_place)
                if fitted is not None:
                    new[place] = fitted
        found = {place: Sums(of_place.n) for place, of_place in moments.items()}
        nodes.append(_fitted_node(cpd, own, old, (found, new), level, len(net.names)))
    return nodes


def _by_place(found: Moments | StratifiedMoments, sizes: Sequence[int]) -> dict[int, Moments]:
    """Moments by the number of the configuration, of those that the model knows."""
    if isinstance(found, Moments):
        return {0: found} if found.n else {}
    known = np.asarray((found.configs < np.array(sizes)).all(axis=1))
    places = np.ravel_multi_index(tuple(found.configs[known].T), tuple(sizes)).tolist()
    return dict(zip(places, itertools.compress(found.moments, known.tolist()), strict=True))


def _seen_lines(cpd: NumberCpd) -> list[LinearGaussian]:
    """The regressions; of a configuration that the model never saw, nothing is kept."""
    # It has the figures of all of the model's rows.
    return [
        replace(line, rows=None) if line.n is None and cpd.label_parents else line
        for line in cpd.regressions
    ]


def _node(cpd: NumberCpd, level: float, n_nodes: int) -> Steps[NumberNode]:
    own = _seen_lines(cpd)
    old = [old_regression(line) for line in own]
    both = yield from _new_regressions(RegressionDesign.of(own, cpd.label_parents), old)
    return _fitted_node(cpd, own, old, both, level, n_nodes)


def _fitted_node(
    cpd: NumberCpd,
    own: Sequence[LinearGaussian],
    old: Sequence[OldRegression | None],
    both: tuple[Found, dict[int, NewRegression]],
    level: float,
    n_nodes: int,
) -> NumberNode:
    found, new = both
    places = [k for k, line in enumerate(own) if line.n is not None or k in found]
    if isinstance(cpd, LinearGaussian):
        places = [0]
    names = [parent.name for parent in cpd.label_parents]
    families = []
    for k in places:
        levels = configuration(cpd.label_parents, k) if names else ()
        labels = tuple(zip(names, levels, strict=True))
        families.append(gaussian_family(own[k], old[k], new.get(k), found.get(k), level, labels))
    if isinstance(cpd, LinearGaussian):
        (family,) = families
        weak = tuple(family.parents[k].name for k in family.weak)
        return NumberNode(cpd, (family,), (0,), weak, allowance(family, n_nodes))
    weak, spared = _choice(cpd, families, places, level, n_nodes)
    choice = NodeChoice(len(weak), spared)
    return NumberNode(
        cpd,
        tuple(replace(family, of_node=choice) for family in families),
        tuple(places),
        weak,
        spared,
    )


def _new_regressions(
    design: RegressionDesign, old: Sequence[OldRegression | None]
) -> Steps[tuple[Found, dict[int, NewRegression]]]:
    """The new rows of each configuration, and the regressions of those that can be compared."""
    (found,) = yield [design]
    comparable = {
        place: sums
        for place, sums in found.items()
        if old[place] is not None and enough_rows(sums.n, design.n_terms)
    }
    bases = yield from bases_from(design, comparable)
    if not bases:
        return found, {}
    (sums,) = yield [ErrorSums(design, bases)]
    return found, {place: new_regression(basis, sums[place]) for place, basis in bases.items()}


# ---------------------------------------------------------------------- chosen parents


def groups_without(
    cpd: NumberCpd, places: Sequence[int], left_out: Sequence[str]
) -> NDArray[np.int64]:
    """Number the configurations so that those which differ only in some labels are alike."""
    kept = [k for k, parent in enumerate(cpd.label_parents) if parent.name not in left_out]
    found = []
    for place in places:
        levels = configuration(cpd.label_parents, place)
        found.append(tuple(levels[k] for k in kept))
    numbers = {key: k for k, key in enumerate(dict.fromkeys(found))}
    return np.array([numbers[key] for key in found], dtype=np.int64)


def log_p_of_parent(
    cpd: NumberCpd,
    places: Sequence[int],
    lines: LinesOfNode,
    name: str,
    *,
    in_new: bool = False,
) -> float:
    """ln p of the hypothesis that a parent tells nothing, by the rows of one side."""
    side = lines.new if in_new else lines.old
    assert side is not None
    numbers = [parent.name for parent in lines.families[0].parents]
    if name in numbers:
        return side.log_p_of_term(numbers.index(name) + 1)
    return side.log_p_of_labels(groups_without(cpd, places, [name]))


def _choice(
    cpd: NumberCpd,
    families: Sequence[GaussianFamily],
    places: Sequence[int],
    level: float,
    n_nodes: int,
) -> tuple[tuple[str, ...], float]:
    """The weak parents, and the nats per row that the choice of parents may owe to chance."""
    told = [k for k, family in enumerate(families) if family.old is not None]
    lines = lines_of_node([families[k] for k in told])
    if lines is None:
        return (), 0.0
    chosen = [places[k] for k in told]
    weak = tuple(
        parent.name
        for parent in cpd.parents
        if log_p_of_parent(cpd, chosen, lines, parent.name) > level
    )
    n, old = float(lines.old.rows.sum()), lines.old
    spurious = 0.0
    if weak:
        numbers = [parent.name for parent in families[0].parents]
        terms = [0, *(k + 1 for k, name in enumerate(numbers) if name not in weak)]
        groups = groups_without(cpd, chosen, weak)
        df = len(chosen) * (old.n_terms + 1) - len(set(groups.tolist())) * (len(terms) + 1)
        spurious = 2 * old.information(groups, terms).nats - df / n
    # As for one regression, and the information of differences in the size of errors.
    explained = max(0.0, 1 - float(old.weights @ old.variances))
    kurtosis = 1 + float(old.weights @ (old.spreads * old.rows))
    logs = 0.5 * np.log(old.variances)
    uneven = float(old.weights @ (logs - float(old.weights @ logs)) ** 2)
    variance = explained * max(1.0, (kurtosis - 1) / 2) + uneven
    gained = gain_of_choice(n_nodes, len(cpd.parents), variance, int(n))
    return weak, max(0.0, spurious, gained if math.isfinite(gained) else 0.0)
