"""Patterns of flags, and the rows of each group, in whatever type holds them."""

import numpy as np
import pytest

from gml.data import row_groups
from gml.data.row_groups import distinct_patterns, row_parts, rows_by_group


@pytest.mark.parametrize("width", [0, 1, 7, 8, 9, 16, 17, 64, 65])
@pytest.mark.parametrize("n_rows", [1, 300])
def test_patterns_of_any_width_are_those_that_occur(width, n_rows, monkeypatch):
    monkeypatch.setattr(row_groups, "_LOOKED_AT", 100)
    flags = np.random.default_rng(width).random((n_rows, width)) < 0.1
    patterns, of_row = distinct_patterns(flags)
    assert patterns.dtype == bool
    assert (patterns[of_row] == flags).all()
    assert len(patterns) == len({row.tobytes() for row in flags})


def test_the_order_of_patterns_does_not_depend_on_that_of_rows():
    for width in (5, 12, 30):
        flags = np.random.default_rng(width).random((200, width)) < 0.3
        assert (distinct_patterns(flags)[0] == distinct_patterns(flags[::-1])[0]).all()


def test_more_patterns_than_a_small_number_has_are_told_apart():
    flags = np.unpackbits(np.arange(1 << 16, dtype="<u2")[:, None].view(np.uint8), axis=1)
    patterns, of_row = distinct_patterns(flags.astype(bool))
    assert len(patterns) == 1 << 16 and (patterns[of_row] == flags).all()


def test_rows_stand_in_their_order_in_each_group_and_groups_may_be_empty():
    of_row = np.random.default_rng(0).integers(0, 9, 500)
    found = rows_by_group(of_row, 12)
    assert len(found) == 12
    for group, rows in enumerate(found):
        assert rows.tolist() == np.flatnonzero(of_row == group).tolist()


def test_parts_cover_all_rows_once(monkeypatch):
    monkeypatch.setattr(row_groups, "_LOOKED_AT", 7)
    assert [k for part in row_parts(20) for k in range(20)[part]] == list(range(20))
    assert not list(row_parts(0))
