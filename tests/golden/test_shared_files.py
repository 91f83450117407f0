"""Every file of the collection reads to what its facts say, or is refused with the right error."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gml.data.dataset import MAX_LEVELS, missing_mask
from gml.data.options import ReadOptions
from gml.data.reading import read_dataset
from gml.errors import DataError
from tests.places import SHARED


def all_facts():
    for folder in ("real", "simulated"):
        path = SHARED / "data" / folder / "facts.json"
        if path.is_file():
            for facts in json.loads(path.read_text()):
                yield pytest.param(
                    SHARED / "data" / folder / facts["file"], facts, id=facts["file"]
                )


FACTS = list(all_facts())
TOKENS = ("", "NA", "?", "N/A", "nan")


def options_for(facts, **more):
    encoding = "cp1252" if "not valid UTF-8" in facts["encoding"] else None
    return ReadOptions(
        delimiter=facts["delimiter"],
        encoding=encoding,
        na=TOKENS,
        missing="available",
        max_levels=MAX_LEVELS,
        kinds="labels",
        **more,
    )


@pytest.mark.skipif(not FACTS, reason="no shared data beside the checkout")
@pytest.mark.parametrize("path,facts", FACTS)
@pytest.mark.filterwarnings("ignore:all labels begin with a blank")
def test_facts(path, facts):
    names = [column["name"] for column in facts["columns_detail"]]
    assert len(names) == facts["columns"]
    bad = {name for name in names if not name or names.count(name) > 1}
    if bad:
        with pytest.raises(DataError, match=r"without a name|more than once"):
            read_dataset(path, options_for(facts))
    dataset = read_dataset(path, options_for(facts, exclude=tuple(bad)))
    assert dataset.n_rows == facts["rows"]
    assert dataset.names == tuple(name for name in names if name not in bad)
    details = {column["name"]: column for column in facts["columns_detail"]}
    for variable, column in zip(dataset.variables, dataset.columns, strict=True):
        expected = details[variable.name]
        assert len(variable.levels) == expected["distinct"], variable.name
        gone = int(np.count_nonzero(missing_mask(column)))
        assert gone == sum(expected["missing"].values()), variable.name
        seen = np.unique(column[~missing_mask(column)])
        assert len(seen) == expected["distinct"]
        if expected.get("leading_zeros"):
            assert any(level.startswith("0") and len(level) > 1 for level in variable.levels)
    if not bad:
        incomplete = np.zeros(dataset.n_rows, dtype=bool)
        for column in dataset.columns:
            incomplete |= missing_mask(column)
        assert int(incomplete.sum()) == facts["rows_with_any_missing"]


def test_the_spanish_variant_has_the_same_codes(shared):
    one = read_dataset(
        shared / "data/real/chile.csv",
        ReadOptions(missing="available", columns=("age", "sex"), kinds="labels"),
    )
    other = read_dataset(
        shared / "data/real/chile_es_excel.csv",
        ReadOptions(missing="available", delimiter=";", columns=("edad", "sexo"), kinds="labels"),
    )
    assert one.variables[0].levels == other.variables[0].levels
    assert one.columns[0].tolist() == other.columns[0].tolist()


def test_not_utf8_names_the_line(shared):
    path = shared / "data/real/sleeping_alone.csv"
    content = path.read_bytes()
    bad = next(i for i, byte in enumerate(content) if byte >= 0x80)
    line = content.count(b"\n", 0, bad) + 1
    with pytest.raises(DataError, match=f"line {line}: .*not UTF-8"):
        read_dataset(path, ReadOptions(exclude=("",), missing="available", max_levels=MAX_LEVELS))


def test_identifiers_are_named_all_at_once(shared):
    with pytest.raises(DataError, match="'PassengerId', 'Name', 'Ticket'"):
        read_dataset(shared / "data/real/titanic_passengers.csv", ReadOptions(missing="available"))
