"""gml check on rows that do not fit into memory: the report of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.command_line import run_here

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


def test_a_model_of_numbers(gml, folder):
    rng = np.random.default_rng(3)
    x = rng.normal(size=300_000)
    y = np.where(np.arange(300_000) < 200_000, 1.0, 0.9) * x + rng.normal(size=300_000)
    rows = folder / "numbers.csv"
    rows.write_text("x,y\n" + "".join(f"{a:.12g},{b:.12g}\n" for a, b in zip(x, y, strict=True)))
    (folder / "numbers.dot").write_text("digraph { x -> y }")
    fit = ["fit-params", rows, folder / "numbers.dot", "--gaussian"]
    fitted = gml(*fit, "--engine", "memory")
    assert gml(*fit, *SMALL).stdout == fitted.stdout != b""
    model = folder / "numbers.json"
    model.write_bytes(fitted.stdout)
    few = folder / "few.csv"
    few.write_text(
        "".join(
            rows.read_text().splitlines(keepends=True)[:1]
            + rows.read_text().splitlines(keepends=True)[200_001:]
        )
    )
    check = ["check", few, model, "-f", "json"]
    expected, found = gml(*check), gml(*check, *SMALL, "-v")
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    assert expected.returncode == 1 and b"pass 2:" in found.stderr
