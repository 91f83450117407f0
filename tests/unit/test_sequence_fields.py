"""Fields of sequences by gml.crf: folds, what they say of tables, files, notebooks."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import gml
from gml.data.options import ReadOptions
from gml.formats.models import MODEL_WRITERS, parse_model
from gml.formats.reports.chain import dump_chain_text, strongest_features
from gml.model.conditional.folds import L2_GRID
from gml.model.sequences.chain_metrics import ChainMetrics
from gml.model.sequences.decoding import ChainAnswers
from gml.model.sequences.estimation import estimate_chain, minus_log_likelihood
from gml.model.sequences.subsets import fold_sequences, some_sequences
from gml.model.sequences.training import train_chain
from gml.progress import Deadline
from tests.chain_tables import chain_frame, chain_rows


@pytest.fixture(scope="module")
def frame():
    return chain_frame()


@pytest.fixture(scope="module")
def net(frame):
    return gml.crf(frame, target="tag", sequence="id", l2=0.5, folds=4)


def test_it_is_what_training_finds(frame, net):
    fit = train_chain(chain_rows(frame), l2=0.5)
    assert net == fit.field
    assert net.summary.log_likelihood == fit.log_likelihood
    assert net.summary.objective == -fit.objective
    assert net.learning.options == {"folds": 4, "l2": 0.5, "sequence": "id", "target": "tag"}


def test_some_sequences_are_a_table_of_their_own(frame):
    rows = chain_rows(frame)
    chosen = np.array([3, 11, 20])
    part = some_sequences(rows, chosen)
    names = [rows.names[k] for k in chosen]
    expected = chain_rows(frame[frame["id"].isin(names)].reset_index(drop=True))
    field = train_chain(rows).field
    found, other = ChainAnswers(field, part), ChainAnswers(field, expected)
    # The same sequences, whose rows are in another order in the table.
    assert part.names == expected.names
    np.testing.assert_array_equal(
        found.probabilities[part.order], other.probabilities[expected.order]
    )
    assert found.metrics() == other.metrics()


def test_folds_are_of_whole_sequences_whatever_the_order_of_rows(frame):
    rows = chain_rows(frame)
    folds = [fold.names for _, fold in fold_sequences(rows, 6, seed=3)]
    assert sorted(name for fold in folds for name in fold) == sorted(rows.names)
    assert {len(fold) for fold in folds} == {6, 7}
    for rest, fold in fold_sequences(rows, 6, seed=3):
        assert sorted((*rest.names, *fold.names)) == sorted(rows.names)
    # Whole sequences in another order.
    turned = frame.iloc[np.argsort(frame["id"].to_numpy(), kind="stable")[::-1]]
    turned = turned.groupby("id", sort=False, group_keys=False)[list(frame)].apply(
        lambda part: part.iloc[::-1]
    )
    other = chain_rows(turned.reset_index(drop=True))
    assert [fold.names for _, fold in fold_sequences(other, 6, seed=3)] == folds


def test_penalties_are_judged_by_sequences_left_out(frame):
    rows = chain_rows(frame)
    net, _ = estimate_chain(rows, l2="auto", folds=3, seed=1)
    path = dict(net.summary.path)
    assert list(path) == list(L2_GRID)
    assert net.summary.l2 == min(path, key=path.get)
    l2 = L2_GRID[5]
    loss, parts = 0.0, []
    for rest, fold in fold_sequences(rows, 3, seed=1):
        field = train_chain(rest, l2=l2).field
        answers = ChainAnswers(field, fold)
        parts.append(answers.metrics())
        codes = fold.labels
        loss -= sum(answers.log_probability(codes, s) for s in range(fold.n_sequences))
    assert path[l2] == pytest.approx(loss / rows.n_rows, rel=1e-10)
    judged, _ = estimate_chain(rows, l2=l2, folds=3, seed=1)
    together = judged.summary.heldout
    assert together == ChainMetrics.added(parts)
    assert together.n_rows == rows.n_rows and together.n_sequences == rows.n_sequences
    assert together.n_right == sum(part.n_right for part in parts)


def test_minus_log_likelihood_is_that_of_training(frame):
    rows = chain_rows(frame)
    fit = train_chain(rows)
    assert minus_log_likelihood(fit.field, rows) == pytest.approx(-fit.log_likelihood, rel=1e-13)


def test_time_that_is_up(frame):
    net, complete = estimate_chain(chain_rows(frame), l2="auto", deadline=Deadline(0))
    assert not complete
    assert net.summary.l2 == 1.0 and net.summary.heldout is None


# ---------------------------------------------------------------------- what it says of tables


def test_answers_about_frames(frame, net):
    shuffled = frame.copy()
    shuffled.index = [f"r{k}" for k in range(len(frame))]
    found = net.predict(shuffled)
    answers = ChainAnswers(net, chain_rows(frame))
    np.testing.assert_array_equal(found.table, answers.probabilities)
    assert list(found.predicted) == answers.labels("posterior")
    assert list(found.to_frame().index) == list(shuffled.index)
    right = np.mean(np.array(answers.labels("posterior")) == frame["tag"])
    assert found.metrics.accuracy == pytest.approx(right)
    decoded = net.decode(shuffled)
    assert list(decoded.predicted) == answers.labels("viterbi")
    assert decoded.metrics == answers.metrics("viterbi")
    codes = answers.codes("viterbi")
    np.testing.assert_array_equal(
        decoded.probability, answers.probabilities[np.arange(len(codes)), codes]
    )
    by_query = gml.query(net, "tag", batch=shuffled)
    np.testing.assert_array_equal(by_query["tag"], answers.probabilities)


def test_a_dataset_that_was_read_before(frame, net):
    data = gml.Dataset.from_frame(frame)
    again = gml.crf(data, target="tag", sequence="id", l2=0.5)
    assert again == net
    np.testing.assert_array_equal(net.predict(data).table, net.predict(frame).table)
    with pytest.raises(gml.UsageError, match="`sequence` needs rows in their order"):
        gml.crf(gml.MemoryCounter(data), target="tag", sequence="id")


def test_a_dataset_is_asked_for_the_columns_it_has(frame, net):
    data = gml.Dataset.from_frame(frame)
    for name in ("target", "sequence"):
        asked = {"target": "tag", "sequence": "id", name: "tga"}
        with pytest.raises(gml.UsageError, match=f"{name} column 'tga' not found") as caught:
            gml.crf(data, **asked)
        assert all(repr(column) in str(caught.value) for column in frame.columns)
    with pytest.raises(gml.DataError, match="no column 'shape', which the model uses"):
        net.predict(data.select(["id", "word", "tag"]))
    with pytest.raises(gml.DataError, match="no column 'shape', which the model uses"):
        gml.crf(data, target="tag", sequence="id", holdout=data.select(["id", "word", "tag"]))


def test_weights_of_a_dataset_are_refused(frame, net):
    data = gml.read(frame.assign(times=2), weights="times")
    said = "the rows have weights, and those of a sequence all count once; read them without"
    with pytest.raises(gml.UsageError, match=said):
        gml.crf(data, target="tag", sequence="id")
    with pytest.raises(gml.UsageError, match=said):
        net.predict(data)
    plain = gml.Dataset.from_frame(frame)
    with pytest.raises(gml.UsageError, match=said):
        gml.crf(plain, target="tag", sequence="id", holdout=data)


def test_a_bad_holdout_is_found_before_training(frame, monkeypatch):
    def train(*_, **__):
        raise AssertionError("trained before the holdout was read")

    monkeypatch.setattr("gml.model.sequences.estimation.train_chain", train)
    with pytest.raises(gml.DataError, match="no column 'word', which the model uses"):
        gml.crf(frame, target="tag", sequence="id", holdout=frame.drop(columns="word"))
    with pytest.raises(AssertionError, match="trained before"):
        gml.crf(frame, target="tag", sequence="id", holdout=frame)


def test_folds_are_judged_with_the_threads_that_were_asked_for(frame, monkeypatch):
    def no_default():
        raise AssertionError("threads were asked for")

    for module in ("estimation", "training", "decoding"):
        monkeypatch.setattr(f"gml.model.sequences.{module}.available_threads", no_default)
    net, _ = estimate_chain(chain_rows(frame), folds=2, threads=1)
    assert net.summary.folds == 2


def test_without_the_truth_there_are_no_figures(frame, net):
    assert net.predict(frame.drop(columns="tag")).metrics is None
    assert net.decode(frame.drop(columns="tag")).metrics is None


def test_unknown_values_and_gaps(frame, net):
    some = frame.head(6).copy()
    some.loc[2, "word"] = "w99"
    with pytest.raises(gml.DataError, match="data row 3: column 'word': 'w99' was not seen in"):
        net.predict(some)
    gone = frame.head(6).copy()
    gone.loc[4, "shape"] = None
    with pytest.raises(gml.DataError, match="data row 5: column 'shape' is missing, and the model"):
        net.decode(gone)
    # A value without features and a cell that is missing say the same: nothing.
    gap = some.copy()
    gap.loc[2, "word"] = None
    with pytest.warns(gml.GmlWarning, match="values that the model does not know.*'word' 1"):
        unknown = net.predict(some, ignore_unknown=True)
    with pytest.warns(gml.GmlWarning, match="missing inputs, whose rows are answered.*'word' 1"):
        missing = net.predict(gap, ignore_unknown=True)
    np.testing.assert_array_equal(unknown.table, missing.table)


def test_missing_cells_as_a_level(frame):
    gappy = frame.copy()
    gappy.loc[::7, "word"] = None
    net = gml.crf(gappy, target="tag", sequence="id", missing="level")
    assert "NA" in net.input_levels["word"]
    found = net.predict(gappy, missing="level")
    assert len(found) == len(gappy)
    with pytest.raises(gml.DataError, match="column 'word' is missing"):
        net.predict(gappy)


def test_missing_cells_that_said_nothing_in_training_say_nothing(frame, tmp_path):
    gappy = frame.copy()
    gappy.loc[::7, "word"] = None
    net = gml.crf(gappy, target="tag", sequence="id", missing="available")
    found = net.predict(gappy)
    np.testing.assert_array_equal(found.table, net.predict(gappy, ignore_unknown=True).table)
    net.to_file(tmp_path / "net.json")
    again = gml.query(tmp_path / "net.json", batch=gappy, mpe=True)
    assert again.predicted.tolist() == net.decode(gappy).predicted.tolist()
    gappy.loc[1, "word"] = "w99"
    with pytest.raises(gml.DataError, match="data row 2: column 'word': 'w99' was not seen in"):
        net.predict(gappy)
    with pytest.raises(gml.DataError, match="data row 1: column 'word' is missing"):
        net.predict(gappy, missing="level")


def test_numbers_are_put_into_the_intervals_of_training(frame):
    rng = np.random.default_rng(0)
    numbers = frame.assign(x=rng.normal(size=len(frame)))
    net = gml.crf(numbers, target="tag", sequence="id", bins=3)
    assert len(net.interval_levels["x"]) == 3
    assert len(net.predict(numbers.tail(9).reset_index(drop=True))) == 9


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda net, frame: net.predict(frame, "word"), "'word' is not what the chain field is"),
        (lambda net, frame: gml.query(net, "tag"), "give them with `batch`"),
        (lambda net, frame: gml.query(net, "tag", {"word": "w1"}, batch=frame), "`evidence` is about"),
        (lambda net, frame: gml.query(net, "tag", do={"word": "w1"}, batch=frame), "`do` is about"),
        (lambda net, frame: net.predict(frame, missing="drop"), "`missing` must be 'unobserved' or"),
        (lambda net, frame: gml.crf(frame, target=["tag", "word"], sequence="id"), "one target, not"),
        (lambda net, frame: gml.crf(frame, net, target="tag", sequence="id"), "no graph to give"),
        (lambda net, frame: gml.crf(frame, target="tag", window=2), "`window` is for `sequence`"),
        (lambda net, frame: gml.crf(frame, target="tag", sequence=3), "the name of a column, not 3"),
        (lambda net, frame: gml.crf(frame, target="tag", sequence="tag"), "both the sequence and"),
    ],
)  # fmt: skip
def test_what_is_refused(net, frame, ask, said):
    with pytest.raises(gml.UsageError, match=said):
        ask(net, frame)


def test_an_absent_input_is_named(net, frame):
    with pytest.raises(gml.DataError, match="no column 'shape', which the model uses"):
        net.predict(frame.drop(columns="shape"))


# ---------------------------------------------------------------------- files and reports


def test_json_holds_everything(net, tmp_path):
    net.to_file(tmp_path / "chain.json")
    again = gml.read_model(tmp_path / "chain.json")
    assert again == net
    assert again.summary == net.summary and again.learning == net.learning
    assert gml.ChainField.from_file(tmp_path / "chain.json") == net
    again.to_file(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "chain.json").read_bytes()
    with pytest.raises(gml.GraphError, match="random field of sequences, which gml.ChainField"):
        gml.ConditionalField.from_file(tmp_path / "chain.json")
    assert gml.read_graph(tmp_path / "chain.json") == net.graph


def test_the_chosen_penalty_comes_back(frame, tmp_path):
    net = gml.crf(frame, target="tag", sequence="id", l2="auto", folds=2)
    net.to_file(tmp_path / "chain.json")
    assert gml.read_model(tmp_path / "chain.json").summary == net.summary


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("chain"), '"chain" is missing'),
        (lambda c: c["chain"].update(window=-1), "the window must be between 0 and 100, not -1"),
        (lambda c: c["chain"]["bias"].update(t0=1e200), "the weight of 't0' is too large"),
        (lambda c: c["nodes"].pop(), 'the "nodes" are not the target and the inputs'),
        (lambda c: c["graph"]["fit"].pop("rows"), 'the "fit" has no "rows"'),
        (lambda c: c["graph"]["fit"]["training"].update(right="all"), '"right" of "training" of the'),
        (lambda c: c["graph"].update(field="web"), 'the "field" must be table or chain, not'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_named(net, change, said):
    content = json.loads(MODEL_WRITERS["json"](net))
    content["edges"] = []
    damaged = copy.deepcopy(content)
    damaged["graph"].pop("hash")
    change(damaged)
    with pytest.raises(gml.GraphError) as error:
        parse_model(json.dumps(damaged), "chain.json")
    assert str(error.value).startswith("chain.json: ")
    assert said in str(error.value)


@pytest.mark.parametrize("format", ["bif", "xmlbif", "net", "uai"])
def test_formats_of_joint_distributions_refuse_it(net, format):
    with pytest.raises(gml.GraphError, match="holds a joint distribution, and a conditional"):
        MODEL_WRITERS[format](net)


def test_report(net):
    lines = dump_chain_text(net).splitlines()
    assert lines[0] == (
        f"conditional random field of tag along id, 2 inputs, window 1, {len(net.weights)} features"
    )
    cells = [line.split() for line in lines]
    assert ["predictions", "fitted", "rows", "4", "folds"] in cells
    share = f"{net.summary.heldout.whole_sequences:.6g}"
    assert [
        "whole",
        "sequences",
        "right",
        f"{net.summary.training.whole_sequences:.6g}",
        share,
    ] in cells
    first = strongest_features(net, 1)[0]
    assert any(line.startswith(f"  {first.first} → {first.label}") for line in lines)


def test_of_two_labels_the_last_is_listed():
    net = gml.crf("sample_data/icecream.csv", target="weather", sequence="diary")
    found = strongest_features(net, 40)
    assert {feature.label for feature in found} == {"hot"}
    assert len(found) == 14


def test_the_graph_and_notebooks(net):
    assert {edge.source for edge in net.graph.edges} == {"tag"}
    strengths = {e.target: e.attributes["coupling"] for e in net.graph.edges}
    # By hand: all weights of words, each less the mean over the labels.
    squares, cells = 0.0, 0
    for block, start in zip(net.attributes.blocks, net.attributes.starts, strict=False):
        if block.column == "word":
            for k in range(len(block.levels)):
                own = np.zeros(3)
                at = net.features.state_attributes == start + k
                own[net.features.state_labels[at]] = net.state_weights[at]
                squares += float(((own - own.mean()) ** 2).sum())
                cells += 3
    assert strengths["word"] == pytest.approx(np.sqrt(squares / cells), rel=1e-12)
    shown = net._repr_html_()
    assert "Conditional random field of tag along id" in shown and "4 folds" in shown
    assert repr(net).startswith("ChainField('tag' along 'id', 2 inputs, ")


def test_reading_options_of_files(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    net = gml.crf(tmp_path / "t.csv", target="tag", sequence="id", delimiter=";", l2=0.5)
    assert net == gml.crf(frame, target="tag", sequence="id", l2=0.5)
    found = net.predict(tmp_path / "t.csv", reading=ReadOptions(delimiter=";"))
    assert len(found) == len(frame)
