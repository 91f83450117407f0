"""Which columns are missing together, and how often.

Where missing values are a level of their own, columns that are missing in the same rows have that
level in common, and what is learnt from them is who did not answer. `tell_missing_together` warns
of that. Two columns count as missing together if at least 5 rows lack both, if Loevinger's H of the
two gaps (their covariance over the largest that their frequencies allow; J. Loevinger 1948,
Psychological Bulletin 45:507) is at least one half, and if gaps that are independent would have so
many rows in common with a probability below 0.001 over the number of pairs. That probability is
bounded by Hoeffding's inequality (1963, section 6: drawing without replacement), so that tables
whose columns are missing independently of one another are warned of less than once in a thousand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset, missing_mask
from gml.data.row_groups import distinct_patterns, group_sums
from gml.errors import counted, quote, with_flags
from gml.name_order import NameOrder
from gml.progress import reporter

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MissingPattern:
    """The columns that lack a value in some rows, and the number of these rows."""

    missing: tuple[str, ...]
    rows: int | float


@dataclass(frozen=True)
class McarTest:
    """Little's test of whether values are missing completely at random.

    `why` says why there is no test, if there is none. `numbers` are columns of labels that were
    taken as the numbers that they spell, `left_out` those whose values were left out, and why.
    """

    statistic: float | None
    df: int
    p_value: float | None
    log10_p: float | None
    why: str | None = None
    numbers: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class MissingPatterns:
    """The patterns of a table, the commonest first; of equally common ones that with fewer gaps."""

    rows: int | float
    patterns: tuple[MissingPattern, ...]
    mcar: McarTest | None = None

    def __repr__(self) -> str:
        return f"<MissingPatterns: {self.in_words()}>"

    if TYPE_CHECKING:
        # The package adds it to the class: pictures are above this room.
        def _repr_html_(self) -> str | None: ...

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per pattern."""
        import pandas as pd

        return pd.DataFrame([vars(one) for one in self.patterns], columns=["missing", "rows"])

    @property
    def complete(self) -> int | float:
        """The number of rows in which nothing is missing."""
        return next((one.rows for one in self.patterns if not one.missing), 0)

    def in_words(self) -> str:
        """How many rows are complete, and how many patterns of gaps the others have."""
        gaps = sum(bool(one.missing) for one in self.patterns)
        said = (
            f"{self.complete:g} of {self.rows:g} rows complete, {counted(gaps, 'pattern')} of gaps"
        )
        if self.mcar is None:
            return said
        if self.mcar.p_value is None:
            return f"{said}, no test by Little: {self.mcar.why}"
        return f"{said}, Little's test p {self.mcar.p_value:.3g}"

    def written(self) -> dict[str, Any]:
        """What JSON has of them."""
        found: dict[str, Any] = {
            "rows": self.rows,
            "complete": self.complete,
            "patterns": [{"missing": list(one.missing), "rows": one.rows} for one in self.patterns],
        }
        if self.mcar is not None:
            why = None if self.mcar.why is None else with_flags(self.mcar.why)
            found["mcar"] = {
                "test": "little",
                **vars(self.mcar),
                "why": why,
                "numbers": list(self.mcar.numbers),
                "left_out": dict(self.mcar.left_out),
            }
        return found


def missing_patterns(dataset: Dataset) -> MissingPatterns:
    """Count the patterns of missing values of a table.

    Examples
    --------
    >>> import gml
    >>> table = gml.read("sample_data/survey_missing.csv", missing="available")
    >>> for one in missing_patterns(table.select(["Age", "Sex"])).patterns:
    ...     print(one.rows, *one.missing)
    898
    54 Sex
    47 Age
    1 Age Sex
    """
    order = NameOrder(dataset.names).positions.tolist()
    gaps = [j for j in order if missing_mask(dataset.columns[j]).any()]
    masks = np.zeros((dataset.n_rows, len(gaps)), dtype=bool)
    for k, j in enumerate(gaps):
        masks[:, k] = missing_mask(dataset.columns[j])
    distinct, of_row = distinct_patterns(masks)
    counts = group_sums(of_row, len(distinct), dataset.weights)
    found = [
        MissingPattern(
            tuple(dataset.names[gaps[k]] for k in np.flatnonzero(mask)), dataset.in_rows(count)
        )
        for mask, count in zip(distinct, counts.tolist(), strict=True)
        if count
    ]
    found.sort(key=lambda one: (-one.rows, len(one.missing), one.missing))
    return MissingPatterns(dataset.in_rows(dataset.n), tuple(found))


# Bytes of the different patterns that are kept, those of Python for each included.
_MOST_BYTES = 1 << 24
_BYTES_PER_PATTERN = 128
# Cells that are looked at together.
_LOOKED_AT = 1 << 22
_LEAST_TOGETHER = 5
_LEAST_H = 0.5
_FALSE_ALARMS = 0.001
_MOST_COLUMNS = 500
_MOST_SETS = 64
_GROUPS_SHOWN, _COLUMNS_SHOWN = 3, 8
_PLAIN = re.compile(r"[^\s,\"':]{1,60}")


class GapTally:
    """How many rows lack which columns, while rows pass by in pieces.

    Pieces may come in any order, and to several readers (`add`). Where patterns are so many that
    they take too much memory, whatever the order, nothing is known any more.

    Examples
    --------
    >>> tally = GapTally(3)
    >>> gap = np.array([True] * 6 + [False] * 94)
    >>> tally.see([gap, None, gap], 100)
    >>> tally.missing_together(["A", "B", "C"], 100)
    [(6, ('A', 'C'))]
    """

    def __init__(self, n_columns: int) -> None:
        self._width = -(-n_columns // 8)
        self._most = _MOST_BYTES // (self._width + _BYTES_PER_PATTERN)
        self._rows: dict[bytes, int] | None = {}

    def see(self, gaps: Sequence[NDArray[np.bool_] | None], n_rows: int) -> None:
        """Take note of rows, given which of them lack each column."""
        size = max(1, _LOOKED_AT // self._width)
        lacking = [j for j, gap in enumerate(gaps) if gap is not None]
        if len(lacking) < 2:
            return
        for start in range(0, n_rows, size):
            if self._rows is None:
                return
            part = slice(start, min(start + size, n_rows))
            keys = np.zeros((part.stop - start, self._width), dtype=np.uint8)
            for j in lacking:
                gap = gaps[j]
                assert gap is not None
                keys[:, j // 8] |= gap[part].view(np.uint8) << (j % 8)
            keys = keys[keys.any(axis=1)]
            groups = kernel.active().group_rows(keys, self._most)
            if groups is None:
                self._rows = None
                return
            rows = np.bincount(groups.of_row, minlength=len(groups.firsts)).tolist()
            self._count({keys[k].tobytes(): n for k, n in zip(groups.firsts, rows, strict=True)})

    def add(self, other: GapTally) -> None:
        """Take what another tally knows of other rows."""
        if other._rows is None:
            self._rows = None
        else:
            self._count(other._rows)

    def _count(self, found: Mapping[bytes, int]) -> None:
        if self._rows is None:
            return
        for key, n in found.items():
            self._rows[key] = self._rows.get(key, 0) + n
        if len(self._rows) > self._most:
            self._rows = None

    def state(self) -> Any:
        """Return what was counted as JSON takes it."""
        return None if self._rows is None else {key.hex(): n for key, n in self._rows.items()}

    def restore(self, state: Any) -> None:
        """Take what another run has counted."""
        self._rows = None if state is None else {bytes.fromhex(key): n for key, n in state.items()}

    def missing_together(
        self, names: Sequence[str], n_rows: int
    ) -> list[tuple[int, tuple[str, ...]]]:
        """Return groups of columns that are missing together, and how many rows lack all of them.

        Columns are in one group if pairs link them; of the sets that are missing in some row, the
        group is the one that takes the most gaps together.
        """
        if not self._rows:
            return []
        keys = np.frombuffer(b"".join(self._rows), dtype=np.uint8).reshape(-1, self._width)
        flags = np.unpackbits(keys, axis=1, count=len(names), bitorder="little").astype(bool)
        rows = np.array(list(self._rows.values()), dtype=np.int64)
        gaps = rows @ flags
        by_gaps = sorted(np.flatnonzero(gaps).tolist(), key=lambda j: (-gaps[j], names[j]))
        used = sorted(by_gaps[:_MOST_COLUMNS], key=names.__getitem__)
        flags = flags[:, used]
        found = []
        for group in _linked(_together(flags, rows), n_rows):
            best = _largest_set(flags[:, group], rows)
            if best is not None:
                found.append((best[0], tuple(names[used[group[k]]] for k in best[1])))
        return sorted(found, key=lambda one: (-one[0], one[1]))


def _together(flags: NDArray[np.bool_], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many rows lack both of each two columns."""
    some = flags.astype(np.float64)
    return (some * rows[:, None]).T @ some


def _linked(together: NDArray[np.float64], n_rows: int) -> list[list[int]]:
    """The groups of columns that are missing together in pairs; see the module."""
    size = len(together)
    gaps = np.diagonal(together)
    fewer, more = np.minimum.outer(gaps, gaps), np.maximum.outer(gaps, gaps)
    share, seen = more / n_rows, together / fewer
    by_chance = fewer * share
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.where(seen < 1, (1 - seen) * np.log((1 - seen) / (1 - share)), 0.0)
        log_p = -fewer * (seen * np.log(seen / share) + rest)
    links = (together >= _LEAST_TOGETHER) & (share < 1)
    links &= together - by_chance >= _LEAST_H * (fewer - by_chance)
    pairs = size * (size - 1) / 2
    links &= log_p < np.log(_FALSE_ALARMS / max(1.0, pairs))
    group = list(range(size))
    for i, j in np.argwhere(np.triu(links, 1)).tolist():
        old, new = group[j], group[i]
        group = [new if g == old else g for g in group]
    found = [[k for k in range(size) if group[k] == g] for g in sorted(set(group))]
    return [members for members in found if len(members) > 1]


def _largest_set(
    flags: NDArray[np.bool_], rows: NDArray[np.int64]
) -> tuple[int, tuple[int, ...]] | None:
    """The columns, of those missing in some row, that together lack most, and in how many rows."""
    patterns, of_row = np.unique(flags, axis=0, return_inverse=True)
    counts = group_sums(of_row.reshape(-1), len(patterns), rows)
    several = np.flatnonzero(patterns.sum(axis=1) > 1)
    commonest = sorted(several.tolist(), key=lambda k: (-int(counts[k]), k))[:_MOST_SETS]
    best: tuple[int, int, tuple[int, ...]] | None = None
    for k in commonest:
        columns = np.flatnonzero(patterns[k])
        n = int(rows[flags[:, columns].all(axis=1)].sum())
        if n >= _LEAST_TOGETHER:
            one = (-n * (len(columns) - 1), -n, tuple(columns.tolist()))
            best = one if best is None else min(best, one)
    return None if best is None else (-best[1], best[2])


def tell_missing_together(gaps: GapTally, names: Sequence[str], n_rows: int) -> None:
    """Warn about columns whose common level is that nobody answered."""
    groups = gaps.missing_together(names, n_rows)
    if not groups:
        return
    said = []
    for rows, group in groups[:_GROUPS_SHOWN]:
        shown = ", ".join(
            name if _PLAIN.fullmatch(name) else quote(name) for name in group[:_COLUMNS_SHOWN]
        )
        if len(group) > _COLUMNS_SHOWN:
            shown += f" and {len(group) - _COLUMNS_SHOWN} more"
        said.append(f"{counted(rows, 'row')} miss {shown} together")
    more = len(groups) - len(said)
    if more:
        said.append(f"and {counted(more, 'more group')}")
    reporter().warn(f"{', '.join(said)}: edges among them say who did not answer")
