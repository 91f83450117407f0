"""Tables that are too sparse for a test: which test keeps its level, and what is said."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import gml


@pytest.mark.parametrize(
    ("levels", "others", "wrong"),
    [(6, 2, {"auto": 2, "g": 30, "chi2": 2}), (4, 3, {"auto": 1, "g": 29, "chi2": 2})],
)
def test_independent_columns_given_many_strata(levels, others, wrong):
    """1 000 rows, one or fewer in each cell: G errs nearly always, and says so; auto at its level.

    The other tests err 3 and 4 times in 60, where 3 are expected at level 0.05.
    """
    rng = np.random.default_rng(levels)
    names = [f"z{k}" for k in range(others)]
    rejected = Counter()
    for _ in range(30):
        frame = pd.DataFrame(
            rng.integers(0, levels, (1000, 2 + others)), columns=["x", "y", *names]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rejected["auto"] += gml.indtest(frame, "x", "y", given=names)[0]["p_value"] <= 0.05
        for test in ("g", "chi2"):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = gml.indtest(frame, "x", "y", given=names, test=test)[0]
            rejected[test] += found["p_value"] <= 0.05
            if test == "g":
                assert [str(one.message) for one in said] == [
                    "the table is too sparse for `test='g'`: with so few rows per degree of "
                    "freedom, p is wrong, mostly too small; use `test='auto'`"
                ]
    assert rejected == wrong


def test_a_warning_of_sparse_tables_counts_them(recwarn):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, [2, 2, 30, 30], (500, 4)), columns=list("abcd"))
    gml.indtest(frame, all_pairs=True, test="g", kinds="labels")
    assert [str(one.message)[:43] for one in recwarn] == [
        "1 of 6 tables is too sparse for `test='g'`:"
    ]


def test_tables_with_rows_enough_earn_no_warning(recwarn):
    for test in ("g", "chi2"):
        gml.indtest("sample_data/asia.csv", "smoke", "xray", given=["lung", "bronc"], test=test)
        gml.indtest("sample_data/cancer.csv", all_pairs=True, test=test)
    assert list(recwarn) == []


def test_imap_warns_of_sparse_tables_once(recwarn):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.integers(0, 30, (300, 4)), columns=list("abcd"))
    gml.imap(frame, list("abcd"), test="g", kinds="labels")
    assert [" tables are too sparse for `test='g'`" in str(one.message) for one in recwarn] == [
        True
    ]
    recwarn.clear()
    assert (
        gml.imap(frame, list("abcd"), kinds="labels").graph.learning["settings"]["test"] == "auto"
    )
    assert list(recwarn) == []
