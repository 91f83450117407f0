"""Suspects: which columns would explain the failures of a run, and which explain them best.

One broken column makes many checks fail. A column can be suspected in two ways.

*Its values are wrong*: shuffled, recoded, of another unit, from another row. The joint distribution
of all other columns is then as it was, so that only checks that involve the column can fail, and
only its own distribution can have changed. A table and an edge that it is in are expected to
fail, and so is an independence u ⟂ v | Z with the column in Z, which no longer separates u and v.
Noise in u or v itself makes no dependence out of an independence; to explain such a failure by that
column is *strained*.

*Its distribution drifted*: levels became more or less frequent, or the column depends on its
parents in another way. Selecting rows by x changes P(v | parents) if v is x or an ancestor of x,
and for no other v, so that only checks of these can fail; explaining those of ancestors is half as
strained. The own distribution of any column may change with it; by the data processing
inequality none changes more, in total variation, than that of x.

The smallest set of columns that explains every failure is chosen. Ties are broken, in this order,
by the number of columns whose own distributions changed though they should not have, by strained
explanations, by the share of the column's powered tables, rows and edges with p ≤ α (for a drift,
of its own table), by the total variation of its own distribution, in favour of a drift, and by
name. Sets of up to three columns are tried.

If u and v are close to no other column, whether u or v was shuffled cannot be seen. Two columns
that explain the same cannot be told apart if neither's own distribution changed, an edge is lost or
an independence broken, and the share of the second is at least `_ALIKE` of that of the first; nor
can two drifts if the own distribution of the second changed more.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter as Multiset
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gml.gate.check import DRIFT, EDGE, INDEPENDENCE, REPEATS, Check
from gml.gate.margins import Margin

_LARGEST_SET = 3
# All pairs and triples of so many are tried, those that explain most.
_MOST_TRIED = 40
_ALIKE = 0.5
_STRAINED, _HALF = 1.0, 0.5


@dataclass(frozen=True)
class Suspect:
    """A column suspected in one of the two ways; `explained` has a bit for each failure."""

    column: str
    drifted: bool
    explained: int
    unexplained_margins: int
    strain: float
    share: float
    change: float

    @property
    def doubts(self) -> tuple[int, float]:
        """What speaks against it."""
        return self.unexplained_margins, self.strain

    @property
    def rank(self) -> tuple[int, float, float, float, bool, str]:
        """The least is the likeliest."""
        return (*self.doubts, -self.share, -self.change, not self.drifted, self.column)

    @property
    def most_first(self) -> tuple[object, ...]:
        """Order by the number of failures explained."""
        return (-self.explained.bit_count(), *self.rank)


class Evidence:
    """The failures, what else could have failed, and what each column would explain."""

    def __init__(
        self,
        failures: Sequence[Check],
        powered: Sequence[Check],
        margins: Mapping[str, Margin],
        parents: Mapping[str, Sequence[str]],
        alpha: float,
    ) -> None:
        self.failures = failures
        self.margins = margins
        self._parents = parents
        powered = [check for check in powered if not is_of_all_rows(check)]
        self.powered = [check for check in powered if _is_of_a_relation(check)]
        self._level = math.log(alpha)
        self.by_itself = {c.variables[0]: c for c in (*powered, *failures) if c.kind == DRIFT}
        self.known = {*margins, *self.by_itself}
        level = self._level - math.log(max(1, len(margins)))
        self.changed = {name for name, margin in margins.items() if margin.log_p <= level}
        self.changed |= {check.variables[0] for check in failures if check.kind == DRIFT}

    def _ancestors(self, column: str) -> set[str]:
        """The column and all that it depends on in the model."""
        found, todo = {column}, [column]
        while todo:
            for parent in self._parents.get(todo.pop(), ()):
                if parent not in found:
                    found.add(parent)
                    todo.append(parent)
        return found

    @cached_property
    def _shares(self) -> tuple[dict[str, float], dict[str, float]]:
        """The share of relations with p ≤ α, of all that involve a column, and of its own table."""
        asked, found = Multiset[str](), Multiset[str]()
        asked_own, found_own = Multiset[str](), Multiset[str]()
        for check in self.powered:
            fails = check.log_p is not None and check.log_p <= self._level
            names = involved(check)
            asked.update(names)
            asked_own[check.variables[-1]] += 1
            if fails:
                found.update(names)
                found_own[check.variables[-1]] += 1
        return (
            {name: found[name] / asked[name] for name in asked},
            {name: found_own[name] / asked_own[name] for name in asked_own},
        )

    def suspects(self) -> list[Suspect]:
        """Every column that explains a failure, in both ways, the likeliest first."""
        found = [*self._of_values(), *self._of_drift()]
        return sorted((s for s in found if s.explained), key=lambda s: s.rank)

    def _of_values(self) -> Iterator[Suspect]:
        explained = defaultdict[str, int](int)
        strain = defaultdict[str, float](float)
        for bit, check in enumerate(self.failures):
            for name in involved(check):
                explained[name] |= 1 << bit
                if check.kind == INDEPENDENCE and name in check.variables:
                    strain[name] += _STRAINED
        for name, bits in explained.items():
            left = len(self.changed - {name})
            yield self._suspect(name, False, bits, left, strain[name])

    def _of_drift(self) -> Iterator[Suspect]:
        own, of_relations = defaultdict[str, int](int), defaultdict[str, int](int)
        strain, by_themselves = Multiset[str](), 0
        for bit, check in enumerate(self.failures):
            target = check.variables[-1]
            own[target] |= 1 << bit
            if check.kind == DRIFT:
                by_themselves |= 1 << bit
            elif check.family != "schema":
                of_relations[target] |= 1 << bit
            strain[target] += check.kind == INDEPENDENCE
        for name in dict.fromkeys([*own, *sorted(self.changed)]):
            bits = own[name]
            if name in self.changed:
                bits |= by_themselves
                for ancestor in self._ancestors(name):
                    bits |= of_relations[ancestor]
            strained = _STRAINED * strain[name] + _HALF * (bits & ~own[name]).bit_count()
            left = 0 if name in self.changed else len(self.changed)
            yield self._suspect(name, True, bits, left, strained)

    def _suspect(
        self, column: str, drifted: bool, explained: int, left: int, strain: float
    ) -> Suspect:
        share = self._shares[drifted].get(column, 0.0)
        change = 0.0
        if column in self.changed:
            margin, check = self.margins.get(column), self.by_itself.get(column)
            change = margin.total_variation if margin else (check and check.effect) or 0.0
        return Suspect(column, drifted, explained, left, strain, share, change)

    def explained_by(self, suspect: Suspect) -> list[Check]:
        """The failures that a suspect explains."""
        return [c for bit, c in enumerate(self.failures) if suspect.explained >> bit & 1]

    def alike(self, first: Suspect, suspects: Sequence[Suspect]) -> tuple[str, ...]:
        """Another column that explains the same, if nothing tells the two apart."""
        lost = any(check.kind in (EDGE, INDEPENDENCE) for check in self.failures)
        least = _ALIKE * self._shares[False].get(first.column, 0.0)
        for other in suspects:
            if other.column == first.column or other.explained != first.explained:
                continue
            if first.column in self.changed:
                # No other column changes more than the one that drifted.
                if first.drifted and other.drifted and other.change > first.change:
                    return (other.column,)
            elif (
                lost
                and other.doubts <= first.doubts
                and other.share >= least
                and other.column not in self.changed
            ):
                return (other.column,)
        return ()


def involved(check: Check) -> tuple[str, ...]:
    """The columns that a check is about or takes as given, each once."""
    return tuple(dict.fromkeys([*check.variables, *(name for name, _ in check.given)]))


def is_of_all_rows(check: Check) -> bool:
    """Whether a check is about whole rows, so that no column is to blame."""
    return check.family == "fit" or not check.variables or check.kind == REPEATS


def _is_of_a_relation(check: Check) -> bool:
    """Whether a broken column is expected to make a check fail: a table, a row of it, an edge."""
    return check.kind == EDGE or check.family == "tables"


def smallest_set(suspects: Sequence[Suspect], n_failures: int) -> tuple[Suspect, ...] | None:
    """The smallest set of suspects that explains every failure, the likeliest of its size."""
    whole = (1 << n_failures) - 1
    most = sorted(suspects, key=lambda s: s.most_first)[:_MOST_TRIED]
    for size in range(1, _LARGEST_SET + 1):
        tried = suspects if size == 1 else most
        complete = [
            chosen
            for chosen in itertools.combinations(tried, size)
            if _together(chosen) == whole and len({s.column for s in chosen}) == size
        ]
        if complete:
            return min(complete, key=_rank_of_set)
    return None


def _together(chosen: Sequence[Suspect]) -> int:
    explained = 0
    for suspect in chosen:
        explained |= suspect.explained
    return explained


def _rank_of_set(chosen: Sequence[Suspect]) -> tuple[object, ...]:
    return (
        sum(s.unexplained_margins for s in chosen),
        sum(s.strain for s in chosen),
        -sum(s.share for s in chosen),
        -sum(s.change for s in chosen),
        [s.rank for s in chosen],
    )
