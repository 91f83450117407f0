"""What the command line says about kinds of columns."""

from __future__ import annotations

import json


def table(tmp_path):
    rows = "".join(f"{20 + k % 40},{'pq'[k % 2]}\n" for k in range(80))
    (tmp_path / "t.csv").write_text(f"age,sex\n{rows}")
    return "t.csv"


def said(found):
    return found.stderr.decode().splitlines()


def test_one_line_names_the_columns_that_the_rule_took(gml, tmp_path):
    assert said(gml("hc", table(tmp_path)))[0] == (
        "gml: 1 column is numeric by its values: 'age' (80 numbers from 20 to 59); --kinds labels "
        "treats values as categories"
    )
    for way_back in (["--kinds", "labels"], ["--numeric", "age"], ["--labels", "age"]):
        found = gml("hc", "t.csv", *way_back)
        assert found.returncode == 0
        assert not any("by its values" in line for line in said(found))


def test_methods_for_categorical_columns_name_the_ways_out(gml, tmp_path):
    path = table(tmp_path)
    (tmp_path / "g.dot").write_text("digraph { sex -> age }")
    for command in (
        ["pc", path, "--test", "g"],
        ["hc", path, "--score", "bdeu"],
        ["mrf", path],
        ["score", path, "g.dot", "--score", "k2"],
    ):
        found = gml(*command)
        assert found.returncode == 3, command
        last = said(found)[-1]
        assert "categorical columns, and column 'age' is numeric" in last
        assert "--bins 4" in last and "--kinds labels" in last
        assert gml(*command, "--kinds", "labels", "--max-levels", "40").returncode == 0
        assert gml(*command, "--bins", "4").returncode == 0


def test_a_family_of_scores_takes_the_form_of_the_columns(gml, tmp_path):
    path = table(tmp_path)
    (tmp_path / "g.dot").write_text("digraph { sex -> age }")
    as_labels = ["--kinds", "labels", "--max-levels", "40"]
    for family in ("loglik", "aic", "bic"):
        scored = ["score", path, "g.dot", "--score", family, "-f", "json"]
        found = gml(*scored)
        assert [*json.loads(found.stdout)["graphs"][0]["scores"]] == [f"{family}-dg"]
        assert any(f"the score is {family}-dg" in line for line in said(found))
        plain = gml(*scored, *as_labels)
        assert [*json.loads(plain.stdout)["graphs"][0]["scores"]] == [family]
        learned = json.loads(gml("hc", path, "--score", family, "-f", "json").stdout)
        assert learned["graph"]["learning"]["settings"]["score"] == f"{family}-dg"


def refusal(gml, tmp_path, text, *options):
    (tmp_path / "t.csv").write_text(text)
    found = gml("hc", "t.csv", *options)
    assert found.returncode == 3
    (line,) = said(found)
    return line


def test_tables_that_excel_wrote(gml, tmp_path):
    rows = "north;10\nsouth;12\n" * 3
    line = refusal(gml, tmp_path, f"sep=;\nplace;sales\n{rows}")
    assert "'sep=;' tells Excel the delimiter and is no header" in line
    assert "tail -n +2" in line and "--delimiter ';'" in line
    assert line == refusal(gml, tmp_path, f"sep=;\nplace;sales\n{rows}")
    titled = f"Sales of 2019;\n;\n\nplace;sales\n{rows}"
    wide = titled.replace(";", ";;")
    line = refusal(
        gml,
        tmp_path,
        wide.replace("place;;sales", "place;a;sales").replace("h;;1", "h;x;1"),
        "-d",
        ";",
    )
    assert "line 4 3 fields: 'place', 'a', 'sales'" in line and "tail -n +4" in line
    assert "tail -n +2" in refusal(gml, tmp_path, "Sales\nplace,sales\nnorth,10\n")


def test_numbers_with_other_marks(gml, tmp_path):
    rows = "".join(f"{k},{k % 7}25;{'pq'[k % 2]}\n" for k in range(300))
    line = refusal(gml, tmp_path, f"x;y\n{rows}", "-d", ";")
    assert "for numbers in 'x' say --decimal ',', as they have a decimal comma" in line
    assert line.index("--decimal") < line.index("--exclude")
    rows = "".join(f'"{k + 1},{k % 7}00",{"pq"[k % 2]}\n' for k in range(300))
    assert "for numbers in 'x' write thousands without ','" in refusal(
        gml, tmp_path, f"x,y\n{rows}"
    )
    (tmp_path / "t.csv").write_text("x;y\n" + "".join(f"0,{k % 30};p\n1,5;q\n" for k in range(60)))
    assert any("say --decimal ','" in line for line in said(gml("hc", "t.csv", "-d", ";")))


def test_a_model_of_stripped_labels_reads_others_so(gml, tmp_path):
    rows = " a, yes\n b ,no \na, yes\nb, no\n" * 30
    (tmp_path / "t.csv").write_text(f"x, y\n{rows}")
    assert gml("hc", "t.csv", "--strip", "-o", "g.json").returncode == 0
    assert gml("fit-params", "t.csv", "g.json", "-o", "m.json").returncode == 0
    assert json.loads((tmp_path / "m.json").read_text())["nodes"][1]["levels"] == ["no", "yes"]
    assert gml("check", "t.csv", "m.json").returncode == 0
    found = gml("query", "m.json", "--predict", "y", "--batch", "t.csv")
    assert found.returncode == 0
    assert found.stdout.decode().splitlines()[1].endswith(",yes,1.0")


def test_a_word_among_too_many_numbers_is_named_with_its_line(gml, tmp_path):
    for place in (5, 390):
        cells = [str(k) for k in range(400)]
        cells[place] = "<5"
        rows = "".join(f"{cell},{'pq'[k % 2]}\n" for k, cell in enumerate(cells))
        line = refusal(gml, tmp_path, f"x,y\n{rows}")
        assert f"line {place + 2}: column 'x': '<5' is not a number" in line
        assert "--na '<5' makes it missing" in line and "--exclude 'x'" in line
        padded = refusal(gml, tmp_path, f"x,y\n{rows.replace('<5', '007')}")
        assert "'007' begins with a zero, as codes do" in padded


def test_a_column_that_no_graph_scores_is_refused_by_name(gml, tmp_path):
    rows = "".join(f"{k / 7:.3f},{k / 3 + k % 5:.3f},p{k}\n" for k in range(90))
    (tmp_path / "t.csv").write_text(f"x,y,who\n{rows}")
    for command in ("hc", "ges"):
        found = gml(command, "t.csv", "--labels", "who", "-o", "g.json")
        assert found.returncode == 4
        assert "the score excludes 'who'" in said(found)[-1]
        assert "--exclude 'who'" in said(found)[-1]
        assert not (tmp_path / "g.json").exists()
        assert gml(command, "t.csv", "--exclude", "who", "-o", "g.json").returncode == 0
        (tmp_path / "g.json").unlink()
