"""Passes that are planned, against those that a run by the engine of a stream takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gml
from gml.counts.open_stream import settled_pieces
from gml.counts.streamed import StreamCounter
from gml.planning.growth import Range
from gml.planning.pilots import Pilot
from gml.planning.plan import passes_of
from gml.planning.prices import Price, measured_passes
from gml.planning.watching import LOOSE, Watch, WatchedPath
from gml.resources import limited_to, parse_size
from tests.places import ROOT

pytestmark = pytest.mark.filterwarnings("ignore::gml.GmlWarning")

ASIA = ROOT / "sample_data" / "asia.csv"
GRAPH = ROOT / "sample_data" / "asia.dot"
ORDER = ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """Columns each of which copies one of the two before it in seven rows of ten."""
    rng = np.random.default_rng(5)
    cells = [rng.integers(0, 3, 3000)]
    for j in range(1, 20):
        before = cells[max(0, j - 1 - j % 2)]
        cells.append(np.where(rng.random(3000) < 0.7, before, rng.integers(0, 3, 3000)))
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    pd.DataFrame({f"v{j:02d}": column for j, column in enumerate(cells)}).to_csv(path, index=False)
    return path


def passes_taken(verb, table, *given, **options):
    with gml.open_stream(table) as stream:
        verb(stream, *given, **options)
        return stream.passes


@pytest.mark.parametrize("max_memory", ["512K", "64M"])
@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize(
    ("verb", "given"),
    [("pc", []), ("hc", []), ("ges", []), ("exact", []), ("imap", [ORDER])],
)
def test_passes_of_a_search_are_within_the_range(verb, given, engine, max_memory):
    """Where cells are held, and where they are not and tables are counted ahead."""
    with limited_to(parse_size(max_memory)):
        plan = gml.plan(verb, ASIA, *given, engine=engine)
        low, likely, high = plan.passes
        assert low <= passes_taken(getattr(gml, verb), ASIA, *given) <= high
    assert likely <= high <= 2 * likely + 4


@pytest.mark.parametrize("verb", [gml.pc, gml.hc, gml.ges])
def test_passes_of_a_wider_table(wide, verb):
    low, _, high = gml.plan(verb.__name__, wide).passes
    assert low <= passes_taken(verb, wide) <= high


@pytest.mark.parametrize(
    ("command", "verb", "given"),
    [
        ("chowliu", gml.chow_liu, []),
        ("score", gml.score, [GRAPH]),
        ("fit-params", gml.fit, [GRAPH]),
        ("indtest", gml.indtest, ["smoke", "lung"]),
    ],
)
def test_passes_of_other_commands_are_exact(command, verb, given):
    passes = gml.plan(command, ASIA, *given, engine="stream").passes
    assert passes == Range.exactly(passes_taken(verb, ASIA, *given))


def test_numbers_take_a_pass_for_their_ranges(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=2000)
    path = tmp_path / "numbers.csv"
    pd.DataFrame({"x": x, "y": x + rng.normal(size=2000)}).to_csv(path, index=False)
    graph = tmp_path / "numbers.dot"
    graph.write_text("digraph { x -> y }")
    plan = gml.plan("score", path, graph, numeric=["x", "y"], engine="stream")
    with gml.open_stream(path, numeric=["x", "y"]) as stream:
        gml.score(stream, graph)
        assert plan.passes == Range.exactly(stream.passes)


def test_replicates_take_no_passes():
    for engine in ("memory", "stream"):
        plan = gml.plan("average", ASIA, "hc", bootstrap=5, engine=engine)
        assert plan.passes is None
        assert plan.seconds.elapsed.likely > 0


def test_what_a_stream_refuses_is_planned_in_memory_without_passes(tmp_path):
    path = tmp_path / "weighted.csv"
    path.write_text("a,b,w\n" + "x,y,0.5\nz,u,0.25\n" * 500)
    graph = tmp_path / "weighted.dot"
    graph.write_text("digraph { a -> b }")
    plan = gml.plan("score", path, graph, weights_fractional="w")
    assert plan.passes is None
    assert plan.refused == ()


def watched_run(verb):
    """A run by the engine of a stream that was watched."""
    watch = Watch(in_passes=True)
    verb(WatchedPath(str(ASIA), watch, "asia.csv"))
    return watch


def test_the_watched_stream_takes_the_passes_of_a_stream():
    watch = watched_run(gml.hc)
    assert len(watch.passes) == passes_taken(gml.hc, ASIA)
    assert sum(len(batch.passes) for batch in watch.batches) == len(watch.passes)
    assert watch.loose_passes == 0
    assert len(watch.batches) > len(watch.passes)
    assert 0 < sum(watch.bought.values()) <= len(watch.passes)
    watch.close()


def test_what_is_counted_ahead_is_part_of_the_price():
    # So little that the cells are not held.
    with limited_to(1 << 19):
        watch = watched_run(gml.exact)
        watch.close()
        ahead = next(batch for batch in watch.batches if len(batch.expected) > 28)
        engine = StreamCounter(settled_pieces([gml.read(ASIA)]))
    engine.expect(lambda: ahead.expected)
    ahead.ask(engine, ahead.questions)
    taken = engine.passes
    list(engine.tables(ahead.expected[:20]))
    assert engine.passes == taken


def test_passes_for_what_is_not_asked_of_the_engine_itself_are_priced_as_others():
    watch = watched_run(gml.hc)
    watch.loose_passes = 2
    prices = measured_passes(Pilot(5000, watch, 1.0, None, True), gml.read(ASIA))
    watch.close()
    assert watch.bought[LOOSE] == 2
    assert prices.of_level(LOOSE).at(10**6) > 0
    watch.batches, watch.passes = [], [0.5]
    prices = measured_passes(Pilot(5000, watch, 1.0, None, True), gml.read(ASIA))
    assert prices.of_level(LOOSE) == Price(0.0, 0.5 / 5000)


@pytest.mark.parametrize("finished", [True, False])
def test_of_a_pilot_in_passes_that_was_stopped_there_are_no_more_than_batches(finished):
    in_passes, in_memory = Watch(in_passes=True), Watch()
    in_passes.passes = [0.1] * 6
    gml.hc(WatchedPath(str(ASIA), in_memory, "asia.csv"))
    stopped = [Pilot(500, in_passes, 1.0, None, False)]
    pilots = [Pilot(5000, in_memory, 1.0, None, finished)]
    low, likely, high = passes_of(stopped, pilots, 5000, is_fixed=False)
    assert 1 <= low < 6
    assert low <= likely <= high
    assert high == (len(in_memory.batches) + 1 if finished else float("inf"))


def test_batches_of_numbers_take_two_passes_at_most(tmp_path):
    graph = tmp_path / "xy.dot"
    graph.write_text("digraph { x -> y }")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=500), "y": rng.normal(size=500)})
    watch = Watch()
    gml.score(watch.engine_over(gml.read(frame, numeric=["x", "y"]), 1), graph)
    assert watch.most_passes == 2 * len(watch.batches) > 0
