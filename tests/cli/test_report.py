"""gml report: the page as a file or on standard output, from inputs that are hashed."""

from __future__ import annotations

import hashlib

import pytest

from tests.command_line import error_line
from tests.report_pages import ParsedPage


@pytest.fixture
def folder(gml, tmp_path, sample_data):
    """Data, a model of them, the log of PC, and an averaged graph."""
    (tmp_path / "d.csv").write_bytes((sample_data / "asia.csv").read_bytes())
    gml("fit-params", "d.csv", sample_data / "asia.dot", "-o", "m.json")
    gml("pc", "d.csv", "-o", "g.json", "--test-log", "log.jsonl", "-q")
    gml("average", "d.csv", "--by", "hc", "--bootstrap", "3", "-o", "avg.json", "-q")
    gml("check", "d.csv", "m.json", "-o", "/dev/null", "--write-baseline", "base.json")
    return tmp_path


ALL = ("--test-log", "log.jsonl", "--strengths", "avg.json", "--baseline", "base.json")


def test_a_page_of_all_inputs(gml, folder):
    done = gml("report", "d.csv", "m.json", *ALL, "-o", "r.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    page = ParsedPage((folder / "r.html").read_text(encoding="utf-8"))
    assert page.text("h1") == "d.csv and m.json"
    text = page.text("provenance")
    for name in ("d.csv", "m.json", "log.jsonl", "avg.json", "base.json"):
        assert f"{name} sha256:{hashlib.sha256((folder / name).read_bytes()).hexdigest()}" in text
    assert "fitted on these very rows" in text
    assert not any(attributes.get("class") == "absent" for _, attributes in page.elements)
    assert page.text("check").startswith("Check PASS")


def test_without_a_file_the_page_goes_to_standard_output(gml, folder):
    written = gml("report", "d.csv", "m.json", "-o", "r.html")
    shown = gml("report", "d.csv", "m.json")
    assert written.returncode == shown.returncode == 0
    assert shown.stdout == (folder / "r.html").read_bytes()


def test_the_same_bytes_in_any_process(gml_process, folder):
    pages = [
        gml_process("report", "d.csv", "m.json", *ALL, "--threads", n, env={"PYTHONHASHSEED": seed})
        for n, seed in (("1", "0"), ("3", "7"))
    ]
    assert pages[0].returncode == 0
    assert pages[0].stdout == pages[1].stdout


def test_data_from_standard_input(gml, folder):
    done = gml("report", "-", "m.json", stdin=(folder / "d.csv").read_bytes())
    assert done.returncode == 0
    page = ParsedPage(done.stdout.decode())
    assert page.text("h1") == "standard input and m.json"
    assert hashlib.sha256((folder / "d.csv").read_bytes()).hexdigest() in page.text("provenance")


def test_a_title(gml, folder):
    page = ParsedPage(gml("report", "d.csv", "m.json", "--title", "<May> & 'June'").stdout.decode())
    assert page.text("h1") == page.texts["title"][0] == "<May> & 'June'"
    assert page.facts["title"] == "<May> & 'June'"


def test_unchanged_and_depended_on(gml, folder):
    call = ("report", "d.csv", "m.json", *ALL, "-o", "r.html", "--if-changed", "--depfile", "r.d")
    assert gml(*call).returncode == 0
    before = (folder / "r.html").stat().st_mtime_ns
    assert gml(*call).returncode == 0
    assert (folder / "r.html").stat().st_mtime_ns == before
    target, _, inputs = (folder / "r.d").read_text().splitlines()[0].partition(":")
    assert target == "r.html"
    assert sorted(inputs.split()) == ["avg.json", "base.json", "d.csv", "log.jsonl", "m.json"]


def test_a_check_that_fails_is_no_failure_of_the_report(gml, folder):
    header, *rows = (folder / "d.csv").read_text().splitlines()
    names = header.split(",")
    k, j = names.index("lung"), names.index("bronc")
    names[k], names[j] = names[j], names[k]
    (folder / "bad.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    done = gml("report", "bad.csv", "m.json", "-o", "r.html")
    assert done.returncode == 0
    page = ParsedPage((folder / "r.html").read_text(encoding="utf-8"))
    assert page.text("check").startswith("Check FAIL")


def test_counts_in_place_of_rows(gml, folder):
    made = gml("count", "d.csv", "--pairs", "--implied", "m.json", "-o", "c.parquet")
    assert made.returncode == 0, made.stderr
    done = gml("report", "c.parquet", "m.json", "-o", "r.html")
    assert done.returncode == 0, done.stderr
    page = ParsedPage((folder / "r.html").read_text(encoding="utf-8"))
    rows = ParsedPage(gml("report", "d.csv", "m.json").stdout.decode())
    assert page.facts["graph"] == rows.facts["graph"]
    assert "No held-out loss: " in page.text("scores")


def test_one_column_has_no_pairs(gml, folder):
    page = ParsedPage(gml("report", "d.csv", "m.json", "-c", "smoke").stdout.decode())
    assert "fewer than two columns" in page.text("information")
    assert "Not in the data: lung" in page.text("data")


@pytest.mark.parametrize(
    "args, code, said",
    [
        (("d.csv", "m.json", "-o", "r.svg"), 2, "a report is HTML, not SVG; name it .html"),
        (("m.json", "d.csv"), 2, "data come first"),
        (("d.csv", "m.json", "--folds", "1"), 2, "--folds"),
        (("d.csv", "m.json", "--alpha", "2"), 2, "between 0 and 1"),
        (
            ("d.csv", "m.json", "-o", "r.pdf"),
            2,
            "'r.pdf': a report is HTML, not PDF; name it .html",
        ),
        (("d.csv", "m.json", "--test-log", "d.csv"), 3, "not a log of gml pc --test-log"),
        (("d.csv", "m.json", "--strengths", "g.json"), 3, "gml average writes such graphs"),
        (("d.csv", "m.json", "--test-log", "none.jsonl"), 3, "none.jsonl"),
        (("d.csv", "m.json", "--max-levels", "1"), 2, "--max-levels 1 contradicts m.json"),
    ],
)
def test_what_is_refused(gml, folder, args, code, said):
    assert said in error_line(gml("report", *args), code)


def test_a_log_and_strengths_of_other_variables(gml, folder):
    rows = "p,q\n" + "0,1\n1,0\n0,0\n1,1\n" * 20
    (folder / "other.csv").write_text(rows)
    gml("pc", "other.csv", "-o", "/dev/null", "--test-log", "other.jsonl", "-f", "dot")
    done = gml("report", "d.csv", "m.json", "--test-log", "other.jsonl")
    assert "the log is of other variables: 'p', 'q'" in error_line(done, 3)
    (folder / "half.dot").write_text(
        "digraph { smoke -> lung [strength=0.75, direction=0.5]; p -> lung [strength=1] }"
    )
    done = gml("report", "d.csv", "m.json", "--strengths", "half.dot")
    assert b"not in the model, left out: 'p'" in done.stderr
    facts = ParsedPage(done.stdout.decode()).facts["strengths"]
    assert facts == {
        "threshold": None,
        "edges": [
            {
                "source": "smoke",
                "target": "lung",
                "type": "-->",
                "strength": 0.75,
                "forward": 0.5,
                "undirected": 0,
                "backward": 0.5,
            }
        ],
    }
    (folder / "bad.dot").write_text("digraph { smoke -> lung [strength=7] }")
    done = gml("report", "d.csv", "m.json", "--strengths", "bad.dot")
    assert "the strength of the edge between 'smoke' and 'lung' must be between 0 and 1" in (
        error_line(done, 3)
    )


@pytest.mark.parametrize(
    "flags, keywords",
    [
        ((), {}),
        (ALL, {"test_log": "log.jsonl", "strengths": "avg.json", "baseline": "base.json"}),
        (("--alpha", "0.5", "--title", "x"), {"alpha": 0.5, "title": "x"}),
        (("--folds", "3"), {"folds": 3}),
        (("-c", "smoke,lung", "--threads", "1"), {"columns": ["smoke", "lung"], "threads": 1}),
    ],
)
def test_python_writes_the_same_page(gml, folder, monkeypatch, flags, keywords):
    from gml import report

    monkeypatch.chdir(folder)
    assert report("d.csv", "m.json", **keywords).html.encode() == (
        gml("report", "d.csv", "m.json", *flags).stdout
    )


def test_the_check_can_be_left_out(gml, folder):
    done = gml("report", "d.csv", "m.json", "--no-check")
    assert done.returncode == 0
    assert "--no-check leaves it out" in ParsedPage(done.stdout.decode()).text("check")
    line = error_line(gml("report", "d.csv", "m.json", "--no-check", "--baseline", "b.json"), 2)
    assert "--baseline is for the check, which is left out" in line
