"""Duplicates: rows that repeat others more than the model's rows did, and values that never did.

Rows are compared over all columns of the model, numbers as their intervals, on both sides, so that
there is nothing to ask where a column is left out; `rarefaction` has the test. Rows may also be
less diverse because a column changed: rows drawn from the model with the tables of the new rows
tell by how much, compared with rows drawn from it as it is, and that much is no sign of duplicates.
Rows of the model that repeat more than rows drawn from it may be copies, which new rows from the
same source have, too: so many per row are expected whatever the sizes of the samples. New rows that
were delivered g times are looked at as if they had come once: their counts divided by g, which is
exact. Where both sides know the numbers before they were cut, rows are also compared with these
(`schema:copies`), which shows copies among rows that are alike as intervals anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.data.lazily import Lazily
from gml.data.number_summary import Numbers, NumberSummary
from gml.data.row_groups import EqualRows, equal_rows
from gml.gate.check import FAIL, REPEATS, SHARE_OF_ROWS, UNIQUE, WARN, Check
from gml.gate.check_ids import COPIES_ID, REPEATS_ID, column_id
from gml.gate.families import FamilyCounts, table_of
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question
from gml.gate.rarefaction import Excess, OtherReasons, excess_repeats, rarefied, times_delivered
from gml.model.bayesnet import BayesNet
from gml.model.fit import probabilities
from gml.model.training import Repeats, Training

RAREFACTION = "rarefaction"

# What an upper bound may miss, as a share of the level.
_SHARE_OF_LEVEL = 0.05
_DRAWN_ROWS = 200_000


@dataclass(frozen=True)
class RowRepeats:
    """How often rows repeat in the new data and did in the model's."""

    old: Repeats
    new: Repeats
    groups: EqualRows | None
    """Which rows are equal, of rows in memory."""
    times: int
    """How often the new rows were delivered."""
    log_accident: float
    """ln of the chance that rows delivered once look as if they had been delivered more often."""
    uncut: tuple[Repeats, Repeats] | None = None
    """The old and new ones with the numbers as they are, where both sides know them."""

    def once(self, rows: Dataset) -> Dataset:
        """Return the rows as if they had been delivered once; the others have weight 0."""
        assert self.groups is not None
        weights = np.zeros(rows.n_rows, dtype=np.int64)
        weights[self.groups.firsts] = self.groups.counts // self.times
        return replace(rows, weights=weights)

    def numbers_once(self, numbers: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
        """Return the numbers likewise, where each occurs a multiple of that many times."""

        def once(name: str) -> Numbers | None:
            found = numbers.get(name)
            return None if found is None else found.once(self.times)

        return Lazily(numbers, once)


def row_repeats(
    training: Training | None,
    names: Collection[str],
    counter: Counter,
    uncut: Mapping[int, int] | None = None,
) -> RowRepeats | None:
    """Count how often rows repeat; None if there is nothing to compare them with.

    `uncut` says it of the new rows with the numbers as they are, if that is known.
    """
    present = {variable.name for variable in counter.variables}
    if training is None or training.rows is None or present != set(names):
        return None
    groups, multiplicities = None, None
    if counter.pass_rows:
        multiplicities = counter.row_repeats()
    elif (rows := counter.rows()) is not None:
        groups = equal_rows(rows)
    if groups is None and multiplicities is None:
        return None
    found = Repeats(multiplicities or {}) if groups is None else Repeats.of(groups.counts)
    if not found.n or not training.rows.n:
        return None
    times, log_accident = times_delivered(training.rows, found)
    times = times if found.is_no_accident else 1
    both = None
    if training.uncut_rows is not None and uncut and times == 1:
        both = training.uncut_rows, Repeats(uncut)
    return RowRepeats(training.rows, found, groups, times, log_accident, both)


def repeat_check(
    repeats: RowRepeats, reasons: Callable[[Repeats, int], OtherReasons] | None = None
) -> Question:
    """Ask whether the new rows repeat more than those of the model.

    `reasons` tells, given the repeats of the model, why so many new rows may repeat otherwise.
    """
    new, times = repeats.new, repeats.times
    message = f"every row occurs a multiple of {times} times: delivered {times} times?"
    if times == 1:
        message = _repeating(repeats.old, new)
    check = Check(REPEATS_ID, "schema", REPEATS, (), message=message)
    asked = _question(check, repeats.old, new, log_other=repeats.log_accident, reasons=reasons)
    if times == 1:
        return asked
    return replace(asked, check=replace(asked.check, effect=1 - 1 / times))


def copies_check(old: Repeats, new: Repeats) -> Question:
    """Ask the same of rows with their numbers as they are, which are equal by chance more rarely.

    No rows can be drawn to compare with, so that all repeats of the model's rows count as copies.
    """
    message = _repeating(old, new, ", numbers as they are")
    check = Check(COPIES_ID, "schema", REPEATS, (), message=message)
    return _question(check, old, new, reasons=all_are_copies)


def all_are_copies(old: Repeats, size: int) -> OtherReasons:
    """Take all repeats of the model's rows for copies, of which new rows have as many per row."""
    return OtherReasons(1.0, float(old.n - old.distinct))


def _repeating(old: Repeats, new: Repeats, how: str = "") -> str:
    size = min(old.n, new.n)
    before, now = rarefied(old, size), rarefied(new, size)
    return (
        f"{new.n - new.distinct} of {new.n} rows repeat others{how}; "
        f"among {size} rows {before:.4g} → {now:.4g} are different"
    )


def unique_checks(name: str, before: NumberSummary, now: Numbers) -> list[Question]:
    """Ask of a column whose numbers were all different whether they still are."""
    if not before.is_unique:
        return []
    new = Repeats(now.multiplicities())
    message = f"{name}: {new.n - new.distinct} of {new.n} values repeat others; "
    message += "in the model's rows no value did"
    check = Check(column_id(UNIQUE, name), "schema", UNIQUE, (name,), message=message)
    return [_question(check, Repeats({1: before.n}), new)]


def _question(
    check: Check,
    old: Repeats,
    new: Repeats,
    *,
    log_other: float | None = None,
    reasons: Callable[[Repeats, int], OtherReasons] | None = None,
) -> Question:
    """Answer a check by the excess of repeats; twice the smaller of two p-values if another is."""

    def log_p(excess: Excess) -> float:
        if log_other is None:
            return excess.log_p
        return min(0.0, math.log(2) + min(excess.log_p, log_other))

    excess = excess_repeats(old, new)
    answered = replace(
        check,
        test=RAREFACTION,
        statistic=excess.expected - excess.found,
        log_p=log_p(excess),
        effect=excess.share,
        effect_unit=SHARE_OF_ROWS,
        old={"different": old.distinct},
        new={"different": new.distinct},
        rows_old=old.n,
        rows_new=new.n,
    )

    def settle(monte_carlo: MonteCarlo) -> tuple[float, str]:
        share = _SHARE_OF_LEVEL * monte_carlo.level
        other = None if reasons is None else reasons(old, excess.rows)
        return log_p(excess_repeats(old, new, share, other)), RAREFACTION

    return Question(answered, settle)


def other_reasons(
    net: BayesNet, families: Sequence[FamilyCounts], old: Repeats, size: int, seed: int
) -> OtherReasons:
    """Compare rows drawn from the model with its own rows, and with rows drawn by the new tables.

    All draws use the same random numbers, so that they differ by the tables alone.
    """
    tables = {
        family.variable.name: probabilities(family.new[:, : family.n_known], 0.0)
        for family in families
    }
    changed = tuple(
        replace(cpt, table=tables[cpt.variable.name], counts=None, intervals=None)
        for cpt in map(table_of, net.cpds)
    )

    def different(drawn: BayesNet, rows: int) -> int:
        return len(equal_rows(drawn.sample(rows, seed=seed)).firsts)

    some = min(size, _DRAWN_ROWS)
    left = different(BayesNet(changed), some) / different(net, some)
    most = min(old.n, _DRAWN_ROWS)
    # A part of the rows has both of two copies with the square of its share.
    copied = (different(net, most) - rarefied(old, most)) * (old.n / most) ** 2
    return OtherReasons(min(1.0, left), min(max(0.0, copied), float(old.n - old.distinct)))


def notes_on_training(training: Training | None) -> list[str]:
    """Say that a model whose rows were delivered several times is too sure of itself."""
    rows = None if training is None else training.rows
    if rows is None or rows.common_factor < 2 or not rows.is_no_accident:
        return []
    return [
        f"the model was fitted on rows that came {rows.common_factor} times, so that checks are "
        "too sure: fit it again on the rows once"
    ]


def notes_on_repeats(repeats: RowRepeats | None, checks: Sequence[Check]) -> list[str]:
    """Say what duplicates mean for the other checks."""
    if repeats is None:
        return []
    if repeats.times > 1:
        return [
            f"rows delivered {repeats.times} times would make every test too sure: all other "
            "checks count them as if they had come once"
        ]
    failing = [check for check in checks if check.status in (FAIL, WARN)]
    duplicated = [check for check in failing if check.kind in (REPEATS, UNIQUE)]
    if duplicated and len(failing) > len(duplicated):
        return [
            "repeated rows make every test too sure: the other failures may be due to them, so "
            "look at the repeats first"
        ]
    return []
