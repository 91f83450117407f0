"""gml check on rows that do not fit into memory: the report of the same rows in memory."""

from __future__ import annotations

import pytest

from tests.command_line import error_line, run_here

# Half of it holds neither 100,000 rows of eight labels nor 300,000 of two numbers.
SMALL = ("--engine", "stream", "--max-memory", "1M")


@pytest.fixture(scope="module")
def folder(sample_data, tmp_path_factory):
    """A model of asia, and 100,000 rows of it with one label that it does not know."""
    folder = tmp_path_factory.mktemp("stream")
    for words in (
        ["fit-params", sample_data / "asia.csv", sample_data / "asia.dot", "--accept"],
        ["sample", folder / "model.json", "-n", 100_000, "--seed", 1],
    ):
        name = "model.json" if words[0] == "fit-params" else "new.csv"
        done = run_here([*map(str, words), "-o", str(folder / name)], folder)
        assert done.returncode == 0, done.stderr
    lines = (folder / "new.csv").read_text().splitlines()
    lines[90_001] = f"odd,{lines[90_001].split(',', 1)[1]}"
    (folder / "new.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("words", [["-f", "json"], ["--families", "fit"], ["--missing", "drop"]])
def test_beyond_memory(gml_process, folder, words):
    check = ["check", folder / "new.csv", folder / "model.json", *words]
    expected = gml_process(*check)
    found = gml_process(*check, *SMALL, "-v")
    assert b"pass 2:" in found.stderr
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    if words == ["-f", "json"]:
        assert b'"row": 90001, "line": 90002' in found.stdout


def test_from_a_pipe(gml, folder):
    rows = (folder / "new.csv").read_bytes()
    check = ["check", "-", folder / "model.json"]
    expected, found = gml(*check, stdin=rows), gml(*check, *SMALL, stdin=rows)
    assert found.stdout == expected.stdout != b""


def test_a_model_with_numbers_needs_its_rows(gml, folder):
    rows = folder / "numbers.csv"
    rows.write_text("x,y\n" + "".join(f"{k % 97},{k % 89}\n" for k in range(300_000)))
    (folder / "numbers.dot").write_text("digraph { x -> y }")
    model = folder / "numbers.json"
    fitted = gml("fit-params", rows, folder / "numbers.dot", "--gaussian", "-o", model)
    assert fitted.returncode == 0, fitted.stderr
    refused = error_line(gml("check", rows, model, *SMALL), 4)
    assert "a check of a model with numbers looks at all rows at once" in refused
