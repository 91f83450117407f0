"""Columns of weights, as `gml rake` writes them, that would be taken for inputs of a prediction."""

from __future__ import annotations

from collections.abc import Sequence

from gml.data.dataset import Variable
from gml.data.options import ReadingKeywords, reading_options
from gml.errors import agreeing, listing, parameter
from gml.kernel.number import number_of
from gml.progress import reporter

_NAMES = frozenset({"count", "counts", "freq", "frequency", "weight", "weights"})


def warn_of_weights_as_inputs(
    variables: Sequence[Variable], reading: ReadingKeywords, *, may_count: bool
) -> None:
    """Warn of columns whose names and numbers look like weights, unless they were asked for.

    `may_count` says whether rows may have weights at all.
    """
    options = reading_options(**reading)
    asked_for = {*(options.columns or ()), *options.cut, *options.levels.levels, *options.numeric}
    found = [
        variable.name
        for variable in variables
        if variable.name.casefold() in _NAMES
        and variable.name not in asked_for
        and (variable.is_continuous or _are_sizes(variable.levels or (), options.decimal))
    ]
    if not found:
        return
    one, ways = found[0], []
    if may_count and options.weights_column is None:
        ways.append(
            f"if it says how much a row counts, give {parameter('weights_fractional', one)} or, "
            f"for whole numbers, {parameter('weights', one)}"
        )
    left_out = parameter("exclude", one if len(found) == 1 else found)
    ways.append(f"{left_out} leaves {agreeing(len(found), 'it', 'them')} out")
    what = agreeing(len(found), "an input", "inputs")
    reporter().warn(f"taken as {what}: {listing(found)}; {'; '.join(ways)}")


def _are_sizes(levels: Sequence[str], decimal: str) -> bool:
    """Whether levels are numbers, none of them negative."""
    numbers = [number_of(level, decimal) for level in levels]
    return bool(numbers) and all(number is not None and number >= 0 for number in numbers)
