"""Undirected models as text for people."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.errors import CannotAnswer
from gml.formats.reports.undirected import dump_markov_text
from gml.model.markovnet import MarkovNet
from gml.model.undirected.potential import Potential
from gml.model.undirected.summary import FitSummary
from gml.printable_text import cell_width
from gml.resources import limited_to

A, B, C = (Variable(name, ("n", "y")) for name in "ABC")
SIZE = Variable("size", ("small", "medium", "large"))
PLUS_MINUS = np.array([-1.0, 1.0])


def pair(a, b, value, **known):
    return Potential((a, b), value * np.outer(PLUS_MINUS, PLUS_MINUS), **known)


def lines_of(net, title):
    """The lines below a title, up to the next blank one."""
    blocks = dump_markov_text(net).split("\n\n")
    (found,) = [block for block in blocks if block.startswith(title)]
    return found.rstrip("\n").split("\n")[1:]


def test_edges_come_by_strength_and_keep_their_sign():
    net = MarkovNet((A, B, C, SIZE), (pair(A, B, 0.25), pair(A, C, -0.5), pair(B, C, 0.25)))
    assert lines_of(net, "edges") == [
        "  A --- C  -0.5",
        "  A --- B  0.25",
        "  B --- C  0.25",
        "  size  (no edges)",
    ]


def test_what_the_fit_says():
    summary = FitSummary(
        "exact", "ipf", 2276, 6, True,
        iterations=3, gap=1e-10, log_likelihood=-6666.80913721, aic=-6687.8, bic=-6745.7,
        g2=0.373986, x2=0.401101, df=1, g2_p_value=0.540833, g2_log10_p=-0.27,
        x2_p_value=0.0, x2_log10_p=-497.886, entropy=3.6, log_z=4.8052207619,
        n_zeros=12, zeros=({"A": "n", "B": "y"},), l2=0.5, smoothing=1.0,
    )  # fmt: skip
    found = dump_markov_text(MarkovNet((A,), (), summary=summary)).split("\n\n")[0].split("\n")
    assert found == [
        "undirected, 1 node, 0 edges, 0 terms",
        "  method                   exact (ipf), converged after 3 iterations",
        "  largest gap of a margin  1e-10",
        "  rows                     2,276",
        "  dimension                6",
        "  log-likelihood           -6666.809137",
        "  aic                      -6687.8",
        "  bic                      -6745.7",
        "  G²                       0.373986, df 1, p 0.540833",
        "  X²                       0.401101, df 1, p 1.30017e-498",
        "  entropy                  3.6",
        "  log Z                    4.805220762",
        "  penalties                l2 0.5, smoothing 1",
        "  fitted zeros             12",
        "                           A=n, B=y",
        "                           and 11 more",
    ]


@pytest.mark.parametrize(
    ("log_z", "line"),
    [
        (7.5, "  log Z      7.5 ± 0.25, by annealing, 321 effective samples"),
        (None, "  log Z      not known: annealing has only 321 effective samples"),
    ],
)
def test_log_z_by_annealing(log_z, line):
    summary = FitSummary(
        "pcd", "adam", 9, 3, False, log_z=log_z, log_z_error=0.25, log_z_samples=321.2
    )
    found = dump_markov_text(MarkovNet((A,), (), summary=summary)).split("\n")
    assert found[1] == "  method     pcd (adam), did not converge"
    assert line in found
    assert not any("G²" in each or "aic" in each for each in found)


def test_terms_of_two_levels_are_one_number_with_its_interval():
    errors = np.full((2, 2), 0.1)
    bounds = np.stack([np.full((2, 2), 0.3), np.full((2, 2), 0.7)], axis=-1)
    net = MarkovNet(
        (A, B),
        (Potential((A,), 0.25 * PLUS_MINUS), pair(A, B, 0.5, errors=errors, intervals=bounds)),
    )
    assert lines_of(net, "terms of two levels") == [
        "              error  lower  upper",
        "  A     0.25      -      -      -",
        "  A, B   0.5    0.1    0.3    0.7",
    ]


def test_other_terms_are_tables():
    table = np.array([[0.5, 0.0, -0.5], [-0.5, 0.0, 0.5]])
    net = MarkovNet(
        (A, SIZE),
        (Potential((A, SIZE), table, errors=np.array([[0.1, np.nan, 0.1]] * 2)),),
    )
    assert lines_of(net, "term A, size") == [
        "  A  small  medium  large",
        "  n    0.5       0   -0.5",
        "     ± 0.1     ± -  ± 0.1",
        "  y   -0.5       0    0.5",
        "     ± 0.1     ± -  ± 0.1",
    ]


def test_a_wide_table_comes_in_pieces():
    wide = Variable("wide", tuple(f"level number {k}" for k in range(20)))
    numbers = np.arange(40.0).reshape(2, 20)
    net = MarkovNet((A, wide), (Potential((A, wide), numbers),))
    lines = lines_of(net, "term A, wide")
    assert len(lines) == 4 * 3
    assert max(map(cell_width, lines)) <= 102
    shown = [line.split()[1:] for line in lines if line.startswith("  n")]
    assert [float(number) for line in shown for number in line] == numbers[0].tolist()
    assert all(line.startswith("  A  level number") for line in lines[::3])


def test_impossible_cells_are_said_where_no_summary_does():
    wall = Potential((A, B), np.array([[0.0, -math.inf], [0.0, 0.0]]), is_boundary=True)
    net = MarkovNet((A, B), (pair(A, B, 0.5), wall))
    assert lines_of(net, "impossible") == ["  A=n, B=y"]
    assert "1 term" in dump_markov_text(net)


def test_names_cannot_control_a_terminal():
    rude = Variable("\x1b[31m", ("n", "y"))
    text = dump_markov_text(MarkovNet((A, rude), (pair(A, rude, 1.0),)))
    assert "\x1b" not in text
    assert "A --- '\\x1b[31m'" in text


def test_text_asks_for_room():
    many = [Variable(f"v{k}", tuple(map(str, range(60)))) for k in range(3)]
    net = MarkovNet(tuple(many), (Potential(tuple(many), np.zeros((60, 60, 60))),))
    with (
        limited_to(10_000_000),
        pytest.raises(CannotAnswer, match="writing text of terms of 216000 cells would take"),
    ):
        dump_markov_text(net)
