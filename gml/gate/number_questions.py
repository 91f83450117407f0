"""What is asked of numbers and of repeated rows, whatever a model makes of them.

The questions come column by column, in the order of the model; that about whole rows is the last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gml.data.number_summary import Numbers, NumberSummary
from gml.gate.question import Question
from gml.gate.range_checks import range_checks
from gml.gate.rarefaction import OtherReasons
from gml.gate.repeat_checks import RowRepeats, copies_check, repeat_check, unique_checks
from gml.model.training import Repeats


def questions_about_numbers(
    numbers: Mapping[str, tuple[NumberSummary, Numbers]],
    repeats: RowRepeats | None,
    reasons: Callable[[Repeats, int], OtherReasons] | None = None,
) -> list[Question]:
    """Ask whether numbers lie where they did, and whether they and whole rows repeat as they did.

    `reasons` is that of `repeat_check`.
    """
    ranges: list[Question] = []
    uniques: list[Question] = []
    # Both of one column at a time, as its numbers may have to be counted for them.
    for name, (old, new) in numbers.items():
        ranges += range_checks(name, old, new)
        uniques += unique_checks(name, old, new)
    questions = [*ranges, *uniques]
    if repeats is not None:
        questions.append(repeat_check(repeats, reasons))
        if repeats.uncut is not None:
            questions.append(copies_check(*repeats.uncut))
    return questions
