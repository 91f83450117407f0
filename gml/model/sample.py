"""Rows drawn from a network: ancestral sampling, streamed.

Each node is drawn given its parents, in an order in which they come first (Henrion 1988). The
random number of a cell depends only on the seed, its row and the name of its node: any rows can be
drawn by any thread, and neither the number of rows, nor the order of the nodes, nor an intervention
elsewhere changes it. With `weighted` evidence, observed nodes are fixed and a row has the weight
P(observed | their sampled parents) (likelihood weighting, Fung & Chang 1990; Shachter & Peot 1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset, Variable, code_type, fractional_weights
from gml.data.name_keys import keys_of_names
from gml.data.row_groups import configurations_at
from gml.errors import CannotAnswer, UsageError, listing, parameter, quote
from gml.kernel.plan import (
    GaussianPlan,
    GaussianStep,
    TablePlan,
    TableStep,
    threshold,
)
from gml.kernel.pool import in_order
from gml.model.evidence import coded
from gml.model.mixed_plan import ConditionalStep, MixedPlan, conditional_step
from gml.model.network import CPT, Cpd, Network
from gml.model.regressions import ConditionalGaussian, LinearGaussian
from gml.model.row_text import RowWriter, row_writer
from gml.progress import reporter
from gml.resources import available_threads

if TYPE_CHECKING:
    from gml.kernel.interface import Sampler


class Stream(Protocol):
    """Rows that come one after the other, each from what led to those before it."""

    def start(self) -> Sampler:
        """Begin at the first row; rows are to be drawn in order."""


Plan = TablePlan | GaussianPlan | MixedPlan
Step = TableStep | GaussianStep | ConditionalStep
Columns = list[NDArray[Any]]

WEIGHT = "weight"
"""Name of the column of weights."""

_LARGEST_LOG = 709.0
_CHUNK_ROWS = 8192
_CHUNK_BYTES = 1 << 22
_NO_WEIGHT = "the evidence had probability 0 in every row: all weights are 0"


def steps_of(net: Network) -> list[Step]:
    """Return what draws each node given its parents, parents first."""
    steps: list[Step] = []
    for j in net.order():
        cpd = net.cpds[j]
        parents = tuple(net.index(parent.name) for parent in cpd.parents)
        if isinstance(cpd, CPT):
            steps.append(TableStep(j, parents, cpd.table))
        elif isinstance(cpd, ConditionalGaussian):
            labels = tuple(net.index(parent.name) for parent in cpd.label_parents)
            numbers = tuple(net.index(parent.name) for parent in cpd.number_parents)
            steps.append(conditional_step(j, labels, numbers, cpd))
        else:
            steps.append(GaussianStep(j, parents, cpd.intercept, cpd.coefficients, cpd.sd))
    return steps


def sampling_plan(
    net: Network,
    *,
    seed: int = 0,
    steps: Sequence[Step] | None = None,
    observed: Mapping[str, str | float] | None = None,
) -> Plan:
    """Return what to draw, and from which random numbers.

    Parameters
    ----------
    net
        Its nodes are the columns.
    seed
        Seed of the random numbers.
    steps
        What to draw instead of the network's own distributions, for example those of its
        posterior: for each node that is not observed, with any parents, parents first.
    observed
        Levels (or numbers) of nodes that are fixed.
    """
    fixed = coded(net.variables, observed or {})
    if steps is None:
        steps = [step for step in steps_of(net) if step.target not in fixed]
    if net.is_mixed:
        sizes = tuple(None if v.levels is None else len(v.levels) for v in net.variables)
        return MixedPlan(sizes, tuple(steps), keys_of_names(net.names, seed, "value"), fixed)
    if net.is_gaussian:
        keys = keys_of_names(net.names, seed, "value")
        regressions = tuple(step for step in steps if isinstance(step, GaussianStep))
        return GaussianPlan(len(net.cpds), regressions, keys, fixed)
    tables = [step for step in steps if isinstance(step, TableStep)]
    return table_plan(net.variables, tables, seed=seed, observed=observed)


def table_plan(
    variables: Sequence[Variable],
    steps: Sequence[TableStep],
    *,
    seed: int = 0,
    observed: Mapping[str, str | float] | None = None,
) -> TablePlan:
    """Return a plan of steps over variables with levels, those aside that are observed."""
    fixed = {j: int(code) for j, code in coded(variables, observed or {}).items()}
    keys = keys_of_names([variable.name for variable in variables], seed, "value")
    n_levels = tuple(len(variable.levels or ()) for variable in variables)
    return TablePlan(n_levels, tuple(steps), keys, fixed)


@dataclass(frozen=True)
class Rows:
    """Rows to draw: from a network, from any plan over its nodes, or from a stream.

    `weigh`, if given, turns the columns of some rows into their weights; `missing_rate` is the
    probability with which each cell is missing, whatever it holds.
    """

    variables: tuple[Variable, ...]
    plan: Plan | Stream
    seed: int = 0
    missing_rate: float = 0.0
    weigh: Callable[[Columns], NDArray[np.float64]] | None = None

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.variables]
        if not names:
            raise UsageError("the model has no nodes to sample")
        if not 0 <= self.missing_rate <= 1:
            raise UsageError(
                f"{parameter('missing_rate')} must be between 0 and 1, not {self.missing_rate}"
            )
        if self.weigh is not None and WEIGHT in names:
            raise UsageError(f"a node is named {WEIGHT!r}, like the column of weights")
        empty = [v.name for v in self.variables if "" in (v.levels or ())]
        if self.missing_rate and empty:
            raise UsageError(
                f"missing cells are empty, and so is a level of {listing(empty)}: they would look "
                "the same"
            )

    def threads(self, wanted: int | None) -> int:
        """How many threads can draw at the same time."""
        if not isinstance(self.plan, TablePlan | GaussianPlan | MixedPlan):
            return 1
        return wanted or available_threads()

    def new_columns(self, n_rows: int) -> Columns:
        """Room for some rows."""
        return [
            np.empty(n_rows, np.float64 if v.levels is None else code_type(len(v.levels)))
            for v in self.variables
        ]

    def drawer(self) -> Callable[[int, Columns], NDArray[np.float64] | None]:
        """Return what fills columns with rows, starting at a given one, and weighs them."""
        active = kernel.active()
        if isinstance(self.plan, TablePlan):
            sampler = active.TableSampler(self.plan)
        elif isinstance(self.plan, GaussianPlan):
            sampler = active.GaussianSampler(self.plan)
        elif isinstance(self.plan, MixedPlan):
            sampler = self.plan.sampler()
        else:
            sampler = self.plan.start()
        limit = threshold(self.missing_rate)
        keys = keys_of_names([v.name for v in self.variables], self.seed, "missing")

        def draw(first_row: int, columns: Columns) -> NDArray[np.float64] | None:
            sampler.draw(first_row, columns)
            weights = None if self.weigh is None else self.weigh(columns)
            if limit:
                active.blank_cells(columns, keys, limit, first_row)
            return weights

        return draw


def network_rows(
    net: Network,
    *,
    seed: int = 0,
    missing_rate: float = 0.0,
    weighted: Mapping[str, str | float] | None = None,
) -> Rows:
    """Return the rows of a network; `weighted` is evidence that the weights account for."""
    plan = sampling_plan(net, seed=seed, observed=weighted)
    weigh = likelihood(net, list(weighted)) if weighted else None
    return Rows(net.variables, plan, seed, missing_rate, weigh)


def likelihood(net: Network, names: Sequence[str]) -> Callable[[Columns], NDArray[np.float64]]:
    """Return what computes ∏ P(node | its parents) over the named nodes, for each row of columns.

    Factors are multiplied in the order of the nodes; densities, which may be huge, as logarithms.
    """
    nodes = sorted(net.index(name) for name in names)
    has_densities = any(net.variables[j].is_continuous for j in nodes)
    for cpd in (net.cpds[j] for j in nodes):
        if 0 in _deviations(cpd):
            raise UsageError(
                f"node {quote(cpd.variable.name)} does not vary given its parents, and so has no "
                "density to weigh by"
            )

    @np.errstate(over="ignore", invalid="ignore")
    def weigh(columns: Columns) -> NDArray[np.float64]:
        shares, logs = np.ones(len(columns[0])), np.zeros(len(columns[0]))
        for j in nodes:
            cpd = net.cpds[j]
            parents = [columns[net.index(parent.name)] for parent in cpd.parents]
            if isinstance(cpd, CPT):
                shares *= _probabilities(cpd, columns[j], parents)
            elif isinstance(cpd, LinearGaussian):
                logs += _log_densities(cpd, columns[j], parents)
            else:
                logs += _conditional_log_densities(cpd, columns[j], parents)
        if logs.max(initial=0.0) > _LARGEST_LOG:
            raise CannotAnswer("the density of the evidence is beyond 1.8e308")
        return shares * np.exp(logs) if has_densities else shares

    return weigh


def _deviations(cpd: Cpd) -> list[float]:
    """The standard deviations of the errors of a node of numbers."""
    if isinstance(cpd, CPT):
        return []
    return [line.sd for line in cpd.regressions]


def _probabilities(cpt: CPT, codes: NDArray[Any], parents: Columns) -> NDArray[np.float64]:
    at = configurations_at([len(p.levels or ()) for p in cpt.parents], parents, len(codes))
    found: NDArray[np.float64] = cpt.table[at, codes]
    return found


def _log_densities(
    cpd: LinearGaussian, values: NDArray[np.float64], parents: Columns
) -> NDArray[np.float64]:
    mean = np.full(len(values), cpd.intercept)
    for coefficient, parent in zip(cpd.coefficients, parents, strict=True):
        mean += coefficient * parent
    z = (values - mean) / cpd.sd
    logs: NDArray[np.float64] = -0.5 * z * z - math.log(cpd.sd) - 0.5 * math.log(2 * math.pi)
    return logs


def _conditional_log_densities(
    cpd: ConditionalGaussian, values: NDArray[np.float64], parents: Columns
) -> NDArray[np.float64]:
    """The same by the regression of each row's configuration of labels."""
    of_kind = [variable.is_continuous for variable in cpd.parents]
    labels = [column for column, numeric in zip(parents, of_kind, strict=True) if not numeric]
    numbers = [column for column, numeric in zip(parents, of_kind, strict=True) if numeric]
    sizes = [len(parent.levels or ()) for parent in cpd.label_parents]
    at = configurations_at(sizes, labels, len(values))
    found = np.empty(len(values))
    for k in np.unique(at).tolist():
        rows = at == k
        line = cpd.regressions[k]
        found[rows] = _log_densities(line, values[rows], [column[rows] for column in numbers])
    return found


def sample(
    net: Network,
    n: int,
    *,
    seed: int = 0,
    threads: int | None = None,
    first_row: int = 0,
    missing_rate: float = 0.0,
) -> Dataset:
    """Draw n rows of a network, starting at row `first_row` of the endless table of this seed.

    Levels that were not drawn are kept.

    Examples
    --------
    >>> coin = Variable("coin", ("heads", "tails"))
    >>> net = Network((CPT(coin, (), np.array([[0.5, 0.5]])),))
    >>> whole, part = sample(net, 100), sample(net, 10, first_row=90)
    >>> bool((whole.columns[0][90:] == part.columns[0]).all())
    True
    """
    rows = network_rows(net, seed=seed, missing_rate=missing_rate)
    return draw_rows(rows, n, threads=threads, first_row=first_row)


def draw_rows(rows: Rows, n: int, *, threads: int | None = None, first_row: int = 0) -> Dataset:
    """Draw n rows as a table, with their weights if they have any."""
    if n < 0:
        raise UsageError(f"{parameter('n')} must be 0 or more, not {n}")
    columns = rows.new_columns(n)
    draw = rows.drawer()
    drawn: NDArray[np.float64] = np.zeros(n if rows.weigh is not None else 0)

    def fill(start: int) -> None:
        part = slice(start, start + _CHUNK_ROWS)
        found = draw(first_row + start, [column[part] for column in columns])
        if found is not None:
            drawn[part] = found

    for _ in in_order(fill, range(0, n, _CHUNK_ROWS), rows.threads(threads)):
        pass
    if rows.weigh is None:
        return Dataset(rows.variables, tuple(columns))
    if n and not drawn.any():
        reporter().warn(_NO_WEIGHT)
    weights, unit = fractional_weights(drawn)
    return Dataset(rows.variables, tuple(columns), weights, unit=unit)


def csv_chunks(
    rows: Rows,
    n: int,
    *,
    threads: int | None = None,
    first_row: int = 0,
    safe_csv: bool = False,
) -> Iterator[memoryview]:
    """Yield n rows as CSV text with a header, in pieces of at most a few megabytes, in order.

    A piece is to be used before the next one is asked for, as its memory is used again: memory does
    not grow with n. Warns if all weights were 0. `gml.data.safe_cells` says what `safe_csv` does.
    """
    weights = None if rows.weigh is None else WEIGHT
    writer = row_writer(rows.variables, weights, safe_csv=safe_csv)
    yield memoryview(writer.header)
    threads = rows.threads(threads)
    step = max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // writer.row_bytes))
    draw = rows.drawer()
    slots = [_Slot(rows.new_columns(step), writer) for _ in range(threads + 1)]

    def make(k: int) -> tuple[memoryview, float]:
        # The one just yielded and those made in the meantime have slots of their own.
        slot = slots[k % len(slots)]
        return slot.make(draw, first_row + k * step, min(step, n - k * step))

    heaviest = 0.0
    pieces = in_order(make, range(-(-n // step)), threads, ahead=threads)
    for done, (text, weight) in enumerate(pieces, start=1):
        heaviest = max(heaviest, weight)
        yield text
        reporter().advance("sampling", min(done * step, n), n)
    if n and heaviest == 0:
        reporter().warn(_NO_WEIGHT)


class _Slot:
    """Memory for one piece: columns that are drawn, and the text that they become."""

    def __init__(self, columns: Columns, writer: RowWriter) -> None:
        self._columns = columns
        self._writer = writer
        self._buffer = writer.new_buffer(len(columns[0]))

    def make(
        self,
        draw: Callable[[int, Columns], NDArray[np.float64] | None],
        first_row: int,
        n_rows: int,
    ) -> tuple[memoryview, float]:
        """Return rows as text, and the largest weight."""
        columns = [column[:n_rows] for column in self._columns]
        weights = draw(first_row, columns)
        text = self._writer.text(columns, weights, self._buffer)
        return text, 1.0 if weights is None else float(weights.max())
