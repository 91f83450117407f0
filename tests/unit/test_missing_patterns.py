"""What is missing together, and whether that has to do with values."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.missing_patterns import missing_patterns
from gml.model.em import mcar
from gml.model.em.dependent_columns import dependent_columns
from gml.model.em.mcar import little_test
from gml.model.em.normal import normal_em

# Ozone and Solar.R of R's `airquality` in the first 40 days, then Wind and Temp: -1 is missing.
AIR = [
    (41, 190, 7.4, 67), (36, 118, 8.0, 72), (12, 149, 12.6, 74), (18, 313, 11.5, 62),
    (-1, -1, 14.3, 56), (28, -1, 14.9, 66), (23, 299, 8.6, 65), (19, 99, 13.8, 59),
    (8, 19, 20.1, 61), (-1, 194, 8.6, 69), (7, -1, 6.9, 74), (16, 256, 9.7, 69),
    (11, 290, 9.2, 66), (14, 274, 10.9, 68), (18, 65, 13.2, 58), (14, 334, 11.5, 64),
    (34, 307, 12.0, 66), (6, 78, 18.4, 57), (30, 322, 11.5, 68), (11, 44, 9.7, 62),
    (1, 8, 9.7, 59), (11, 320, 16.6, 73), (4, 25, 9.7, 61), (32, 92, 12.0, 61),
    (-1, 66, 16.6, 57), (-1, 266, 14.9, 58), (-1, -1, 8.0, 57), (23, 13, 12.0, 67),
    (45, 252, 14.9, 81), (115, 223, 5.7, 79), (37, 279, 7.4, 76), (-1, 286, 8.6, 78),
    (-1, 287, 9.7, 74), (-1, 242, 16.1, 67), (-1, 186, 9.2, 84), (-1, 220, 8.6, 85),
    (-1, 264, 14.3, 79), (29, 127, 9.7, 82), (-1, 273, 6.9, 87), (71, 291, 13.8, 90),
]  # fmt: skip


def air():
    return (
        pd.DataFrame(AIR, columns=["Ozone", "Solar", "Wind", "Temp"])
        .astype(float)
        .replace(-1, np.nan)
    )


def read(frame, **how):
    return gml.read(frame, missing="available", **how)


def test_patterns_are_counted_with_weights_and_sorted():
    frame = pd.DataFrame(
        {
            "b": ["x", None, "y", None, "x"],
            "a": ["u", "u", None, None, "u"],
            "w": [2, 3, 1, 3, 0],
        }
    )
    found = missing_patterns(read(frame, weights="w"))
    assert [(one.missing, one.rows) for one in found.patterns] == [
        (("b",), 3),
        (("a", "b"), 3),
        ((), 2),
        (("a",), 1),
    ]
    assert found.rows == 9 and found.complete == 2


def test_littles_test_as_defined():
    frame = air()
    numbers = list(frame)
    test = little_test(read(frame, numeric=numbers))
    fitted = normal_em(frame.to_numpy())
    statistic, df = 0.0, -4
    for _, rows in frame.groupby(frame.isna().apply(tuple, axis=1)):
        seen = [k for k in range(4) if rows.iloc[0].notna().iloc[k]]
        away = rows.iloc[:, seen].mean().to_numpy() - fitted.mean[seen]
        inverse = np.linalg.inv(fitted.covariance[np.ix_(seen, seen)])
        statistic += len(rows) * away @ inverse @ away
        df += len(seen)
    assert test.statistic == pytest.approx(statistic, rel=1e-10)
    assert test.df == df
    assert test.log10_p == pytest.approx(math.log10(test.p_value), rel=1e-12)


def test_neither_rows_nor_columns_nor_units_matter():
    frame = air()
    one = little_test(read(frame, numeric=list(frame)))
    turned = frame.sample(frac=1, random_state=3)[["Temp", "Ozone", "Wind", "Solar"]]
    assert little_test(read(turned, numeric=list(frame))) == one
    scaled = frame * [1000.0, 0.01, 1.0, 1.8] + [0, 5, 1e6, 32]
    other = little_test(read(scaled, numeric=list(frame)))
    assert other.statistic == pytest.approx(one.statistic, rel=1e-7)


def gappy(seed, rows, depends):
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=rows)
    x = rng.normal(size=rows) + 0.6 * a
    frame = pd.DataFrame({"a": np.array(list("pqr"))[a], "x": x, "y": x + rng.normal(size=rows)})
    chance = np.where(depends & (a == 0), 0.6, 0.2)
    frame.loc[rng.random(rows) < chance, "x"] = np.nan
    frame.loc[rng.random(rows) < 0.15, "y"] = np.nan
    return read(frame, numeric=["x", "y"])


def test_it_keeps_its_level_and_sees_gaps_that_depend_on_labels():
    p = np.array([little_test(gappy(seed, 300, False)).p_value for seed in range(80)])
    # 80 draws: more than 12 rejections at 0.05 have a probability below 1e-3.
    assert np.count_nonzero(p <= 0.05) <= 12
    assert np.count_nonzero(p <= 0.5) >= 25
    found = [little_test(gappy(seed, 300, True)).p_value for seed in range(10)]
    assert max(found) < 0.05


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ({"x": [1.0, 2.0, 4.0], "y": [1.0, 0.5, 2.0]}, "nothing is missing"),
        ({"x": [1.0, None, 4.0], "y": [1.0, 1.0, 1.0]}, "in the same columns"),
        ({"x": [1.0, None, None], "y": [None, None, None]}, "none of which varies"),
    ],
)
def test_tables_without_a_test_say_why(frame, why):
    found = little_test(read(pd.DataFrame(frame, dtype=float), numeric=["x", "y"]))
    assert found.p_value is None and why in found.why


def test_labels_of_very_many_levels_are_left_out_but_for_their_gaps():
    rng = np.random.default_rng(4)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "a": [f"L{k % 120}" for k in range(300)]})
    frame.loc[x > 0.8, "a"] = None
    found = little_test(read(frame, numeric=["x"], max_levels=300))
    assert found.left_out == {"a": f"has {frame['a'].nunique()} levels"}
    assert found.df == 1 and found.p_value < 1e-6


def test_labels_that_spell_numbers_are_taken_as_these_unless_declared():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.integers(5, size=200), "y": rng.integers(3, size=200)})
    frame = frame.astype("Int64").astype("string")
    frame.loc[rng.random(200) < 0.3, "y"] = None
    found = little_test(read(frame))
    assert found.numbers == ("x", "y")
    assert found == replace(little_test(read(frame, numeric=["x", "y"])), numbers=("x", "y"))
    assert little_test(read(frame), labels=["x"]).df == 4


def test_columns_that_stand_in_the_way_are_left_out_one_by_one():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({name: rng.normal(size=200) for name in "xyz"})
    frame["rare"] = np.where(np.arange(200) < 2, "yes", "no")
    frame["seldom"] = np.where(np.arange(200) < 5, "yes", "no")
    frame["none"] = None
    frame.loc[:9, "x"] = np.nan
    frame.loc[:99, "y"] = np.nan
    frame.loc[50:80, "z"] = np.nan
    found = little_test(read(frame, numeric=["x", "y", "z"]))
    assert list(found.left_out) == ["none", "rare", "seldom"]
    assert found.left_out["rare"] == "does not vary enough in the rows that have 'x', 'y'"
    rest = little_test(read(frame[["x", "y", "z"]], numeric=["x", "y", "z"]))
    assert found.p_value == pytest.approx(rest.p_value, rel=1e-9)


def test_codes_and_columns_left_out_keep_the_level():
    def p_value(seed):
        rng = np.random.default_rng(seed)
        codes = pd.Series(rng.integers(1, 5, size=300)).astype("string")
        frame = pd.DataFrame({"codes": codes, "more": codes, "x": rng.normal(size=300)})
        frame["x"] += rng.integers(2, size=300)
        frame["more"] = frame["more"].mask(rng.random(300) < 0.2)
        frame["x"] = frame["x"].mask(rng.random(300) < 0.3)
        found = little_test(read(frame, numeric=["x"]))
        assert list(found.left_out) == ["more"]
        return found.p_value

    p = np.array([p_value(seed) for seed in range(80)])
    # 80 draws: more than 12 rejections at 0.05 have a probability below 1e-3.
    assert np.count_nonzero(p <= 0.05) <= 12
    assert 25 <= np.count_nonzero(p <= 0.5) <= 55


def test_columns_of_more_numbers_than_levels_are_in_the_patterns(gml, tmp_path):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"x": rng.normal(size=400), "y": rng.normal(size=400)})
    frame.loc[rng.random(400) < 0.2, "x"] = np.nan
    text = report(gml, tmp_path, frame, "--kinds", "labels")
    assert "nothing speaks against" in text and text.count("not in the schema") == 2
    assert "not in the schema" not in report(gml, tmp_path, frame)
    frame["kind"] = "a"
    frame["w"] = 2
    weighted = report(gml, tmp_path, frame, "--weights", "w")
    rows = [line.split() for line in weighted.splitlines() if line.endswith(" x")]
    assert [row[0] for row in rows] == [f"{2 * frame['x'].isna().sum()}"] * 2


def test_profiles_show_patterns_and_are_schemas_all_the_same(gml, tmp_path):
    table = tmp_path / "table.csv"
    air().assign(kind=["a", "b"] * 20).to_csv(table, index=False)
    numeric = ["--numeric", "Ozone,Solar,Wind,Temp"]
    text = gml("profile", table, *numeric, "--missing-patterns").stdout.decode()
    assert "Ozone, Solar" in text
    assert "nothing speaks against missing completely at random (Little's test: chi2" in text
    schema = tmp_path / "schema.json"
    gml("profile", table, *numeric, "--missing-patterns", "-o", schema)
    content = json.loads(schema.read_text())["missing_patterns"]
    assert content["complete"] == 26 and content["mcar"]["test"] == "little"
    assert sum(one["rows"] for one in content["patterns"]) == content["rows"] == 40
    again = gml("profile", table, "--levels", schema, "-f", "json")
    assert again.returncode == 0
    refused = gml("profile", table, "--missing-patterns", "-f", "csv")
    assert refused.returncode == 2 and b"one row per column" in refused.stderr


def test_a_number_of_one_value_takes_no_part():
    frame = air()
    one = little_test(read(frame, numeric=list(frame)))
    constant = frame.assign(Month=5.0)
    assert little_test(read(constant, numeric=list(constant))) == one


def report(gml, tmp_path, frame, *options):
    frame.to_csv(tmp_path / "table.csv", index=False)
    run = gml("profile", tmp_path / "table.csv", *options, "--missing-patterns")
    assert run.returncode == 0
    return run.stdout.decode()


def test_the_verdict_is_said_in_words(gml, tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": np.where(x > 0.5, np.nan, rng.normal(size=300))})
    text = report(gml, tmp_path, frame, "--numeric", "x,y")
    assert text.splitlines()[-1].startswith("not missing completely at random (Little's test: chi2")
    assert "--missing em needs only" in text


def test_columns_with_gaps_are_listed_by_number(gml, tmp_path):
    frame = pd.DataFrame({"a": ["x", None] * 10, "b": [None, "y", "z", "y"] * 5, "c": ["u"] * 20})
    frame.loc[0:2, "a"] = None
    lines = report(gml, tmp_path, frame).split("\n\n")[1].splitlines()
    assert [line.split() for line in lines if line.split()[-1] in ("a", "b", "c")] == [
        ["12", "0.6", "a"],
        ["5", "0.25", "b"],
    ]


def test_what_a_test_was_made_of_is_named(gml, tmp_path):
    rng = np.random.default_rng(3)
    label = np.array([f"L{k:03}" for k in range(120)])
    frame = pd.DataFrame({"n": rng.normal(size=240).round(3), "id": np.tile(label, 2), "k": "x"})
    frame.loc[::5, "n"] = np.nan
    frame["m"] = rng.normal(size=240).round(1)
    as_labels = ["--kinds", "labels"]
    text = report(gml, tmp_path, frame, *as_labels)
    assert "taken as numbers in Little's test: 'n', 'm'\n" in text
    assert "left out of Little's test, but for its gaps: 'id' has 120 levels\n" in text
    run = gml("profile", tmp_path / "table.csv", "--missing-patterns", "-f", "json", *as_labels)
    test = json.loads(run.stdout)["missing_patterns"]["mcar"]
    assert test["numbers"] == ["n", "m"] and test["left_out"] == {"id": "has 120 levels"}


def test_columns_that_determine_one_another_are_named(gml, tmp_path):
    rng = np.random.default_rng(3)
    years = rng.integers(3, size=200)
    frame = pd.DataFrame(
        {"school": np.array(["a", "b", "c"])[years], "years": years, "x": rng.normal(size=200)}
    )
    frame.loc[::7, "x"] = np.nan
    text = report(gml, tmp_path, frame, "--numeric", "years,x")
    assert "its gaps: 'years' follows from 'school' in the rows that have them" in text
    frame["years"] = rng.integers(5, size=200)
    frame.loc[frame["years"] == 4, "x"] = np.nan
    assert dependent_columns(read(frame, numeric=["x"])) == (
        "years",
        "does not vary enough in the rows that have 'x'",
    )
    assert dependent_columns(read(frame, numeric=["x", "years"])) is None


def test_the_test_can_be_stopped_between_patterns(monkeypatch):
    def stop():
        raise KeyboardInterrupt

    table = gml.Dataset.from_frame(
        pd.DataFrame(AIR, columns=list("abcd"), dtype=float).replace(-1, np.nan),
        missing="available",
        numeric=list("abcd"),
    )
    monkeypatch.setattr(mcar, "check_stopped", stop)
    with pytest.raises(KeyboardInterrupt):
        little_test(table)
