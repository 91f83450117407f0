"""Structural EM on labels and numbers: exact completions, what cannot be fitted, limits of time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.formats.search_trace import read_trace
from gml.graph.equivalence import equivalence_class
from gml.graph.knowledge import Knowledge
from gml.learners.search import SearchResult
from gml.progress import Deadline
from gml.scores.base import total
from gml.structural.available_forest import available_forest
from gml.structural.completions import OutOfTime, completed
from gml.structural.seen_families import FittableScore, SeenFamilies
from gml.structural.structural_em import Fitted, Learned, structural_em

NUMBERS = ["x", "y", "z"]
ARCS = [("a", "b"), ("a", "x"), ("x", "y"), ("b", "y"), ("x", "z"), ("y", "z")]


def whole(seed, rows):
    """a → b, and numbers whose regressions differ by label."""
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=rows)
    b = np.where(rng.random(rows) < 0.7, a, rng.integers(3, size=rows))
    x = a + rng.normal(size=rows)
    y = x * (1 + 0.5 * b) + rng.normal(size=rows)
    z = y - x + rng.normal(size=rows)
    levels = np.array(["L0", "L1", "L2"])
    return pd.DataFrame({"a": levels[a], "b": levels[b], "x": x, "y": y, "z": z})


def with_gaps(seed, rows, share):
    frame = whole(seed, rows)
    return frame.mask(np.random.default_rng(seed + 1000).random(frame.shape) < share)


def table_of(frame):
    return gml.read(frame, numeric=NUMBERS, missing="available")


def dag(arcs, names=tuple("abxyz")):
    return gml.Graph.from_edges(list(names), [(a, "-->", b) for a, b in arcs], kind="dag")


@pytest.fixture(scope="module")
def net():
    return gml.fit(whole(7, 500), dag(ARCS), numeric=NUMBERS)


def normal_given(net, state):
    """Mean and covariance of all numbers given the labels, from the regressions in order."""
    mean, factor = {}, {}
    for name in NUMBERS:
        cpd = net.cpd(name)
        at = 0
        for parent in cpd.label_parents:
            at = at * len(parent.levels) + parent.levels.index(state[parent.name])
        line = cpd.regressions[at]
        slopes = dict(zip((p.name for p in line.parents), line.coefficients, strict=True))
        mean[name] = line.intercept + sum(s * mean[k] for k, s in slopes.items())
        own = dict.fromkeys(NUMBERS, 0.0)
        for k, slope in slopes.items():
            for j in NUMBERS:
                own[j] += slope * factor[k][j]
        own[name] += line.sd
        factor[name] = own
    f = np.array([[factor[i][j] for j in NUMBERS] for i in NUMBERS])
    return np.array([mean[k] for k in NUMBERS]), f @ f.T


def expected_by_definition(net, frame):
    """Expected sums of products of 1 and the numbers, by the labels: rows one by one."""
    sums = {}
    for _, row in frame.iterrows():
        found = {}
        seen = [k for k, name in enumerate(NUMBERS) if not pd.isna(row[name])]
        lacking = [k for k in range(3) if k not in seen]
        values = row[NUMBERS].to_numpy(dtype=float)
        for a, b in itertools.product(("L0", "L1", "L2"), repeat=2):
            if any(not pd.isna(row[k]) and row[k] != v for k, v in (("a", a), ("b", b))):
                continue
            mean, cov = normal_given(net, {"a": a, "b": b})
            p = net.cpt("a").table[0, int(a[1])] * net.cpt("b").table[int(a[1]), int(b[1])]
            inner = cov[np.ix_(seen, seen)]
            away = values[seen] - mean[seen]
            if seen:
                p *= math.exp(-0.5 * away @ np.linalg.solve(inner, away))
                p /= math.sqrt(np.linalg.det(2 * math.pi * inner))
            gain = np.linalg.solve(inner, cov[np.ix_(seen, lacking)]).T if seen else None
            x, left = values.copy(), np.zeros((3, 3))
            x[lacking] = mean[lacking] + (gain @ away if seen else 0)
            own = cov[np.ix_(lacking, lacking)]
            left[np.ix_(lacking, lacking)] = (
                own - gain @ cov[np.ix_(seen, lacking)] if seen else own
            )
            design = np.concatenate([[1.0], x])
            products = np.outer(design, design)
            products[1:, 1:] += left
            found[a, b] = p, products
        likelihood = sum(p for p, _ in found.values())
        for key, (p, products) in found.items():
            sums[key] = sums.get(key, 0) + p / likelihood * products
    return sums


def test_completed_rows_have_the_expected_sums_of_every_group(net):
    frame = with_gaps(1, 80, 0.35)
    completion = completed(net, table_of(frame), most_points=10_000)
    assert completion.drawn == 0
    rows = completion.rows
    weight = rows.weights * rows.unit
    assert weight.sum() == pytest.approx(80, rel=1e-12)
    found = rows.to_frame()
    design = np.column_stack([np.ones(len(found)), *(found[name] for name in NUMBERS)])
    for (a, b), expected in expected_by_definition(net, frame).items():
        own = ((found["a"] == a) & (found["b"] == b)).to_numpy()
        sums = (design[own] * weight[own, None]).T @ design[own]
        # States of probability below 1e-9 are left out.
        np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=2e-6)


def test_observed_cells_stay_as_they_are(net):
    frame = with_gaps(2, 60, 0.3)
    found = completed(net, table_of(frame)).rows.to_frame()
    for name in frame:
        assert set(frame[name].dropna()) <= set(found[name])
    complete = frame.dropna()
    rows = set(found.astype(object).itertuples(index=False, name=None))
    assert set(complete.itertuples(index=False, name=None)) <= rows


def test_neither_rows_nor_columns_matter_to_completions(net):
    frame = with_gaps(3, 120, 0.4)
    turned = frame.sample(frac=1, random_state=0)[list("zybxa")]
    for most in (3, 64):
        one = completed(net, table_of(frame), most_points=most)
        other = completed(net, table_of(turned), most_points=most)
        assert one.drawn == other.drawn and (one.drawn > 0) == (most == 3)
        assert one.rows.weights.tolist() == other.rows.weights.tolist()
        for x, y in zip(one.rows.columns, other.rows.columns, strict=True):
            assert (x == y).all()


def features(rows):
    """Whether a has each level, and the numbers: of every complete row."""
    columns = [rows.columns[rows.index(name)] for name in ("a", *NUMBERS)]
    return np.column_stack([*(columns[0] == code for code in range(3)), *columns[1:]])


def test_draws_have_the_right_shares(net):
    frame = with_gaps(4, 300, 0.4)
    table = table_of(frame)

    def sums(rows):
        return (rows.weights * rows.unit) @ features(rows)

    right = sums(completed(net, table, most_points=10_000).rows)
    drawn = [completed(net, table, most_points=8, seed=seed) for seed in range(40)]
    assert all(0 < one.drawn < 300 for one in drawn)
    errors = np.array([sums(one.rows) - right for one in drawn])
    assert (np.abs(errors.mean(axis=0)) < 4.5 * errors.std(axis=0) / math.sqrt(40)).all()
    # Eight independent draws of each row would vary by this; systematic ones vary less.
    variances = np.zeros(6)
    # Rows are completed one by one, beside a few that lack nothing, as columns must vary.
    beside = np.flatnonzero(frame.notna().all(axis=1))[:5]
    others = features(table.rows(beside))
    for row in np.flatnonzero(frame.isna().any(axis=1)).tolist():
        rows = completed(net, table.rows(np.array([row, *beside])), most_points=10_000).rows
        weight, points = rows.weights * rows.unit, features(rows)
        mean = weight @ points - others.sum(axis=0)
        variances += weight @ points**2 - (others**2).sum(axis=0) - mean**2
    independent = np.sqrt(variances / 8)
    assert (errors.std(axis=0) < independent).all()
    assert (np.abs(errors) < 4 * independent).all()


def test_rows_of_too_many_states_are_drawn_by_elimination(net, monkeypatch):
    frame = with_gaps(5, 60, 0.4)
    monkeypatch.setattr("gml.structural.mixed_completions._MOST_STATES", 3)
    completion = completed(net, table_of(frame))
    both = int((frame["a"].isna() & frame["b"].isna()).sum())
    assert both > 0 and completion.drawn >= both
    assert completion.rows.n * completion.rows.unit == pytest.approx(60, rel=1e-12)


def test_no_rows_are_completed_after_the_deadline(net):
    with pytest.raises(OutOfTime):
        completed(net, table_of(with_gaps(6, 40, 0.3)), deadline=Deadline(0))


# ------------------------------------------------------------------------- what cannot be fitted


def rare(seed=8, rows=150):
    """A label with levels that occur once or twice, and a number that depends on it."""
    rng = np.random.default_rng(seed)
    k = np.where(rng.random(rows) < 0.03, rng.integers(2, 6, size=rows), rng.integers(2, size=rows))
    x = 2.0 * k + rng.normal(size=rows)
    frame = pd.DataFrame({"k": [f"K{code}" for code in k], "m": np.where(x > 1, "p", "q"), "x": x})
    frame["y"] = x + rng.normal(size=rows)
    return frame.mask(rng.random(frame.shape) < 0.15)


@pytest.mark.parametrize("learner", [gml.hc, gml.ges])
def test_a_family_without_rows_is_worth_nothing_and_the_search_goes_on(learner):
    frame = rare()
    with pytest.warns(UserWarning, match="'x' given 'k'"):
        found = learner(frame, numeric=["x", "y"], missing="em")
    parents = found.dag.parent_sets()
    names = found.dag.names
    for child in ("x", "y"):
        assert names.index("k") not in parents[names.index(child)]
    assert found.graph.n_edges > 0 and found.complete
    value = gml.score(frame, found.dag, numeric=["x", "y"], missing="em", score="bic-cg")
    assert value.to_frame()["bic-cg"][0] == pytest.approx(found.score, rel=1e-8)


def test_a_start_that_cannot_be_fitted_completes_rows_with_a_prior():
    frame = rare()
    start = gml.Graph.from_edges(list("kmxy"), [("k", "-->", "x"), ("x", "-->", "y")])
    with pytest.raises(gml.GmlError, match="fewer than the 3 rows"):
        gml.fit(frame, start, numeric=["x", "y"], missing="em")
    with pytest.warns(gml.GmlWarning, match="'x' given 'k'"):
        found = gml.hc(frame, numeric=["x", "y"], missing="em", start=start)
    assert math.isfinite(found.score) and found.graph.n_edges > 0
    with pytest.raises(gml.CannotAnswer, match="'x' given 'k', which is required"):
        gml.hc(frame, numeric=["x", "y"], missing="em", require=[("k", "x")])


def test_families_are_judged_on_the_rows_that_were_seen():
    frame = pd.DataFrame(
        {
            "k": ["p"] * 6 + ["q"] * 3 + ["r", None, None],
            "x": [1.0, 2, 4, 3, 7, 5, 1, 2, 4, None, 3, 8],
            "y": [1.0, 3, 2, 5, 4, 9, 2, 5, 4, 1, 7, 8],
        }
    )
    table = gml.read(frame, numeric=["x", "y"], missing="available")
    seen = SeenFamilies(gml.MemoryCounter(table))
    k, x, y = 0, 1, 2
    # y was seen once where k is r, and where k is q there are 3 rows for 3 + 1 that are needed.
    families = [(k, (x,)), (x, ()), (x, (k,)), (y, (k,)), (y, (x,)), (x, (k, y))]
    assert seen.fit(families).tolist() == [True, True, True, False, True, False]
    score = gml.SCORES["bic-cg"](gml.MemoryCounter(gml.read(frame.dropna(), numeric=["x", "y"])))
    limited = FittableScore(score, seen)
    values = limited.batch(families[1:4])
    assert values[:2].tolist() == score.batch(families[1:3]).tolist() and values[2] == -math.inf
    assert (
        "1 family is worth −∞" in limited.remarks()[0] and "'y' given 'k'" in limited.remarks()[0]
    )


# ------------------------------------------------------------------------------- where it begins


def forest(frame, **how):
    table = table_of(frame)
    return available_forest(gml.MemoryCounter(table), table, lambda n: 0.5 * math.log(n), **how)


def test_gains_are_those_of_the_score_on_the_rows_that_have_both():
    frame = with_gaps(9, 300, 0.2)
    found = forest(frame)
    gains = {}
    for one, other in itertools.combinations("abxyz", 2):
        both = frame[[one, other]].dropna()
        numbers = [k for k in (one, other) if k in NUMBERS]
        name = {0: "bic", 1: "bic-cg", 2: "bic-g"}[len(numbers)]
        rows = gml.MemoryCounter(gml.read(both, numeric=numbers))
        score = gml.SCORES[name](rows)
        with_edge, without = dag([(one, other)], (one, other)), dag([], (one, other))
        gains[one, other] = total(score, with_edge) - total(score, without)
    joined = {name: {name} for name in "abxyz"}
    expected = set()
    for one, other in sorted(gains, key=lambda pair: -gains[pair]):
        if gains[one, other] > 0 and joined[one] is not joined[other]:
            expected.add(frozenset((one, other)))
            both = joined[one] | joined[other]
            joined.update(dict.fromkeys(both, both))
    assert {frozenset((e.source, e.target)) for e in found.edges} == expected


@pytest.mark.parametrize("most", [0, 1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_forests_keep_the_limits(most, seed):
    frame = with_gaps(seed, 200, 0.15)
    known = Knowledge(require=(("b", "a"),) if most else (), tiers=(("a", "b"), ("x", "y", "z")))
    found = forest(frame, knowledge=known, max_parents=most)
    assert all(len(parents) <= most for parents in found.parent_sets())
    arcs = {(e.source, e.target) for e in found.edges}
    assert set(known.require) <= arcs
    assert not any(source in NUMBERS and target in "ab" for source, target in arcs)
    # Edges of a forest; with room for one parent, each number hangs on one other node.
    assert len(arcs) <= 4 and (most == 0 or len(arcs) >= 3)


def test_a_forest_has_no_more_pairs_than_time():
    known = Knowledge(require=(("a", "x"),))
    found = forest(with_gaps(1, 100, 0.1), knowledge=known, deadline=Deadline(0))
    assert [(e.source, e.target) for e in found.edges] == [("a", "x")]


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
@pytest.mark.parametrize("learner", [gml.hc, gml.ges])
def test_the_most_parents_hold_from_the_first_model_on(learner):
    found = learner(with_gaps(11, 200, 0.2), numeric=NUMBERS, missing="em", max_parents=1)
    assert all(len(parents) <= 1 for parents in found.dag.parent_sets())
    assert found.graph.n_edges >= 3


# ------------------------------------------------------------------------------------------ time


class Looks(Deadline):
    """Time that is up after so many looks at the clock."""

    def __init__(self, looks):
        super().__init__()
        self.left = looks

    @property
    def passed(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_however_short_the_time_there_is_a_graph_and_it_says_whether_it_is_complete(monkeypatch):
    frame = with_gaps(12, 60, 0.25)
    how = {"numeric": NUMBERS, "missing": "em", "require": [("b", "a")], "max_parents": 2}
    unlimited = gml.ges(frame, **how)
    looks = Looks(10**9)
    monkeypatch.setattr("gml.verbs.shared.score_search.Deadline", lambda seconds: looks)
    assert gml.ges(frame, **how).score == unlimited.score
    needed = 10**9 - looks.left
    assert needed > 200
    for share in (0, 0.02, 0.1, 0.3, 0.6, 0.9, 0.99):
        looks = Looks(int(share * needed))
        found = gml.ges(frame, **how, max_seconds=1)
        assert not found.complete and math.isfinite(found.score)
        assert found.score <= unlimited.score + 1e-6
        arcs = {(e.source, e.target) for e in found.dag.edges}
        assert ("b", "a") in arcs
        assert all(len(parents) <= 2 for parents in found.dag.parent_sets())
        # All that was asked after time was up is a step here and there, not a round.
        assert looks.left > -60
    looks = Looks(needed)
    assert gml.ges(frame, **how, max_seconds=1).complete


def fake_em(ends):
    """Structural EM on a small table whose searches end as told, one after the other."""
    frame = with_gaps(13, 60, 0.2)
    table = table_of(frame)
    left = iter(ends)
    scores = {}
    numbers = []

    def learn(rows, begin, *, start, round):
        numbers.append((start, round))
        score, complete, arcs = next(left)
        found = dag(arcs)
        scores[found.marks.tobytes()] = score
        return Learned(SearchResult(found, found, 0.0, 1, 1, complete), f"by {start}.{round}")

    class Fits:
        def roughly(self, some, completed):
            model = gml.fit(frame.dropna(), some, numeric=NUMBERS)
            return Fitted(model, scores.get(some.marks.tobytes(), -1e9), 0.0)

        def to_the_end(self, rough):
            return rough

    first = dag([])
    found = structural_em(
        table, [lambda: first, lambda: first], learn, Fits(), shown=equivalence_class
    )
    return found, numbers


def test_a_search_is_complete_only_if_all_its_starts_are():
    a, b = [("a", "b")], [("a", "x")]
    found, numbers = fake_em([(-5.0, True, a), (-5.0, True, a), (-9.0, True, b), (-9.0, True, b)])
    assert found.search.score == -5.0 and found.complete and found.start == 1
    assert numbers == [(1, 1), (1, 2), (2, 1), (2, 2)]
    found, _ = fake_em([(-5.0, True, a), (-5.0, True, a), (-9.0, False, b)])
    assert found.search.score == -5.0 and not found.complete
    found, _ = fake_em([(-5.0, False, a), (-9.0, True, b), (-9.0, True, b)])
    assert found.search.score == -5.0 and not found.complete


def test_the_score_of_the_winner_is_the_one_that_is_told_of():
    a, b, c = [("a", "b")], [("a", "x")], [("x", "y")]
    found, _ = fake_em([(-5.0, True, a), (-7.0, True, b), (-6.0, True, c), (-6.0, True, c)])
    assert found.by == "by 1.1" and [one.taken for one in found.rounds] == [True, False]
    found, _ = fake_em([(-5.0, True, a), (-5.0, True, a), (-4.0, True, b), (-3.0, True, c)] * 2)
    assert found.by == "by 2.2" and found.start == 2


@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_traces_have_the_start_and_the_round(tmp_path):
    steps = []
    frame = with_gaps(14, 150, 0.2)
    found = gml.hc(frame, numeric=NUMBERS, missing="em", trace=steps.append)
    searches = [(step.start, step.round) for step in steps]
    # The start that ended best goes on when all have ended: it comes again.
    in_turn = [search for search, _ in itertools.groupby(searches)]
    assert len(set(in_turn)) == len(in_turn)
    for start in (1, 2):
        own = [number for one, number in in_turn if one == start]
        assert own and own == sorted(own)
    gml.hc(frame, numeric=NUMBERS, missing="em", trace=tmp_path / "trace.csv")
    lines = (tmp_path / "trace.csv").read_text().splitlines()
    assert lines[0] == "start,round,step,phase,move,source,target,others,gain,score"
    assert read_trace(tmp_path / "trace.csv") == steps
    about = found.graph.learning.written()["structural_em"]
    assert about["start"] in (1, 2) and len(about["rounds"]) >= 1
    (tmp_path / "bad.csv").write_text("\n".join([lines[0], lines[1].replace("1,1,", "one,1,", 1)]))
    with pytest.raises(gml.DataError, match="'one' is not a number of a start"):
        read_trace(tmp_path / "bad.csv")


# ---------------------------------------------------------------------- relations that would be lost


def sales(rows=240, rare=1, effect=3.0, seed=4):
    """What a shop takes depends on its city, of which one has few rows; some cells are missing."""
    rng = np.random.default_rng(seed)
    city = rng.integers(3, size=rows)
    takings = effect * city + rng.normal(size=rows)
    takings[:rare] += 8
    staff = 0.3 * takings + rng.normal(size=rows)
    sunday = np.where(rng.random(rows) < 0.5, "open", "shut").astype(object)
    names = np.array(["Bonn", "Genoa", "Lyon"], dtype=object)[city]
    names[:rare] = "Oslo"
    sunday[rng.random(rows) < 0.1] = None
    frame = pd.DataFrame({"city": names, "sunday": sunday, "staff": staff, "takings": takings})
    frame.loc[rng.random(rows) < 0.1, "staff"] = None
    return frame


def found_by(frame, learner=gml.hc, **options):
    """The edges, as pairs of names."""
    options = {"numeric": ["takings", "staff"], "missing": "em"} | options
    graph = learner(frame, **options).graph
    pairs = itertools.combinations(range(len(graph.names)), 2)
    return {frozenset((graph.names[i], graph.names[j])) for i, j in pairs if graph.adjacent(i, j)}


TAKINGS = frozenset(("city", "takings"))


@pytest.mark.parametrize("learner", [gml.hc, gml.ges])
def test_the_strongest_relation_is_not_lost_without_a_word(learner):
    frame = sales()
    lost = (
        "no relation of these columns is stronger than that of 'city' and 'takings', and bic-cg, "
        "the score of incomplete rows, would lose it: 1 of 3 rows needed where city=Oslo; cut "
    )
    with pytest.raises(gml.GmlError, match=lost) as refused:
        found_by(frame, learner)
    assert refused.value.exit_code == 4
    # The ways out that it names.
    assert TAKINGS in found_by(frame, learner, numeric=None, bins=4)
    assert TAKINGS in found_by(frame, learner, missing="drop")
    found_by(frame, learner, exclude=["city"], numeric=["takings", "staff"])
    with pytest.warns(gml.GmlWarning, match="−∞.*'staff' given 'city'"):
        assert TAKINGS not in found_by(frame, learner, forbid=[("city", "takings")])
    # Rows enough in every city.
    assert TAKINGS in found_by(sales(rare=40), learner)


def test_order_and_units_do_not_matter():
    frame = sales()
    other = frame.iloc[::-1, ::-1].assign(takings=lambda some: some["takings"] * 1e200)
    messages = set()
    for table in (frame, other):
        with pytest.raises(gml.GmlError, match="would lose it") as refused:
            found_by(table)
        messages.add(str(refused.value))
    assert len(messages) == 1


def test_a_number_that_another_determines_is_a_relation_too():
    frame = sales(rare=40)
    frame["tax"] = 0.19 * frame["takings"] + 4
    numbers = ["takings", "staff", "tax"]
    with pytest.raises(gml.GmlError, match="'takings' and 'tax'.*no variance left; cut.*drop'.*or"):
        found_by(frame, numeric=numbers)
    assert TAKINGS in found_by(frame, numeric=numbers[:2], exclude=["tax"])


def test_a_weaker_relation_is_named_and_the_search_goes_on():
    frame = sales(effect=0.5)
    frame["mayor"] = frame["city"].map({"Bonn": "K", "Genoa": "S", "Lyon": "D", "Oslo": "A"})
    with pytest.warns(gml.GmlWarning, match="−∞.*'takings' given 'city'"):
        found = found_by(frame)
    assert frozenset(("city", "mayor")) in found


def test_a_rare_level_that_says_nothing_is_no_reason():
    frame = sales(effect=0.0)
    frame.loc[0, "takings"] = 0.1
    frame["staff"] = 2 * frame["staff"] + frame["takings"]
    with pytest.warns(gml.GmlWarning, match="−∞"):
        found_by(frame)


def test_labels_that_tell_rows_apart_determine_nothing():
    frame = sales(rare=40)
    frame["till"] = [f"no. {k}" for k in range(len(frame))]
    with pytest.warns(gml.GmlWarning) as said:
        assert TAKINGS in found_by(frame)
    assert any("'takings' given 'till'" in str(one.message) for one in said)


def test_ges_ends_where_two_columns_are_never_seen_together():
    """Members of a class then score differently: one has a family that is worth −∞."""
    rng = np.random.default_rng(11)
    label = rng.choice(["dry", "wet"], 300)
    near = (label == "wet") * 2.5 + rng.normal(size=300)
    frame = pd.DataFrame({"label": label, "far": near + rng.normal(size=300), "near": near})
    without = rng.random(300) < 0.5
    frame.loc[without, "label"] = None
    frame.loc[~without, "far"] = np.nan
    with pytest.warns(gml.GmlWarning, match="−∞"):
        found = gml.ges(frame, missing="em", numeric=["far", "near"]).graph
    assert {frozenset((e.source, e.target)) for e in found.edges} == {
        frozenset(("label", "near")),
        frozenset(("near", "far")),
    }
