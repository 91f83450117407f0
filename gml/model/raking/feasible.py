"""Which targets can be met at all, found by linear programmes (HiGHS, through scipy).

Weights that are not negative, w with A w = t, exist unless a combination y of the targets says
otherwise (Farkas): Aᵀy ≤ 0 and tᵀy > 0. Its targets, reduced to a set of which none can be left
out, are what contradicts; the rows that would settle it have those with y > 0 and not those with
y < 0, and there are none. Ties: targets are left out in the order of names and labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, parameter
from gml.model.linear_programme import solved_programme
from gml.model.raking.cells import CodedMargin, first_few
from gml.progress import reporter
from gml.resources import require_memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# What the sums of an exact solution may be off by, as a share of all weight.
_TOLERANCE = 1e-8
# Bounds that are offered are so much wider than those that would just do, by the programme: with
# base weights of a wide range it takes narrower ones for enough.
_SPARES = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
# Bytes per target and cell of whether it is a member: kept, put together, and sorted, which takes
# two copies and their order; and per cell of a margin as an entry of a sparse matrix, of which the
# programme has copies of its own.
_BYTES_PER_MEMBER = 6
_BYTES_PER_ENTRY = 64


Vector = NDArray[np.float64]
Bounds = tuple[float, float]


class Target(NamedTuple):
    """A cell of a margin: of which margin, its name, its share, and which cells of the table."""

    margin: int
    title: str
    value: float
    members: NDArray[np.bool_]


class Contradiction(NamedTuple):
    """Targets that cannot be met together, and their y, by which they contradict."""

    targets: list[Target]
    multipliers: Vector


def reachable(margins: Sequence[CodedMargin]) -> NDArray[np.bool_] | None:
    """Return which cells of the table can have weight where all targets are met.

    None if the programme finds no weights that meet them.
    """
    from scipy.sparse import csr_array, hstack

    incidence, targets = _incidence(margins)
    n_targets, n_cells = incidence.shape
    # Relative to each target: HiGHS takes numbers of at most 1e-9 for 0.
    scaled = _scaled(incidence, 1 / targets, np.ones(n_cells))
    # Weights w + s with s ≤ 1, of any total: a cell that can have weight can have s = 1.
    equal = hstack([scaled, scaled, csr_array(np.full((n_targets, 1), -1.0))], format="csr")
    bounds = [(0, None)] * n_cells + [(0, 1)] * n_cells + [(1, None)]
    cost = np.concatenate([np.zeros(n_cells), -np.ones(n_cells), [0.0]])
    found = _solved(costs=cost, A_eq=equal, b_eq=np.zeros(n_targets), bounds=bounds)
    if found.status != 0:
        return None
    support: NDArray[np.bool_] = found.x[n_cells:-1] > 0.5
    return support


def raise_contradiction(margins: Sequence[CodedMargin], where: str = "") -> None:
    """Raise what contradicts, if no weights that are not negative meet the targets.

    `where` says among which rows, if not among all.
    """
    found = contradiction(margins)
    if found is None:
        return
    shown = first_few([f"{target.title} ({target.value:.4g})" for target in found.targets])
    raise CannotAnswer(
        f"no weights meet the targets {shown} together: they need rows "
        f"{_needed(found)}, and there are none{where}"
    )


def contradiction(margins: Sequence[CodedMargin]) -> Contradiction | None:
    """Return targets that no weights meet together, none of which can be left out, if any."""
    incidence, targets = _incidence(margins)
    found = _solved(**_elastic(incidence, targets))
    if found.status != 0 or found.fun <= _TOLERANCE:
        return None
    multipliers = found.eqlin.marginals
    chosen: list[tuple[int, int]] = []
    start = 0
    for j, margin in enumerate(margins):
        own = multipliers[start : start + len(margin.labels)]
        # A constant may be added to a margin: its most frequent multiplier is taken for 0.
        values, times = np.unique(own.round(9), return_counts=True)
        usual = values[np.argmax(times)]
        chosen += [(j, k) for k in np.flatnonzero(np.abs(own - usual) > 1e-7).tolist()]
        start += len(margin.labels)
    n_cells = incidence.shape[1]
    size = _BYTES_PER_MEMBER * len(chosen) * n_cells + _BYTES_PER_ENTRY * len(margins) * n_cells
    require_memory(size, None, f"the cells of {len(chosen)} targets")
    return _irreducible(
        [
            Target(
                j,
                margins[j].title(k),
                float(margins[j].targets[k]),
                margins[j].of_cell == k,
            )
            for j, k in chosen
        ]
    )


def raise_narrow_bounds(
    base: Vector,
    margins: Sequence[CodedMargin],
    bounds: Bounds,
    would_do: Callable[[Bounds], bool],
    where: str = "",
) -> None:
    """Raise which target the bounds do not allow, and which bounds would, if that is so.

    No bounds are offered that `would_do` does not confirm.
    """
    raise_contradiction(margins, where)
    low, high = bounds
    incidence, targets = _incidence(margins)
    shares = _scaled(incidence, np.ones(len(targets)), base)
    worst, reached, gap = _nearest(shares, targets, bounds)
    if gap <= _TOLERANCE:
        return
    titles = [margin.title(k) for margin in margins for k in range(len(margin.labels))]
    # Relative to each target, as the tolerances of the programme are meant to be.
    scaled = _scaled(incidence, 1 / targets, base)
    offers: list[Bounds] = []
    # One end moved; both, as much as they have to be; or as far down as there are weights.
    for ways in ([(0.0, 1.0), (1.0, 0.0)], [(1.0, 1.0)], [None]):
        offers = [offer for way in ways if (offer := _offer(scaled, bounds, way, would_do))]
        if offers:
            break
    said = " or ".join(f"{below:g},{above:g}" for below, above in offers)
    way_out = f"; {parameter('bounds')} {said} would do" if offers else ""
    raise CannotAnswer(
        f"no weights from {low:g} to {high:g} times those before meet the targets: the nearest are "
        f"off by {gap:.3g}, as {titles[worst]} with {reached:.4g} instead of "
        f"{targets[worst]:.4g}{way_out}"
    )


def _offer(
    scaled: csr_array,
    bounds: Bounds,
    moved: tuple[float, float] | None,
    would_do: Callable[[Bounds], bool],
) -> Bounds | None:
    """Return bounds that do, with one end moved or both, or from 0 up where `moved` is None."""
    low, high = bounds if moved is not None else (0.0, bounds[1])
    down, up = moved or (0.0, 1.0)
    times = _least_widening(scaled, (low, high), (down, up))
    if times is None:
        return None
    for spare in _SPARES:
        below, above = low, high
        if down:
            below = min(low, _rounded((1 - (1 - low) * times) * (1 - spare), math.floor))
        if up and not down:
            above = max(high, _rounded((1 + (high - 1) * times) * (1 + spare), math.ceil))
        if down and up:
            # Both have gone as far as one has to: beside it, the other may go back.
            if found := _offer(scaled, (below, high), (0.0, 1.0), would_do):
                return _offer(scaled, (low, found[1]), (1.0, 0.0), would_do) or found
        elif would_do((below, above)):
            return below, above
    return None


def _incidence(margins: Sequence[CodedMargin]) -> tuple[csr_array, Vector]:
    """Return A, a row per target and a column per cell of the table, and t."""
    from scipy.sparse import coo_array

    n_cells = len(margins[0].of_cell)
    size = _BYTES_PER_ENTRY * len(margins) * n_cells
    require_memory(size, None, f"the programme of {n_cells} cells")
    starts = np.cumsum([0, *(len(margin.labels) for margin in margins)])
    rows = np.concatenate(
        [margin.of_cell + start for margin, start in zip(margins, starts, strict=False)]
    )
    columns = np.tile(np.arange(n_cells), len(margins))
    shape = (int(starts[-1]), n_cells)
    matrix = coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
    return matrix, np.concatenate([margin.targets for margin in margins])


def _scaled(matrix: csr_array, of_row: Vector, of_column: Vector) -> csr_array:
    """Multiply rows and columns, without making what is sparse dense."""
    found = matrix.copy()
    found.data = np.repeat(of_row, np.diff(matrix.indptr)) * of_column[matrix.indices]
    return found


def _elastic(matrix: csr_array, right: Vector) -> dict[str, Any]:
    """Minimise Σ |A w − t| over w that are not negative."""
    from scipy.sparse import eye_array, hstack

    n_rows, n_columns = matrix.shape
    return {
        "costs": np.concatenate([np.zeros(n_columns), np.ones(2 * n_rows)]),
        "A_eq": hstack([matrix, eye_array(n_rows), -eye_array(n_rows)], format="csr"),
        "b_eq": right,
        "bounds": (0, None),
    }


def _nearest(shares: csr_array, targets: Vector, bounds: Bounds) -> tuple[int, float, float]:
    """Find the ratios within bounds whose largest gap is smallest.

    Return the target that is most in the way of a smaller one, its share, and the gap.
    """
    from scipy.sparse import csr_array, hstack, vstack

    n_targets, n_cells = shares.shape
    gap = csr_array(np.full((n_targets, 1), -1.0))
    found = _solved(
        costs=np.concatenate([np.zeros(n_cells), [1.0]]),
        A_ub=vstack([hstack([shares, gap]), hstack([-shares, gap])], format="csr"),
        b_ub=np.concatenate([targets, -targets]),
        bounds=[bounds] * n_cells + [(0, None)],
    )
    if found.status != 0:
        raise _undecided()
    above, below = np.split(np.abs(found.ineqlin.marginals), 2)
    worst = int(np.argmax((above + below).round(9)))
    return worst, float((shares @ found.x[:n_cells])[worst]), float(found.x[-1])


def _least_widening(scaled: csr_array, bounds: Bounds, moved: tuple[float, float]) -> float | None:
    """Return how many times as far from 1 as they are bounds have to be, or one of them.

    1 for an end that moves, 0 for one that stays. None if no widening does: ratios are not
    negative.
    """
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    n_targets, n_cells = scaled.shape
    low, high = bounds
    down, up = (1 - low) * moved[0], (high - 1) * moved[1]
    ones, every = np.ones((n_cells, 1)), eye_array(n_cells)
    # r − up·t ≤ 1 or high, and −r − down·t ≤ −1 or −low
    found = _solved(
        costs=np.append(np.zeros(n_cells), 1.0),
        A_ub=vstack([hstack([every, -up * ones]), hstack([-every, -down * ones])], format="csr"),
        b_ub=np.repeat([1.0 if up else high, -1.0 if down else -low], n_cells),
        A_eq=hstack([scaled, csr_array((n_targets, 1))], format="csr"),
        b_eq=np.ones(n_targets),
        bounds=[(0, None)] * n_cells + [(0, 1 / down if down else None)],
    )
    return float(found.x[-1]) if found.status == 0 else None


def _rounded(value: float, how: Any) -> float:
    """Round to three digits, up or down."""
    if value <= 0:
        return 0.0
    digits = 2 - math.floor(math.log10(value))
    return float(how(round(value * 10**digits, 6)) / 10**digits)


def _irreducible(listed: list[Target]) -> Contradiction:
    """Leave out targets while the rest still contradicts."""
    kept = list(listed)
    for target in listed:
        rest = [other for other in kept if other is not target]
        if rest and clash(rest) is not None:
            kept = rest
    multipliers = clash(kept)
    if multipliers is None:
        raise _undecided()
    return Contradiction(kept, multipliers)


def clash(targets: Sequence[Target]) -> Vector | None:
    """Return y of targets that contradict one another, given that weights add up to 1."""
    from scipy.sparse import csr_array, vstack

    members = np.array([target.members for target in targets])
    patterns = np.unique(members, axis=1)
    rows = vstack([csr_array(np.ones((1, patterns.shape[1]))), csr_array(patterns, dtype=float)])
    right = np.array([1.0, *(target.value for target in targets)])
    found = _solved(**_elastic(rows.tocsr(), right))
    if found.status != 0 or found.fun <= _TOLERANCE:
        return None
    multipliers: Vector = found.eqlin.marginals[1:]
    return multipliers


def _needed(found: Contradiction) -> str:
    """Say which rows would settle a contradiction."""
    wanted, unwanted = [], []
    pairs = list(zip(found.targets, found.multipliers.tolist(), strict=True))
    for margin in dict.fromkeys(target.margin for target in found.targets):
        own = [(target.title, sign) for target, sign in pairs if target.margin == margin]
        best = max(sign for _, sign in own)
        if best <= 0:
            unwanted += [title for title, _ in own]
            continue
        # A row has one cell of a margin: any of those that count most.
        largest = [title for title, sign in own if sign > best - 1e-9]
        wanted.append(largest[0] if len(largest) == 1 else f"({' or '.join(largest)})")
    without = " and ".join(f"without {title}" for title in unwanted)
    with_ = f"with {' and '.join(wanted)}" if wanted else ""
    return " but ".join(filter(None, [with_, without]))


def _solved(costs: NDArray[np.float64], **programme: Any) -> Any:
    reporter().status("looking for what can be met at all")
    found = solved_programme(costs, **programme)
    reporter().status(None)
    return found


def _undecided() -> CannotAnswer:
    return CannotAnswer(
        "whether the targets can be met could not be found out: the linear programme did not "
        "converge"
    )
