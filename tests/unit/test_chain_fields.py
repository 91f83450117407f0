"""Chain fields: training, what they say of rows, and their form for files."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest

from gml import kernel
from gml.data.json_text import parse_json
from gml.data.options import ReadOptions, reading_options
from gml.errors import CannotAnswer, DataError, GmlWarning, UsageError
from gml.formats.chain_payload import field_of, payload_of
from gml.kernel import reference
from gml.model.sequences.attributes import Attributes
from gml.model.sequences.chain_field import NoFiniteMaximum
from gml.model.sequences.decoding import ChainAnswers, prediction_options
from gml.model.sequences.feature_table import FeatureTable
from gml.model.sequences.log_marginals import log_marginals
from gml.model.sequences.names import strongest
from gml.model.sequences.objective import ChainObjective, spans_of
from gml.model.sequences.orthants import minimise_absolute
from gml.model.sequences.training import train_chain
from gml.progress import Deadline
from gml.resources import limited_to
from tests.chain_tables import chain_frame, chain_rows


@pytest.fixture(scope="module")
def rows():
    return chain_rows(chain_frame())


@pytest.fixture(scope="module")
def fit(rows):
    return train_chain(rows, l2=0.5)


def attribute_names(inputs, t, window):
    """The attributes of row t of a sequence, by definition."""
    n = len(next(iter(inputs.values())))
    yield "bias"
    if t == 0:
        yield "first"
    if t == n - 1:
        yield "last"
    for name, offset in itertools.product(sorted(inputs), range(-window, window + 1)):
        if 0 <= t + offset < n:
            at = f"[{offset:+d}]" if offset else ""
            yield f"{name}{at}={inputs[name][t + offset]}"


def named_weights(model):
    """The weights of a field by attribute and label, and by two labels."""
    payload = payload_of(model)
    found = {(mark, y): w for mark in ("bias", "first", "last") for y, w in payload[mark].items()}
    for block in payload["states"]:
        offset = block["offset"]
        at = f"{block['column']}[{offset:+d}]" if offset else block["column"]
        for level, weights in block["weights"].items():
            found |= {(f"{at}={level}", label): weight for label, weight in weights.items()}
    pairs = {(i, j): w for i, after in payload["transitions"].items() for j, w in after.items()}
    return found, pairs


@pytest.mark.parametrize("window", [0, 1, 2])
def test_probabilities_are_those_of_the_named_features(window):
    frame = chain_frame(seed=3, n_sequences=25, longest=5)
    rows = chain_rows(frame)
    model = train_chain(rows, window=window).field
    states, pairs = named_weights(model)
    answers = ChainAnswers(model, rows)
    for s, identifier in enumerate(rows.names):
        of = frame[frame["id"] == identifier]
        inputs = {name: of[name].tolist() for name in ("word", "shape")}
        n = len(of)
        attributes = [list(attribute_names(inputs, t, window)) for t in range(n)]
        scores = {}
        for labels in itertools.product(model.labels, repeat=n):
            score = sum(
                states.get((a, y), 0.0) for t, y in enumerate(labels) for a in attributes[t]
            )
            scores[labels] = score + sum(
                pairs.get(pair, 0.0) for pair in itertools.pairwise(labels)
            )
        log_sum = math.log(math.fsum(math.exp(score) for score in scores.values()))
        codes = rows.labels
        own = tuple(of["tag"])
        assert answers.log_probability(codes, s) == pytest.approx(scores[own] - log_sum, abs=1e-10)
        at = of.index.to_numpy()
        for t in range(n):
            for k, label in enumerate(model.labels):
                share = math.fsum(math.exp(v - log_sum) for y, v in scores.items() if y[t] == label)
                assert answers.probabilities[at[t], k] == pytest.approx(share, abs=1e-10)
        best = tuple(model.labels[code] for code in answers.viterbi[at])
        assert scores[best] == pytest.approx(max(scores.values()), abs=1e-10)


def objective_of(rows, window=1, l2=0.3, threads=1):
    attributes = Attributes.seen_in(rows, window)
    of_rows, labels = attributes.of_rows(rows), rows.labels[rows.order]
    table = FeatureTable.seen_in(
        of_rows, labels, rows.starts, n_labels=len(rows.target.levels), n_attributes=len(attributes)
    )
    found = ChainObjective(table, of_rows, labels, rows.starts, threads=threads)
    return found.penalised(l2), table


def test_features_are_the_pairs_that_occur():
    frame = pd.DataFrame({"id": [1, 1, 2], "word": ["a", "b", "a"], "tag": ["X", "Y", "Y"]})
    model = train_chain(chain_rows(frame), window=1).field
    states, pairs = named_weights(model)
    assert {*states} == {
        ("bias", "X"), ("bias", "Y"), ("first", "X"), ("first", "Y"), ("last", "Y"),
        ("word=a", "X"), ("word=a", "Y"), ("word=b", "Y"), ("word[+1]=b", "X"), ("word[-1]=a", "Y"),
    }  # fmt: skip
    assert {*pairs} == {("X", "Y")}


def test_the_gradient_is_that_of_differences(rows):
    objective, table = objective_of(rows)
    rng = np.random.default_rng(0)
    weights = rng.normal(0, 0.7, len(table))
    gradient = objective(weights)[1]
    step = 1e-6
    for k in [*rng.permutation(len(table.states))[:40], *range(len(table.states), len(table))]:
        ahead, behind = weights.copy(), weights.copy()
        ahead[k] += step
        behind[k] -= step
        rise = (objective(ahead)[0] - objective(behind)[0]) / (2 * step)
        assert gradient[k] == pytest.approx(rise, abs=1e-8)


def test_training_ends_at_the_minimum(rows, fit):
    assert fit.converged
    assert fit.gradient <= 1e-6
    assert 0 <= fit.gap < 1e-5
    objective, _ = objective_of(rows, l2=0.5)
    assert objective(fit.field.weights)[0] * rows.n_rows == pytest.approx(fit.objective, rel=1e-12)
    tight = train_chain(rows, l2=0.5, tolerance=1e-10)
    assert tight.objective <= fit.objective <= tight.objective + fit.gap
    penalty = 0.5 * float(fit.field.weights @ fit.field.weights)
    assert fit.log_likelihood == pytest.approx(penalty - fit.objective, rel=1e-12)


def test_the_reference_trains_the_same_field(rows, monkeypatch):
    wanted = train_chain(rows, tolerance=1e-9)
    monkeypatch.setattr(kernel, "_loaded", reference)
    found = train_chain(rows, tolerance=1e-9)
    assert np.abs(found.field.weights - wanted.field.weights).max() < 1e-6
    answers = ChainAnswers(found.field, rows)
    assert answers.viterbi.tolist() == ChainAnswers(wanted.field, rows).viterbi.tolist()


def test_threads_change_no_bit():
    rows = chain_rows(chain_frame(n_sequences=1500, longest=9, n_words=40))
    assert len(spans_of(rows.starts)) > 1
    one, two = (train_chain(rows, max_iterations=30, threads=n).field for n in (1, 2))
    assert one == two
    found = [ChainAnswers(one, rows, threads=n) for n in (1, 2)]
    assert np.array_equal(found[0].probabilities, found[1].probabilities)
    assert np.array_equal(found[0].viterbi, found[1].viterbi)


def test_the_order_of_sequences_and_of_columns_changes_no_bit(fit):
    frame = chain_frame()
    rng = np.random.default_rng(2)
    # Keys that grow within a sequence mix the sequences and keep their rows in order.
    keys = rng.random(len(frame))
    keys = pd.Series(keys).groupby(frame["id"]).transform(np.sort)
    mixed = frame.loc[keys.sort_values().index, ["tag", "word", "id", "shape"]]
    assert mixed["id"].tolist() != frame["id"].tolist()
    found = train_chain(chain_rows(mixed.reset_index(drop=True)), l2=0.5)
    assert found.field == fit.field
    assert found.objective == fit.objective


@pytest.mark.parametrize("l1", [0.0, 0.7])
def test_a_field_is_the_same_after_writing_and_reading(rows, l1):
    model = train_chain(rows, l1=l1).field
    read = field_of(parse_json(json.dumps(payload_of(model)), "crf.json"), "crf.json")
    assert read == model
    assert np.array_equal(
        ChainAnswers(read, rows).probabilities, ChainAnswers(model, rows).probabilities
    )


def test_names_that_look_like_attributes_are_kept_apart():
    frame = pd.DataFrame(
        {
            "id": ["a", "a", "b", "b"],
            "a": ["b=c", "d", "b=c", ""],
            "a=b": ["c", "c", "", "bias"],
            "a[-1]": ["b=c", "x", "y\nz", "first"],
            "bias": ["last", "ß", "'", '"'],
            "tag": ["=", "→", "→", "="],
        }
    )
    rows = chain_rows(frame, options=reading_options(na=["none"]))
    model = train_chain(rows).field
    assert field_of(json.loads(json.dumps(payload_of(model))), "crf.json") == model
    names = list(model.attributes.names())
    assert len(names) > len(set(names))
    assert len(model.attributes) == len(names)


def test_l1_takes_features_out(rows):
    fit = train_chain(rows, l1=1.0, l2=0.2, tolerance=1e-8)
    assert fit.converged
    assert 0 < len(fit.field.features) < fit.n_features
    assert (fit.field.weights != 0).all()
    # The conditions of a minimum, at the weights of all features.
    objective, table = objective_of(rows, l2=0.2)
    kept = np.isin(table.states, fit.field.features.states)
    kept = np.concatenate([kept, np.isin(table.transitions, fit.field.features.transitions)])
    weights = np.zeros(len(table))
    weights[kept] = fit.field.weights
    gradient = objective(weights)[1] * rows.n_rows
    assert np.abs(gradient[kept] + np.sign(weights[kept])).max() < 1e-5
    assert np.abs(gradient[~kept]).max() <= 1 + 1e-5
    absolute = float(np.abs(weights).sum())
    assert fit.objective == pytest.approx(objective(weights)[0] * rows.n_rows + absolute, rel=1e-12)


@pytest.mark.parametrize("module", [None, reference])
def test_a_field_without_features_of_rows_answers(monkeypatch, module):
    if module is not None:
        monkeypatch.setattr(kernel, "_loaded", module)
    frame = pd.DataFrame(
        {"id": [1, 1, 2, 2], "word": ["p", "q", "p", "q"], "tag": ["a", "b", "b", "a"]}
    )
    rows = chain_rows(frame)
    field = train_chain(rows, l1=1.0, l2=0.0).field
    assert len(field.weights) == 0
    answers = ChainAnswers(field, rows)
    np.testing.assert_array_equal(answers.probabilities, np.full((4, 2), 0.5))
    assert answers.labels() == answers.labels("posterior") == ["a"] * 4
    assert answers.metrics().log_loss == pytest.approx(math.log(2), rel=1e-15)
    # Transitions alone: of the labels aa, ab, ba and bb, the second is three times as probable.
    payload = payload_of(field)
    payload["transitions"] = {"a": {"b": math.log(3)}}
    shares = ChainAnswers(field_of(payload, "crf.json"), rows).probabilities
    expected = [[4 / 6, 2 / 6], [2 / 6, 4 / 6]] * 2
    np.testing.assert_allclose(shares, expected, rtol=1e-14)


def test_pairs_of_labels_without_room_are_refused(rows):
    payload = payload_of(train_chain(rows).field)
    payload["target"]["levels"] += [f"more {k}" for k in range(997)]
    said = "the transitions of 1000 labels would take 15.3 MiB, more than `max_memory`"
    with limited_to(15 << 20), pytest.raises(CannotAnswer, match=said):
        field_of(payload, "crf.json")
    labels = [f"t{k}" for k in range(1000)]
    frame = pd.DataFrame({"id": [k // 2 for k in range(1000)], "word": "w", "tag": labels})
    many = chain_rows(frame, options=ReadOptions(max_levels=1000))
    # The weights, the sums of one block and of all, and three tables of the kernel.
    said = "the transitions of 1000 labels would take 45.8 MiB"
    with limited_to(45 << 20), pytest.raises(CannotAnswer, match=said):
        train_chain(many, threads=1)
    field = field_of(payload, "crf.json")
    said = "the transitions of 1000 labels would take 30.5 MiB"
    with limited_to(30 << 20), pytest.raises(CannotAnswer, match=said):
        ChainAnswers(field, rows, threads=1)


def test_absolute_values_are_minimised_where_signs_have_to_change():
    rng = np.random.default_rng(4)
    factor = rng.normal(size=(30, 12))
    goal = rng.normal(size=30)

    def squares(x):
        return float(((factor @ x - goal) ** 2).sum()) / 2, factor.T @ (factor @ x - goal)

    found = minimise_absolute(squares, np.full(12, -2.0), l1=6.0, tolerance=1e-9)
    assert found.converged
    gradient = squares(found.point)[1]
    zero = found.point == 0
    assert 0 < zero.sum() < 12
    assert np.abs(gradient[zero]).max() <= 6 + 1e-8
    assert np.abs(gradient[~zero] + 6 * np.sign(found.point[~zero])).max() < 1e-8


def test_no_penalty_where_words_separate_the_labels(rows):
    with pytest.raises(
        NoFiniteMaximum, match="grow without end, as for a value that .*`l2=1`"
    ) as caught:
        train_chain(rows, l2=0.0)
    assert caught.value.exit_code == 4


def test_no_penalty_where_there_is_a_maximum():
    rng = np.random.default_rng(1)
    n = 400
    frame = pd.DataFrame(
        {
            "id": np.repeat(np.arange(n // 4), 4),
            "word": rng.choice(["a", "b"], n),
            "tag": rng.choice(["X", "Y"], n),
        }
    )
    fit = train_chain(chain_rows(frame), window=0, l2=0.0)
    assert fit.converged
    assert fit.gap is None
    objective, table = objective_of(chain_rows(frame), window=0, l2=0.0)
    assert np.abs(objective(fit.field.weights)[1]).max() <= 1e-6
    assert len(table) == fit.n_features


def differences_of_features(rows):
    """Features of the labels of each sequence less those of any other labels, a row each."""
    attributes = Attributes.seen_in(rows, 0)
    of_rows, labels = attributes.of_rows(rows), rows.labels[rows.order].tolist()
    n_labels = len(rows.target.levels)
    table = FeatureTable.seen_in(
        of_rows, np.array(labels), rows.starts, n_labels=n_labels, n_attributes=len(attributes)
    )
    places = {("state", number): k for k, number in enumerate(table.states.tolist())}
    for number in table.transitions.tolist():
        places["pair", number] = len(places)
    found = set()
    for start, end in itertools.pairwise(rows.starts.tolist()):

        def counts(chosen, start=start, end=end):
            found = [0] * len(places)
            for t in range(start, end):
                of = of_rows.attributes[of_rows.rows[t] : of_rows.rows[t + 1]].tolist()
                label = chosen[t - start]
                keys = [("state", a * n_labels + label) for a in of]
                if t > start:
                    keys.append(("pair", chosen[t - start - 1] * n_labels + label))
                for key in keys:
                    if key in places:
                        found[places[key]] += 1
            return np.array(found)

        own = counts(labels[start:end])
        for other in itertools.product(range(n_labels), repeat=end - start):
            found.add(tuple((own - counts(other)).tolist()))
    return np.array(sorted(found))


@pytest.mark.parametrize("seed", range(12))
def test_a_maximum_is_missed_where_some_weights_separate_the_labels(seed):
    """They do if a direction is never against the labels, and for them somewhere."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 90))
    frame = pd.DataFrame(
        {
            "id": np.arange(n) // 3,
            "word": rng.choice(list("abcdefghijklm")[: 3 + 10 * (seed % 3 > 0)], n),
            "tag": rng.choice(list("XYZ")[: 2 + seed % 2], n),
        }
    )
    rows = chain_rows(frame)
    against = differences_of_features(rows)
    best = linprog(-against.sum(axis=0), A_ub=-against, b_ub=np.zeros(len(against)), bounds=[-1, 1])
    if -best.fun > 1e-7:
        with pytest.raises(NoFiniteMaximum):
            train_chain(rows, window=0, l2=0.0)
    else:
        assert train_chain(rows, window=0, l2=0.0).converged


def persistent_rows(seed):
    """Long sequences whose labels hardly change, of a few words that say little."""
    rng = np.random.default_rng(seed)
    n_sequences, length = int(rng.integers(6, 14)), int(rng.integers(5, 40))
    n_words = int(rng.integers(2, 5))
    keep, noise = rng.choice([0.9, 0.95, 0.98]), rng.choice([0.3, 0.45])
    cells = []
    for s in range(n_sequences):
        label = int(rng.integers(2))
        for _ in range(length):
            word = label if rng.random() > noise else int(rng.integers(n_words))
            cells.append((s, "abcd"[word], "XY"[label]))
            label = 1 - label if rng.random() > keep else label
    return chain_rows(pd.DataFrame(cells, columns=["id", "word", "tag"]))


@pytest.mark.parametrize("seed", [68, 494])
def test_what_rises_by_less_than_digits_has_no_maximum(seed):
    """Every attribute goes with every label, and derivatives vanish long before infinity.

    No X follows a Y; what all labels of a word share may grow too, but says nothing.
    """
    named = "'first → X', 'first → Y', 'last → X', 'last → Y', 'X → X'"
    with pytest.raises(NoFiniteMaximum) as raised:
        train_chain(persistent_rows(seed), window=0, l2=0.0)
    assert str(raised.value) == (
        f"the likelihood has no maximum: the weights of {named} grow without end; give a penalty, "
        "such as `l2=1`"
    )


def test_a_maximum_that_is_far_away_is_reached():
    """One row in 50 000 contradicts what all others say."""
    n = 50_000
    word = np.where(np.arange(n) % 2, "a", "b")
    tag = np.where(np.arange(n) % 2, "X", "Y")
    tag[[0, 1]] = tag[[1, 0]]
    frame = pd.DataFrame({"id": np.arange(n), "word": word, "tag": tag})
    fit = train_chain(chain_rows(frame), window=0, l2=0.0)
    assert fit.converged
    odds = math.log(n / 2 - 1)
    weights, _ = named_weights(fit.field)
    found = weights["word=a", "X"] - weights["word=a", "Y"]
    found += sum(weights[mark, "X"] - weights[mark, "Y"] for mark in ("bias", "first", "last"))
    assert found == pytest.approx(odds, rel=1e-4)


def test_chains_beyond_the_programme_are_said_to_be_undecided(monkeypatch):
    monkeypatch.setattr("gml.model.sequences.separation._MOST_ENTRIES", 100)
    said = "whether the likelihood has a maximum could not be decided.*linear programme would have"
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "id": np.arange(300) // 3,
            "word": rng.choice(list("ab"), 300),
            "tag": rng.choice(list("XY"), 300),
        }
    )
    with pytest.warns(GmlWarning, match="that the likelihood has a maximum was not proved"):
        assert train_chain(chain_rows(frame), window=0, l2=0.0).converged
    with pytest.raises(NoFiniteMaximum, match=said):
        train_chain(chain_rows(frame), window=0, l2=0.0, max_iterations=3)


@pytest.mark.parametrize("l2", [0.01, 0.1])
def test_rare_features_are_where_a_longer_run_has_them(l2):
    rows = chain_rows(chain_frame(seed=5, n_sequences=1500, n_words=400))
    fit = train_chain(rows, l2=l2)
    longer = train_chain(rows, l2=l2, tolerance=1e-10)
    assert fit.converged
    assert fit.objective == pytest.approx(longer.objective, abs=1e-5)
    assert np.abs(fit.field.weights - longer.field.weights).max() < 5e-5 / l2


def test_time_that_is_up_leaves_what_was_reached(rows):
    fit = train_chain(rows, deadline=Deadline(0))
    assert not fit.converged
    assert fit.iterations == 0
    assert fit.log_likelihood == pytest.approx(-rows.n_rows * math.log(3))


def test_sequences_of_one_row_are_a_regression():
    frame = chain_frame(longest=1, n_sequences=60)
    rows = chain_rows(frame)
    fit = train_chain(rows)
    assert len(fit.field.features.transitions) == 0
    assert fit.converged
    answers = ChainAnswers(fit.field, rows)
    assert np.array_equal(answers.viterbi, answers.posterior)


def test_metrics_of_known_and_unknown_labels(fit):
    frame = chain_frame(seed=9, n_sequences=12)
    frame.loc[0, "tag"] = None
    frame.loc[3, "tag"] = "never seen"
    rows = chain_rows(frame, is_training=False)
    answers = ChainAnswers(fit.field, rows)
    found = answers.metrics()
    labels = pd.Series(answers.labels())
    counts = frame["tag"].isin(fit.field.labels)
    right = labels == frame["tag"]
    assert (found.missing, found.unknown, found.n_rows) == (1, 1, int(counts.sum()))
    assert found.accuracy == pytest.approx(right[counts].mean())
    assert found.hamming_loss == pytest.approx(1 - right[counts].mean())
    full = counts.groupby(frame["id"]).all()
    assert found.n_sequences == int(full.sum())
    assert found.n_whole == int(right.groupby(frame["id"]).all()[full].sum())
    codes = frame["tag"][counts].map({label: k for k, label in enumerate(fit.field.labels)})
    losses = -np.log(answers.probabilities[np.flatnonzero(counts), codes])
    assert found.log_loss == pytest.approx(losses.mean())
    assert answers.metrics("posterior").accuracy == pytest.approx(
        (answers.posterior[np.flatnonzero(counts)] == codes).mean()
    )
    with pytest.raises(UsageError, match="`decode` must be one of viterbi, posterior"):
        answers.codes("best")


def test_log_losses_below_the_smallest_number_are_those_of_logarithms(rows, fit):
    answers = ChainAnswers(fit.field, rows)
    for sequence in range(rows.n_sequences):
        logs = log_marginals(answers._layout, answers._weights, fit.field.transitions, sequence)
        own = rows.order[rows.starts[sequence] : rows.starts[sequence + 1]]
        np.testing.assert_allclose(np.exp(logs), answers.probabilities[own], rtol=1e-12)
    payload = payload_of(fit.field)
    payload["bias"] = {"t0": 2000.0, "t1": 0.0, "t2": -2000.0}
    sure = field_of(payload, "crf.json")
    frame = pd.DataFrame({"id": ["b", "a", "b"], "word": "new", "shape": "new", "tag": "t2"})
    frame.loc[2, "tag"] = "t0"
    few = chain_rows(frame, is_training=False)
    found = ChainAnswers(sure, few)
    assert found.probabilities[0, 2] == 0
    # With so strong a bias the best labels of the other rows are all that counts: t0.
    score = {name: dict(weights) for name, weights in payload["transitions"].items()}
    edge = {name: payload[name] for name in ("first", "last")}
    alone = 4000 + sum(edge[name].get("t0", 0) - edge[name].get("t2", 0) for name in edge)
    begun = 4000 + edge["first"].get("t0", 0) - edge["first"].get("t2", 0)
    begun += score["t0"].get("t0", 0) - score["t2"].get("t0", 0)
    assert found.losses.tolist() == pytest.approx([begun, alone, 0], rel=1e-13)
    assert found.metrics().log_loss == pytest.approx((begun + alone) / 3, rel=1e-13)
    with pytest.warns(GmlWarning, match="values that the model does not know"):
        predicted = sure.predict(frame, ignore_unknown=True)
    assert predicted.metrics.log_loss == pytest.approx((begun + alone) / 3, rel=1e-13)


def test_values_that_training_did_not_see_have_no_feature(fit):
    frame = chain_frame(seed=1, n_sequences=3)
    seen = ChainAnswers(fit.field, chain_rows(frame, is_training=False))
    assert seen.unseen == {}
    frame["word"] = [f"new {k}" for k in range(len(frame))]
    frame["shape"] = "new"
    answers = ChainAnswers(fit.field, chain_rows(frame, is_training=False))
    assert answers.unseen == {"word": len(frame), "shape": len(frame)}
    blank = frame.drop(columns="tag").assign(word=None, shape=None)
    rows = chain_rows(blank, is_training=False, options=ReadOptions(missing="available"))
    assert np.array_equal(answers.probabilities, ChainAnswers(fit.field, rows).probabilities)


def test_numbers_of_new_rows_go_into_the_intervals_of_the_field():
    n = 40
    frame = pd.DataFrame(
        {
            "id": np.arange(n) // 5,
            "age": np.arange(n) * 1.5,
            "tag": np.where(np.arange(n) < 20, "a", "b"),
        }
    )
    rows = chain_rows(frame, options=reading_options(bins=4))
    model = train_chain(rows, window=0).field
    assert len(model.interval_levels["age"]) == 4
    new = pd.DataFrame({"id": [1, 2, 3], "age": [3.25, 1000.0, "old"]})
    options = prediction_options(model.attributes, ReadOptions())
    answers = ChainAnswers(model, chain_rows(new, options=options, is_training=False))
    assert answers.unseen == {"age": 1}
    assert answers.labels()[:2] == ["a", "b"]


def test_the_strongest_features_come_first(fit):
    found = strongest(fit.field, 10)
    everything = strongest(fit.field, len(fit.field.features))
    assert found == everything[:10]
    assert len(everything) == len(fit.field.features)
    strengths = [abs(feature.strength) for feature in everything]
    assert strengths == sorted(strengths, reverse=True)
    states, pairs = named_weights(fit.field)
    for feature in everything:
        of = pairs if feature.is_transition else states
        assert of[feature.first, feature.label] == feature.weight
    first = next(feature for feature in everything if not feature.is_transition)
    weights = [states.get((first.first, label), 0.0) for label in fit.field.labels]
    assert first.strength == pytest.approx(first.weight - np.mean(weights))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("target", "levels"), ["t0"], "2 to 65535 levels, not 1"),
        (("target", "levels"), ["t0", "t0"], "the levels of the target must not repeat"),
        (("target",), None, "target must be an object"),
        (("window",), -1, "the window must be between 0 and 100"),
        (("window",), True, "the window must be between 0 and 100"),
        (("sequence",), 3, "sequence must be text"),
        (("inputs",), ["shape"], "column 'word' is no input"),
        (("states",), {}, "'states' must be a list"),
        (("states", 0, "offset"), 2, "offset 2 is not in the window"),
        (("states", 1, "offset"), -1, "has offset -1 twice"),
        (("bias", "t9"), 1.0, "'bias': 't9' is no level of the target"),
        (("bias", "t0"), "1", "'bias': the weight of 't0' is not a number"),
        (("transitions", "t9"), {}, "'transitions': 't9' is no level of the target"),
        (("last",), None, "the weights of 'last' must be an object"),
    ],
)
def test_what_is_no_field_is_refused(fit, place, value, message):
    payload = payload_of(fit.field)
    at = payload
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    with pytest.raises(DataError) as caught:
        field_of(payload, "crf.json")
    assert str(caught.value).startswith("crf.json: not a chain field: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("window", [-1, 101, 1.5])
def test_windows_that_are_none(rows, window):
    with pytest.raises(UsageError, match="`window` must be between 0 and 100"):
        train_chain(rows, window=window)
