"""How much of the information on parameters is missing with the holes, and what is left of it.

The gradient of the log-likelihood of what was seen is what is expected of that of complete rows
(Fisher's identity; Louis 1982, JRSS B 44:226), so an E-step has it, and its differences are the
observed information I. In units of that of complete rows, R = I_c^(−½) I I_c^(−½), eigenvalues lie
between 0 and 1; the share that is missing for a family with k parameters is 1 − k/tr R⁻¹, the trace
over its own: for one parameter 1 − (variance if rows were complete)/(variance now). An eigenvalue
below 1e-5 is a direction that the data leave open: it lowers the rank, and all is missing for the
families that it touches. (The largest share that is missing is the rate at which plain EM goes on,
Dempster, Laird & Rubin 1977, section 3: such a direction would take a million steps.)

Coordinates are intercepts, slopes, ln σ, and logits against the largest cell of a row of a table.
Probabilities at 0 stay there, and regressions and rows of tables that no row is expected in are
left out: neither lowers the rank. Rows that a prior adds count as seen. If differences over all
rows would take too long, they are taken over as many as do not, in an order that is as good as
random and depends on their content alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.em.number_expectations import Expectation
from gml.model.em.number_families import Parameters, Regressions, Statistics
from gml.model.em.number_maximum import NumberProblem
from gml.model.em.number_rows import NumberRows
from gml.model.network import NEVER_EXPECTED
from gml.progress import Deadline
from gml.stopping import check_stopped

Array = NDArray[np.float64]

_UNDETERMINED = 1e-5
# The share of a direction that a family must have in it to be touched by it.
_TOUCHED = 1e-6
AT_ZERO = 1e-9
"""Probabilities below have no coordinate."""
# Digits of a share that differences leave: those after them would depend on the order of columns.
_DIGITS = 9
# Steps of differences, in standard deviations of what one row says.
_STEP = 1e-4
# Figures of all E-steps together that differences may take.
_MOST_CELLS = 1 << 31
_MOST_COORDINATES = 2000


class Block(NamedTuple):
    """Coordinates of one regression or row of a table."""

    name: str
    is_number: bool
    family: int
    config: int
    cells: tuple[int, ...]
    """The levels that have coordinates; none for a regression."""
    base: int
    """The level that logits are against."""
    start: int
    size: int


@dataclass(frozen=True)
class Information:
    """What the data say about parameters, in the coordinates of blocks."""

    blocks: tuple[Block, ...]
    complete: Array
    """The information of complete rows."""
    observed: Array
    n_undetermined: int

    def covariance(self) -> Array | None:
        """The inverse of the observed information; None if something is left open."""
        if self.n_undetermined:
            return None
        found: Array = np.linalg.inv(self.observed).astype(np.float64)
        return (found + found.T) / 2

    def missing(self) -> Mapping[str, float]:
        """The share of information that is missing, by node."""
        values, vectors = np.linalg.eigh(_relative(self.complete, self.observed))
        is_open = values < _UNDETERMINED
        found = {}
        for name in dict.fromkeys(block.name for block in self.blocks):
            own = np.concatenate(
                [np.arange(b.start, b.start + b.size) for b in self.blocks if b.name == name]
            )
            if not len(own):
                continue
            # The roots of I_c are of its blocks, so that rows of the vectors are of one family.
            weights = (vectors[own] ** 2).sum(axis=0)
            if weights[is_open].sum() > _TOUCHED:
                found[name] = 1.0
                continue
            spread = float((weights[~is_open] / values[~is_open]).sum())
            found[name] = round(min(1.0, max(0.0, 1 - len(own) / spread)), _DIGITS)
        return found


def _relative(complete: Array, observed: Array) -> Array:
    """The observed information in units of the complete one."""
    factor = np.linalg.cholesky(complete)
    half = np.linalg.solve(factor, observed)
    found: Array = np.linalg.solve(factor, half.T).astype(np.float64)
    return (found + found.T) / 2


def information(
    problem: NumberProblem,
    data: NumberRows,
    at: Parameters,
    completed: Statistics,
    *,
    threads: int = 1,
    deadline: Deadline | None = None,
) -> Information | None:
    """Return the information at some parameters; None if that would take too long.

    `completed` are the expected sums of all rows, as if they were complete.
    """
    families = problem.families
    blocks = _blocks(problem, at, completed, data.n)
    size = sum(block.size for block in blocks)
    if not size or size > _MOST_COORDINATES:
        return None
    complete = _complete(problem, blocks, at, completed)
    steps = _STEP * np.sqrt(data.n / np.diag(complete))
    asked, scale = problem.expectation, 1.0
    cells = 2 * size * (asked.n_cells + 1)
    if cells > _MOST_CELLS:
        part = _part(data, _MOST_CELLS / cells)
        asked, scale = Expectation(families, part, threads=threads), data.n / part.n
    observed = np.empty((size, size))
    for k in range(size):
        check_stopped()
        if deadline is not None and deadline.passed:
            return None
        sides = []
        for sign in (1, -1):
            moved = np.zeros(size)
            moved[k] = sign * steps[k]
            there = _moved(blocks, at, moved)
            sums = asked(there)
            sides.append(_gradient(blocks, there, sums))
        observed[k] = scale * (sides[1] - sides[0]) / (2 * steps[k])
    observed = (observed + observed.T) / 2 + _prior_information(problem, blocks, at)
    try:
        scaled = _relative(complete, observed)
    except np.linalg.LinAlgError:
        return None
    lost = int(np.count_nonzero(np.linalg.eigvalsh(scaled) < _UNDETERMINED))
    return Information(tuple(blocks), complete, observed, lost)


def _part(data: NumberRows, share: float) -> NumberRows:
    """The first rows, in the order of their content."""
    n = max(1, int(share * len(data.weights)))
    return replace(
        data,
        z=data.z[:n],
        seen=data.seen[:n],
        codes=data.codes[:n],
        weights=data.weights[:n],
    )


def _blocks(problem: NumberProblem, at: Parameters, completed: Statistics, n: float) -> list[Block]:
    families = problem.families
    found: list[Block] = []
    start = 0
    least = NEVER_EXPECTED * n
    for j, number in enumerate(families.numbers):
        name = families.number_variables[number.child].name
        estimated = problem.estimated(j)
        added = problem.added_rows(j)
        for config in np.flatnonzero(estimated).tolist():
            if completed.products[j][config, 0, 0] + added > least:
                found.append(Block(name, True, j, config, (), 0, start, number.n_terms + 1))
                start += number.n_terms + 1
    for j, label in enumerate(families.labels):
        name = families.label_variables[label.child].name
        for config in range(label.n_configs):
            table = at.tables[j][config]
            if completed.counts[j][config].sum() <= least:
                continue
            base = int(np.argmax(table))
            cells = tuple(k for k in range(label.n_levels) if k != base and table[k] > AT_ZERO)
            found.append(Block(name, False, j, config, cells, base, start, len(cells)))
            start += len(cells)
    return found


def _moved(blocks: list[Block], at: Parameters, by: Array) -> Parameters:
    """Parameters with coordinates moved."""
    terms = [one.terms.copy() for one in at.regressions]
    log_sds = [one.log_sd.copy() for one in at.regressions]
    tables = [table.copy() for table in at.tables]
    for block in blocks:
        own = by[block.start : block.start + block.size]
        if not own.any():
            continue
        if block.is_number:
            terms[block.family][block.config] += own[:-1]
            log_sds[block.family][block.config] += own[-1]
        else:
            row = tables[block.family][block.config]
            row[list(block.cells)] *= np.exp(own)
            row /= row.sum()
    return Parameters(
        tuple(Regressions(*both) for both in zip(terms, log_sds, strict=True)), tuple(tables)
    )


def _gradient(blocks: list[Block], at: Parameters, sums: Statistics) -> Array:
    """The gradient of the log-likelihood, from expected sums at the same parameters."""
    found = np.empty(sum(block.size for block in blocks))
    for block in blocks:
        own = slice(block.start, block.start + block.size)
        if block.is_number:
            found[own] = _regression_gradient(
                sums.products[block.family][block.config],
                at.regressions[block.family].terms[block.config],
                float(at.regressions[block.family].log_sd[block.config]),
            )
        else:
            counts = sums.counts[block.family][block.config]
            row = at.tables[block.family][block.config]
            cells = list(block.cells)
            found[own] = counts[cells] - counts.sum() * row[cells]
    return found


def _regression_gradient(products: Array, terms: Array, log_sd: float) -> Array:
    error = np.append(-terms, 1.0)
    across = products @ error
    precision = math.exp(-2 * log_sd)
    return np.append(across[:-1] * precision, error @ across * precision - products[0, 0])


def _complete(
    problem: NumberProblem, blocks: list[Block], at: Parameters, completed: Statistics
) -> Array:
    """The information of complete rows: blocks on the diagonal."""
    size = sum(block.size for block in blocks)
    found = np.zeros((size, size))
    for block in blocks:
        own = slice(block.start, block.start + block.size)
        if block.is_number:
            added = problem.added_products(block.family)
            products = completed.products[block.family][block.config]
            log_sd = float(at.regressions[block.family].log_sd[block.config])
            found[own, own] = _regression_information(
                products if added is None else products + added, log_sd
            )
        else:
            n = completed.counts[block.family][block.config].sum()
            found[own, own] = _table_information(problem, block, at, float(n))
    return found


def _prior_information(problem: NumberProblem, blocks: list[Block], at: Parameters) -> Array:
    """What the rows of priors say, which are not among those seen."""
    size = sum(block.size for block in blocks)
    found = np.zeros((size, size))
    for block in blocks:
        own = slice(block.start, block.start + block.size)
        if block.is_number:
            added = problem.added_products(block.family)
            if added is not None:
                one = at.regressions[block.family]
                error = np.append(-one.terms[block.config], 1.0)
                log_sd = float(one.log_sd[block.config])
                precision = math.exp(-2 * log_sd)
                part = _regression_information(added, log_sd)
                across = 2 * (added @ error)[:-1] * precision
                part[:-1, -1] = part[-1, :-1] = across
                part[-1, -1] = 2 * precision * float(error @ added @ error)
                found[own, own] = part
        else:
            found[own, own] = _table_information(problem, block, at, 0.0)
    return found


def _regression_information(products: Array, log_sd: float) -> Array:
    size = len(products)
    found = np.zeros((size, size))
    found[:-1, :-1] = products[:-1, :-1] * math.exp(-2 * log_sd)
    found[-1, -1] = 2 * products[0, 0]
    return found


def _table_information(problem: NumberProblem, block: Block, at: Parameters, n: float) -> Array:
    row = at.tables[block.family][block.config]
    cells = row[list(block.cells)]
    weight = n + len(row) * problem.alpha(block.family)
    return weight * (np.diag(cells) - np.outer(cells, cells))
