"""Progress on a terminal: one line that counts, whatever the parts of the work say themselves."""

from __future__ import annotations

import io
import re
import sys
import time

import numpy as np
import pandas as pd
import pytest

import gml
from gml import progress
from gml.cli.shared.standard_output import stream_to_standard_output
from gml.formats.reports.rows import FORMATS
from gml.pace import Stage
from gml.progress import Reporter, StderrReporter, reporter, reporting_to, say, tracked
from tests.unit.test_floor import Terminal


@pytest.fixture
def opened(monkeypatch):
    """Opens a terminal on which progress is shown at once and each time.

    By the test itself: pytest has its own standard error until then.
    """

    def terminal():
        found = Terminal()
        monkeypatch.setattr(sys, "stderr", found)
        monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.0)
        monkeypatch.setattr(progress, "_REDRAW_SECONDS", 0.0)
        return found

    return terminal


def shown(screen):
    """The lines that appeared, one after the other."""
    return [line for line in screen.getvalue().split("\r\x1b[K") if line]


def test_parts_are_counted_on_one_line(opened):
    screen = opened()
    with reporting_to(StderrReporter()), reporter().counting("replicates", 200) as count:
        reporter().status("climb: 3 steps")
        reporter().advance("counting", 5, 10)
        count(50, "score -3")
        reporter().advance("counting", 9, 10)
    assert set(shown(screen)) == {
        "replicates [..............................] 0 of 200",
        "replicates [#######.......................] 50 of 200, score -3",
    }


def test_what_is_counted_within_a_part_is_not_shown(opened):
    screen = opened()
    with (
        reporting_to(StderrReporter()) as bar,
        bar.counting("replicates", 4) as outer,
        bar.counting("restarts", 9) as inner,
    ):
        inner(5)
        outer(2)
    assert {line.split()[0] for line in shown(screen)} == {"replicates"}


def test_after_counting_parts_speak_for_themselves(opened):
    screen = opened()
    with reporting_to(StderrReporter()) as bar:
        with bar.counting("replicates", 4):
            pass
        bar.status("colliders: 3 more tests")
    assert shown(screen)[-1] == "colliders: 3 more tests"


def test_the_library_counts_silently(capsys):
    with Reporter().counting("replicates", 4) as count:
        count(3, "note")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("by", "keywords"), [("hc", {"restarts": 3}), ("ges", {}), ("pc", {}), ("hc", {"tabu": 5})]
)
def test_an_average_shows_one_count_of_replicates(opened, sample_data, by, keywords):
    screen = opened()
    data = gml.read(sample_data / "asia.csv", columns=["smoke", "lung", "either", "xray"])
    with reporting_to(StderrReporter()):
        gml.average(data, by, bootstrap=6, threads=2, **keywords)
    lines = shown(screen)
    first = next(k for k, line in enumerate(lines) if line.startswith("replicates"))
    counts = [int(found[1]) for line in lines if (found := re.search(r"\] (\d+) of 6$", line))]
    last = len(lines) - lines[::-1].index(
        next(x for x in lines[::-1] if x.startswith("replicates"))
    )
    assert {line.split()[0] for line in lines[first:last]} == {"replicates"}
    assert counts == sorted(counts)
    assert counts[-1] == 6


@pytest.mark.parametrize("learn", [gml.hc, gml.ges])
def test_restarts_are_counted_with_the_score(opened, sample_data, learn):
    screen = opened()
    with reporting_to(StderrReporter()):
        result = learn(sample_data / "asia.csv", restarts=5)
    lines = [line for line in shown(screen) if line.startswith("restarts")]
    assert any(" 4 of 5, best score " in line for line in lines)
    assert lines[-1].endswith(f"best score {result.score:.2f}")


def test_exact_shows_states_and_bound(opened, monkeypatch):
    """Columns that all have a say in the others, and few states at a time."""
    screen = opened()
    monkeypatch.setattr("gml.learners.a_star._EXPANSIONS_PER_CALL", 5)
    monkeypatch.setattr("gml.learners.exact._FEW", 2)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 18)) @ rng.normal(size=(18, 18))
    frame = pd.DataFrame(rows, columns=list("abcdefghijklmnopqr"))
    with reporting_to(StderrReporter()):
        gml.exact(frame, score="bic-g", max_parents=2, threads=1)
    told = [line for line in shown(screen) if line.startswith("orders of")]
    wanted = r"orders of \d+ variables: [\d,]+ states, the best loses ([\d.]+) nats, bound ([\d.]+)"
    found = [re.fullmatch(wanted, line) for line in told]
    assert found
    assert all(found)
    assert all(float(one[2]) <= float(one[1]) for one in found)


def test_exact_shows_how_many_of_all_states_it_has_seen(opened, sample_data):
    screen = opened()
    with reporting_to(StderrReporter()):
        gml.exact(sample_data / "asia.csv")
    told = [line for line in shown(screen) if line.startswith("orders of")]
    assert told
    for line in told:
        m, seen, states = map(int, re.findall(r"\d+", line))
        assert (seen, states) == (2**m, 2**m)


class Clock:
    """A clock that goes on only when told to."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """The time as the reporter knows it, and no thread that looks at it."""
    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    monkeypatch.setattr(StderrReporter, "start", lambda self: None)
    return found


def test_rate_and_time_left_of_what_has_an_end(opened, clock):
    screen = opened()
    with reporting_to(StderrReporter()) as bar:
        bar.advance("reading d.csv", 1_000_000, 101_000_000, in_bytes=True)
        clock.now += 2
        bar.advance("reading d.csv", 51_000_000, 101_000_000, in_bytes=True)
        clock.now += 100
        bar.status("testing: 1 of 7,201", 1, 7201)
        clock.now += 1
        bar.status("testing: 2 of 7,201", 2, 7201)
        clock.now += 119
        bar.status("testing: 241 of 7,201", 241, 7201)
    assert shown(screen) == [
        "reading d.csv [..............................]   1%",
        "reading d.csv [###############...............]  50%  25 MB/s  0:02 left",
        "testing: 1 of 7,201",
        "testing: 2 of 7,201  1/s  1:59:59 left",
        "testing: 241 of 7,201  2/s  58:00 left",
    ]


def test_rate_and_time_passed_of_what_has_none(opened, clock):
    screen = opened()
    with reporting_to(StderrReporter()) as bar:
        bar.advance("reading -", 0, None, in_bytes=True)
        clock.now += 4
        bar.advance("reading -", 10_000, None, in_bytes=True)
        bar.status("climb: 0 steps, score -3.00", 0)
        clock.now += 61
        bar.status("climb: 12 steps, score -2.00", 12)
        bar.status("looking for equal rows: 7")
        clock.now += 5
        bar.status("looking for equal rows: 7")
    assert shown(screen) == [
        "reading - 0 B",
        "reading - 10 kB  2.5 kB/s  0:04",
        "climb: 0 steps, score -3.00",
        "climb: 12 steps, score -2.00  0.2/s  1:05",
        "looking for equal rows: 7",
        "looking for equal rows: 7  1:10",
    ]


def test_a_stage_that_begins_again_has_a_rate_of_its_own(opened, clock):
    screen = opened()
    with reporting_to(StderrReporter()) as bar:
        bar.advance("counting", 100, 100)
        clock.now += 1
        bar.advance("counting", 10, 100)
        clock.now += 1
        bar.advance("counting", 40, 100)
    assert shown(screen)[-1].endswith(" 40%  30/s  0:02 left")


def test_a_part_of_a_stage_is_not_shown_in_its_place(opened, clock):
    screen = opened()
    with reporting_to(StderrReporter()) as bar:
        bar.advance("reading d.csv", 10, 100)
        bar.advance("rows", 3, 7)
        bar.advance("reading d.csv", 100, 100)
        bar.advance("rows", 4, 7)
    assert [line.split()[0] for line in shown(screen)] == ["reading", "reading", "reading", "rows"]


def test_a_stage_that_was_given_up_does_not_hide_the_next(opened, clock):
    screen = opened()
    with reporting_to(StderrReporter()) as bar:
        bar.advance("reading d.csv", 10, 100)
        clock.now += 60
        bar.advance("counting", 3, 7)
    assert shown(screen)[-1].startswith("counting [")


def test_a_line_is_never_wider_than_the_terminal(opened, clock, monkeypatch):
    screen = opened()
    monkeypatch.setattr(progress, "_columns", lambda: 20)
    with reporting_to(StderrReporter()) as bar:
        bar.advance("reading 年齢 \x1b[31m" + "x" * 40, 1, 2)
    assert shown(screen) == ["reading 年齢 \\x1b[…"]


def wait_for(text, screen, times=1):
    """Until it was on the screen this often, but not for ever."""
    end = time.monotonic() + 60
    while screen.getvalue().count(text) < times:
        assert time.monotonic() < end, screen.getvalue()
        time.sleep(0.001)


def test_time_passes_on_the_screen_when_nobody_says_anything(opened, monkeypatch):
    screen = opened()
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.001)
    with reporting_to(StderrReporter()) as bar:
        wait_for("working  0:00", screen)
        bar.status("orders of 9 variables: 7 states", 7)
        wait_for("orders of 9 variables: 7 states", screen, times=3)
        bar.status(None)
    seen = screen.getvalue()
    assert seen.endswith("\r\x1b[K")
    time.sleep(0.02)
    assert screen.getvalue() == seen


@pytest.mark.parametrize("quiet", [True, False])
def test_nothing_is_shown_off_a_terminal_or_when_quiet(opened, monkeypatch, quiet):
    screen = opened()
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.001)
    if not quiet:
        monkeypatch.setattr(Terminal, "isatty", lambda self: False)
    with reporting_to(StderrReporter(quiet=quiet)) as bar:
        bar.advance("counting", 1, 2)
        bar.status("climb: 3 steps", 3)
        with bar.counting("replicates", 4) as count:
            count(1)
        time.sleep(0.02)
    assert screen.getvalue() == ""


def test_a_result_on_the_screen_ends_the_progress(opened):
    screen = opened()
    with reporting_to(StderrReporter()) as bar:
        bar.advance("counting", 1, 2)
        bar.stop()
        before = screen.getvalue()
        bar.advance("counting", 2, 2)
        bar.status("climb: 1 steps", 1)
    assert before.endswith("\r\x1b[K")
    assert screen.getvalue() == before


def test_items_are_tracked(opened):
    screen = opened()
    with reporting_to(StderrReporter()):
        assert list(tracked("columns", "abc")) == ["a", "b", "c"]
    assert [line.split()[-1] for line in shown(screen)] == ["33%", "67%", "100%"]


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "csv", "markdown"])
def test_writing_many_rows_is_shown(opened, form):
    rows = [{"a": k} for k in range(1200)]
    screen = opened()
    with reporting_to(StderrReporter()):
        text = "".join(FORMATS[form](rows))
    assert "1199" in text
    assert [line.split()[-1] for line in shown(screen) if line.startswith("writing")][-4:] == [
        "0%",
        "42%",
        "83%",
        "100%",
    ]


def test_commands_say_what_they_do(opened, sample_data, tmp_path):
    """Reading, fitting, folds, columns: each with how far it is."""
    screen = opened()
    data, graph = sample_data / "asia.csv", sample_data / "asia.dot"
    with reporting_to(StderrReporter()):
        model = gml.fit_params(data, graph)
        gml.score(data, graph, folds=3)
        gml.profile(data)
        gml.compare(graph, graph)
        gml.indtest(data, all_pairs=True)
        model.query("lung")
    told = {line.partition(" [")[0] for line in shown(screen)}
    assert {f"reading {data}", "fitting nodes", "folds", "columns", "comparing"} <= told
    assert "looking for equal rows: 5,000" in told


@pytest.mark.parametrize("is_screen", [True, False])
def test_the_bar_is_gone_before_a_result_appears_on_the_screen(opened, monkeypatch, is_screen):
    screen = opened()
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(out, "isatty", lambda: is_screen, raising=False)
    monkeypatch.setattr(sys, "stdout", out)
    with reporting_to(StderrReporter()) as bar:
        bar.advance("sampling", 1, 3)

        def rows():
            yield b"first\n"
            bar.advance("sampling", 2, 3)
            assert screen.getvalue().endswith("\r\x1b[K") == is_screen
            yield b"second\n"

        stream_to_standard_output(rows())
    assert out.buffer.getvalue() == b"first\nsecond\n"


def test_the_bar_is_gone_before_a_result_goes_into_a_pipe(opened, monkeypatch):
    """Whoever reads the pipe may write to the same screen."""
    screen = opened()
    seen = []

    class Pipe(io.BytesIO):
        def write(self, piece):
            seen.append(screen.getvalue()[-4:])
            return super().write(piece)

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Pipe()))
    with reporting_to(StderrReporter()) as bar:
        bar.advance("working hard", 1, 3)
        stream_to_standard_output([b"page"])
    assert seen == ["\r\x1b[K"]


def test_a_phase_is_named_while_there_is_no_news(opened, monkeypatch):
    screen = opened()
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.001)
    with reporting_to(StderrReporter()) as bar:
        with bar.phase("scoring"):
            wait_for("scoring  0:00", screen)
            bar.advance("folds", 1, 2)
            wait_for("folds [", screen)
            with bar.phase("rendering"):
                # Nothing is said any more of what was half done before.
                wait_for("rendering  0:00", screen)
            wait_for("scoring  0:00", screen, times=2)
        wait_for("working  0:00", screen)


def test_what_is_not_paced_has_no_rate():
    stage = Stage(started=0.0, first=0, done=91_000, total=100_000, text="ordering", is_paced=False)
    assert stage.shown() + stage.pace(2.0, 3.0) == f"ordering [{'#' * 27}...]  91%  0:03"
    stage.total = None
    assert stage.shown() + stage.pace(2.0, 3.0) == "ordering  0:03"


def test_reading_a_parquet_file_is_shown(opened, tmp_path):
    pd.DataFrame({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}).to_parquet(tmp_path / "d.parquet")
    screen = opened()
    with reporting_to(StderrReporter()):
        assert gml.read(tmp_path / "d.parquet").n == 100
    assert f"reading {tmp_path / 'd.parquet'} [{'#' * 30}] 100%" in shown(screen)


def test_a_message_never_stands_behind_a_bar(opened, monkeypatch):
    screen = opened()
    monkeypatch.setenv("NO_COLOR", "1")
    with reporting_to(StderrReporter()) as bar:
        bar.advance("counting", 1, 2)
        say("error: ", "one")
        bar.advance("counting", 2, 2)
        bar.warn("two")
    assert shown(screen) == [
        f"counting [{'#' * 15}{'.' * 15}]  50%",
        "gml: error: one\n",
        f"counting [{'#' * 30}] 100%",
        "gml: warning: two\n",
    ]
