"""The test `auto`: for each question the test that fits the kinds of its columns.

PICKED of the registry says which, and is the one place to change that. Labels alone have a test
that keeps its level on dense and on sparse tables (`gml.independence.calibrated`), numbers alone
Fisher's z. Where both kinds meet, dg keeps its level as long as effects add up, whatever the
numbers are like: it compares means. cg compares variances as well, which makes it reject
independence itself where numbers have heavy tails; it exceeds its level with fewer than some fifty
rows per configuration of labels, and gives no result where one is rare. dg is never used on labels
alone, whose interactions it does not see. The table behind this is in docs/mixed.md; a default must
keep its level inside its own model, for any number of rows, and be served by sums, which excludes
rcit.

Over a table of labels, this is the test of labels and nothing else; otherwise results say which
test they are of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Triple, TripleArray
from gml.data.dataset import Variable
from gml.errors import UsageError, parameter
from gml.independence.base import CIResult, CounterTest, PValueTest, ResultArrays
from gml.independence.calibrated import CalibratedTest
from gml.independence.registry import PICKED, TESTS, KnownTest
from gml.independence.some_columns import OverSomeColumns
from gml.independence.transforms import NONE, RANK
from gml.parameters import LABELS, NUMBERS

_SITUATIONS = tuple(PICKED)
_KINDS = {"labels": LABELS, "numbers": NUMBERS}


def picked_for(variables: Sequence[Variable]) -> dict[str, str]:
    """Return which test is used in which situation of a table with numbers; empty without.

    Examples
    --------
    >>> picked_for([Variable("age", None), Variable("height", None)])
    {'numbers': 'fisher-z'}
    >>> picked_for([Variable("age", None), Variable("sex", ("f", "m"))])
    {'a label and a number': 'dg'}
    """
    numbers = sum(variable.is_continuous for variable in variables)
    labels = len(variables) - numbers
    possible = {
        "labels": labels > 1,
        "numbers": numbers > 1,
        "two labels given numbers": labels > 1 and numbers > 0,
        "a label and a number": labels > 0 and numbers > 0,
        "two numbers given labels": labels > 0 and numbers > 1,
    }
    if not numbers:
        return {}
    return {situation: test for situation, test in PICKED.items() if possible[situation]}


def described_picks(picked: dict[str, str]) -> str:
    """Say in words which tests are used.

    Examples
    --------
    >>> described_picks({"labels": "auto", "numbers": "fisher-z", "a label and a number": "dg"})
    'auto picks fisher-z for numbers, dg where labels and numbers meet, and G or X² for labels'
    """
    words = []
    if "numbers" in picked:
        words.append(f"{picked['numbers']} for numbers")
    met = [test for situation, test in picked.items() if situation not in _KINDS]
    words += [f"{test} {_where(picked, test)}" for test in dict.fromkeys(met)]
    if "labels" in picked:
        words.append("G or X² for labels")
    *first, last = words
    return f"auto picks {', '.join(first)}{', and ' if first else ''}{last}"


def _where(picked: dict[str, str], test: str) -> str:
    """In which situations with both kinds a test is used."""
    mixed = [situation for situation in picked if situation not in _KINDS]
    own = [situation for situation in mixed if picked[situation] == test]
    return "where labels and numbers meet" if own == mixed else f"for {' and '.join(own)}"


class AutoTest(PValueTest):
    """A test by the kinds of its columns."""

    def __init__(
        self, facts: KnownTest, counter: Counter, *, threads: int | None = None, **options: Any
    ) -> None:
        super().__init__(facts, counter, threads=threads, **options)
        self._is_number = np.array([v.is_continuous for v in counter.variables], dtype=bool)
        self._tests: dict[str, OverSomeColumns | CounterTest] = {}
        self._of_labels: CalibratedTest | None = None
        transform = self._options["transform"]
        if not self._is_number.any():
            if transform != NONE:
                raise UsageError(
                    f"{parameter('transform', transform)} is about numbers, and all columns have "
                    f"labels: say which hold numbers ({parameter('numeric')})"
                )
            self._of_labels = CalibratedTest(facts, counter, threads=threads, **options)
        elif transform == RANK and not self._is_number.all():
            # Refused at once, and not when the first such question comes.
            self._test_of("a label and a number")

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        if self._of_labels is not None:
            return self._of_labels.batch(triples)
        found = ResultArrays.blank(len(triples))
        situations = self._situations(triples)
        places = list(TESTS)
        for k, situation in enumerate(_SITUATIONS):
            which = np.flatnonzero(situations == k)
            if not len(which):
                continue
            some = (
                TripleArray(triples.rows[which])
                if isinstance(triples, TripleArray)
                else [triples[i] for i in which.tolist()]
            )
            found.place(which, self._test_of(situation).batch(some))
            assert found.by is not None
            found.by[which] = places.index(PICKED[situation])
        return found

    def why_insufficient(
        self, x: int, y: int, given: Sequence[int], result: CIResult | None = None
    ) -> str | None:
        """Say what the test that was picked says."""
        if self._of_labels is not None:
            return self._of_labels.why_insufficient(x, y, given, result)
        (situation,) = self._situations([(x, y, tuple(given))]).tolist()
        return self._test_of(_SITUATIONS[situation]).why_insufficient(x, y, given, result)

    def why_undecided(self, alpha: float) -> str | None:
        """Say what the test of labels says; no other that is picked draws."""
        return None if self._of_labels is None else self._of_labels.why_undecided(alpha)

    def _situations(self, triples: Sequence[Triple]) -> NDArray[np.int64]:
        """The situation of each question, by its place."""
        is_number = self._is_number
        if isinstance(triples, TripleArray):
            kinds = is_number[triples.rows]
            pair, total = kinds[:, :2].sum(axis=1), kinds.sum(axis=1)
            size = np.full(len(kinds), kinds.shape[1])
        else:
            pair = np.array([is_number[[x, y]].sum() for x, y, _ in triples], dtype=np.int64)
            given = [is_number[list(z)].sum() if z else 0 for _, _, z in triples]
            total = pair + np.array(given, dtype=np.int64)
            size = np.array([2 + len(z) for _, _, z in triples], dtype=np.int64)
        found: NDArray[np.int64] = np.where(total == size, 1, np.where(total == 0, 0, 2 + pair))
        return found

    def _test_of(self, situation: str) -> OverSomeColumns | CounterTest:
        name = PICKED[situation]
        key = situation if situation in _KINDS else name
        if key not in self._tests:
            facts = TESTS[name]
            taken = {option.name for option in facts.options}
            options = {key: value for key, value in self._options.items() if key in taken}
            make = CalibratedTest if name == self.name else facts.load()
            if situation in _KINDS:
                kind = _KINDS[situation]
                self._tests[key] = OverSomeColumns(
                    make, facts, self._counter, kind, self._threads, **options
                )
            else:
                self._tests[key] = make(facts, self._counter, threads=self._threads, **options)
        return self._tests[key]
