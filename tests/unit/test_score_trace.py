"""The steps of a search: read back as they were written, and drawn by what they are."""

from __future__ import annotations

from itertools import pairwise

import pytest

import gml
from gml.errors import CannotAnswer, DataError
from gml.formats.search_trace import read_trace, written_trace
from gml.learners.search import Step
from gml.pictures.plots.trace import score_trace
from gml.pictures.themes import DARK, LIGHT, PRINT
from tests.drawn_text import collisions, elements, texts, told

ASIA = "sample_data/asia.csv"
NASTY = 'a,"b"\n<c>\x1b'
CLIMB = [
    Step("climb", "add", "a", "b", (), 10.0, -90.0),
    Step("climb", "add", "b", "c", (), 20.0, -70.0),
    Step("climb", "delete", "a", "b", (), -5.0, -75.0),
    Step("restart 1", "perturb", "", "", (), -20.0, -90.0),
    Step("restart 1", "reverse", "b", "c", (), 40.0, -50.0),
]


def steps_of(tmp_path, learner, **options):
    gml_trace = tmp_path / "steps.csv"
    learner(ASIA, trace=gml_trace, **options)
    return read_trace(gml_trace)


def paths(picture, colour=None):
    """The dashes and the course of lines, those of one colour."""
    return [
        (path.get("stroke-dasharray"), path.get("d"))
        for path in elements(picture.svg, "path")
        if colour is None or path.get("stroke") == colour
    ]


def test_what_is_written_is_read_back(tmp_path):
    steps = [
        Step("forward", "insert", NASTY, "", ("x", NASTY), 0.1, -1e300),
        Step("restart 2: turning", "turn", "'", "=1+1", (), -5e-324, 1 / 3),
        *CLIMB,
    ]
    with written_trace(tmp_path / "t.csv") as write:
        for step in steps:
            write(step)
    assert read_trace(tmp_path / "t.csv") == steps


@pytest.mark.parametrize(("learner", "restarts"), [(gml.hc, 2), (gml.ges, 1)])
def test_the_trace_of_a_search_can_be_drawn(tmp_path, learner, restarts):
    steps = steps_of(tmp_path, learner, restarts=restarts)
    picture = score_trace(steps)
    assert collisions(picture) == []
    titles, description = told(picture.svg)
    assert titles[0].startswith("step 1, ")
    shown = f"{restarts} restart" + "s" * (restarts > 1)
    assert description.endswith(f"{len(steps)} steps from −14736.6, with {shown}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("a,b\n1,2\n", "not the steps of a search, which `trace` of hc and ges writes"),
        ("{H}1,climb,add,a,b,,1\n", "line 2: 7 fields, not 8"),
        ("{H}1,climb,add,a,b,,1,2\n2,climb,add,a,b,,x,2\n", "line 3: 'x' is not a finite number"),
        ("{H}1,climb,add,a,b,,1,nan\n", "line 2: 'nan' is not a finite number"),
        ('{H}1,climb,add,"a,b,,1,2\n', "line 2: not CSV"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    file = tmp_path / "t.csv"
    header = "step,phase,move,source,target,others,gain,score\n"
    file.write_text(content.replace("{H}", header))
    with pytest.raises(DataError, match=message):
        read_trace(file)


def test_lines_are_where_the_scores_are():
    picture = score_trace(CLIMB, LIGHT)
    left = float(elements(picture.svg, "svg")[0].get("x")) + 4
    top = float(elements(picture.svg, "svg")[0].get("y")) + 4

    def at(step, score):
        # From step 0 to 5 there are 620 pixels, and from −100 to −50 there are 280.
        return f"{left + 124 * step:g} {top + 5.6 * (-50 - score):g}"

    expected = [
        (None, f"M{at(0, -100)}L{at(1, -90)}L{at(2, -70)}M{at(4, -90)}L{at(5, -50)}"),
        ("5 3", f"M{at(2, -70)}L{at(3, -75)}"),
    ]
    key = [(None, "M0 6H24"), ("5 3", "M0 6H24")]
    assert paths(picture, LIGHT.ink) == [*key, *expected]
    random = ("1.5 3", f"M{at(3, -75)}L{at(4, -90)}")
    assert paths(picture, LIGHT.missing) == [("1.5 3", "M0 6H24"), random]
    (_, stairs) = paths(picture, LIGHT.bar)[1]
    x, y = at(0, -100).split()
    levels = [at(k, score).split() for k, score in ((1, -90), (2, -70), (5, -50))]
    end = at(5, 0).split()[0]
    assert stairs == f"M{x} {y}" + "".join(f"H{a}V{b}" for a, b in levels) + f"H{end}"


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)
def test_what_there_is_is_in_the_key_and_told_apart_without_colours(theme):
    picture = score_trace(CLIMB, theme)
    assert texts(picture.svg)[2:6] == [
        "best so far",
        "moves that gain",
        "moves at a loss",
        "random changes",
    ]
    samples = [path.get("stroke-dasharray") for path in elements(picture.svg, "path")[:4]]
    widths = [path.get("stroke-width") for path in elements(picture.svg, "path")[:4]]
    assert len({*zip(samples, widths, strict=True)}) == 4
    assert texts(score_trace(CLIMB[:2], theme).svg)[2:4] == ["best so far", "moves that gain"]
    assert "moves at a loss" not in texts(score_trace(CLIMB[:2], theme).svg)


def test_the_best_score_and_when_it_was_reached():
    assert "best score −50, first reached at step 5 of 5" in texts(score_trace(CLIMB).svg)
    lost = [Step("climb", "delete", "a", "b", (), -1.0, -11.0)]
    assert "best score −10, first reached before the first step" in texts(score_trace(lost).svg)


def test_what_a_first_climb_dwarfs_is_shown_from_nearer():
    climb = [Step("climb", "add", "a", "b", (), 500.0, -1000.0 + 500.0 * k) for k in (1, 2)]
    later = Step("climb", "delete", "a", "b", (), -2.0, -2.0)
    assert len(elements(score_trace([*climb, later]).svg, "svg")) == 2
    assert len(elements(score_trace(climb).svg, "svg")) == 1
    assert len(elements(score_trace(CLIMB).svg, "svg")) == 1


@pytest.mark.parametrize("every", [7, 2])
def test_many_steps_take_no_more_than_the_pixels_show(every):
    scores = [float(k % every + k / 1000) for k in range(30_000)]
    steps = [
        Step("climb", "add", "a", "b", (), after - before, after)
        for before, after in pairwise(scores)
    ]
    picture = score_trace(steps)
    assert len(picture.svg) < 120_000
    assert len(elements(picture.svg, "path")) < 8
    (highest,) = (d for dashes, d in paths(picture, LIGHT.bar) if d != "M0 6H24")
    assert highest.count("V") <= 4 * 621


def test_many_restarts_have_numbers_that_do_not_touch():
    steps = [
        Step(f"restart {k}", move, "", "", (), gain, -10.0 + gain / 2)
        for k in range(1, 200)
        for move, gain in (("perturb", -4.0), ("add", 4.0))
    ]
    assert collisions(score_trace([CLIMB[0], *steps])) == []


def test_names_are_inert():
    steps = [Step(NASTY, "add", NASTY, "<script>", (), 1.0, 1.0)]
    (title,), _ = told(score_trace(steps).svg)
    assert title.endswith("add 'a,\"b\"\\n<c>\\x1b' → <script>, +1: 1")


def test_a_search_without_a_step_has_no_plot():
    with pytest.raises(CannotAnswer, match="the search made no step"):
        score_trace([])
