"""Row weights that give a table known margins: gml.rake, `gml rake`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Unpack

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.data.frames import is_frame
from gml.data.missing import FRAME
from gml.data.options import ReadingKeywords, ReadOptions
from gml.data.reading import read_dataset
from gml.errors import place
from gml.model.entropy.constraints import Constraints
from gml.model.raking.result import Raking
from gml.verbs.shared.data_input import Data, options_for
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.raked_table import (
    as_they_are,
    checked_bounds,
    columns_with_targets,
    raked,
)
from gml.verbs.shared.raking_targets import Targets, columns_of_numbers, targets_of


@front_door()
def rake(
    data: Data,
    targets: Targets,
    *,
    bounds: Sequence[float] | None = None,
    normalise: bool = False,
    **reading: Unpack[ReadingKeywords],
) -> Raking:
    """Weight the rows of a table so that it has known margins, as near to equal weights as can be.

    The weights w minimise Σ w ln(w/d), d being what rows count before: raking, or iterative
    proportional fitting. They add up to the number of rows.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter that has rows.
    targets
        The margins: a constraint file; a dictionary by column, or by a tuple of columns, of
        numbers by level (or tuple of levels); a DataFrame like a constraint file; a Series, or
        several, whose index has the names of the columns. Counts of all margins must have the same
        total.
    bounds
        The smallest and largest ratio of a weight to what it was before, such as (0.3, 3): then
        the distance is the logit of Deville & Särndal.
    normalise
        Scale every margin to 1, whatever it adds up to.
    **reading
        How to read the data; see `gml.read`. With `missing="drop"`, rows with missing values in a
        column that has a target get NaN; with `level`, targets may have a level NA. `weights` or
        `weights_fractional` names what rows count before.

    Examples
    --------
    >>> import gml
    >>> known = {"smoke": {"no": 70, "yes": 30}, "dysp": {"no": 60, "yes": 40}}
    >>> raking = gml.rake("sample_data/asia.csv", known, bounds=(0.5, 2))
    >>> print(raking.to_frame().round(4).to_string(index=False))
    margin level  rows  before  target  after
     smoke    no  2501  0.5002     0.7    0.7
     smoke   yes  2499  0.4998     0.3    0.3
      dysp    no  2832  0.5664     0.6    0.6
      dysp   yes  2168  0.4336     0.4    0.4
    >>> float(raking.weights.sum().round(6)), round(raking.design_effect, 4)
    (5000.0, 1.1613)
    """
    wanted, within = targets_of(targets, normalise=normalise), checked_bounds(bounds)
    options = options_for(data, reading)
    rows = _rows(data, options, wanted)
    numbers = columns_of_numbers(targets)
    return raked(rows, wanted, options, within, where=_where(data), numbers=numbers)


def _where(data: object) -> str:
    if is_frame(data):
        return FRAME
    return place(data) if isinstance(data, str | os.PathLike) else "the data"


def _rows(data: Data, options: ReadOptions, wanted: Constraints) -> Dataset:
    """Return all rows of the columns that have targets, and of the weights as numbers."""
    if isinstance(data, Dataset | Counter):
        rows = data if isinstance(data, Dataset) else data.require_rows("raking")
        return rows.select(columns_with_targets(wanted, None)(rows.names))
    used = columns_with_targets(wanted, options.weights_column)
    return read_dataset(data, as_they_are(options, wanted), used=used)
