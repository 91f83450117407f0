"""Numeric inputs of chain fields: what they add, where the maximum is, and what is refused."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml import kernel
from gml.formats.chain_payload import field_of, payload_of
from gml.kernel import reference
from gml.model.sequences.attributes import Attributes
from gml.model.sequences.chain_field import NoFiniteMaximum
from gml.model.sequences.decoding import ChainAnswers
from gml.model.sequences.estimation import ChainTrials
from gml.model.sequences.names import strongest
from gml.model.sequences.training import train_chain
from gml.progress import Deadline
from tests.chain_tables import heat_frame, heat_rows


@pytest.fixture(scope="module")
def frame():
    return heat_frame(seed=3, n_sequences=25, longest=4)


@pytest.fixture(scope="module")
def rows(frame):
    return heat_rows(frame)


@pytest.fixture(scope="module")
def field(rows):
    return train_chain(rows, l2=0.3).field


def standardised(frame):
    heat = frame["heat"].to_numpy()
    return (heat - np.nanmean(heat)) / np.nanstd(heat)


def features_of(frame, window):
    """The features of each row of a frame by name, with their values; none where one is missing."""
    z = standardised(frame)
    found = []
    for row in range(len(frame)):
        same = np.flatnonzero((frame["id"] == frame["id"].iloc[row]).to_numpy()).tolist()
        t = same.index(row)
        own = {"bias": 1.0}
        own |= {"first": 1.0} if t == 0 else {}
        own |= {"last": 1.0} if t == len(same) - 1 else {}
        for offset in range(-window, window + 1):
            if not 0 <= t + offset < len(same):
                continue
            beside = same[t + offset]
            at = f"[{offset:+d}]" if offset else ""
            for name in ("word", "shape"):
                own[f"{name}{at}={frame[name].iloc[beside]}"] = 1.0
            if not math.isnan(z[beside]):
                own[f"heat{at}"] = z[beside]
        found.append(own)
    return found


def named_weights(field):
    payload = payload_of(field)
    found = {(mark, y): w for mark in ("bias", "first", "last") for y, w in payload[mark].items()}
    for block in payload["states"]:
        at = f"{block['column']}[{block['offset']:+d}]" if block["offset"] else block["column"]
        for level, weights in block["weights"].items():
            name = at if block["column"] == "heat" else f"{at}={level}"
            found |= {(name, label): weight for label, weight in weights.items()}
    pairs = {(i, j): w for i, after in payload["transitions"].items() for j, w in after.items()}
    return found, pairs


def by_enumeration(frame, field, window=1):
    """ln p of the labels of each sequence, and how often features are expected, by definition."""
    states, pairs = named_weights(field)
    features = features_of(frame, window)
    log_p, expected = {}, {}
    for identifier, of in frame.groupby("id").indices.items():
        scores = {}
        for labels in itertools.product(field.labels, repeat=len(of)):
            score = sum(pairs.get(pair, 0.0) for pair in itertools.pairwise(labels))
            for row, y in zip(of, labels, strict=True):
                score += sum(x * states.get((a, y), 0.0) for a, x in features[row].items())
            scores[labels] = score
        total = math.log(math.fsum(map(math.exp, scores.values())))
        own = tuple(frame["tag"].iloc[of])
        log_p[identifier] = scores[own] - total
        for labels, score in scores.items():
            share = math.exp(score - total) - (labels == own)
            for row, y in zip(of, labels, strict=True):
                for a, x in features[row].items():
                    expected[a, y] = expected.get((a, y), 0.0) + share * x
    return log_p, expected


def test_the_scale_is_that_of_the_numbers_that_are_there(frame, field):
    scale = field.scales["heat"]
    assert scale.mean == pytest.approx(frame["heat"].mean(), rel=1e-14)
    assert scale.sd == pytest.approx(frame["heat"].std(ddof=0), rel=1e-14)
    assert frame["heat"].isna().sum() == 5
    assert [v.levels is None for v in field.variables] == [False, True, False, False]


def test_probabilities_and_the_maximum_are_those_of_enumeration(frame, rows, field):
    log_p, rise = by_enumeration(frame, field)
    answers = ChainAnswers(field, rows)
    for s, identifier in enumerate(rows.names):
        assert answers.log_probability(rows.labels, s) == pytest.approx(log_p[identifier], abs=1e-9)
    states, _ = named_weights(field)
    numbers = [key for key in states if key[0].startswith("heat")]
    assert len(numbers) == 9
    for key, weight in states.items():
        assert rise[key] + 0.6 * weight == pytest.approx(0, abs=2e-4), key


def test_rows_by_themselves_are_a_field_of_a_table():
    frame = heat_frame(seed=5, n_sequences=200, longest=1).dropna()
    rows = heat_rows(frame, inputs=["heat"])
    chain = train_chain(rows, window=0, l2=0.5, tolerance=1e-10).field
    states, _ = named_weights(chain)
    table = gml.crf(frame[["heat", "tag"]], target="tag", numeric="heat", l2=0.5)
    slopes = [states["heat", label] for label in chain.labels]
    # bias, first and last are each on in every row: three parts of one bias are penalised less.
    x = np.column_stack([np.full(len(frame), math.sqrt(3)), standardised(frame)])
    y = np.eye(3)[[chain.labels.index(tag) for tag in frame["tag"]]]
    w = np.array([[3 * states["bias", label] / math.sqrt(3) for label in chain.labels], slopes]).T
    p = np.exp(x @ w.T)
    p /= p.sum(axis=1, keepdims=True)
    assert (y - p).T @ x - w == pytest.approx(np.zeros((3, 2)), abs=1e-6)
    found = table.tables["tag", "heat"][:, 0]
    assert found == pytest.approx(slopes, abs=0.05)
    assert found != pytest.approx(slopes, abs=1e-9)


def test_the_reference_trains_the_same_field(rows, field, monkeypatch):
    monkeypatch.setattr(kernel, "active", lambda: reference)
    plain = train_chain(rows, l2=0.3).field
    assert plain.weights == pytest.approx(field.weights, abs=1e-6)


def test_the_order_of_sequences_and_columns_and_threads_change_no_bit(frame, field):
    order = np.random.default_rng(0).permutation(frame["id"].unique())
    turned = pd.concat([frame[frame["id"] == name] for name in order])[list(frame.columns[::-1])]
    found = train_chain(heat_rows(turned), l2=0.3, threads=3).field
    assert found == field


def test_folds_are_standardised_as_all_rows_are(rows):
    how = {"window": 0, "l1": 0.0, "seed": 1, "threads": 1, "deadline": Deadline()}
    trials = ChainTrials(rows, **how)
    whole = Attributes.seen_in(rows, 0).scales
    for rest, _ in trials.folds(3):
        assert trials.train(rest, 1.0).field.scales == whole
        assert train_chain(rest).field.scales != whole


@pytest.mark.parametrize("l1", [0.0, 2.0])
def test_a_field_is_the_same_after_writing_and_reading(rows, l1, tmp_path):
    field = train_chain(rows, l1=l1).field
    again = field_of(json.loads(json.dumps(payload_of(field))), "x")
    assert again == field and again.scales == field.scales
    field.to_file(tmp_path / "a.json")
    read = gml.read_model(tmp_path / "a.json")
    read.to_file(tmp_path / "b.json")
    assert read == field and read.graph == field.graph
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    assert gml.read_graph(tmp_path / "a.json").numeric == ("heat",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scales": {"heat": {"mean": 1.0, "sd": 0.0}}}, "must have a finite mean, and an sd abov"),
        ({"scales": {"heat": {"mean": "1", "sd": 2.0}}}, "\"mean\" of the scale of 'heat' must be"),
        ({"scales": {"heat": {"mean": 1.0}}}, "the scale of 'heat' has no \"sd\""),
        ({"scales": {"cold": {"mean": 1.0, "sd": 2.0}}}, "column 'cold' of 'scales' is no input"),
        ({"scales": {"word": {"mean": 1.0, "sd": 2.0}}}, "column 'word' is numeric: its weights"),
        ({"scales": []}, "scales must be an object"),
        ({"scales": {"heat": {"mean": 10**400, "sd": 2.0}}}, "a number that is too large"),
    ],
)
def test_scales_that_are_none_are_refused(field, change, said):
    with pytest.raises(gml.DataError, match=said):
        field_of(payload_of(field) | change, "x")


def test_features_are_named_by_their_unit(field):
    names = {feature.first for feature in strongest(field, 200)}
    assert {"heat per sd", "heat[-1] per sd", "heat[+1] per sd"} <= names


# ---------------------------------------------------------------------- maxima at infinity


def chain_of(heat, tags, **how):
    frame = pd.DataFrame({"id": range(len(heat)), "heat": heat, "tag": tags})
    return train_chain(heat_rows(frame), window=0, l2=0.0, **how)


def test_numbers_that_tell_labels_apart_have_no_maximum():
    with pytest.raises(NoFiniteMaximum, match="'heat per sd → [AB]'"):
        chain_of([1.0, 2.0, 3.0, 4.0, 5.0], list("AABBB"))


def test_numbers_that_overlap_have_one():
    found = chain_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], list("AABABB"))
    assert found.converged
    assert np.abs(found.field.weights).max() < 20


def test_a_label_that_no_number_goes_with_is_no_way_to_infinity_by_itself():
    """All labels have words, but A has a number only before B; slopes of one label have two ends."""
    heat = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, np.nan, np.nan]
    assert chain_of(heat, list("ABBAABCC")).converged


# ---------------------------------------------------------------------- from gml.crf to answers


def test_crf_of_a_frame(frame):
    frame = frame.fillna({"heat": 20.0})
    how = {"target": "tag", "sequence": "id", "numeric": ["heat"]}
    field = gml.crf(frame, holdout=frame.head(40), l2=0.5, **how)
    assert field.summary.heldout.n_rows == 40
    assert field.predict(frame).metrics.accuracy == pytest.approx(
        ChainAnswers(field, heat_rows(frame)).metrics("posterior").accuracy
    )
    far = frame.head(3).assign(heat=[1e300, -1e300, 0.0])
    assert np.isfinite(field.predict(far).probability).all()


def test_missing_numbers(frame):
    how = {"target": "tag", "sequence": "id", "numeric": ["heat"]}
    n = int(frame["heat"].isna().sum())
    said = f"missing values: 'heat' {n}; choose `missing='available'` \\(such cells say nothing\\)"
    with pytest.raises(gml.DataError, match=said):
        gml.crf(frame, **how)
    with pytest.raises(gml.DataError, match="'heat' has numbers, with missing values among them"):
        gml.crf(frame, missing="level", **how)
    field = gml.crf(frame, missing="available", **how)
    assert len(field.predict(frame)) == len(frame)
    whole = gml.crf(frame.dropna(), **how)
    with pytest.raises(gml.DataError, match="column 'heat' is missing.*takes the mean of the rows"):
        whole.predict(frame)
    for policy in ("unobserved", "level"):
        with pytest.warns(gml.GmlWarning, match=f"rows are answered without them: 'heat' {n}"):
            found = whole.predict(frame, ignore_unknown=True, missing=policy)
        assert len(found) == len(frame)


def test_targets_of_numbers_are_refused(frame):
    with pytest.raises(gml.DataError, match="categorical columns, and column 'heat' is numeric"):
        gml.crf(frame.dropna(), target="heat", sequence="id", numeric=["heat"])


def test_rows_that_were_read_as_levels_are_refused(frame, field):
    data = gml.Dataset.from_frame(frame.dropna().astype({"heat": str}))
    with pytest.raises(gml.DataError, match="column 'heat' has levels, and the model was fitted"):
        field.predict(data)
