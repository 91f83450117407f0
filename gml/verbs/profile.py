"""Profile: what a table looks like, as a schema that everything else can enforce."""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.data.missing_patterns import MissingPatterns
from gml.data.missing_patterns import missing_patterns as count_patterns
from gml.data.options import EM, MISSING_POLICIES, ReadingKeywords, ReadOptions
from gml.data.profile import Profile, profile_table
from gml.data.profile import profile as profile_of
from gml.errors import CannotAnswer, counted, place, require_one_of
from gml.progress import reporter
from gml.resources import available_threads
from gml.verbs.shared.data_input import name_of, options_for, rows_of
from gml.verbs.shared.front_door import front_door

if TYPE_CHECKING:
    import pandas as pd


@front_door()
def profile(
    data: str | os.PathLike[str] | pd.DataFrame | Dataset,
    *,
    missing_patterns: bool = False,
    threads: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> Profile:
    """Return the levels of a table in order, its cut points, missing tokens and rates.

    No column is refused: one that could not be in a schema says why, and what would help.

    Parameters
    ----------
    data
        A path, a DataFrame or a Dataset.
    missing_patterns
        Also say which columns are missing together (`patterns`), and test whether values are
        missing completely at random (Little 1988).
    threads
        Threads of that test; all cores by default.
    **reading
        How to read the data, as in `gml.read`; not with a Dataset. Missing values are counted,
        never refused: `missing` goes into the schema (`dialect`), as all that says how the table is
        read.

    Examples
    --------
    >>> import gml
    >>> found = gml.profile("sample_data/survey_missing.csv", columns=["Age", "Sex"])
    >>> found.to_frame()[["name", "levels", "missing", "rate"]]
      name               levels  missing   rate
    0  Age  (adult, old, young)       48  0.048
    1  Sex               (F, M)       55  0.055
    >>> [one.rows for one in gml.profile("sample_data/survey_missing.csv", columns=["Age", "Sex"],
    ...                                  missing_patterns=True).patterns.patterns]
    [898, 54, 47, 1]
    """
    # What is to become of missing values is for those who read the table by its schema.
    policy = reading.pop("missing", None)
    options = replace(options_for(data, reading, threads=threads), missing="available")
    patterns_of = functools.partial(_patterns, threads, options) if missing_patterns else None
    if not isinstance(data, Dataset | Counter):
        dialect = options.dialect
        if policy is not None:
            require_one_of("missing", policy, (*MISSING_POLICIES, EM))
            dialect["missing"] = policy
        return replace(profile_table(data, options, patterns_of), dialect=dialect)
    dataset = rows_of(data, options)
    used = f"{counted(dataset.n, 'row')}, {counted(len(dataset.names), 'column')} used"
    reporter().note(used)
    if dataset.n == 0:
        raise CannotAnswer(f"{place(name_of(data, 'the data'))}: no rows are left to count")
    found = profile_of(dataset, options)
    return found if patterns_of is None else replace(found, patterns=patterns_of(dataset))


def _patterns(threads: int | None, options: ReadOptions, dataset: Dataset) -> MissingPatterns:
    """Count the patterns of missing values, and test whether they have to do with values."""
    from gml.model.em.mcar import little_test

    found = count_patterns(dataset)
    if all(not one.missing for one in found.patterns):
        return found
    with reporter().phase("testing whether values are missing completely at random"):
        labels = [name for name in dataset.names if options.declared_levels(name) is not None]
        test = little_test(dataset, labels=labels, threads=threads or available_threads())
        return replace(found, mcar=test)
