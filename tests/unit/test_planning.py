"""Plans: samples of tables, what is asked, prices, growth, and what would be refused."""

from __future__ import annotations

import bz2
import gzip
import importlib
import math
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gml
from gml import kernel
from gml.counts.engine_over import engine_over
from gml.counts.memory import MemoryCounter
from gml.data.table_sample import sample_table
from gml.errors import CannotAnswer, DataError, GmlError, GraphError, UsageError
from gml.planning.growth import Range, carried_on, straight_on
from gml.planning.plan import all_families, memory_of
from gml.planning.prices import Price, Prices, calibration_rows
from gml.planning.watching import Opened, Watch, WatchedPath
from gml.resources import limited_to
from tests.places import ROOT

ASIA = ROOT / "sample_data" / "asia.csv"
GRAPH = ROOT / "sample_data" / "asia.dot"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table that is larger than what is looked at under a small budget."""
    path = tmp_path_factory.mktemp("large") / "large.csv"
    draw = random.Random(3)
    lines = [f"{draw.choice('xyz')},{draw.choice(['no', 'yes'])},{k % 5}\n" for k in range(300_000)]
    path.write_text("a,b,c\n" + "".join(lines))
    return path


# ---------------------------------------------------------------------- samples


def test_a_small_table_is_taken_whole():
    sample = sample_table(ASIA)
    assert (sample.size.rows, sample.size.is_exact, sample.n_rows) == (5000, True, 5000)
    assert sample.size.stored_bytes == sample.size.text_bytes == ASIA.stat().st_size


def test_rows_of_a_large_table_are_estimated(large, tmp_path):
    with limited_to(8 << 20):
        sample = sample_table(large)
    assert not sample.size.is_exact
    assert sample.n_rows < 200_000
    assert sample.size.rows == pytest.approx(300_000, rel=0.01)
    written = gml.read(sample.written(tmp_path, 1000))
    assert (written.n, written.names) == (1000, ("a", "b", "c"))
    assert len(written.variables[2].levels) == 5


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_of_a_compressed_table_the_beginning_is_read(large, tmp_path, pack):
    path = tmp_path / "large.csv.packed"
    path.write_bytes(pack(large.read_bytes()))
    whole = sample_table(path)
    assert (whole.size.rows, whole.size.is_exact) == (300_000, True)
    with limited_to(8 << 20):
        sample = sample_table(path)
    assert not sample.size.is_exact
    # What is decompressed ahead counts as read, and is much of so small a file.
    assert sample.n_rows < sample.size.rows < 300_000
    assert sample.size.inflating > 0


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path, end, last):
    path = tmp_path / "t.csv"
    text = end.join(["a,b", *["x,y", "z,y"] * 10]) + (end if last else "")
    path.write_bytes(text.encode())
    sample = sample_table(path)
    assert sample.size.rows == sample.n_rows == 20
    assert gml.read(sample.written(tmp_path, 10)).n == 10


def test_quoted_line_ends_are_no_rows(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text('"a\nname",b\n' + '"x\ny",1\nz,"2, 3"\n' * 50)
    sample = sample_table(path)
    assert sample.size.rows == 100
    assert gml.read(sample.written(tmp_path, 40)).n == 40


def test_an_encoding_is_decoded(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_bytes("größe,b\n".encode("utf-16") + "å,1\n".encode("utf-16-le") * 30)
    plan = gml.plan("chowliu", path, encoding="utf-16")
    assert (plan.rows, list(plan.levels)) == (30, ["größe", "b"])


def test_parquet_says_how_many_rows_there_are(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(ASIA, dtype=str)
    frame.to_parquet(tmp_path / "asia.parquet", row_group_size=500)
    sample = sample_table(tmp_path / "asia.parquet")
    assert (sample.size.rows, sample.size.is_exact) == (5000, True)
    read = gml.read(sample.written(tmp_path, 100))
    assert (read.n, read.names) == (100, gml.read(ASIA).names)
    plan = gml.plan("chowliu", tmp_path / "asia.parquet")
    assert [work.number.likely for work in plan.work] == [28]


def test_streams_cannot_be_planned():
    with pytest.raises(UsageError, match="standard input cannot be planned: it can be read only"):
        sample_table("-")


# ---------------------------------------------------------------------- what is asked


def test_the_watch_sees_every_question():
    watch = Watch()
    counter = engine_over(gml.read(ASIA), WatchedPath("asia.csv", watch, "asia.csv"), threads=1)
    result = gml.hc(counter)
    assert sum(watch.asked.values()) >= result.families
    assert {kind for kind, _ in watch.asked} == {"families"}
    again = MemoryCounter(gml.read(ASIA), threads=1)
    assert gml.hc(again).score == result.score
    for batch in watch.batches:
        batch.ask(again, batch.questions)


@pytest.mark.filterwarnings("ignore::gml.GmlWarning")
def test_the_watched_engine_answers_alike():
    data = gml.read(ASIA)
    watched = engine_over(data, WatchedPath("asia.csv", Watch(), "asia.csv"), threads=1)
    for learner in (gml.chow_liu, gml.pc, gml.ges, gml.exact):
        assert list(learner(watched).graph.edges) == list(learner(data).graph.edges)
    fitted = [gml.fit(rows, GRAPH).cpt("lung").table for rows in (watched, data)]
    assert np.array_equal(*fitted)


def test_a_plain_path_is_not_watched():
    assert type(engine_over(gml.read(ASIA), str(ASIA))) is MemoryCounter


def test_a_watch_may_end_a_run_when_the_table_is_read():
    watch = Watch(only_open=True)
    with pytest.raises(Opened):
        gml.pc(WatchedPath(str(ASIA), watch, "the table"))
    assert watch.rows.n == 5000
    assert watch.asked == {}


# ---------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("command", "given", "options", "expected"),
    [
        ("chowliu", [], {}, {("tests", 0): 28}),
        ("count", [], {"pairs": True}, {("tables", 2): 28}),
        ("count", [], {"triples": True}, {("tables", 3): 56}),
        ("indtest", [], {"all_pairs": True}, {("tests", 0): 28}),
        ("indtest", ["smoke", "lung"], {"given": ["bronc", "dysp"]}, {("tests", 2): 1}),
        ("score", [GRAPH], {}, {("families", 0): 2, ("families", 1): 4, ("families", 2): 2}),
        ("fit-params", [GRAPH], {}, {("tables", 1): 2, ("tables", 2): 4, ("tables", 3): 2}),
    ],
)
def test_numbers_of_tables_are_exact(command, given, options, expected):
    plan = gml.plan(command, ASIA, *given, **options)
    assert {(work.kind, work.size): work.number for work in plan.work} == {
        level: Range.exactly(number) for level, number in expected.items()
    }
    assert plan.passes.low == plan.passes.high


def test_level_0_of_pc_is_all_pairs():
    plan = gml.plan("pc", ASIA)
    numbers = {(work.kind, work.size): work.number for work in plan.work}
    assert numbers["tests", 0] == Range.exactly(28)
    low, likely, high = numbers["tests", 1]
    assert 0 < low <= likely <= high


@pytest.mark.parametrize("max_parents", [None, 2])
@pytest.mark.parametrize("command", ["exact", "hc", "ges"])
def test_a_search_asks_for_no_more_families_than_there_are(command, max_parents):
    plan = gml.plan(command, ASIA, max_parents=max_parents)
    bounds = all_families(8, max_parents)
    families = {("families", w.size): w.number for w in plan.work if w.kind == "families"}
    assert {("families", 0), ("families", 1)} <= families.keys() <= bounds.keys()
    for level, number in families.items():
        assert 0 < number.low <= number.likely <= number.high <= bounds[level]


def test_what_bounds_the_likelihood_is_no_family_of_an_exact_search():
    work = {(w.kind, w.size): w.number for w in gml.plan("exact", ASIA, max_parents=2).work}
    assert work["families", 0] == Range.exactly(8)
    assert work["families", 1] == Range.exactly(56)
    assert work["bounds", 7] == Range.exactly(8)


def test_all_families():
    assert sum(all_families(5, None).values()) == 5 * 2**4
    assert all_families(3, 9) == all_families(3, None)


def test_replicates_are_planned_by_one_of_them():
    plan = gml.plan("average", ASIA, "hc", bootstrap=50)
    once = gml.plan("hc", ASIA)
    assert plan.replicates == 50
    assert [(work.kind, work.size) for work in plan.work] == [
        (work.kind, work.size) for work in once.work
    ]
    assert gml.plan("average", ASIA, by="ges").replicates == 200
    assert gml.plan("pc", ASIA, bootstrap=30).replicates == 30
    assert gml.plan("pc", ASIA).replicates is None


@pytest.mark.parametrize(("budget", "masks"), [(20_000, 0), (20_002, 10_000), (1 << 30, 10_000)])
def test_masks_are_planned_as_the_engine_makes_them(monkeypatch, budget, masks):
    data, made = gml.read(ASIA), []
    coded_data = kernel.active().CodedData

    def noted(columns, levels, weights, mask_levels):
        made.append(mask_levels)
        return coded_data(columns, levels, weights, mask_levels)

    monkeypatch.setattr(kernel.active(), "CodedData", noted)
    MemoryCounter(data, max_memory=budget, threads=1).prepare(0, largest_batch=1)
    assert [levels > 0 for levels in made] == [masks > 0]
    assert memory_of(data, 5000, (0, 0), budget).masks == masks


def test_an_engine_that_was_prepared_counts_pairs_once():
    counter = MemoryCounter(gml.read(ASIA), threads=1)
    counter.prepare(31, largest_batch=31)
    assert counter.coded.pairs_remembered is False
    counter.prepare(1, largest_batch=31)
    assert counter.coded.pairs_remembered is True


def test_memory_is_that_of_the_codes():
    data = gml.read(ASIA)
    memory = memory_of(data, 5000, (4, 2), 1 << 30)
    assert memory.codes == sum(column.nbytes for column in data.columns)
    assert memory.masks == 16 * 5000 // 8
    assert memory.table == 8 * 2 * 4
    weighted = replace(data, weights=np.ones(5000, dtype=np.int64))
    assert memory_of(weighted, 5000, (0, 0), 1 << 30).codes == memory.codes + 8 * 5000


def test_row_order_changes_nothing_that_is_counted(tmp_path):
    header, *rows = ASIA.read_text().splitlines(keepends=True)
    random.Random(1).shuffle(rows)
    path = tmp_path / "shuffled.csv"
    path.write_text(header + "".join(rows))
    plans = [gml.plan("chowliu", table) for table in (ASIA, path)]
    assert plans[0].work == plans[1].work
    assert dict(plans[0].levels) == dict(plans[1].levels)
    assert plans[0].rows == plans[1].rows
    assert replace(plans[0].memory, budget=0) == replace(plans[1].memory, budget=0)


@pytest.mark.parametrize("kind", ["frame", "dataset", "counter"])
def test_data_of_any_kind(kind):
    frame = pd.read_csv(ASIA, dtype=str)
    data = {"frame": frame, "dataset": gml.read(ASIA), "counter": MemoryCounter(gml.read(ASIA))}
    plan = gml.plan("pc", data[kind])
    path = gml.plan("pc", ASIA)
    assert (plan.rows, dict(plan.levels)) == (path.rows, dict(path.levels))
    assert [work.number for work in plan.work] == [work.number for work in path.work]
    if kind != "frame":
        assert plan.seconds.reading == 0


# ---------------------------------------------------------------------- time


def test_growth():
    assert carried_on([10], [5.0], 10) == Range.exactly(5.0)
    flat = carried_on([100, 400], [10.0, 10.0], 1600)
    assert flat.low < flat.likely == 10.0 < flat.high
    more = carried_on([100, 400], [10.0, 20.0], 1600)
    assert more.likely > 20.0
    far = carried_on([100, 400], [10.0, 10.0], 400 * 2**10)
    assert far.high / far.low > flat.high / flat.low
    assert straight_on([10, 20], [1.0, 1.0], 1000) == 1.0
    assert straight_on([20], [1.0], 40) == 2.0


def test_prices():
    prices = Prices({("tests", 0): Price(1.0, 0.5), ("tests", 2): Price(2.0, 1.0)}, 0.25)
    assert prices.of_all({("tests", 0): 3}, 8) == 0.25 * 8 + 3 * 5.0
    assert prices.of_level(("tests", 1)) == Price(1.0, 0.5)
    assert prices.of_level(("tests", 9)) == Price(2.0, 1.0)
    assert prices.of_level(("moments", 1)) == Price(0.0, 0.0)
    assert prices.of_all({}, 100) == 0.0
    assert calibration_rows(2, 50) == 4096


def test_time_in_all_is_that_of_its_parts():
    alone = gml.plan("pc", ASIA, threads=1).seconds
    assert 0 < alone.reading < alone.elapsed.low
    for end in ("low", "likely", "high"):
        parts = alone.reading + getattr(alone.counting, end) + getattr(alone.other, end)
        assert getattr(alone.elapsed, end) == pytest.approx(parts)
    shared = gml.plan("pc", ASIA, threads=4).seconds
    parts = shared.reading + shared.counting.likely / 3.6 + shared.other.likely
    assert shared.elapsed.likely == pytest.approx(parts)


def test_ten_times_the_rows_take_longer_to_read(tmp_path):
    header, *rows = ASIA.read_text().splitlines(keepends=True)
    (tmp_path / "small.csv").write_text(header + "".join(rows))
    (tmp_path / "large.csv").write_text(header + "".join(rows) * 60)
    small, large = (gml.plan("chowliu", tmp_path / name) for name in ("small.csv", "large.csv"))
    # Times are measured on a machine that may be busy: in ten times the noise there is.
    assert large.seconds.reading > 4 * small.seconds.reading
    assert large.memory.codes == 60 * small.memory.codes


def test_a_pilot_that_cannot_finish_leaves_the_end_open(monkeypatch):
    class Unfinished:
        complete = False

    def stopped(data, *, threads, engine, max_seconds=None):
        engine_over(gml.read(str(data)), data, threads=threads).pair_statistics(
            np.array([[0, 1]], dtype=np.int32)
        )
        return Unfinished()

    monkeypatch.setattr("gml.verbs.hc.hc", stopped)
    plan = gml.plan("hc", ASIA)
    assert plan.seconds.elapsed.high == math.inf
    assert "was stopped after" in plan.notes[0]


# ---------------------------------------------------------------------- what is refused


def test_an_unknown_command():
    with pytest.raises(UsageError, match="'sample' has no plan; there are plans of average, check"):
        gml.plan("sample", ASIA)


def test_what_the_command_itself_refuses():
    with pytest.raises(GmlError, match="parameter 'alhpa' not found; did you mean 'alpha'"):
        gml.plan("pc", ASIA, alhpa=0.1)
    with pytest.raises(UsageError, match="column 'nose' not found"):
        gml.plan("indtest", ASIA, "smoke", "nose")
    with pytest.raises(UsageError, match="a plan needs data"):
        gml.plan("pc", 3)


def test_missing_values_are_refused_as_the_command_does(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_text("a,b\n" + "x,y\nx,\nz,y\n" * 2000)
    plan = gml.plan("pc", path)
    (refusal,) = plan.refused
    assert refusal.exit_code == 3
    assert refusal.reason.startswith(f"{path}: ")
    assert "missing values: 'b' 2000;" in refusal.reason
    assert plan.seconds is None
    assert gml.plan("pc", path, missing="drop").refused == ()


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_what_is_wrong_names_the_table(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "b": [str(tmp_path), None] * 50})
    path = tmp_path / f"table.{kind}"
    if kind == "frame":
        path = frame
    elif kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    (refusal,) = gml.plan("chowliu", path).refused
    name = "the data" if kind == "frame" else path
    assert refusal.reason.startswith(f"{name}: missing values: 'b' 50;")


def test_a_watched_path_is_shown_as_the_table(tmp_path):
    path = tmp_path / "4096.csv"
    path.write_text("a,b\nx,\n")
    with pytest.raises(GmlError, match="^the table: missing values: 'b' 1;"):
        gml.pc(WatchedPath(str(path), Watch(), "the table"))


def test_what_is_wrong_with_another_file_ends_the_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(ASIA.read_bytes())
    (tmp_path / "a.dot").write_text("digraph {")
    with pytest.raises(GmlError, match=r"^a\.dot: "):
        gml.plan("score", "a", "a.dot")


@pytest.mark.parametrize("exit_code", [3, 4])
def test_what_is_wrong_with_the_rows_is_listed_however_it_is_worded(
    tmp_path, monkeypatch, exit_code
):
    def refused(*given, **options):
        raise (DataError if exit_code == 3 else CannotAnswer)("rows of another kind")

    monkeypatch.setattr("gml.data.reading._read_dataset", refused)
    (refusal,) = gml.plan("pc", ASIA).refused
    assert (refusal.exit_code, refusal.reason) == (exit_code, "rows of another kind")


def test_a_file_that_is_named_like_the_table_is_still_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(ASIA.read_bytes())

    def rejected(*given, **options):
        raise GraphError("a: what is wrong with the graph")

    monkeypatch.setattr("gml.formats.models.parse_any", rejected)
    with pytest.raises(GraphError, match="^a: what is wrong with the graph"):
        gml.plan("score", "a", GRAPH)


def test_identifiers_are_refused(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("id,b\n" + "".join(f"person {k},{k % 2}\n" for k in range(400)))
    (refusal,) = gml.plan("chowliu", path).refused
    assert refusal.exit_code == 3
    assert "'id'" in refusal.reason


def test_codes_beyond_the_budget(large, monkeypatch):
    monkeypatch.setattr("gml.data.reading._ALWAYS_READ", 0)
    with limited_to(1 << 19):
        (refusal,) = gml.plan("pc", large, engine="memory").refused
        plan = gml.plan("pc", large)
    assert refusal.exit_code == 4
    assert "the codes would take" in refusal.reason
    assert plan.engine == "stream"
    assert plan.refused == ()
    assert plan.memory.peak <= plan.memory.budget


def test_what_is_usual_is_said_once(monkeypatch):
    assert gml.plan("average", ASIA, "hc").replicates == 200
    monkeypatch.setattr("gml.verbs.plan.BOOTSTRAP", 30)
    assert gml.plan("average", ASIA, "hc").replicates == 30


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gml.plan("pc", ASIA, test_log=tmp_path / "log.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_no_pass_can_count_is_listed_with_what_is_known(monkeypatch, sample_data):
    def refused(*given):
        raise CannotAnswer("the table of 'asia' would take 9 GiB")

    monkeypatch.setattr(importlib.import_module("gml.verbs.plan"), "measured", refused)
    plan = gml.plan("pc", sample_data / "asia.csv")
    assert [(one.exit_code, one.reason) for one in plan.refused] == [
        (4, "the table of 'asia' would take 9 GiB")
    ]
    assert plan.work and plan.seconds is None


def test_few_rows_that_are_refused_say_nothing_of_all(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{'xyz'[k % 3]},{rng.normal()!r}" for k in range(9000)]
    # A rare label has rows enough in the whole table, and too few in the first pilots.
    lines[::2000] = [f"rare,{rng.normal()!r}" for _ in lines[::2000]]
    table, graph = tmp_path / "d.csv", tmp_path / "g.dot"
    table.write_text("a,b\n" + "\n".join(lines) + "\n")
    graph.write_text("digraph { a -> b }")
    assert gml.fit(table, graph, numeric=["b"])
    plan = gml.plan("fit-params", table, graph, numeric=["b"])
    assert plan.refused == ()
    assert "a pilot on fewer rows was refused" in plan.notes[0]


def test_pilots_of_a_table_with_a_period_see_all_of_it():
    """Rows at even distances would all weigh nothing."""
    rows = 5000
    frame = pd.DataFrame({"a": ["x", "y"] * 2500, "b": ["u", "u", "v", "v"] * 1250})
    frame["w"] = [k % 5 * 100 for k in range(rows)]
    plan = gml.plan("chowliu", frame, weights="w")
    assert plan.work and plan.seconds is not None and not plan.notes


def test_what_few_rows_are_refused_for_is_refused():
    with limited_to(2 << 10):
        plan = gml.plan("hc", ROOT / "sample_data" / "asia.csv")
        (refusal,) = plan.refused
        assert refusal.exit_code == 4 and "a search over 8 columns would take" in refusal.reason
        with pytest.raises(CannotAnswer, match="a search over 8 columns would take"):
            gml.hc(ROOT / "sample_data" / "asia.csv")


@pytest.mark.parametrize(
    ("command", "given", "option"),
    [("pc", (), {"bootstrap": 3}), ("score", ("asia.dot",), {"folds": 3})],
)
def test_a_stream_may_lack_the_rows_that_are_drawn_from(command, given, option):
    folder = ROOT / "sample_data"
    more = [folder / name for name in given]
    with limited_to(30 << 10):
        plan = gml.plan(command, folder / "asia.csv", *more, engine="stream", **option)
    assert f"`{next(iter(option))}` needs the rows in memory" in " ".join(plan.notes)
    with limited_to(1 << 20):
        plan = gml.plan(command, folder / "asia.csv", *more, engine="stream", **option)
    assert not plan.notes
