"""gml.fit and gml.score on incomplete rows: keywords, reports, intervals."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

import gml
from gml.data.dataset import Dataset, Variable, empty_rows
from gml.errors import CannotAnswer, GmlWarning, UsageError
from gml.graph.graph import Graph
from gml.model.em.fitting import EmReport, fit_em
from gml.model.em.marginal_likelihood import cheeseman_stutz
from gml.model.em.table_fitting import table_problem
from gml.resources import limited_to
from gml.verbs.shared.em_report import summary_of, tell_report, written
from gml.verbs.shared.em_request import observing
from gml.verbs.shared.mixture_report import tell_of_holes

CHAIN = Graph.from_edges("abc", [("a", "-->", "b"), ("b", "-->", "c")])
CLASSES = Graph.from_edges("Habc", [("H", "-->", name) for name in "abc"])
FEW = {"em_restarts": 2}


def holes(n=60, seed=0, rate=0.2):
    rng = np.random.default_rng(seed)
    a = rng.integers(2, size=n)
    b = np.where(rng.random(n) < 0.8, a, 1 - a)
    c = np.where(rng.random(n) < 0.7, b, 1 - b)
    frame = pd.DataFrame({"a": a, "b": b, "c": c}).map("uv".__getitem__)
    return frame.mask(rng.random((n, 3)) < rate)


def test_data_that_were_read_before_are_fitted_too():
    frame = holes()
    read = gml.Dataset.from_frame(frame, missing="available")
    for data in (read, gml.MemoryCounter(read)):
        net = gml.fit(data, CHAIN, missing="em", **FEW)
        assert net.learning.missing.policy == "em"
        one, other = (
            found.cpt("c").table for found in (net, gml.fit(frame, CHAIN, missing="em", **FEW))
        )
        np.testing.assert_array_equal(one, other)


def test_neither_rows_nor_columns_have_an_order():
    frame = holes()
    net = gml.fit(frame, CHAIN, missing="em", **FEW)
    turned = gml.fit(frame.iloc[::-1, ::-1], CHAIN, missing="em", **FEW)
    for name in "abc":
        np.testing.assert_array_equal(net.cpt(name).table, turned.cpt(name).table)
    assert net.learning["em"] == turned.learning["em"]


def test_other_verbs_say_which_fit_by_em():
    for call in (lambda: gml.pc(holes(), missing="em"), lambda: gml.read("x.csv", missing="em")):
        with pytest.raises(UsageError, match="gml fit-params, .* do that"):
            call()


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        ("H=2", "must give the number of levels by node"),
        ({"H": 2.5}, "must be a whole number, not 2.5"),
        ({"H": True}, "must be a whole number, not True"),
        ({"H": 1}, "at least 2 levels, not 1"),
        ({"h": 2}, "node 'h' not found; did you mean 'H'"),
    ],
)
def test_hidden_nodes_that_cannot_be(hidden, said):
    with pytest.raises(UsageError, match=said):
        gml.fit(holes(), CLASSES, missing="em", hidden=hidden)


def test_a_hidden_node_that_has_a_column_after_all_is_observed():
    """A file says that a node is hidden; rows that were drawn from the model have it."""
    graph = Graph.from_edges("ab", [("a", "-->", "b")], levels={"a": ("u", "v")}, hidden="a")
    frame = holes()[["a", "b"]]
    net = gml.fit(frame, graph, missing="em", **FEW)
    assert net.hidden == ()
    assert net.cpt("a").counts is not None


def test_a_configuration_that_is_never_seen_is_said_to_be_uniform():
    frame = pd.DataFrame({"a": ["u", "u", "u", None], "b": ["u", "v", "u", "u"]})
    graph = Graph.from_edges("ab", [("a", "-->", "b")], levels={"a": ("u", "v")})
    with pytest.warns(GmlWarning, match="never seen, and is uniform: for 'b'"):
        net = gml.fit(frame, graph, missing="em", em_restarts=1)
    assert net.cpt("b").table[1].tolist() == [0.5, 0.5]
    assert net.cpt("b").expected_counts[1].tolist() == pytest.approx([0, 0], abs=1e-6)


def test_equal_classes_are_not_said_to_be_unseen():
    frame = pd.DataFrame({"a": ["x", "y"] * 10, "b": ["u", "v"] * 10})
    graph = Graph.from_edges("Hab", [("H", "-->", "a"), ("H", "-->", "b")])
    with pytest.warns(GmlWarning, match="not identified"):
        net = gml.fit(frame, graph, hidden={"H": 2}, strict=True, **FEW)
    assert net.cpt("H").table.tolist() == [[0.5, 0.5]] and net.cpt("H").seen.all()


# ---------------------------------------------------------------------- report


def report(**changed):
    about = {
        "log_likelihood": -10.5,
        "objective": -10.5,
        "steps": 7,
        "converged": True,
        "remaining_gain": 0.0,
        "remaining_change": 0.0,
        "in_time": True,
        "ends": (-10.5, -10.5),
        "times_best": 2,
        "discarded": (),
        "n_parameters": 5,
        "rank": 5,
        "missing_information": {"a": 0.25},
    }
    return EmReport(**{**about, **changed})


def test_a_good_report_warns_of_nothing():
    tell_report(report())
    assert summary_of(report()) == (
        "log-likelihood of what was seen -10.500000, after 7 steps of EM, reached by 2 of 2 starts"
    )
    assert summary_of(report(ends=(-10.5,), steps=1)).endswith("-10.500000, after 1 step of EM")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"converged": False, "remaining_gain": 0.01},
            "EM had not converged after 7 steps: about 0.105 nats were left to gain; `em_steps`",
        ),
        ({"converged": False, "in_time": False}, "stopped by `max_seconds`: this is the best so"),
        ({"rank": 4}, "the model is not identified: the data tell 4 of its 5 parameters"),
        ({"times_best": 1}, "only 1 of 2 starts reached the best end"),
        ({"discarded": ("a flaw", "a flaw")}, "2 starts were discarded: a flaw$"),
    ],
)
def test_what_is_wrong_with_a_fit_is_said(changed, said):
    with pytest.warns(GmlWarning, match=said.replace("(", r"\(")):
        tell_report(report(**changed))


def test_a_report_has_no_number_that_json_cannot_hold():
    found = written(report(remaining_gain=math.inf, ends=(-10.5, -math.inf), rank=None))
    assert (found["remaining_gain"], found["ends"], found["rank"]) == (None, [-10.5, None], None)
    assert found["missing_information"] == {"a": 0.25}


def test_a_bootstrap_asks_for_the_room_of_its_samples():
    with limited_to(1 << 20), pytest.raises(CannotAnswer, match=r"tables of 20000 samples would"):
        gml.fit(holes(), CHAIN, missing="em", intervals=0.9, bootstrap=20_000, **FEW)


# ---------------------------------------------------------------------- scores


def test_equivalent_graphs_have_one_score_where_nothing_speaks_of_a_configuration():
    # Of the rows with a = y nobody saw b.
    frame = pd.DataFrame({"a": ["x"] * 20 + ["y"] * 10, "b": ["u"] * 12 + ["v"] * 8 + [None] * 10})
    arcs = [("a", "-->", "b"), ("b", "-->", "a")]
    graphs = [gml.Graph.from_edges(("a", "b"), [arc]) for arc in arcs]
    found = gml.score(frame, graphs, score=["bdeu", "bic"], missing="em", **FEW)
    for name in ("bdeu", "bic"):
        assert found[0].scores[name] == pytest.approx(found[1].scores[name], abs=1e-9)
    assert found[0].scores["bdeu"] == pytest.approx(-38.607246, abs=1e-6)


def test_cheeseman_and_stutz_by_their_formula():
    rows = gml.Dataset.from_frame(holes(), missing="available")
    found = fit_em(CHAIN, rows, method="bayes", ess=2.0)
    by_hand = found.report.log_likelihood
    for cpt in found.net.cpds:
        n, alpha = cpt.expected_counts, 2.0 / cpt.table.size
        for j in range(len(n)):
            by_hand += gammaln(2 * alpha) - gammaln(2 * alpha + n[j].sum())
            by_hand += sum(gammaln(alpha + m) - gammaln(alpha) for m in n[j])
            by_hand -= sum(m * math.log(p) for m, p in zip(n[j], cpt.table[j], strict=True))
    assert cheeseman_stutz(found, 2.0) == pytest.approx(by_hand, abs=1e-9)


def test_the_approximation_is_near_the_truth():
    """P(D) of one column with holes is the Dirichlet integral over what was seen: exact."""
    frame = pd.DataFrame({"a": ["u"] * 9 + ["v"] * 3 + [None] * 4, "b": ["u", "v"] * 8})
    graph = Graph.from_edges("ab", [])
    scored = gml.score(frame, graph, score="bdeu", missing="em", **FEW)
    of_seen = gammaln(1.0) - gammaln(13.0) + gammaln(9.5) + gammaln(3.5) - 2 * gammaln(0.5)
    of_whole = gammaln(1.0) - gammaln(17.0) + 2 * gammaln(8.5) - 2 * gammaln(0.5)
    # With so few rows it is a little below.
    assert 0 < of_seen + of_whole - scored[0].scores["bdeu"] < 0.15
    assert scored[0].approximations == {"bdeu": "Cheeseman-Stutz"}


def test_a_limit_of_time_shows_in_the_report():
    with pytest.warns(GmlWarning, match="stopped by `max_seconds`"):
        found = gml.score(holes(), CHAIN, missing="em", max_seconds=0)
    assert not found.complete
    assert gml.score(holes(), CHAIN, missing="em", **FEW).complete


# ---------------------------------------------------------------------- intervals


def test_intervals_hold_the_estimate_and_are_wider_where_less_was_seen():
    wide = {}
    for rate in (0.1, 0.6):
        net = gml.fit(
            holes(400, rate=rate), CHAIN, missing="em", intervals=0.9, bootstrap=40, **FEW
        )
        bounds = net.cpt("c").intervals
        assert (bounds[..., 0] < net.cpt("c").table).all()
        assert (net.cpt("c").table < bounds[..., 1]).all()
        wide[rate] = np.ptp(bounds, axis=-1).mean()
        assert net.learning["em"]["intervals"] == {
            "level": 0.9, "by": "bootstrap", "samples": 40
        }  # fmt: skip
    assert wide[0.6] > 1.2 * wide[0.1]


def test_intervals_are_near_those_of_complete_rows_where_little_is_missing():
    frame = holes(500, rate=0.0)
    ordinary = gml.fit(frame, CHAIN, intervals=0.9).cpt("b").intervals
    frame.iloc[0, 2] = None
    net = gml.fit(frame, CHAIN, missing="em", intervals=0.9, bootstrap=200, **FEW)
    assert net.cpt("b").intervals == pytest.approx(ordinary, abs=0.015)


def test_classes_keep_their_numbers_in_every_sample():
    frame = holes(300, rate=0.05)
    net = gml.fit(
        frame, CLASSES, missing="em", hidden={"H": 2}, intervals=0.9, bootstrap=20, em_restarts=5
    )
    bounds = net.cpt("a").intervals
    # Were they exchanged now and then, a bound would reach from one class to the other.
    assert (np.ptp(bounds, axis=-1) < 0.6).all()


def test_what_is_at_0_has_a_bound_above_it():
    frame = pd.DataFrame({"a": ["u", "v"] * 20, "b": ["u", "v"] * 20})
    frame.iloc[0, 0] = None
    graph = Graph.from_edges("ab", [("a", "-->", "b")])
    net = gml.fit(frame, graph, missing="em", intervals=0.9, bootstrap=10, **FEW)
    low, high = net.cpt("b").intervals[0, 1]
    assert low == 0.0
    assert high == pytest.approx(-math.log(0.1) / 20, abs=1e-6)


def test_a_bootstrap_draws_whole_rows():
    frame = holes().assign(w=0.5)
    with pytest.raises(CannotAnswer, match="a bootstrap draws whole rows"):
        gml.fit(
            frame, CHAIN, missing="em", weights_fractional="w", intervals=0.9, bootstrap=5, **FEW
        )


def test_a_row_of_probability_zero_has_the_line_that_it_has_in_the_file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n,\nx,u\n,v\ny,u\n")
    rows = observing(gml.read(path, missing="available"))
    assert rows.n_rows == 3
    problem = table_problem(
        Graph.from_edges("ab", [("a", "-->", "b")]), rows, hidden={}, alpha=None
    )
    impossible = np.array([0.5, 0.5, 1.0, 0.0, 1.0, 0.0])
    with pytest.raises(CannotAnswer, match="line 4 has probability 0 in this model"):
        problem.expect(impossible)


def many_rows(rows, columns=8, empty=5):
    """Rows of few kinds, some of them without any value."""
    rng = np.random.default_rng(3)
    cells = rng.integers(2, size=(columns, rows), dtype=np.uint8)
    cells[0] = np.where(rng.random(rows) < 0.2, 255, cells[0])
    lost = np.sort(rng.choice(rows, size=empty, replace=False))
    cells[:, lost] = 255
    names = "abcdefgh"[:columns]
    variables = tuple(Variable(name, ("x", "y")) for name in names)
    return Dataset(variables, tuple(cells), first_line=2), lost


def test_many_rows_without_the_empty_ones_stand_once_each_with_weights():
    rows, lost = many_rows(300_000, columns=3)
    assert empty_rows(rows.columns).tolist() == lost.tolist()
    found = observing(rows)
    assert found.n_rows < 100 and found.n == rows.n - len(lost)
    for name in "abc":
        column = rows.columns[rows.index(name)]
        seen = np.delete(column, lost)
        counts = np.bincount(found.columns[found.index(name)], found.weights, minlength=256)
        assert counts.tolist() == np.bincount(seen, minlength=256).tolist()
    for row in (0, found.n_rows - 1):
        at = int(found.name_of_row(row).removeprefix("line ")) - 2
        assert [c[row] for c in found.columns] == [c[at] for c in rows.columns]


def test_to_leave_out_rows_takes_less_memory_than_their_codes():
    rows, _ = many_rows(2_000_000)
    tracemalloc.start()
    try:
        observing(rows)
        tell_of_holes(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A byte per row says which were kept; the rest is that of a part of the rows.
    assert peak < 2_000_000 + 8 * 2**20 < rows.n_rows * len(rows.columns)


@pytest.mark.parametrize("weight", [1e-7, 1e-3, 1e6])
def test_what_is_missing_does_not_depend_on_what_rows_weigh(weight):
    frame = holes(200, seed=4).assign(w=1.0)
    options = {"missing": "em", "intervals": 0.95, "weights_fractional": "w", **FEW}
    one = gml.fit(frame, CHAIN, **options)
    other = gml.fit(frame.assign(w=weight), CHAIN, **options)
    for name in "abc":
        np.testing.assert_allclose(other.cpt(name).table, one.cpt(name).table, rtol=1e-6)
        bounds = other.cpt(name).intervals
        assert np.isfinite(bounds).all()
        assert (bounds[..., 0] <= one.cpt(name).table).all()
        assert (bounds[..., 1] >= one.cpt(name).table).all()
        missing = [net.learning["em"]["missing_information"][name] for net in (one, other)]
        assert missing[1] == pytest.approx(missing[0], rel=1e-6)


def test_constants_tell_nothing_of_a_hidden_node():
    frame = pd.DataFrame({name: ["u"] * 20 for name in "abc"})
    with pytest.warns(GmlWarning) as said:
        net = gml.fit(frame, CLASSES, hidden={"H": 3}, **FEW)
    assert (net.learning["em"]["rank"], net.learning["em"]["parameters"]) == (0, 2)
    messages = [str(one.message) for one in said]
    assert any("the data tell 0 of its 2 parameters" in message for message in messages)
    # A table of one level is certain, not unknown.
    assert not any("never seen" in message for message in messages)


def test_rows_that_were_chosen_keep_their_lines_in_blocks_too():
    rows = gml.read("sample_data/asia.csv")
    third = rows.rows(np.arange(rows.n_rows) % 3 == 0)
    _, block, *_ = third.blocks(100)
    assert (third.name_of_row(2), block.name_of_row(0)) == ("line 8", "line 302")
    odd = block.rows(np.arange(block.n_rows) % 2 == 1)
    assert (odd.name_of_row(0), odd.name_of_row(1)) == ("line 305", "line 311")
