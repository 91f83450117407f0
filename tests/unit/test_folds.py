"""Folds of rows: the same however they are asked for."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import gml
from gml.data import resampling


def _columns(split):
    return [[column.tolist() for column in part.columns] for part in split]


def test_threads_can_ask_for_folds_at_once(monkeypatch):
    drawn = resampling.fold_counts

    def slowly(*args, **options):
        for chosen in drawn(*args, **options):
            time.sleep(0.005)
            yield chosen

    data = gml.read("sample_data/asia.csv")
    one_by_one = [_columns(split) for split in resampling.folds(data, 4, seed=3)]
    monkeypatch.setattr(resampling, "fold_counts", slowly)
    found = resampling.folds(data, 4, seed=3)
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda k: _columns(found[k]), [3, 1, 0, 2]))
    assert at_once == [one_by_one[k] for k in (3, 1, 0, 2)]
    assert [_columns(split) for split in found[-2:]] == one_by_one[2:]
