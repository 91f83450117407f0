"""Held-out losses: figures of the folds, and their plot."""

from __future__ import annotations

import math
import statistics

import pytest

import gml
from gml.errors import CannotAnswer
from gml.pictures.plots.losses import LossRow, held_out_losses, loss_rows
from gml.pictures.themes import DARK, LIGHT, PRINT
from tests.drawn_text import boxes, collisions, elements, texts, told

ASIA, DOT = "sample_data/asia.csv", "sample_data/asia.dot"
ROWS = [
    LossRow("tree", 2.4, 0.1, (2.2, 2.6), 0.4, 0.05),
    LossRow("<b> & c", 2.0, 0.1, (1.9, 2.1), 0.0, 0.0),
]


def groups(svg):
    """The marks of each graph: those with a title."""
    return [group for group in elements(svg, "g") if group[0].tag.endswith("title")]


def scored(**how):
    return gml.score(ASIA, [gml.chow_liu(ASIA).graph, DOT], **how)


def test_the_loss_is_the_mean_over_folds_and_differences_are_paired():
    tree, true = sorted(scored(folds=4), key=lambda graph: graph.graph != "graph 1")
    found = {row.name: row for row in loss_rows([tree, true])}
    assert len(found["graph 1"].folds) == 4
    # The folds of 5000 rows are equally large.
    assert statistics.fmean(found[DOT].folds) == pytest.approx(true.heldout, rel=1e-12)
    apart = [a - b for a, b in zip(found["graph 1"].folds, found[DOT].folds, strict=True)]
    assert found["graph 1"].difference == pytest.approx(statistics.fmean(apart), rel=1e-9)
    assert found["graph 1"].difference_error == statistics.stdev(apart) / 2
    assert found["graph 1"].error == statistics.stdev(found["graph 1"].folds) / 2
    assert found["graph 1"].difference_error < found["graph 1"].error
    assert (found[DOT].difference, found[DOT].difference_error) == (0, 0)


def test_other_data_are_one_fold_without_an_error():
    first, second = loss_rows(scored(holdout=ASIA))
    assert (first.error, second.difference_error) == (None, None)
    assert first.folds == (first.loss,)
    assert second.difference == second.loss - first.loss


def test_graphs_without_a_loss_are_refused():
    with pytest.raises(CannotAnswer, match="no graph was scored on rows held out"):
        loss_rows(scored())
    with pytest.raises(CannotAnswer, match="there is no graph whose loss could be plotted"):
        held_out_losses([])


def test_an_infinite_loss_is_in_the_list_but_not_on_the_axis():
    svg = held_out_losses([LossRow("x", math.inf), LossRow("y", 1.0)]).svg
    assert texts(svg).index("y") < texts(svg).index("x")
    assert "∞" in texts(svg)
    assert [len(group) for group in groups(svg)] == [2, 1]
    assert held_out_losses([LossRow("x", math.inf)]).width > 0


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)
def test_marks_are_where_the_figures_are(theme):
    picture = held_out_losses(ROWS, theme=theme)
    middles = {box.text: (box.left + box.right) / 2 for box in boxes(picture.svg)}
    low, high = middles["1.8"], middles["2.6"]

    def at(loss):
        return pytest.approx(low + (loss - 1.8) / 0.8 * (high - low), abs=0.02)

    best, worse, *differences = groups(picture.svg)
    assert [float(node.get("cx")) for node in best if node.get("cx")] == [at(1.9), at(2.1), at(2)]
    assert [node.get("fill") for node in (best[-1], worse[-1])] == [theme.added, theme.background]
    assert [float(worse[1].get(name)) for name in ("x1", "x2")] == [at(2.2), at(2.6)]
    assert collisions(picture) == []
    # Differences have an axis of their own, with the paired error.
    ends = [float(differences[1][1].get(name)) for name in ("x1", "x2")]
    dots = [float(group[-1].get("cx")) for group in differences]
    assert len(differences[0]) == 2
    assert [(end - dots[0]) / (dots[1] - dots[0]) for end in ends] == pytest.approx(
        [0.75, 1.25], abs=1e-3
    )


def test_the_words_say_how_much_better_the_best_is():
    svg = held_out_losses(ROWS).svg
    assert {"best", "+0.4 ± 0.1", "above the best", "± 2 standard errors"} <= {*texts(svg)}
    titles, description = told(svg)
    assert titles == 2 * [
        "<b> & c: 2 ± 0.2 nats per row (± 2 standard errors)",
        "tree: 2.4 ± 0.2 nats per row, +0.4 ± 0.1 against the best (± 2 standard errors)",
    ]
    assert description.startswith("lower is better; best: <b> & c, 2 nats per row. ")


@pytest.mark.parametrize("n", [1, 8, 40])
def test_names_do_not_touch(n):
    rows = [LossRow(f"graph of {k} " * (k + 1), 1e6 + k / n, 0.3) for k in range(n)]
    assert collisions(held_out_losses(rows)) == []


def test_without_paired_errors_there_is_one_axis():
    svg = held_out_losses(
        [row._replace(difference=None, difference_error=None) for row in ROWS]
    ).svg
    assert len(groups(svg)) == 2
    assert "above the best" not in texts(svg)


def test_the_order_of_the_rows_does_not_show():
    assert held_out_losses(ROWS).svg == held_out_losses(ROWS[::-1]).svg
