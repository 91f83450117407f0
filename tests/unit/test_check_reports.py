"""Reports of checks: every format, nasty names, and the schemas of those who read them."""

from __future__ import annotations

import ast
import copy
import functools
import json
import math
import pickle
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gml.errors import DataError, with_flags
from gml.formats.reports.checks import FORMATS
from gml.formats.reports.checks.wording import culprits_shown, printable
from gml.gate.check import FAMILIES, KINDS, STATUSES, Check, UnlikelyRow
from gml.gate.deliveries import CheckReports
from gml.gate.result import WITHOUT_BASELINE, CheckReport, Rejection
from tests import schemas
from tests.conftest import ROOT

OF_FAMILIES = [(family, kind) for family, kinds in KINDS.items() for kind in kinds]
NASTY = [
    "a,b",
    'say "hi"',
    "it's",
    "two\nlines",
    "tab\there",
    "<b>&amp;|`code`",
    "nul\x00bell\x07",
    "\ufffe\uffff",
    "plane 𝔸 😀",
    "::error file=x::y",
    "a:b",
    "100%0A",
    "[link](http://example.org)",
    "@someone #12 www.example.org",
    "]]>",
    "",
    "  spaces  ",
]


def check(family="tables", kind="row", status="fail", name="A", **changes):
    made = Check(
        id=f"{family}.{kind}:{name}",
        family=family,
        kind=kind,
        variables=(name,),
        given=(("B", "x"), ("C", None)),
        message=f"{name} has changed where B=x",
        test="g",
        statistic=45.25,
        df=3.0,
        log_p=math.log(2e-9),
        log_p_adjusted=math.log(1e-6),
        log_q=math.log(1e-7),
        effect=0.2125,
        effect_unit="total variation",
        old={"yes": 0.3125, "no": 0.6875},
        new={"yes": 0.525, "no": 0.475},
        rows_old=812,
        rows_new=120,
        status=status,
    )
    return replace(made, **changes)


def bare(family, kind, status):
    """A check to which no number applies."""
    return Check(f"{family}.{kind}:bare", family, kind, ("A",), status=status)


def report(*checks, **changes):
    made = CheckReport(
        checks=checks,
        alpha=0.01,
        data="new data/day 1.csv",
        model="model.json",
        rows=5000,
        model_rows=20000,
        unlikely=(
            UnlikelyRow(12, 11, -21.5, "A", "no", (("B", "x"),), 0.0003),
            UnlikelyRow(None, 40, -math.inf, "C", "z", (), 0.0),
        ),
        notes=("the model has no counts and is taken as exact",),
    )
    return replace(made, **changes)


def everything():
    """Every status of every kind, and every nasty name."""
    checks = [check(f, k, status) for f, k in OF_FAMILIES for status in STATUSES]
    checks += [bare(f, k, status) for f, k in OF_FAMILIES for status in STATUSES]
    checks += [check(name=name, status=s) for name in NASTY for s in STATUSES]
    checks.append(check(name="tiny", log_p=-5000.0, log_p_adjusted=-math.inf, log_q=-math.inf))
    checks.append(
        check(name="lists", old={"p": [0.1] * 20}, new={"p": [0.2] * 20, "levels": ["a"]})
    )
    levels = {"levels": NASTY, "p": [0.25] * len(NASTY), "counts": [1] * len(NASTY)}
    checks.append(check(name="levels", old=levels, new=levels))
    checks.append(check(name="odd", effect=math.inf, statistic=math.nan))
    rows = tuple(UnlikelyRow(i, i, -3.0, n, n, ((n, n),), 0.01) for i, n in enumerate(NASTY))
    return report(*checks, unlikely=rows, notes=tuple(NASTY))


NOTHING = report(unlikely=(), notes=())


def rejected(data="broken.csv", line=7, **changes):
    """A report on a delivery that could not be checked."""
    message = f"{data}: line {line}: 2 fields, but the header has 8"
    error = Rejection(DataError(message), message, data, line)
    return replace(
        CheckReport((), 0.01, data, "model.json", rows=0, model_rows=None, error=error), **changes
    )


def run_of(*reports, **changes):
    return replace(CheckReports(reports, 0.01, "model.json"), **changes)


def three():
    """A run of a delivery that fails, one that passes and one that is rejected."""
    return run_of(everything(), replace(NOTHING, data="b.csv"), rejected(), notes=tuple(NASTY))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "made",
    [everything(), NOTHING, three(), rejected()],
    ids=["everything", "nothing", "three", "rejected"],
)
def test_every_format_is_text_that_a_file_can_hold(form, made):
    text = FORMATS[form](made)
    assert text.endswith("\n")
    assert text.encode("utf-8")
    assert FORMATS[form](made) == text


# --- text ------------------------------------------------------------------------------------


def test_text_begins_with_the_verdict():
    made = report(
        *(check(name=f"T{i}") for i in range(2)),
        check("structure", "edge"),
        *(check(name=f"B{i}", status="baselined") for i in range(9)),
        *(check(name=f"I{i}", status="insufficient") for i in range(14)),
        check(name="W", status="warn"),
        check(name="P", status="pass"),
    )
    first = FORMATS["text"](made).splitlines()[0]
    assert first == (
        "FAIL  3 of 28 checks fail at alpha 0.01: 2 tables, 1 structure "
        "(1 warning, 9 baselined, 14 insufficient)"
    )


def test_text_of_one_failure():
    assert FORMATS["text"](report(check(), check(name="P", status="pass"))) == (
        "FAIL  1 of 2 checks fails at alpha 0.01: 1 tables\n"
        "      new data/day 1.csv (5000 rows) against model.json (20000 rows)\n"
        "\n"
        "FAIL  tables: A has changed where B=x\n"
        "      adjusted p 1e-6  p 2e-9  effect 0.212 total variation  statistic 45.25 (g)  df 3\n"
        "      rows 812 → 120\n"
        "      yes 0.3125 → 0.525  no 0.6875 → 0.475\n"
        "\n"
        "least likely rows\n"
        "      line 12  A=no given B=x: p 0.0003, whole row 4.6e-10\n"
        "      row  40  C=z: p 0, whole row 0\n"
        "\n"
        "note: the model has no counts and is taken as exact\n"
    )


def test_text_of_a_pass():
    made = report(check(status="pass"), check(name="W", status="warn"), unlikely=(), notes=())
    lines = FORMATS["text"](made).splitlines()
    assert lines[0] == "PASS  none of 2 checks fails at alpha 0.01 (1 warning)"
    assert "WARN  tables: W has changed where B=x" in lines


def test_text_puts_the_surest_first_and_cuts():
    checks = [check(name=f"T{i:02}", log_q=-float(i)) for i in range(25)]
    text = FORMATS["text"](report(*checks))
    assert re.findall(r"T\d\d", text) == [f"T{i:02}" for i in range(24, 4, -1)]
    assert "and 5 more (see the report as JSON)" in text


def test_text_keeps_to_a_hundred_columns():
    made = check(message="word " * 60, old={f"level {i}": 1 / 3 for i in range(30)})
    assert max(map(len, FORMATS["text"](report(made)).splitlines())) <= 100


def test_text_has_the_levels_of_a_table_one_by_one():
    made = check(
        old={"levels": ["no", "yes"], "p": [0.75, 0.25], "counts": [75, 25]},
        new={"levels": ["no", "yes"], "p": [0.5, 0.5], "counts": [10, 10]},
    )
    text = FORMATS["text"](report(made))
    assert "      no 0.75 → 0.5 (rows 75 → 10)  yes 0.25 → 0.5 (rows 25 → 10)\n" in text
    exact = replace(made, old={"levels": ["no", "yes"], "p": [0.75, 0.25]})
    assert "      no 0.75 → 0.5  yes 0.25 → 0.5\n" in FORMATS["text"](report(exact))


def test_text_puts_the_level_that_changed_most_first():
    levels = [f"L{i}" for i in range(10)]
    before = [0.1] * 10
    after = [0.1 + 0.001 * i for i in range(9)] + [0.064]
    made = check(old={"levels": levels, "p": before}, new={"levels": levels, "p": after})
    text = FORMATS["text"](report(made))
    assert "      L9 0.1 → 0.064  L8 0.1 → 0.108  L7" in text
    assert "and 2 more levels\n" in text
    fewer = [{"levels": levels[1:], "p": p[1:]} for p in (before, after)]
    assert "and 1 more level\n" in FORMATS["text"](report(check(old=fewer[0], new=fewer[1])))


def test_text_of_figures_that_one_side_has():
    made = check(old={"statistic": 3.0}, new={"nats": 0.5}, rows_old=None)
    text = FORMATS["text"](report(made))
    assert "df 3  rows 120\n" in text
    assert "      statistic 3 before  nats 0.5\n" in text


# --- json ------------------------------------------------------------------------------------


def test_json_has_a_check_a_line_and_every_field():
    text = FORMATS["json"](everything())
    content = json.loads(text, parse_constant=pytest.fail)
    assert list(content) == [
        *("schema", "hash", "verdict", "alpha", "data", "model", "rows", "model_rows", "summary"),
        *("culprits", "checks", "unlikely_rows", "notes"),
    ]
    assert content["schema"] == "gml/1"
    assert content["verdict"] == "fail"
    n_objects = sum(len(content[key]) for key in ("culprits", "checks", "unlikely_rows"))
    assert text.count("\n") == 11 + n_objects
    assert content["summary"] == everything().counts
    assert content["notes"] == NASTY
    assert json.loads(FORMATS["json"](NOTHING))["verdict"] == "pass"


def test_json_of_a_check():
    (found,) = json.loads(FORMATS["json"](report(check())))["checks"]
    assert found == {
        "id": "tables.row:A",
        "family": "tables",
        "kind": "row",
        "variables": ["A"],
        "given": {"B": "x", "C": None},
        "status": "fail",
        "message": "A has changed where B=x",
        "test": "g",
        "statistic": 45.25,
        "df": 3.0,
        "p_value": 2e-9,
        "log10_p": pytest.approx(math.log10(2e-9)),
        "p_adjusted": 1e-6,
        "log10_p_adjusted": pytest.approx(-6),
        "q_value": pytest.approx(1e-7),
        "effect": 0.2125,
        "effect_unit": "total variation",
        "old": {"yes": 0.3125, "no": 0.6875},
        "new": {"yes": 0.525, "no": 0.475},
        "rows_old": 812,
        "rows_new": 120,
        "row": None,
        "line": None,
    }


def test_json_has_null_for_what_no_number_can_say():
    made = check(effect=math.inf, statistic=math.nan, log_p=-math.inf, old={"p": [math.nan, 1]})
    (found,) = json.loads(FORMATS["json"](report(made)))["checks"]
    assert (found["effect"], found["statistic"], found["p_value"]) == (None, None, 0)
    assert found["log10_p"] is None
    assert found["old"] == {"p": [None, 1]}
    assert isinstance(found["df"], int)


def test_a_path_that_is_not_utf_8_can_be_written():
    made = report(check(), data="caf\udce9.csv")
    for form in FORMATS:
        FORMATS[form](made).encode("utf-8")
    assert json.loads(FORMATS["json"](made))["data"] == "caf\ufffd.csv"
    assert "caf%E9.csv" in FORMATS["sarif"](made)


# --- markdown --------------------------------------------------------------------------------


def test_markdown_has_a_table_and_folds_the_rest():
    made = report(
        check(), *(check(name=s[:4], status=s) for s in ("warn", "insufficient", "baselined"))
    )
    text = FORMATS["markdown"](made)
    assert text.startswith("## gml check: FAIL\n\n1 of 4 checks fails at alpha 0.01: 1 tables ")
    assert (
        "| tables | A has changed where B=x | 1e-6 | 0.212 total variation "
        "| yes 0.3125 → 0.525<br>no 0.6875 → 0.475 | 812 → 120 |\n"
    ) in text
    for summary in ("Warnings: 1", "Insufficient data: 1", "Baselined: 1", "Least likely rows: 2"):
        assert f"<details><summary>{summary}</summary>\n\n" in text
    assert text.count("<details>") == text.count("\n\n</details>") == 4


@pytest.mark.parametrize("name", NASTY)
def test_markdown_names_are_no_markup(name):
    text = FORMATS["markdown"](report(check(name=name)))
    (row,) = (line for line in text.splitlines() if line.startswith("| tables |"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 7
    cell = re.split(r"(?<!\\)\|", row)[2].replace("<!-- -->", "")
    assert not re.search(r"(?<!\\)[`*_\[\]]|<", cell)
    assert not re.search(r"[@#]\w", re.split(r"(?<!\\)\|", row)[2])
    plain = re.sub(r"\\([\\`*_\[\]~|$])", r"\1", cell)
    plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert plain == f" {printable(name)} has changed where B=x "


def test_markdown_fits_a_comment():
    long = "ü" * 300
    checks = [check(name=f"{long}{i}", status=s) for s in STATUSES for i in range(500)]
    rows = tuple(UnlikelyRow(i, i, -3.0, long, long, (), 0.01) for i in range(500))
    text = FORMATS["markdown"](report(*checks, unlikely=rows, notes=(long,) * 100))
    assert len(text.encode()) < 65536
    assert len(re.findall(r"and \d+ more \(see the report as JSON\)", text)) == 6


# --- junit -----------------------------------------------------------------------------------


@functools.cache
def junit_schema():
    import xmlschema

    return xmlschema.XMLSchema(schemas.text_of(schemas.JUNIT))


def judged_junit(made):
    text = FORMATS["junit"](made)
    junit_schema().validate(text)
    root = ET.fromstring(text)
    # The schema of Ant demands these, in this order, and no output within a case.
    assert not root.attrib
    for position, suite in enumerate(root):
        tags = [child.tag for child in suite]
        assert tags == ["properties", *["testcase"] * (len(tags) - 3), "system-out", "system-err"]
        assert suite.get("id") == str(position)
        assert suite.get("timestamp") == "1970-01-01T00:00:00"
        assert suite.get("hostname") == "localhost"
        assert suite.get("package") and suite.get("name") and suite.get("time") == "0"
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        for what, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
            assert suite.get(what) == str(len(suite.findall(f"testcase/{tag}")))
        for case in cases:
            assert case.get("time") == "0"
            if isinstance(made, CheckReports):
                assert case.get("classname").startswith(suite.get("name") + ".")
            else:
                assert case.get("classname") == suite.get("name")
            assert len(case) <= 1
    return root


def test_junit_has_a_case_for_each_check():
    made = everything()
    root = judged_junit(made)
    assert [suite.get("name") for suite in root] == [f"gml.check.{family}" for family in FAMILIES]
    names = sorted(case.get("name") for case in root.iter("testcase"))
    assert names == sorted(printable(made_check.id) for made_check in made.checks)
    assert len(judged_junit(NOTHING)) == 0


def test_junit_says_what_broke():
    (suite,) = judged_junit(
        report(*(check(name=status, status=status) for status in STATUSES), unlikely=())
    )
    cases = {case.get("name").partition(":")[2]: case for case in suite.findall("testcase")}
    failure = cases["fail"].find("failure")
    assert failure.attrib == {"type": "tables.row", "message": "fail has changed where B=x"}
    assert "adjusted p 1e-6" in failure.text
    assert "yes 0.3125 → 0.525" in failure.text
    assert len(cases["warn"]) == len(cases["pass"]) == 0
    assert "tables.row:warn: warn has changed where B=x" in suite.find("system-out").text
    assert cases["baselined"].find("skipped").get("message").startswith("accepted in the baseline:")
    assert cases["insufficient"].find("skipped").get("message").startswith("the data cannot tell:")


# --- github ----------------------------------------------------------------------------------


def parsed(line):
    """What the runner of GitHub makes of a line: command, properties, message."""
    found = re.fullmatch(r"::(\w+)(?: ([^:\r\n]*))?::([^\r\n]*)", line)
    assert found, line
    unescaped = {}
    for pair in (found[2] or "").split(",") if found[2] else []:
        key, equals, value = pair.partition("=")
        assert equals, line
        value = value.replace("%3A", ":").replace("%2C", ",")
        unescaped[key] = value.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    message = found[3].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    return found[1], unescaped, message


def commands(made):
    return [parsed(line) for line in FORMATS["github"](made).removesuffix("\n").split("\n")]


def test_github_annotates():
    culprit, error, warning, line, row = commands(report(check(name="W", status="warn"), check()))
    assert culprit == (
        "error",
        {"file": "new data/day 1.csv", "title": "gml check"},
        "culprit: both findings involve B",
    )
    assert error == (
        "error",
        {"file": "new data/day 1.csv", "title": "gml check: tables row"},
        "A has changed where B=x\nadjusted p 1e-6, p 2e-9, effect 0.212 total variation, statistic 45.25 (g), "
        "df 3, rows 812 → 120, yes 0.3125 → 0.525, no 0.6875 → 0.475",
    )
    assert warning[0] == "warning"
    assert line[0] == "notice" and line[1]["line"] == "12"
    assert row[0] == "notice" and "line" not in row[1]


def test_github_names_no_file_for_standard_input():
    assert all("file" not in properties for _, properties, _ in commands(report(check(), data="-")))


def test_github_escapes_the_file():
    (found, *_) = commands(report(check(), data="a,b:c%.csv"))
    assert found[1]["file"] == "a,b:c%.csv"


def test_github_has_at_most_ten():
    checks = [check(name=f"F{i}") for i in range(8)]
    checks += [check(name=f"W{i}", status="warn") for i in range(8)]
    found = commands(report(*checks))
    assert [level for level, _, _ in found] == ["error"] * 9 + ["notice"]
    assert found[0][2] == "culprit: all 16 findings involve B"
    assert found[-1][2].startswith("and 8 warnings, 2 unlikely rows more")
    assert len(commands(report(*checks[:8]))) == 10


def test_github_says_that_all_is_well():
    ((level, _, message),) = commands(report(check(status="pass")))
    assert (level, message) == ("notice", "PASS: none of 1 check fails at alpha 0.01")


@pytest.mark.parametrize("name", NASTY)
def test_github_messages_come_back(name):
    (found, *_) = commands(report(check(name=name)))
    assert found[2].split("\n")[0] == f"{printable(name)} has changed where B=x"


# --- sarif -----------------------------------------------------------------------------------


@functools.cache
def sarif_validator():
    import jsonschema

    schema = json.loads(schemas.text_of(schemas.SARIF))
    validator = jsonschema.Draft4Validator
    validator.check_schema(schema)
    return validator(schema)


def judged_sarif(made):
    content = json.loads(FORMATS["sarif"](made), parse_constant=pytest.fail)
    errors = [error.message for error in sarif_validator().iter_errors(content)]
    assert not errors
    (run,) = content["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return run


def test_sarif_has_what_fails_warns_or_was_accepted():
    made = everything()
    run = judged_sarif(made)
    assert len(run["results"]) == len(made.ranked("fail", "warn", "baselined"))
    levels = [result["level"] for result in run["results"]]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)
    for result in run["results"]:
        assert ("suppressions" in result) == (result["level"] == "note")
    assert judged_sarif(NOTHING)["results"] == []


def test_sarif_of_a_check():
    (result,) = judged_sarif(report(check()))["results"]
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "new%20data/day%201.csv"
    assert location["logicalLocations"][0]["name"] == "A"
    assert result["ruleId"] == "tables.row"
    assert result["message"]["text"] == "A has changed where B=x"
    assert result["properties"]["p_adjusted"] == 1e-6
    assert result["properties"]["given"] == {"B": "x", "C": None}


def test_sarif_fingerprints_tell_checks_apart_and_stay():
    def prints(*checks):
        run = judged_sarif(report(*checks))
        return [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]

    one, other = prints(check(), check(name="B"))
    assert one != other
    assert prints(check(effect=0.5, rows_new=7)) == [one]


def test_sarif_has_a_rule_for_every_kind_of_check():
    rules = {rule["id"]: rule for rule in judged_sarif(NOTHING)["tool"]["driver"]["rules"]}
    assert sorted(rules) == sorted(f"{family}.{kind}" for family, kind in OF_FAMILIES)
    texts = {rule["shortDescription"]["text"] for rule in rules.values()}
    assert len(texts) == len(rules)


def test_checks_are_of_the_kinds_that_are_listed():
    """A literal could be of a kind that no rule tells about."""
    calls = [
        node
        for path in sorted((ROOT / "gml" / "gate").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Check"
    ]
    kinds = [
        next((k.value for k in call.keywords if k.arg == "kind"), None) or call.args[2]
        for call in calls
    ]
    assert len(kinds) > 10
    assert all(isinstance(kind, ast.Name) for kind in kinds)


def test_sarif_rules_say_what_can_be_either_way():
    rules = {rule["id"]: rule for rule in judged_sarif(NOTHING)["tool"]["driver"]["rules"]}
    said = rules["schema.missing"]["shortDescription"]["text"]
    assert said == "The rate of missing values has changed"


@pytest.mark.parametrize("data", ["a:b.csv", "dir/100%.csv", "ä.csv", "./x.csv", "//x"])
def test_sarif_paths_are_uris(data):
    (result,) = judged_sarif(report(check(), data=data))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"(file:/)?[A-Za-z0-9_.~%/-]+", uri)
    assert unquote(uri).removeprefix("file://").endswith(data.removeprefix("./"))


def test_sarif_of_standard_input_has_no_file(tmp_path, monkeypatch):
    (result,) = judged_sarif(report(check(), data="-"))["results"]
    assert "physicalLocation" not in result["locations"][0]
    monkeypatch.chdir(tmp_path)
    (result,) = judged_sarif(report(check(), data=str(tmp_path / "x.csv")))["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "x.csv", "uriBaseId": "%SRCROOT%"}


# --- deliveries that were rejected -----------------------------------------------------------


def test_a_rejected_delivery_in_every_format():
    made = rejected()
    message = "broken.csv: line 7: 2 fields, but the header has 8"
    assert FORMATS["text"](made) == (
        f"ERROR  not checked: {message}\n      broken.csv against model.json\n"
    )
    content = json.loads(FORMATS["json"](made))
    assert content["verdict"] == "error"
    assert content["error"] == {"exit": 3, "message": message, "file": "broken.csv", "line": 7}
    assert (content["rows"], content["checks"]) == (None, [])
    assert set(json.loads(FORMATS["json"](NOTHING))) | {"error"} == set(content)
    (suite,) = judged_junit(made)
    (case,) = suite.findall("testcase")
    assert (suite.get("name"), suite.get("errors"), case.get("name")) == (
        "gml.check.input",
        "1",
        "broken.csv",
    )
    assert case[0].attrib == {"type": "exit 3", "message": message}
    assert commands(made) == [
        ("error", {"file": "broken.csv", "line": "7", "title": "gml check: not checked"}, f"not checked: {message}")
    ]  # fmt: skip
    run = judged_sarif(made)
    assert run["invocations"] == [{"executionSuccessful": False}]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("input.rejected", "error")
    (place,) = result["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": 7}
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "broken.csv"
    assert FORMATS["markdown"](made).startswith("## gml check: ERROR\n\nnot checked: broken.csv")


def test_a_problem_elsewhere_is_placed_there():
    message = "model.json: the file is empty"
    made = rejected(error=Rejection(DataError(message), message, "model.json"))
    ((_, properties, _),) = commands(made)
    assert (properties["file"], "line" in properties) == ("model.json", False)
    (result,) = judged_sarif(made)["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("model.json", {"startLine": 1})
    unknown = rejected(data="-", error=Rejection(DataError("out of memory"), "out of memory"))
    assert "locations" not in judged_sarif(unknown)["results"][0]
    assert "file=" not in FORMATS["github"](unknown)


# --- several deliveries ----------------------------------------------------------------------


def test_text_has_a_section_for_each_delivery():
    made = run_of(
        report(check(), unlikely=(), notes=()),
        replace(NOTHING, data="b.csv"),
        rejected(),
        notes=("no baseline",),
        settings="gml.toml",
    )
    sections = FORMATS["text"](made).split("\n\n== ")
    assert sections[0] == (
        "ERROR  1 of 3 deliveries fails, 1 cannot be checked: 1 of 1 check fails at alpha 0.01 per "
        "run: 1 tables\n      against model.json (20000 rows)\n      settings from gml.toml\n\n"
        "note: no baseline"
    )
    for section, one in zip(sections[1:], made, strict=True):
        name, _, rest = section.partition("\n")
        assert name == one.data
        assert rest.rstrip("\n") == FORMATS["text"](one).rstrip("\n")
    passes = FORMATS["text"](run_of(NOTHING, NOTHING, alpha_per="file"))
    assert passes.startswith("PASS  none of 2 deliveries fails\n")


def test_json_of_a_run_has_the_deliveries():
    made = three()
    content = json.loads(FORMATS["json"](made), parse_constant=pytest.fail)
    assert list(content) == [
        "schema", "hash", "verdict", "alpha", "alpha_per", "model", "summary", "deliveries", "notes"
    ]  # fmt: skip
    assert (content["verdict"], content["alpha_per"]) == ("error", "run")
    assert [d["verdict"] for d in content["deliveries"]] == ["fail", "pass", "error"]
    alone = json.loads(FORMATS["json"](made.reports[0]))
    for key in ("data", "rows", "model_rows", "summary", "checks", "unlikely_rows", "notes"):
        assert content["deliveries"][0][key] == alone[key]
    assert content["summary"] == made.counts
    assert content["deliveries"][2]["error"]["line"] == 7


def test_junit_has_a_suite_for_each_delivery():
    made = three()
    root = judged_junit(made)
    assert [suite.get("name") for suite in root] == ["new data/day 1.csv", "b.csv", "broken.csv"]
    assert [suite.get("tests") for suite in root] == [str(len(made.reports[0].checks)), "0", "1"]
    assert [suite.get("errors") for suite in root] == ["0", "0", "1"]
    classes = {case.get("classname") for case in root[0].findall("testcase")}
    assert classes == {f"new data/day 1.csv.{family}" for family in FAMILIES}


def test_sarif_tells_the_same_check_of_two_deliveries_apart():
    one = report(check())
    run = judged_sarif(run_of(one, replace(one, data="b.csv")))
    prints = [r["partialFingerprints"]["gmlCheck/v1"] for r in run["results"]]
    assert len(set(prints)) == 2
    uris = [
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]
    ]
    assert uris == ["new%20data/day%201.csv", "b.csv"]
    assert [d["data"] for d in run["properties"]["deliveries"]] == ["new data/day 1.csv", "b.csv"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert "input.rejected" not in rules


def test_github_puts_what_is_worst_first_whichever_delivery_it_is_in():
    warns = report(check(status="warn"), unlikely=())
    fails = report(check(), data="b.csv", unlikely=())
    found = commands(run_of(warns, fails, rejected()))
    assert [(level, properties["file"]) for level, properties, _ in found] == [
        ("error", "b.csv"),
        ("error", "broken.csv"),
        ("warning", "new data/day 1.csv"),
    ]
    assert len(commands(run_of(*[fails] * 30))) == 10
    ((level, _, message),) = commands(run_of(NOTHING, NOTHING))
    assert level == "notice"
    assert message.startswith("PASS: none of 2 deliveries fails")


def test_markdown_of_many_deliveries_fits_a_comment():
    long = "ü" * 300
    checks = [check(name=f"{long}{i}", status=s) for s in STATUSES for i in range(100)]
    rows = tuple(UnlikelyRow(i, i, -3.0, long, long, (), 0.01) for i in range(100))
    one = report(*checks, unlikely=rows, notes=(long,) * 20, data=f"{long}.csv")
    for n in (1, 3, 200):
        made = run_of(*[one] * n, *[NOTHING] * n, rejected(), notes=(long,) * 20)
        text = FORMATS["markdown"](made)
        assert len(text.encode()) < 65536
        assert text.startswith("## gml check: ERROR\n\n")
    assert "and 193 more that do not pass (see the report as JSON)" in text
    small = FORMATS["markdown"](run_of(report(check()), NOTHING, rejected()))
    assert "| new data/day 1.csv | FAIL | 5000 |" in small
    assert "| broken.csv | ERROR | - | not checked: broken.csv: line 7" in small
    assert re.findall("^### .*$", small, re.MULTILINE) == [
        "### new data/day 1.csv: FAIL",
        "### broken.csv: ERROR",
    ]


# --- any report ------------------------------------------------------------------------------

names = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"])))
logs = st.none() | st.floats(max_value=0, allow_nan=False)
numbers = st.none() | st.floats()
figures = st.dictionaries(
    names,
    st.one_of(st.none(), st.floats(), st.integers(), names, st.lists(st.floats())),
    max_size=3,
)
checks = st.builds(
    lambda kind, **rest: Check(family=kind[0], kind=kind[1], **rest),
    st.sampled_from(OF_FAMILIES),
    id=names,
    variables=st.lists(names, max_size=3).map(tuple),
    given=st.lists(st.tuples(names, st.none() | names), max_size=2).map(tuple),
    message=names,
    test=st.none() | names,
    statistic=numbers,
    df=numbers,
    log_p=logs,
    log_p_adjusted=logs,
    log_q=logs,
    effect=numbers,
    effect_unit=st.none() | names,
    old=figures,
    new=figures,
    rows_old=st.none() | st.integers(min_value=0),
    rows_new=st.none() | st.integers(min_value=0),
    status=st.sampled_from(STATUSES),
)
unlikely_rows = st.builds(
    UnlikelyRow,
    line=st.none() | st.integers(min_value=1),
    row=st.integers(min_value=1),
    log_probability=st.floats(max_value=0, allow_nan=False),
    column=names,
    value=names,
    given=st.lists(st.tuples(names, names), max_size=2).map(tuple),
    probability=st.floats(min_value=0, max_value=1),
)
reports = st.builds(
    CheckReport,
    checks=st.lists(checks, max_size=12).map(tuple),
    alpha=st.floats(min_value=1e-9, max_value=1),
    data=names.filter(bool),
    model=names.filter(bool),
    rows=st.integers(min_value=0),
    model_rows=st.none() | st.integers(min_value=0),
    unlikely=st.lists(unlikely_rows, max_size=4).map(tuple),
    notes=st.lists(names, max_size=2).map(tuple),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_any_report_is_valid_in_every_format(made):
    judged_junit(made)
    judged_sarif(made)
    content = json.loads(FORMATS["json"](made), parse_constant=pytest.fail)
    assert [found["id"] for found in content["checks"]] == [c.id for c in made.checks]
    found = commands(made)
    broken = made.ranked("fail", "warn")
    assert 1 <= len(found) <= 10
    said = culprits_shown(made)
    assert [message for _, _, message in found[: len(said)]] == said
    of_checks = found[len(said) : -1] if len(found) == 10 else found[len(said) :]
    for made_check, (level, _, message) in zip(broken, of_checks, strict=False):
        assert level == {"fail": "error", "warn": "warning"}[made_check.status]
        assert message.split("\n")[0] == printable(made_check.message or made_check.id)
    assert len(FORMATS["markdown"](made).encode()) < 65536
    assert FORMATS["text"](made).startswith("FAIL  " if made.failed else "PASS  ")


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(reports, names.filter(bool).map(rejected)), min_size=1, max_size=4))
def test_any_run_is_valid_in_every_format(made):
    run = run_of(*made)
    assert len(judged_junit(run)) == len(made)
    judged_sarif(run)
    content = json.loads(FORMATS["json"](run), parse_constant=pytest.fail)
    assert len(content["deliveries"]) == len(made)
    assert 1 <= len(commands(run)) <= 10
    assert len(FORMATS["markdown"](run).encode()) < 65536
    assert FORMATS["text"](run).count("\n== ") >= len(made)


def test_a_run_without_any_table_counts_no_checks():
    made = run_of(rejected(), rejected("other.csv"))
    text = FORMATS["text"](made)
    assert text.startswith("ERROR  none of 2 deliveries can be checked\n")
    assert "0 checks" not in text


def test_notes_name_parameters_for_python_and_flags_for_the_shell():
    note = WITHOUT_BASELINE
    assert "`accept`" in note and note.isprintable()
    assert "--accept" in with_flags(note) and "--write-baseline" in with_flags(note)
    for copied in (copy.deepcopy(note), pickle.loads(pickle.dumps(note))):
        assert (copied, with_flags(copied)) == (note, with_flags(note))
    # Text of the data that looks like a parameter stays.
    assert with_flags("column `accept`") == "column `accept`"
