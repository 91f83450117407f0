"""Undirected models as text for people."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.formats.reports.undirected import dump_markov_text, fit_in_words
from gml.model.markovnet import MarkovNet
from gml.model.undirected.potential import Potential
from gml.model.undirected.quality.summary import FitSummary
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
        n_zeros=12, zeros=({"A": "n", "B": "y"},),
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
        "  fitted zeros             12 combinations",
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


def test_figures_by_annealing_have_the_error_of_log_z_once_per_row():
    figures = {"log_likelihood": -90.5, "aic": -93.5, "bic": -94.0}
    summary = FitSummary("pcd", "adam", 9, 3, True, log_z=7.5, log_z_error=0.25, **figures)
    said = dict(fit_in_words(summary))
    assert said["log-likelihood"] == ["-90.5 ± 2.2"]
    assert (said["aic"], said["bic"]) == (["-93.5 ± 2.2"], ["-94 ± 2.2"])
    exact = dict(fit_in_words(FitSummary("exact", "ipf", 9, 3, True, log_z=7.5, **figures)))
    assert exact["log-likelihood"] == ["-90.5"]


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
    assert lines_of(net, "term A, size (across)") == [
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


def figures_of(**known):
    """What the report says of a fit, by the name of the figure."""
    known = {"method": "exact", "rows": 100, "dimension": 3, "converged": True} | known
    summary = FitSummary(algorithm="newton", **known)
    return dict(fit_in_words(summary))


def test_a_penalised_fit_has_no_gap_to_converge_by():
    found = figures_of(gap=0.027, l1=200.0, smoothing=1.0)
    assert found["largest gap of a margin"] == []
    assert found["penalties"] == ["l1 200, smoothing 1"]
    assert figures_of(gap=0.027)["largest gap of a margin"] == ["0.027"]
    assert "penalties" not in figures_of()
    dropped = figures_of(l1=200.0, n_dropped=2)
    assert dropped["penalties"] == ["l1 200, which left out 2 terms"]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"df": 5, "g2_p_value": 0.25}, "9, df 5, p 0.25"),
        ({"df": 50}, "9, df 50 (no p: more cells than rows)"),
        ({"df": None}, "9 (no df, no p: too many cells)"),
        ({"df": 0}, "9, df 0 (no p: nothing is left to test)"),
        ({"df": 5, "l2": 1.0}, "9, df 5 (no p: the fit is penalised)"),
        ({"df": 5, "method": "pl"}, "9, df 5 (no p: not the maximum of the likelihood)"),
    ],
)
def test_a_statistic_without_a_p_value_says_why(known, said):
    assert figures_of(g2=9.0, **known)["G²"] == [said]


def test_what_rounding_leaves_is_not_shown():
    found = figures_of(gap=2.77556e-16, g2=4.4e-16, x2=9.3e-31, df=0)
    assert found["largest gap of a margin"] == ["below 1e-12"]
    assert found["G²"] == found["X²"] == ["0, df 0 (no p: nothing is left to test)"]


@pytest.mark.parametrize(("df", "is_shown"), [(100, True), (101, False), (None, False)])
def test_x2_is_left_out_where_cells_are_many_and_rows_are_few(df, is_shown):
    assert ("X²" in figures_of(x2=1.88e9, df=df)) == is_shown


def test_terms_of_one_variable_take_a_line_each():
    other = Variable("other", ("a", "b", "c"))
    known = {"errors": np.full(3, 0.1), "intervals": np.array([[0.5, 1.5]] * 3)}
    terms = (
        Potential((other,), np.array([1.0, -1.25, 0.25])),
        Potential((SIZE,), np.array([0.5, 0.25, -0.75]), **known),
    )
    assert lines_of(MarkovNet((SIZE, other), terms[:1]), "terms of one variable") == [
        "  other  a: 1  b: -1.25  c: 0.25"
    ]
    assert lines_of(MarkovNet((SIZE, other), terms), "terms of one variable") == [
        "  other  a: 1                         b: -1.25                       c: 0.25",
        "  size   small: 0.5 ± 0.1 (0.5..1.5)  medium: 0.25 ± 0.1 (0.5..1.5)"
        "  large: -0.75 ± 0.1 (0.5..1.5)",
    ]


def test_many_levels_of_one_variable_are_wrapped():
    wide = Variable("wide", tuple(f"level number {k}" for k in range(20)))
    lines = lines_of(MarkovNet((wide,), (Potential((wide,), np.arange(20.0)),)), "terms of one")
    assert 4 <= len(lines) < 8
    assert max(map(cell_width, lines)) <= 100
    words = " ".join(lines).replace("wide", "").replace("level number", "").split()
    assert [word.removesuffix(":") for word in words[::2]] == [str(k) for k in range(20)]
    assert [float(word) for word in words[1::2]] == list(range(20))


def test_errors_that_nobody_knows_have_no_column():
    unknown = np.full((2, 2), np.nan)
    net = MarkovNet(
        (A, B), (pair(A, B, 0.5, errors=unknown, intervals=np.stack([unknown] * 2, -1)),)
    )
    assert lines_of(net, "terms of two levels") == ["  A, B  0.5"]


def test_only_so_many_lines_of_terms_and_those_of_the_strongest():
    many = [Variable(f"v{k:02}", ("a", "b", "c")) for k in range(41)]
    table = np.array([[1.0, 0.0, -1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 1.0]])
    single = [Potential((v,), np.array([1.0, 0.0, -1.0])) for v in many]
    pairs = [Potential((many[k], many[k + 1]), (k % 7 + 1) * table) for k in range(40)]
    text = dump_markov_text(MarkovNet(tuple(many), (*single, *pairs)))
    terms = text[text.index("terms of one variable") :].split("\n")
    assert len(terms) <= 70
    shown = [line for line in terms if line.startswith("term v")]
    assert shown == [f"term v{k:02}, v{k + 1:02} (across)" for k in (6, 13, 20, 27, 34)]
    assert sum(line.startswith("  v") and "a: 1" in line for line in terms) == 30
    assert "and 46 more terms: the model as JSON has all" in terms


def test_all_terms_are_shown_where_those_of_one_variable_leave_room():
    many = [Variable(f"v{k:02}", ("n", "y")) for k in range(50)]
    fields = [Potential((v,), 0.5 * PLUS_MINUS) for v in many]
    pairs = [pair(many[k], many[k + 1], 0.5) for k in range(10)]
    net = MarkovNet(tuple(many), (*fields, *pairs))
    assert len(lines_of(net, "terms of two levels")) == 60
    assert "more term" not in dump_markov_text(net)
    longer = MarkovNet(tuple(many), (*fields, *pairs, pair(many[20], many[21], 0.5)))
    assert "and 1 more term:" in dump_markov_text(longer)


def test_a_term_too_large_to_read_takes_no_room():
    many = [Variable(f"v{k}", tuple(map(str, range(60)))) for k in range(3)]
    net = MarkovNet(tuple(many), (Potential(tuple(many), np.zeros((60, 60, 60))),))
    with limited_to(10_000_000):
        assert "and 1 more term: the model as JSON has all" in dump_markov_text(net)


def wall(*scope, excluded):
    table = np.zeros([len(variable.levels) for variable in scope])
    for cell in excluded:
        table[cell] = -math.inf
    return Potential(scope, table, is_boundary=True)


def test_what_is_impossible_is_marked_at_edges_and_in_terms():
    net = MarkovNet(
        (A, B, C),
        (
            pair(A, B, 0.5, errors=np.full((2, 2), 0.25)),
            pair(B, C, 0.75),
            wall(A, B, C, excluded=[(0, 1, 0), (0, 1, 1), (1, 1, 0)]),
        ),
    )
    assert lines_of(net, "edges") == [
        "  B --- C  0.75  and 1 impossible combination",
        "  A --- B   0.5  and 1 impossible combination",
    ]
    assert lines_of(net, "term A, B (across)") == [
        "  A       n       y",
        "  n     0.5    -inf",
        "     ± 0.25     ± -",
        "  y    -0.5     0.5",
        "     ± 0.25  ± 0.25",
    ]
    assert lines_of(net, "term B, C (across)")[2] == "  y  -inf   0.75"


def test_a_level_that_is_impossible_alone_marks_no_edge():
    net = MarkovNet((A, B), (pair(A, B, 0.5), wall(A, excluded=[0])))
    assert lines_of(net, "edges") == ["  A --- B  0.5"]
    assert lines_of(net, "term A, B (across)")[1] == "  n  -inf  -inf"


def test_many_impossible_cells_are_cut():
    wide = Variable("wide", tuple(map(str, range(1200))))
    net = MarkovNet((wide,), (wall(wide, excluded=range(1199)),))
    lines = lines_of(net, "impossible")
    assert (lines[0], len(lines), lines[-1]) == ("  wide=0", 11, "  and 1,189 more")


def test_names_with_blanks_at_their_ends_are_in_quotes():
    blank, end = Variable(" B", ("n", "y ")), Variable("C", ("n", "y"))
    net = MarkovNet((A, blank, end), (pair(A, blank, 0.5), wall(A, blank, excluded=[(0, 1)])))
    assert lines_of(net, "edges")[0] == "  A --- ' B'  0.5  and 1 impossible combination"
    assert lines_of(net, "impossible") == ["  A=n, ' B'='y '"]
    assert lines_of(net, "term A, ' B' (across)")[0] == "  A     n  'y '"
