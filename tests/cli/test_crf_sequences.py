"""gml crf --sequence as users run it, and what gml query does with its models."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import gml as library
from gml.data.options import ReadOptions
from gml.model.sequences.row_inference import ChainRowInference
from gml.verbs.shared.sequence_queries import csv_of_sequences
from tests.command_line import error_line, printed_rows

OPTIONS = ("--target", "weather", "--sequence", "diary")


@pytest.fixture
def diaries(sample_data):
    return sample_data / "icecream.csv"


@pytest.fixture
def chain(gml, diaries, tmp_path):
    done = gml("crf", diaries, *OPTIONS, "-o", "chain.json")
    assert done.returncode == 0, done.stderr
    return tmp_path / "chain.json"


def test_the_file_is_what_the_library_makes(chain, diaries):
    found = json.loads(chain.read_text())
    assert found["graph"]["field"] == "chain"
    assert found["graph"]["learning"]["options"] == {"sequence": "diary", "target": ["weather"]}
    assert found["graph"]["fit"]["sequences"] == 100
    assert set(found["graph"]["hash"]["inputs"]) == {"data"}
    net = library.crf(diaries, target="weather", sequence="diary")
    assert library.read_model(chain) == net


def test_report_and_folds(gml, diaries):
    text = gml(
        "crf", diaries, *OPTIONS, "--l2", "auto", "--folds", "3", "-f", "text"
    ).stdout.decode()
    lines = text.splitlines()
    assert lines[0].startswith("conditional random field of weather along diary, 1 input, window 1")
    assert "  rows            880 in 100 sequences" in lines
    assert "penalties by 3 folds" in lines
    assert sum(line.endswith("chosen") for line in lines) == 1
    assert any(line.startswith("  hot → hot ") and "one after the other" in line for line in lines)


def test_neighbours_within_the_window(gml, diaries):
    for window, columns in (("0", 1), ("2", 5)):
        found = json.loads(gml("crf", diaries, *OPTIONS, "--window", window).stdout)
        assert len(found["chain"]["states"]) == columns


def test_holdout(gml, diaries, tmp_path):
    lines = diaries.read_text().splitlines()
    old = [line for line in lines[1:] if int(line.split(",")[0]) <= 70]
    new = [line for line in lines[1:] if int(line.split(",")[0]) > 70]
    (tmp_path / "old.csv").write_text("\n".join([lines[0], *old]) + "\n")
    (tmp_path / "new.csv").write_text("\n".join([lines[0], *new]) + "\n")
    done = gml("crf", "old.csv", *OPTIONS, "--holdout", "new.csv", "-o", "chain.json")
    assert done.returncode == 0, done.stderr
    fit = json.loads((tmp_path / "chain.json").read_text())["graph"]["fit"]
    assert fit["heldout"]["sequences"] == 30 and fit["heldout_by"] == "holdout"
    gml("query", "chain.json", "--mpe", "--batch", "new.csv", "--metrics", "m.json", "-o", "p.csv")
    metrics = json.loads((tmp_path / "m.json").read_text())
    for name in ("rows", "sequences", "accuracy", "whole_sequences", "log_loss", "hamming_loss"):
        assert metrics[name] == fit["heldout"][name], name


def test_rows(gml, chain, diaries):
    net = library.read_model(chain)
    decoded = gml("query", chain, "--mpe", "--batch", diaries)
    rows = printed_rows(decoded)
    expected = net.decode(diaries)
    assert [row["weather_predicted"] for row in rows] == list(expected.predicted)
    assert (
        f"whole sequences right {expected.metrics.whole_sequences:.6g}" in decoded.stderr.decode()
    )
    predicted = gml("query", chain, "--predict", "weather", "--batch", diaries)
    posterior = net.predict(diaries)
    assert [row["weather_predicted"] for row in printed_rows(predicted)] == list(
        posterior.predicted
    )
    assert "always the most frequent level" in predicted.stderr.decode()
    shares = printed_rows(gml("query", chain, "--target", "weather", "--batch", diaries))
    found = [[float(row["weather=cold"]), float(row["weather=hot"])] for row in shares]
    np.testing.assert_array_equal(np.array(found), posterior.table)
    assert list(shares[0])[:3] == ["diary", "eaten", "weather"]


def test_rows_of_a_sequence_need_not_be_together(gml, chain, diaries, tmp_path):
    lines = diaries.read_text().splitlines()
    header, body = lines[0], [line.split(",") for line in lines[1:]]
    seen: dict[str, int] = {}
    days = [(seen.setdefault(row[0], 0), seen.update({row[0]: seen[row[0]] + 1})) for row in body]
    order = sorted(range(len(body)), key=lambda k: (days[k][0], k))
    mixed = "\n".join([header, *(",".join(body[k]) for k in order)]) + "\n"
    (tmp_path / "mixed.csv").write_text(mixed)
    rows = printed_rows(gml("query", chain, "--mpe", "--batch", diaries))
    other = printed_rows(gml("query", chain, "--mpe", "--batch", "mixed.csv"))
    assert [rows[k] for k in order] == other
    again = gml("crf", "mixed.csv", *OPTIONS)
    found, expected = json.loads(again.stdout)["chain"], json.loads(chain.read_text())["chain"]
    assert found == expected


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--target weather", 2, "give them with --batch"),
        ("--predict eaten --batch DATA", 2, "it can be asked about 'weather'"),
        ("--predict weather --evidence eaten=1 --batch DATA", 2, "--evidence is about one case"),
        ("--predict weather --batch new.csv", 3, "line 3: column 'eaten': '9' was not seen"),
        ("--mpe --batch gap.csv", 3, "line 2: column 'eaten' is missing, and the model needs it"),
        ("--mpe --batch none.csv", 3, "no column 'eaten', which the model uses"),
        ("--mpe --batch lost.csv", 3, "line 3: no sequence: column 'diary' is missing there"),
        ("--mpe --batch new.csv --metrics m.json", 2, "has no column 'weather'"),
    ],
)
def test_questions_that_are_refused(gml, chain, diaries, tmp_path, line, code, said):
    (tmp_path / "new.csv").write_text("diary,eaten\na,1\na,9\n")
    (tmp_path / "gap.csv").write_text("diary,eaten\na,\na,2\n")
    (tmp_path / "none.csv").write_text("diary,drunk\na,1\n")
    (tmp_path / "lost.csv").write_text("diary,eaten\na,1\n,2\n")
    words = [str(diaries) if word == "DATA" else word for word in line.split()]
    if "--metrics" in words:
        words.append("--ignore-unknown")
    done = gml("query", chain, *words)
    assert done.returncode == code, done.stderr
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("gml: error: ") and said in last


@pytest.mark.parametrize("what", [("--mpe",), ("--predict", "weather"), ("--target", "weather")])
def test_rows_of_standard_input(gml, chain, diaries, what):
    text = diaries.read_bytes()
    expected = gml("query", chain, *what, "--batch", diaries)
    assert len(printed_rows(expected)) == 880
    for stdin in (text, gzip.compress(text)):
        found = gml("query", chain, *what, "--batch", "-", stdin=stdin)
        assert (found.returncode, found.stdout) == (0, expected.stdout), found.stderr
    done = gml("query", chain, "--mpe", "--batch", "-", stdin=b"diary,eaten\na,9\n")
    assert "standard input: line 2: column 'eaten': '9' was not seen" in error_line(done, 3)


@pytest.mark.parametrize("rows", ["a,1\n", "a,1\na,2\na,3\n"])
def test_a_file_that_changes_while_it_is_read(chain, tmp_path, monkeypatch, rows):
    path = tmp_path / "rows.csv"
    path.write_text("diary,eaten\na,1\na,2\n")
    asked = ChainRowInference(library.read_model(chain), None, predict=False, decode=True)
    about = asked.about

    def changed(*args, **how):
        found = about(*args, **how)
        path.write_text(f"diary,eaten\n{rows}")
        return found

    monkeypatch.setattr(asked, "about", changed)
    text = csv_of_sequences(
        asked,
        path,
        missing="unobserved",
        ignore_unknown=False,
        reading=ReadOptions(),
        safe_csv=False,
        judge=None,
        needs_truth=False,
    )
    with pytest.raises(library.DataError, match=r"rows.csv: changed while it was read; try again"):
        b"".join(text)


def test_unknown_values_are_ignored_on_request(gml, chain, tmp_path):
    (tmp_path / "new.csv").write_text("diary,eaten\na,1\na,9\n")
    done = gml("query", chain, "--predict", "weather", "--batch", "new.csv", "--ignore-unknown")
    assert len(printed_rows(done)) == 2
    assert b"values that the model does not know, treated as missing: 'eaten' 1" in done.stderr
    (tmp_path / "gap.csv").write_text("diary,eaten\na,1\na,\nb,\n")
    refused = gml("query", chain, "--predict", "weather", "--batch", "gap.csv")
    assert "a model fitted with --missing level knows what a gap says" in error_line(refused, 3)
    done = gml("query", chain, "--predict", "weather", "--batch", "gap.csv", "--ignore-unknown")
    assert b"missing inputs, whose rows are answered without them: 'eaten' 2\n" in done.stderr


def test_rows_of_parquet(gml, chain, diaries, tmp_path):
    table = pytest.importorskip("pandas").read_csv(diaries, dtype=str)
    table.to_parquet(tmp_path / "rows.parquet")
    stored = gml("query", chain, "--mpe", "--batch", "rows.parquet")
    assert printed_rows(stored) == printed_rows(gml("query", chain, "--mpe", "--batch", diaries))


def test_a_column_that_looks_like_weights_is_pointed_out(gml, diaries, tmp_path):
    first, *others = diaries.read_text().splitlines()
    lines = [f"{first},weight", *(f"{line},{1 + k % 2}" for k, line in enumerate(others))]
    (tmp_path / "w.csv").write_text("\n".join(lines) + "\n")
    done = gml("crf", "w.csv", *OPTIONS)
    assert b"taken as an input: 'weight'; --exclude weight leaves it out\n" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--target", "weather,eaten", "--sequence", "diary"), 2, "one target, not"),
        (("--target", "weather", "--window", "2"), 2, "--window is for --sequence"),
        (("--target", "weather", "--sequence", "diaries"), 2, "did you mean 'diary'?"),
        (("--target", "diary", "--sequence", "diary"), 2, "both the sequence and the target"),
        ((*OPTIONS, "--window", "101"), 2, "--window must be between 0 and 100, not 101"),
        ((*OPTIONS, "--folds", "101"), 4, "100 sequences cannot be split into 101 parts"),
        ((*OPTIONS, "--missing", "drop"), 2, "would make neighbours of rows that are not"),
        ((*OPTIONS, "--weights", "eaten"), 2, "rows of a sequence all count once"),
    ],
)
def test_training_that_is_refused(gml, diaries, options, code, said):
    assert said in error_line(gml("crf", diaries, *options), code)


def test_no_maximum_without_a_penalty(gml, tmp_path):
    (tmp_path / "t.csv").write_text("s,x,y\n1,p,a\n1,q,b\n2,p,a\n2,r,b\n3,q,b\n")
    done = gml("crf", "t.csv", "-t", "y", "--sequence", "s", "--l2", "0")
    assert "grow without end" in error_line(done, 4)
    assert gml("crf", "t.csv", "-t", "y", "--sequence", "s").returncode == 0


def test_a_graph_is_refused(gml, diaries, chain):
    assert "no graph to give" in error_line(gml("crf", diaries, chain, *OPTIONS), 2)


def test_time_that_is_up(gml, diaries):
    done = gml("crf", diaries, *OPTIONS, "--max-seconds", "0")
    assert done.returncode == 5
    assert json.loads(done.stdout)["graph"]["learning"]["complete"] is False


@pytest.mark.parametrize(
    "line",
    [
        "sample chain.json -n 3",
        "check DATA chain.json",
        "compare chain.json chain.json",
        "convert chain.json net.bif",
        "mrf DATA chain.json",
        "fit-params DATA chain.json",
    ],
)
def test_commands_that_need_a_joint_distribution_refuse_it(gml, chain, diaries, line):
    done = gml(*[str(diaries) if word == "DATA" else word for word in line.split()])
    assert "a conditional random field says p(y | x)" in error_line(done, 3)


def test_draw(gml, chain, tmp_path):
    assert gml("draw", chain, "-o", "chain.svg").returncode == 0
    assert "a conditional random field, 2 nodes, 1 edge" in (tmp_path / "chain.svg").read_text()
    for option in ("--bars", "--evidence=eaten=1"):
        done = gml("draw", chain, option, "-o", "chain.svg")
        assert "a field of sequences is asked about their rows" in error_line(done, 2)


def test_threads_change_nothing(gml, diaries):
    one = gml("crf", diaries, *OPTIONS, "--threads", "1").stdout
    assert gml("crf", diaries, *OPTIONS, "--threads", "2").stdout == one
