"""Progress on a terminal: one line that counts, whatever the parts of the work say themselves."""

from __future__ import annotations

import re
import sys

import numpy as np
import pandas as pd
import pytest

import gml
from gml import progress
from gml.progress import Reporter, StderrReporter, reporter, reporting_to
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
