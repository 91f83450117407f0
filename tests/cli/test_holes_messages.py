"""What is said of tables with holes: each message names what helps in the command at hand."""

from __future__ import annotations

import pytest


@pytest.fixture
def holes(tmp_path, monkeypatch):
    """A folder with a column that has no values, and one that has some holes."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{'' if k % 5 == 0 else 'xy'[k % 2]},{'uv'[k % 3 == 0]},{k % 4}" for k in range(60)]
    (tmp_path / "holes.csv").write_text("\n".join(["a,b,n", *rows, ""]))
    (tmp_path / "empty.csv").write_text(
        "\n".join(["a,b", *[f",{'uv'[k % 2]}" for k in range(20)], ""])
    )
    (tmp_path / "graph.dot").write_text("digraph { a -> b }")
    return tmp_path


def said(done):
    return done.stderr.decode()


def test_a_column_without_values_is_to_be_left_out(gml, holes):
    done = gml("hc", "empty.csv", "--missing", "em")
    assert done.returncode == 3
    assert "no values, so independent of everything: 'a'" in said(done)
    assert "no values in column 'a'; leave it out (--exclude 'a')" in said(done)
    done = gml("pc", "empty.csv", "--missing", "available")
    assert done.returncode == 0 and "only one value" not in said(done)
    assert "no values, so independent of everything: 'a'; leave out (--exclude 'a')" in said(done)


def test_a_node_of_an_empty_column_is_to_be_hidden_and_then_nothing_is_said(gml, holes):
    for command in ("fit-params", "score"):
        done = gml(command, "empty.csv", "graph.dot", "--missing", "em")
        assert done.returncode == 3 and "leave" not in said(done)
        assert "name it as a hidden node and say how many levels it has (--hidden: a=2)" in said(
            done
        )
        done = gml(command, "empty.csv", "graph.dot", "--missing", "em", "--hidden", "a=2")
        assert done.returncode == 0 and "no values" not in said(done)


def test_a_model_without_gaps_takes_no_rows_with_gaps_and_says_what_to_do(gml, holes):
    (holes / "whole.csv").write_text("a,b\nx,u\ny,v\nx,v\n")
    assert gml("fit-params", "whole.csv", "graph.dot", "-o", "m.json").returncode == 0
    done = gml("fit-params", "holes.csv", "m.json", "--update")
    assert done.returncode == 3
    assert "m.json has only rows without gaps: take rows with gaps out of the data, or" in said(
        done
    )
    assert "level" not in said(done) and "available" not in said(done)
    done = gml("fit-params", "holes.csv", "m.json", "--update", "--missing", "drop")
    assert done.returncode == 2 and "fit the model to all rows again (--missing drop" in said(done)
    done = gml("fit-params", "holes.csv", "m.json", "--forget")
    assert done.returncode == 3 and said(done).endswith("take rows with gaps out of the data\n")


def test_taking_away_what_was_never_added_is_a_warning(gml, holes):
    rows = "x,u\ny,v\nx,v\ny,u\n"
    (holes / "old.csv").write_text("a,b\n" + 3 * rows)
    (holes / "few.csv").write_text("a,b\nx,u\n")
    assert gml("fit-params", "old.csv", "graph.dot", "-o", "m.json").returncode == 0
    done = gml("fit-params", "few.csv", "m.json", "--forget")
    assert done.returncode == 0
    assert "is none of those that m.json was fitted to; that is right only if" in said(done)
    assert gml("fit-params", "few.csv", "m.json", "--update", "-o", "more.json").stderr == b""
    assert gml("fit-params", "few.csv", "more.json", "--forget").stderr == b""


def test_a_table_that_has_nothing_of_the_graph_is_another_table(gml, holes):
    (holes / "other.csv").write_text("c,d\n1,2\n3,4\n")
    done = gml("fit-params", "other.csv", "graph.dot")
    assert done.returncode == 3 and "--hidden" not in said(done)
    assert "none of its nodes is a column: the nodes are 'a', 'b', and the columns 'c', 'd'" in (
        said(done)
    )


def test_policies_that_do_not_fit_are_answered_with_those_that_do(gml, holes):
    assert "or em with gml hc" in said(gml("hc", "holes.csv", "--missing", "available"))
    assert "--missing available" in said(gml("pc", "holes.csv", "--missing", "em"))
    hidden = gml("fit-params", "holes.csv", "graph.dot", "--hidden", "b=2", "--exclude", "b")
    assert hidden.returncode == 3
    assert "em (fit" in said(hidden) and "available" not in said(hidden)


def test_em_is_a_name_of_the_topic_of_missing_values(gml):
    assert gml("help", "em").stdout == gml("help", "missing").stdout
    assert b"hc, ges and mixture" in gml("help", "missing").stdout
    for word in ("hidden", "mvpc"):
        assert gml("help", word).stdout == gml("help", "missing").stdout
    for word in (b"--hidden", b"mvpc", b"gml impute", b"--missing-patterns"):
        assert word in gml("help", "missing").stdout
    for word in ("stream", "spool"):
        assert gml("help", word).stdout == gml("help", "engines").stdout


def test_advice_to_take_numbers_names_them_where_others_are_numbers_already(gml, tmp_path):
    rows = [f"{k / 7:.3f},{k % 50},{k % 3}" for k in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["x,m,c", *rows, ""]))
    done = gml("pc", tmp_path / "t.csv", "--numeric", "x", "--kinds", "labels")
    assert "take them as numbers (--numeric 'm')" in said(done)


def test_a_climb_shows_a_dag_and_says_nothing_of_classes(gml, tmp_path):
    rows = [f"{'ab'[k % 2]},{(k * 37 % 100) / 10},{k % 7 + k / 100}" for k in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["g,x,y", *rows, ""]))
    how = ("--numeric", "x,y", "--score", "bic-cg", "-f", "text")
    assert "labels < numbers\n" in said(gml("hc", tmp_path / "t.csv", *how))
    assert "maximally oriented PDAG" in said(gml("ges", tmp_path / "t.csv", *how))


def test_no_edges_by_pnal_are_explained(gml, holes):
    done = gml("hc", "holes.csv", "--score", "pnal", "--missing", "available", "-f", "text")
    assert done.returncode == 0
    assert "pnal charges n^(-1/4) per parameter" in said(done) and "--penalty 0.1" in said(done)


def test_formats_that_cannot_hold_levels_are_refused_before_a_fit(gml, tmp_path, monkeypatch):
    from gml.verbs import mixture

    def never(*_, **__):
        raise AssertionError("it was fitted")

    monkeypatch.setattr(mixture, "choose_mixture", never)
    rows = ["very well,not at all", "not at all,very well", "so so,so so"] * 5
    (tmp_path / "t.csv").write_text("\n".join(["p,q", *rows, ""]))
    done = gml("mixture", tmp_path / "t.csv", "--components", "2", "-o", tmp_path / "c.bif")
    assert done.returncode == 3
    assert "BIF cannot hold the levels 'not at all', 'so so', 'very well' of 'p'" in said(done)
    numbers = gml("mixture", tmp_path / "t.csv", "--components", "2", "-f", "net")
    assert numbers.returncode == 3 and "NET cannot hold" in said(numbers)


def test_cells_need_a_file(gml, holes):
    gml("fit-params", "holes.csv", "graph.dot", "--missing", "em", "-q", "-o", "model.json")
    done = gml("impute", "holes.csv", "model.json", "--cells", "-")
    assert done.returncode == 2 and "--cells needs a file" in said(done)
    assert not (holes / "-").exists()
    (holes / "other.csv").write_text("c,d\n1,2\n")
    other = gml("impute", "other.csv", "model.json")
    assert other.returncode == 3 and "it has 'c', 'd', and the model 'a', 'b'" in said(other)


def test_an_estimate_lies_within_its_interval(gml, holes):
    import json

    how = ("--missing", "em", "--intervals", "0.95", "--bootstrap", "40", "-q")
    done = gml("fit-params", "holes.csv", "graph.dot", *how)
    assert done.returncode == 0
    for node in json.loads(done.stdout)["nodes"]:
        for p_row, bounds in zip(node["cpt"], node["intervals"], strict=True):
            for p, (low, high) in zip(p_row, bounds, strict=True):
                assert low <= p <= high
