"""What commands say of missing values: the choices, too few complete rows, columns missing together."""

from __future__ import annotations

import json
import random

import numpy as np
import pandas as pd
import pytest

import gml as library
from gml.data.missing_patterns import GapTally
from tests.command_line import error_line

EM = "em (fit to what was seen of each row)"
AVAILABLE = "available (rows complete in each table)"
LEVEL = "level (a level of their own)"


@pytest.fixture
def gaps(tmp_path):
    """Labels of which some are missing, and numbers of which none is, and some."""
    draw = random.Random(5)
    lines = ["shop,city,area,price"]
    for k in range(60):
        shop, area = draw.choice("abc"), draw.gauss(90, 20)
        cells = [shop, draw.choice(["n", "s"]), f"{area:.2f}", f"{area / 3 + draw.gauss(0, 9):.2f}"]
        if k in (7, 20, 33):
            cells[1] = "NA"
        if k in (7, 40):
            cells[3] = ""
        lines.append(",".join(cells))
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join(lines) + "\n")
    (tmp_path / "g.dot").write_text("digraph { shop -> city }")
    return path


@pytest.mark.parametrize(
    ("line", "choices"),
    [
        ("hc gaps.csv -c shop,city", [EM, LEVEL]),
        ("ges gaps.csv -c shop,city", [EM, LEVEL]),
        ("hc gaps.csv -c shop,city --score nal", [AVAILABLE, LEVEL]),
        ("exact gaps.csv -c shop,city", [LEVEL]),
        ("pc gaps.csv -c shop,city", [AVAILABLE, LEVEL]),
        ("pc gaps.csv -c shop,city --engine stream", [AVAILABLE, LEVEL]),
        ("indtest gaps.csv shop city", [AVAILABLE, LEVEL]),
        ("chowliu gaps.csv -c shop,city", [LEVEL]),
        ("fit-params gaps.csv g.dot", [EM, AVAILABLE, LEVEL]),
        ("score gaps.csv g.dot", [EM, LEVEL]),
        ("mixture gaps.csv -c shop,city --components 2 --missing error", [EM, LEVEL]),
        ("count gaps.csv -c shop,city --pairs -o c.parquet", [AVAILABLE, LEVEL]),
        # A number has no level of its own.
        ("hc gaps.csv --numeric area,price", [EM]),
        ("pc gaps.csv --numeric area,price", [AVAILABLE]),
        ("hc gaps.csv --numeric area,price --engine stream", [EM]),
    ],
)
def test_choices_that_a_command_and_its_columns_have(line, choices, gml, gaps):
    said = error_line(gml(*line.split(), "-q"), 3)
    all_of_them = ["--missing drop (complete rows only)", *choices]
    *first, last = all_of_them
    assert said.endswith(f"; choose {', '.join(first)} or {last}\n")


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("hc gaps.csv --numeric area,price", "--missing em or drop"),
        ("fit-params gaps.csv n.dot --numeric area,price", "--missing em or drop"),
        ("pc gaps.csv --numeric area,price", "--missing drop"),
        ("pc gaps.csv --numeric area,price --engine stream", "--missing drop"),
    ],
)
def test_a_missing_number_is_no_level(line, others, gml, gaps):
    gaps.with_name("n.dot").write_text("digraph { shop -> price }")
    said = error_line(gml(*line.split(), "--missing", "level", "-q"), 3)
    assert said == (
        "gml: error: --missing level is for categorical columns, and 'price' is numeric, with "
        "missing values; cut it (--bins 4), take the numbers for labels (--labels 'price'), or "
        f"choose {others}\n"
    )


# ---------------------------------------------------------------------- rows that are dropped


def table(complete: int, rows: int, weight: float = 1) -> pd.DataFrame:
    """Rows of which the first are complete, and some that weigh nothing."""
    frame = pd.DataFrame(
        {
            "seen": ["p", "q"] * (rows // 2) + ["p"] * (rows % 2),
            "poor": ["u" if k % 3 else "v" for k in range(complete)] + [None] * (rows - complete),
            "half": ["w"] * complete + ["w" if k % 2 else None for k in range(rows - complete)],
        }
    )
    frame["times"] = weight
    return frame


@pytest.mark.parametrize(
    ("complete", "rows", "is_enough"),
    [
        (100, 1000, True),
        (99, 1000, False),
        (30, 61, True),
        (29, 59, False),
        (29, 58, True),
        (30, 300, True),
        (30, 301, False),
        (1, 2, True),
        (1, 3, False),
    ],
)
@pytest.mark.parametrize("engine", ["frame", "memory", "stream"])
def test_too_few_rows_are_left(complete, rows, is_enough, engine, gml, tmp_path):
    frame = table(complete, rows).drop(columns="times")
    frame.to_csv(tmp_path / "t.csv", index=False)
    if engine == "frame":
        if is_enough:
            with pytest.warns(library.GmlWarning, match="rows dropped"):
                assert library.read(frame, missing="drop").n == complete
        else:
            with pytest.raises(library.GmlError, match="leaves too few rows") as found:
                library.read(frame, missing="drop")
            assert found.value.exit_code == 4
        return
    done = gml("pc", "t.csv", "--missing", "drop", "--engine", engine, "-f", "json", "-q")
    if is_enough:
        assert json.loads(done.stdout)["graph"]["learning"]["rows"] == complete
        return
    assert error_line(done, 4) == (
        f"gml: error: t.csv: --missing drop leaves too few rows: {complete} of {rows} rows "
        f"{'is' if complete == 1 else 'are'} complete; most often missing: "
        f"'poor' {rows - complete}, 'half' {-(-(rows - complete) // 2)}; choose --missing "
        "available (rows complete in each table), --exclude 'poor' (the emptiest) or "
        f"--min-complete {complete} (go on with so few)\n"
    )


def test_how_few_may_be_said(gml, tmp_path):
    table(8, 200).to_csv(tmp_path / "t.csv", index=False)
    drop = ("hc", "t.csv", "--exclude", "times", "--missing", "drop", "-q")
    assert "em (fit to what was seen of each row), --excl" in error_line(gml(*drop), 4)
    assert gml(*drop, "--min-complete", "8").returncode == 0
    more = error_line(gml(*drop, "--min-complete", "9"), 4)
    assert "8 of 200 rows are complete, fewer than --min-complete 9; most often" in more
    # It may be stricter than what holds without it, and never lets nothing through.
    table(150, 200).to_csv(tmp_path / "t.csv", index=False)
    assert gml(*drop).returncode == 0
    assert "150 of 200 rows are complete, fewer" in error_line(
        gml(*drop, "--min-complete", "151"), 4
    )
    table(0, 4).to_csv(tmp_path / "t.csv", index=False)
    assert "0 of 4 rows are complete" in error_line(gml(*drop, "--min-complete", "1"), 4)
    for wrong in (("--missing", "level", "--min-complete", "2"), ("--min-complete", "2")):
        said = error_line(gml("hc", "t.csv", *wrong), 2)
        assert said == "gml: error: --min-complete goes with --missing drop\n"
    assert "must be at least 1, not 0" in error_line(gml(*drop, "--min-complete", "0"), 2)


@pytest.mark.parametrize("kind", ["weights", "weights-fractional"])
def test_rows_count_as_much_as_they_weigh(kind, gml, tmp_path):
    few = table(3, 8, weight=20)
    few.to_csv(tmp_path / "t.csv", index=False)
    line = ("hc", "t.csv", f"--{kind}", "times", "--missing", "drop", "-q")
    assert gml(*line).returncode == 0
    few.loc[2, "times"] = 0
    few.loc[3:, "times"] = [60, 60, 60, 60, 161]
    few.to_csv(tmp_path / "t.csv", index=False)
    assert "40 of 441 rows are complete" in error_line(gml(*line), 4)
    few.loc[7, "times"] = 160
    few.to_csv(tmp_path / "t.csv", index=False)
    assert "40 of 440 rows are complete" in error_line(gml(*line), 4)
    few.loc[7, "times"] = 120
    few.to_csv(tmp_path / "t.csv", index=False)
    assert gml(*line).returncode == 0
    # A row without a weight counts as an average one.
    few.loc[4:, "times"] = None
    few.to_csv(tmp_path / "t.csv", index=False)
    assert gml(*line).returncode == 0
    few.loc[:1, "times"] = 10
    few.to_csv(tmp_path / "t.csv", index=False)
    # Of four with a weight, 10, 10, 0 and 60: the one of 0 does not count.
    assert "20 of 187 rows are complete" in error_line(gml(*line), 4)


@pytest.mark.parametrize(
    "line",
    [
        "count t.csv -c seen,poor --pairs -o c.parquet",
        "count t.csv -c seen,poor --pairs -o c.parquet --engine stream",
        "rake t.csv --targets targets.csv",
        "check t.csv m.json",
        "check t.csv m.json --engine stream",
        "fit-params t.csv g.dot",
    ],
)
def test_other_ways_in_have_the_rule_too(line, gml, tmp_path):
    table(5, 200).to_csv(tmp_path / "t.csv", index=False)
    table(200, 200).to_csv(tmp_path / "old.csv", index=False)
    (tmp_path / "g.dot").write_text("digraph { seen -> poor }")
    (tmp_path / "targets.csv").write_text("poor,share\nu,0.4\nv,0.6\n")
    assert gml("fit-params", "old.csv", "g.dot", "-o", "m.json").returncode == 0
    drop = (*line.split(), "--missing", "drop", "-q")
    said = error_line(gml(*drop), 4)
    assert "5 of 200 rows are complete; most often missing: 'poor' 195" in said
    # What a graph or a target needs cannot be left out.
    assert ("--exclude" in said) == line.startswith("count")
    done = gml(*drop, "--min-complete", "5")
    assert done.returncode in (0, 1), done.stderr


# ---------------------------------------------------------------------- missing together


def survey(n: int, seed: int = 1) -> pd.DataFrame:
    """Answers that say nothing of one another; a page of three questions is skipped as a whole."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({name: draw.choice(["yes", "no"], n) for name in "DCBA"})
    frame["plan, of the year"] = draw.choice(["x", "y"], n)
    frame = frame.astype(object)
    for name in frame.columns:
        frame.loc[draw.random(n) < 0.04, name] = None
    skipped = draw.random(n) < 0.1
    frame.loc[skipped, ["A", "D", "plan, of the year"]] = None
    return frame


def together(frame: pd.DataFrame) -> int:
    """In how many rows the page is missing."""
    return int(frame[["A", "D", "plan, of the year"]].isna().all(axis=1).sum())


@pytest.mark.parametrize(
    "options", [[], ["--engine", "stream"], ["--engine", "stream", "--spool-keep"]], ids=str
)
def test_columns_that_are_missing_together_are_named(options, gml, tmp_path, small_pieces):
    frame = survey(500)
    frame.to_csv(tmp_path / "t.csv", index=False, na_rep="?")
    said = (
        f"gml: warning: {together(frame)} rows miss A, D, 'plan, of the year' together: edges "
        "among them say who did not answer\n"
    )
    for _ in range(2):
        done = gml("hc", "t.csv", "--missing", "level", "--threads", "1", *options)
        assert done.stderr.decode().count("together") == 1
        assert said in done.stderr.decode()
    assert b"together" not in gml("pc", "t.csv", "--missing", "available", *options[:2]).stderr


def test_frames_warn_whatever_the_order_of_rows_and_columns():
    frame = survey(400, seed=3)
    other = frame.iloc[::-1, ::-1]
    found = []
    for table in (frame, other):
        with pytest.warns(library.GmlWarning, match=f"^{together(frame)} rows miss A, D, 'plan"):
            found.append(library.read(table, missing="level").n)
    assert found == [400, 400]


def test_missing_cells_that_a_declared_level_spells_count(tmp_path, gml):
    frame = survey(300, seed=4)
    frame.to_csv(tmp_path / "t.csv", index=False, na_rep="NA")
    levels = {name: ["no", "yes", "NA"] for name in "AD"}
    columns = {name: {"levels": some} for name, some in levels.items()}
    (tmp_path / "s.json").write_text(json.dumps({"schema": "gml/1", "columns": columns}))
    for engine in ("memory", "stream"):
        line = f"chowliu t.csv --levels s.json --missing level --engine {engine}"
        assert f"{together(frame)} rows miss A, D, 'plan" in gml(*line.split()).stderr.decode()


def test_count_files_are_warned_of_as_well(tmp_path, gml):
    survey(300, seed=5).to_csv(tmp_path / "t.csv", index=False)
    for engine in ("memory", "stream"):
        line = f"count t.csv --pairs --missing level --engine {engine} -o c.parquet"
        assert gml(*line.split()).stderr.count(b"edges among them say who did not answer") == 1


def test_two_groups_and_a_set_within_another():
    n = 1000
    gap = np.zeros((5, n), dtype=bool)
    gap[0, :60] = gap[1, :60] = True
    gap[2, 500:540] = gap[3, 500:540] = True
    gap[4, 500:510] = True
    tally = GapTally(5)
    tally.see(list(gap), n)
    # 40 rows lack two columns, 10 of them a third: most gaps are together in two.
    assert tally.missing_together(list("vwxyz"), n) == [(60, ("v", "w")), (40, ("x", "y"))]


def test_pieces_add_up_in_any_order():
    draw = np.random.default_rng(2)
    gaps = draw.random((6, 900)) < 0.05
    gaps[[1, 4]] |= draw.random(900) < 0.2
    names = list("fedcba")
    whole = GapTally(6)
    whole.see(list(gaps), 900)
    parts = []
    for start in (600, 0, 300):
        part = GapTally(6)
        part.see([gap[start : start + 300] for gap in gaps], 300)
        parts.append(part)
    for other in parts[1:]:
        parts[0].add(other)
    found = parts[0].missing_together(names, 900)
    assert found == whole.missing_together(names, 900)
    assert [group for _, group in found] == [("b", "e")]
    again = GapTally(6)
    again.restore(json.loads(json.dumps(whole.state())))
    assert again.missing_together(names, 900) == found


def test_more_patterns_than_there_is_room_for_are_given_up(monkeypatch):
    monkeypatch.setattr("gml.data.missing_patterns._MOST_BYTES", 20 * 130)
    draw = np.random.default_rng(2)
    gaps = list(draw.random((9, 900)) < 0.3)
    tally, other = GapTally(9), GapTally(9)
    tally.see(gaps, 900)
    other.see([gaps[0], *[None] * 7, gaps[0]], 900)
    assert other.missing_together(list("abcdefghi"), 900)
    other.add(tally)
    assert not tally.missing_together(list("abcdefghi"), 900)
    assert not other.missing_together(list("abcdefghi"), 900)


def test_columns_that_are_missing_independently_are_no_group():
    draw = np.random.default_rng(7)
    alarms = 0
    for n in (30, 200, 2000):
        for share in (0.01, 0.05, 0.3, 0.6, 0.95):
            for _ in range(40):
                tally = GapTally(12)
                tally.see(list(draw.random((12, n)) < share), n)
                alarms += bool(tally.missing_together(list("abcdefghijkl"), n))
    # Less than one in a thousand, of 600 tables.
    assert alarms == 0
