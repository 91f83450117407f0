"""gml check of undirected models on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gml.model.undirected.directed import directed

from ..undirected_models import log_linear, matched

SIZES, CYCLE = {"A": 2, "B": 3, "C": 2, "D": 3}, ("AB", "BC", "CD", "AD")


@pytest.fixture
def folder(tmp_path):
    """A model of a cycle with the rows behind it, new rows of it, and rows with C shuffled."""
    source = directed(log_linear(SIZES, [*SIZES, *CYCLE], np.random.default_rng(0))).net
    old, new = source.sample(3000, seed=1), source.sample(2000, seed=2)
    matched(old, CYCLE).to_file(tmp_path / "model.json")
    frame = new.to_frame()
    old.to_frame().to_csv(tmp_path / "old.csv", index=False)
    frame.to_csv(tmp_path / "new.csv", index=False)
    frame["C"] = frame["C"].sample(frac=1, random_state=1).to_numpy()
    frame.to_csv(tmp_path / "bad.csv", index=False)
    return tmp_path


def test_rows_of_the_same_source_pass_and_others_fail(gml, folder):
    assert gml("check", "new.csv", "model.json").returncode == 0
    done = gml("check", "bad.csv", "model.json")
    assert done.returncode == 1
    said = done.stdout.decode()
    assert "FAIL  structure: C --- D: C told 0.0345 nats about D, now 0.000532" in said
    assert "FAIL  tables: D where C=a: P(D=c) 0.446 → 0.17" in said
    assert "which cannot be told apart" in said


@pytest.mark.parametrize("format", ["json", "junit", "sarif", "markdown", "github"])
def test_every_report_names_the_check_that_fails(gml, folder, format):
    done = gml("check", "bad.csv", "model.json", "-f", format)
    assert done.returncode == 1
    name = "C --- D" if format in ("markdown", "github") else "structure:C---D"
    assert name in done.stdout.decode()


def test_a_count_file_of_what_the_model_needs_is_checked_but_for_its_fit(gml, folder):
    assert gml("count", "new.csv", "--implied", "model.json", "-o", "new.parquet").returncode == 0
    of_rows = json.loads(gml("check", "new.csv", "model.json", "-f", "json").stdout)
    of_counts = json.loads(gml("check", "new.parquet", "model.json", "-f", "json").stdout)

    def answers(report):
        return {c["id"]: c["p_value"] for c in report["checks"] if c["family"] != "fit"}

    found = answers(of_counts)
    assert len(found) == 28
    assert found == answers(of_rows)
    gml("count", "new.csv", "--pairs", "-o", "pairs.parquet")
    done = gml("check", "pairs.parquet", "model.json")
    assert done.returncode == 4
    assert b"gml count DATA --implied model.json, or --families schema,tables" in done.stderr
    assert (
        gml("check", "pairs.parquet", "model.json", "--families", "schema,tables").returncode == 0
    )


def test_what_was_accepted_passes_and_a_mistyped_name_is_said(gml, folder):
    done = gml("check", "bad.csv", "model.json", "--write-baseline", "known.json")
    assert done.returncode == 0
    done = gml("check", "bad.csv", "model.json", "--baseline", "known.json")
    assert done.returncode == 0 and done.stderr == b""
    content = json.loads((folder / "known.json").read_text())
    content["accepted"].append({"id": "structure:A->B"})
    (folder / "known.json").write_text(json.dumps(content))
    done = gml("check", "bad.csv", "model.json", "--baseline", "known.json")
    assert b"accepts 'structure:A->B', which is no check of the model" in done.stderr


def test_several_deliveries_are_decided_on_together(gml, folder):
    done = gml("check", "new.csv", "bad.csv", "model.json", "-f", "json")
    assert done.returncode == 1
    statuses = {c["id"]: c["status"] for c in json.loads(done.stdout)["deliveries"][1]["checks"]}
    assert statuses["structure:C---D"] == "fail"


def test_a_model_of_gml_mrf_had_no_missing_values_unless_it_says_so(gml, folder):
    content = json.loads((folder / "model.json").read_text())
    content["graph"]["learning"] = {"command": "mrf", "rows": 3000}
    (folder / "model.json").write_text(json.dumps(content))
    lines = (folder / "new.csv").read_text().splitlines()
    gaps = [f",{line.split(',', 1)[1]}" for line in lines[1:300]]
    (folder / "gaps.csv").write_text("\n".join([lines[0], *gaps, *lines[300:]]) + "\n")
    found = json.loads(gml("check", "gaps.csv", "model.json", "-f", "json").stdout)
    failing = [check["id"] for check in found["checks"] if check["status"] == "fail"]
    assert failing == ["schema:missing:A"]
