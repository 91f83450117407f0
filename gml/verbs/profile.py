"""Profile: what a table looks like, as a schema that everything else can enforce."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.data.options import ReadingKeywords
from gml.data.profile import Profile, profile_table
from gml.data.profile import profile as profile_of
from gml.errors import CannotAnswer, counted, place
from gml.progress import reporter
from gml.verbs.shared.data_input import name_of, options_for, rows_of
from gml.verbs.shared.keywords import answers_misspelling

if TYPE_CHECKING:
    import pandas as pd


@answers_misspelling()
def profile(
    data: str | os.PathLike[str] | pd.DataFrame | Dataset, **reading: Unpack[ReadingKeywords]
) -> Profile:
    """Return the levels of a table in order, its cut points, missing tokens and rates.

    No column is refused: one that could not be in a schema says why, and what would help.

    Parameters
    ----------
    data
        A path, a DataFrame or a Dataset.
    **reading
        How to read the data, as in `gml.read`; not with a Dataset. Missing values are counted,
        never refused.

    Examples
    --------
    >>> import gml
    >>> found = gml.profile("sample_data/survey_missing.csv", columns=["Age", "Sex"])
    >>> found.to_frame()[["name", "levels", "missing", "rate"]]
      name               levels  missing   rate
    0  Age  (adult, old, young)       48  0.048
    1  Sex               (F, M)       55  0.055
    """
    options = replace(options_for(data, reading), missing="available")
    if not isinstance(data, Dataset | Counter):
        return profile_table(data, options)
    dataset = rows_of(data, options)
    used = f"{counted(dataset.n, 'row')}, {counted(len(dataset.names), 'column')} used"
    reporter().note(used)
    if dataset.n == 0:
        raise CannotAnswer(f"{place(name_of(data, 'the data'))}: no rows are left to count")
    return profile_of(dataset, options)
