"""Tables and regressions with their intervals, as dots and whiskers."""

from __future__ import annotations

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable
from gml.model.network import CPT
from gml.model.regressions import ConditionalGaussian, LinearGaussian
from gml.pictures.plots.cpt import cpt_intervals
from gml.pictures.themes import DARK, LIGHT, PRINT
from tests.drawn_text import boxes, collisions, elements, texts, told

RAIN, WET = Variable("rain", ("no", "yes")), Variable("wet", ("<dry>", "wet"))
SMALL = CPT(
    WET,
    (RAIN,),
    np.array([[0.75, 0.25], [0.5, 0.5]]),
    np.array([[3, 1], [0, 0]]),
    np.array([[[0.5, 1.0], [0.0, 0.5]], [[0.0, 1.0], [np.nan, np.nan]]]),
)
NUMBERS = tuple(Variable(name, None) for name in ("y", "x", "<z>"))


def whiskers(svg):
    """By what it says: where the dot is, whether it is hollow, and where the whisker ends."""
    found = {}
    for group in elements(svg, "g"):
        dot, ends = group[1], group[2:]
        found[group[0].text] = (
            float(dot.get("cx")),
            dot.get("fill") != dot.get("stroke"),
            tuple(float(ends[0].get(name)) for name in ("x1", "x2")) if len(ends) else None,
        )
    return found


def large(n_parents, n_levels, counts=None):
    parents = tuple(Variable(f"p{k}", ("a", "b", "c")) for k in range(n_parents))
    levels = tuple(f"level {k}" for k in range(n_levels))
    table = np.full((3**n_parents, n_levels), 1 / n_levels)
    return CPT(Variable("x", levels), parents, table, counts)


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)
def test_dots_and_whiskers_are_where_the_numbers_are(theme):
    picture = cpt_intervals(SMALL, theme)
    zeros = [(box.left + box.right) / 2 for box in boxes(picture.svg) if box.text == "0.0"]
    dry, wet = (pytest.approx(zero, abs=0.02) for zero in zeros)
    assert wet.expected - dry.expected == pytest.approx(180, abs=0.02)

    def at(zero, share):
        return pytest.approx(zero.expected + 150 * share, abs=0.02)

    assert whiskers(picture.svg) == {
        "P(wet=<dry> | rain=no) = 0.75, 0.5 to 1": (
            at(dry, 0.75),
            False,
            (at(dry, 0.5), at(dry, 1)),
        ),
        "P(wet=wet | rain=no) = 0.25, 0 to 0.5": (at(wet, 0.25), False, (wet, at(wet, 0.5))),
        "P(wet=<dry> | rain=yes) = 0.5, 0 to 1": (at(dry, 0.5), True, (dry, at(dry, 1))),
        "P(wet=wet | rain=yes) = 0.5": (at(wet, 0.5), True, None),
    }
    assert collisions(picture) == []
    assert picture.title == "wet given rain"


def test_a_whisker_shorter_than_its_dot_is_seen():
    table = np.array([[0.5, 0.5]])
    intervals = np.array([[[0.499, 0.501], [0.499, 0.501]]])
    cpt = CPT(Variable("x", ("a", "b")), (), table, intervals=intervals)
    for group in elements(cpt_intervals(cpt).svg, "g"):
        _, dot, _, *caps = group
        radius, middle = float(dot.get("r")), float(dot.get("cy"))
        for cap in caps:
            ends = [float(cap.get(name)) - middle for name in ("y1", "y2")]
            assert min(map(abs, ends)) >= radius + 2


def test_configurations_never_seen_say_so():
    shown = texts(cpt_intervals(SMALL).svg)
    assert shown[shown.index("rows") :] == ["rows", "4", "never seen"]
    unknown = CPT(WET, (RAIN,), SMALL.table)
    assert "rows" not in texts(cpt_intervals(unknown).svg)
    assert "estimates, without intervals" in texts(cpt_intervals(unknown).svg)


def test_a_fitted_model():
    net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot", intervals=0.95)
    for name in net.names:
        picture = cpt_intervals(net.cpd(name))
        assert collisions(picture) == []
        assert len(whiskers(picture.svg)) == net.cpd(name).table.size


@pytest.mark.parametrize(("n_parents", "n_levels"), [(0, 2), (1, 40), (3, 3), (6, 10), (8, 2)])
def test_no_labels_touch(n_parents, n_levels):
    assert collisions(cpt_intervals(large(n_parents, n_levels))) == []


def test_of_a_large_table_the_most_frequent_configurations_are_shown():
    counts = np.zeros((81, 2), dtype=int)
    counts[::2] = 5
    counts[80] = 1
    picture = cpt_intervals(large(4, 2, counts))
    assert "the most frequent 40 of 81 configurations" in texts(picture.svg)[1]
    assert texts(picture.svg).count("10") == 40
    first = cpt_intervals(large(4, 2))
    assert "the first 40 of 81 configurations" in texts(first.svg)[1]


def test_of_many_levels_the_most_probable_are_shown():
    levels = tuple(f"l{k}" for k in range(12))
    table = np.array([[0.0, 0.01, *[0.099] * 10]])
    svg = cpt_intervals(CPT(Variable("x", levels), (), table)).svg
    assert [text for text in texts(svg) if text in levels] == list(levels[2:])
    assert "the 10 most probable of 12 levels" in texts(svg)[1]


def test_the_axis_ends_where_the_numbers_do():
    def last_tick(table, intervals=None):
        cpt = CPT(Variable("x", tuple("abcd")), (), np.array([table]), None, intervals)
        return max(float(text) for text in texts(cpt_intervals(cpt).svg) if text[0] in "01")

    assert last_tick([0.25] * 4) == 0.25
    assert last_tick([0.1, 0.2, 0.3, 0.4]) == 0.4
    wide = np.array([[[0, 0.2], [0, 0.7], [np.nan, np.nan], [0, 0.3]]])
    assert last_tick([0.25] * 4, wide) == 0.8


@pytest.mark.parametrize("intervals", [None, ((-1.0, 3.0), (1.0, 2.0), (-3.0, -1.0), (0.5, 1.0))])
def test_a_regression(intervals):
    y, x, z = NUMBERS
    cpd = LinearGaussian(y, (x, z), 1.0, (1.5, -2.0), 0.75, 88, intervals)
    picture = cpt_intervals(cpd)
    assert collisions(picture) == []
    found = whiskers(picture.svg)
    ends = ["", "", "", ""] if intervals is None else [f", {a:g} to {b:g}" for a, b in intervals]
    ends = [text.replace("-", "−") for text in ends]
    said = [f"x: 1.5{ends[1]}", f"<z>: −2{ends[2]}", f"(intercept): 1{ends[0]}"]
    assert list(found) == [*said, f"(sd): 0.75{ends[3]}"]
    slope, other = found[said[0]], found[said[1]]
    zero, *_ = [
        float(node.get("x1"))
        for node in elements(picture.svg, "line")
        if node.get("stroke") == LIGHT.muted
    ]
    # Coefficients have one scale, whose 0 is marked.
    assert (slope[0] - zero) / 1.5 == pytest.approx((other[0] - zero) / -2, rel=1e-3)
    if intervals is not None:
        assert slope[2][0] - zero == pytest.approx((slope[0] - zero) / 1.5, rel=1e-3)
    assert picture.title == "y given x, <z>"
    assert "88 rows" in texts(picture.svg)[1]


def conditional(n_labels, n_numbers, counts=None, intervals=False):
    labels = tuple(Variable(f"label {k}", ("no", "<yes>")) for k in range(n_labels))
    numbers = tuple(Variable(f"number {k}", None) for k in range(n_numbers))
    lines = []
    for k in range(2**n_labels):
        terms = [10.0 * k, *(k - j / 2 for j in range(n_numbers)), 1.0 + k]
        bounds = tuple((value - 1, value + 1) for value in terms) if intervals else None
        n = None if counts is None else counts[k]
        lines.append(
            LinearGaussian(NUMBERS[0], numbers, terms[0], tuple(terms[1:-1]), terms[-1], n, bounds)
        )
    return ConditionalGaussian(NUMBERS[0], (*labels, *numbers), tuple(lines))


def test_regressions_by_configuration():
    cpd = conditional(1, 1, [7, None], intervals=True)
    picture = cpt_intervals(cpd, level=0.9)
    assert collisions(picture) == []
    found = whiskers(picture.svg)
    assert list(found) == [
        "(intercept) | label 0=no: 0, −1 to 1",
        "(intercept) | label 0=<yes>: 10, 9 to 11",
        "number 0 | label 0=no: 0, −1 to 1",
        "number 0 | label 0=<yes>: 1, 0 to 2",
        "(sd) | label 0=no: 1, 0 to 2",
        "(sd) | label 0=<yes>: 2, 1 to 3",
    ]
    # What was never seen is hollow.
    assert [hollow for _, hollow, _ in found.values()] == [False, True] * 3
    shown = texts(picture.svg)
    assert picture.title == "y given label 0, number 0"
    assert shown[shown.index("rows") :] == ["rows", "7", "never seen"]


def test_many_regressions():
    picture = cpt_intervals(conditional(6, 20, list(range(1, 65))))
    assert collisions(picture) == []
    said = texts(picture.svg)[1]
    assert "the most frequent 40 of 64 configurations" in said
    assert "the first 8 of 20 coefficients" in said
    assert "the first 40 of 64" in texts(cpt_intervals(conditional(6, 0)).svg)[1]


def test_many_coefficients():
    parents = tuple(Variable(f"x{k}", None) for k in range(70))
    cpd = LinearGaussian(NUMBERS[0], parents, 0.0, tuple(map(float, range(70))), 0.0)
    picture = cpt_intervals(cpd)
    assert "the first 60 of 70 coefficients" in texts(picture.svg)[1]
    assert collisions(picture) == []
    assert len(picture.title) > 200
    assert told(picture.svg)[1].startswith("estimates, without intervals")


@pytest.mark.parametrize("numbers", [False, True])
def test_the_level_of_the_intervals_is_said(numbers):
    bounds = ((0.0, 2.0), (0.5, 1.5))
    cpd = LinearGaussian(Variable("x", None), (), 1.0, (), 1.0, 9, bounds) if numbers else SMALL
    for level, said in [
        (0.5, "estimates and their 50 % intervals"),
        (0.999, "estimates and their 99.9 % intervals"),
        (None, "estimates and their intervals, of a level that is not recorded"),
    ]:
        shown = texts(cpt_intervals(cpd, level=level).svg)
        assert any(text.startswith(said) for text in shown)
