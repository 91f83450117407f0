"""Tests and scores of users: as plain objects, and as entries of the registries."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import gml
from gml.errors import DataError, UsageError
from gml.independence.adapted_test import as_test
from gml.independence.base import CIResult, CounterTest, PValueTest
from gml.independence.contingency import describe, full_df, is_sufficient
from gml.independence.registry import DF, TESTS, KnownTest, check_test, make_test
from gml.parameters import ESS, NUMBERS, Option
from gml.scores.base import DecomposableScore, FamilyScore, as_score
from gml.scores.choosing import check_scores, make_score
from gml.scores.likelihood import LogLikelihood
from gml.scores.registry import SCORES, KnownScore, scores_without_ceilings
from tests.test_docs import script

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/extending.md").read_text(), re.DOTALL)


@pytest.fixture
def counter():
    return gml.MemoryCounter(gml.read(ROOT / "sample_data/asia.csv"))


# ------------------------------------------------------------------ as plain objects


@pytest.mark.parametrize(
    ("block", "printed"),
    [
        (0, ["2 edges"]),
        (1, ["dag 9 -11144.995", "cpdag 9 -11144.995", "dag 9 -11144.995"]),
        (2, ["chance 1 0.0856"]),
    ],
)
def test_the_examples_of_the_page(block, printed, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    # The page registers a test of its own; afterwards it is gone.
    monkeypatch.setitem(TESTS, "chance", CHANCE)
    exec(compile(BLOCKS[block], "extending.md", "exec"), {"__name__": "extending"})
    assert capsys.readouterr().out.splitlines() == printed
    for part in re.findall(
        r"^class .*?(?=^\S)", BLOCKS[block] + "\nend\n", re.MULTILINE | re.DOTALL
    ):
        assert len(part.strip().splitlines()) < 30


def test_powers_that_are_declared_are_used():
    class Whole:
        names = ("a", "b")

        def __call__(self, x, y, given=()):
            raise AssertionError("it has a batch")

        def batch(self, triples):
            return (CIResult(float(k), None, None, None, 5) for k, _ in enumerate(triples))

        def verdict(self, result, alpha, log_p=None):
            return "dependent" if result.statistic else "independent"

    test = as_test(Whole())
    found = test.batch([(0, 1, ()), (1, 0, ())])
    assert test.margins(found, 0.05).tolist() == [0.0, -1e-12]
    assert list(found) == [CIResult(0.0, None, None, None, 5), CIResult(1.0, None, None, None, 5)]
    assert as_test(test) is test

    class Batched:
        names = ("a", "b")
        equivalent = True

        def local(self, child, parents):
            raise AssertionError("it has a batch")

        def batch(self, families):
            return [-float(len(parents)) for _, parents in families]

    score = as_score(Batched())
    assert score.equivalent and score.batch([(0, (1,))]).tolist() == [-1.0]
    assert (score.held, score.constants()) == (0, [])
    assert as_score(score) is score


def test_results_found_one_by_one_are_the_same_as_columns():
    results = [
        CIResult(1.0, 2.0, -3.0, 0.5, 10, 0.25, strata=4),
        CIResult(math.inf, None, None, None, 0, sufficient=False, varies=False, strata=0),
    ]
    assert list(gml.independence.base.ResultArrays.of(results)) == results


# ------------------------------------------------------------------ in the registries


class Chance(PValueTest):
    """Draws its p-value from a hat."""

    def batch(self, triples):
        found = self._counter.statistics(triples)
        p = np.random.default_rng(self._options["hat"]).random(len(triples))
        usable = is_sufficient(found, 0)
        return describe(found, sufficient=usable, statistic=p, df=full_df(found), log_p=np.log(p))


CHANCE = KnownTest(
    name="chance",
    home=Chance,
    summary="a p-value out of a hat",
    statistic="H",
    formula="H",
    options=(Option("hat", "whole", 7, "Which hat", least=1),),
)


class Lottery(Chance):
    """Draws its p-value from a hat that is shuffled first."""

    def batch(self, triples):
        SEEDS.append((self._options["hat"], self._options["seed"]))
        return super().batch(triples)


SEEDS: list[tuple[int, int]] = []
LOTTERY = replace(
    CHANCE,
    name="lottery",
    home=Lottery,
    options=(*CHANCE.options, Option("seed", "seed", 11, "Of the shuffling")),
)


class Thrifty(LogLikelihood):
    """The likelihood less a price for each parameter."""

    def _penalties(self, families):
        return self._options["price"] * self.dimensions(families)


THRIFTY = KnownScore(
    name="thrifty",
    home="tests.unit.test_extending:Thrifty",
    summary="loglik less a price for each parameter",
    formula="loglik − price·d",
    equivalent=True,
    options=(Option("price", "real", 2.0, "Nats for each parameter", least=0),),
)


@pytest.fixture
def toys(monkeypatch):
    """A test and a score, registered; the commands are imported anew, as they declare options."""
    monkeypatch.setitem(TESTS, "chance", CHANCE)
    monkeypatch.setitem(SCORES, "thrifty", THRIFTY)
    before = {name: module for name, module in sys.modules.items() if name.startswith("gml.cli")}
    for name in before:
        del sys.modules[name]
    yield
    for name in [name for name in sys.modules if name.startswith("gml.cli")]:
        del sys.modules[name]
    sys.modules.update(before)


def run(*args):
    from gml.cli.main import cli

    return CliRunner().invoke(cli, [str(arg) for arg in args], terminal_width=300)


def test_a_registered_test_is_known_everywhere(toys, tmp_path):
    asia, target = ROOT / "sample_data/asia.csv", tmp_path / "graph.json"
    for command in ("indtest", "pc", "imap", "average"):
        text = " ".join(run(command, "--help").output.split())
        assert "|chance]" in text and "chance: a p-value out of a hat" in text
        assert "Which hat (chance)." in text
    found = run("indtest", asia, "smoke", "lung", "--test", "chance", "--hat", "3", "-f", "json")
    (row,) = json.loads(found.output)["results"]
    assert row["test"] == "chance"
    assert row["p_value"] == pytest.approx(np.random.default_rng(3).random())
    for wrong in (("--test", "g", "--hat", "3"), ("--test", "chance", "--df", "full")):
        error = run("indtest", asia, "smoke", "lung", *wrong).exception
        assert isinstance(error, UsageError) and "does not go with" in str(error)
    assert run("indtest", asia, "smoke", "lung", "--test", "chance", "--hat", "0").exit_code == 2
    assert run("pc", asia, "--test", "chance", "--hat", "3", "-o", target).exit_code == 0
    learning = json.loads(target.read_text())["graph"]["learning"]
    assert learning["settings"]["test"] == "chance" and learning["settings"]["alpha"] == 0.01
    assert learning["options"] == {"test": "chance", "hat": 3}
    error = run("average", asia, "--by", "hc", "--hat", "3").exception
    assert str(error) == "`hat` does not go with `by='hc'` (only with pc)"
    table = script("make_reference").tests_table()
    assert "| chance | a p-value out of a hat | H | p ≤ α | labels | --hat |" in table


def test_a_registered_test_gets_its_seed_and_other_facts_are_looked_up(toys, monkeypatch):
    asia = str(ROOT / "sample_data/asia.csv")
    few = ["smoke", "lung", "dysp"]
    monkeypatch.setitem(TESTS, "lottery", LOTTERY)
    # One thread works in this process, which is the one that keeps the seeds.
    here = {"bootstrap": 2, "columns": few, "threads": 1}
    asked = [
        lambda **seed: gml.average(asia, "pc", test="lottery", **here, **seed),
        lambda **seed: run(
            *("average", asia, "--by", "pc", "--test", "lottery", "--bootstrap", "2"),
            *("--threads", "1"),
            *("-c", ",".join(few), *(f"--{name}={value}" for name, value in seed.items())),
        ),
        lambda **seed: run(
            *("pc", asia, "--test", "lottery", "--bootstrap", "2", "--threads", "1"),
            *("-c", ",".join(few), *(f"--{name}={value}" for name, value in seed.items())),
        ),
        lambda **seed: gml.pc(asia, test="lottery", columns=few, **seed),
    ]
    for ask in asked:
        for given, taken in (({"seed": 5}, (7, 5)), ({}, (7, 11)), ({"hat": 3}, (3, 11))):
            SEEDS.clear()
            assert getattr(ask(**given), "exit_code", 0) == 0
            assert SEEDS and set(SEEDS) == {taken}
    # A test without a seed is not given that of the samples.
    gml.average(asia, "pc", test="chance", bootstrap=2, seed=5, columns=few)
    with pytest.raises(UsageError, match="`seed` does not go with `test='chance'`"):
        gml.pc(asia, test="chance", seed=5)


def test_advice_is_looked_up(monkeypatch, recwarn):
    asia = str(ROOT / "sample_data/asia.csv")
    first = {"lottery": replace(LOTTERY, columns=(NUMBERS,), draws="hat"), **TESTS}
    monkeypatch.setattr("gml.verbs.shared.chosen_methods.TESTS", first)
    fair = replace(THRIFTY, name="fair", bayes_factors=True)
    monkeypatch.setitem(SCORES, "fair", fair)
    with pytest.raises(UsageError, match="use bic, bdeu, fair or another score-equivalent one$"):
        gml.ges(asia, score="bds")
    with pytest.raises(UsageError, match="use bic, bdeu, fair or another score-equivalent one$"):
        gml.exact(asia, score="k2", cpdag=True)
    rng = np.random.default_rng(1)
    many = pd.DataFrame({name: rng.integers(0, 90, 100).astype(str) for name in "ab"})
    gml.indtest(many, "a", "b")
    said = [str(warning.message) for warning in recwarn]
    assert any("take them as numbers (`test='lottery'`)" in text for text in said)


def test_options_that_others_use_are_those_of_the_registry():
    for command, option in (("fit-params", ESS), ("chowliu", DF)):
        assert f"[default: {option.default}]" in run(command, "--help").output
        for wrong in ("0", "-1", "1e101", "nan", "some"):
            done = run(command, "data.csv", f"--{option.name}", wrong)
            assert done.exit_code == 2 and f"--{option.name}" in done.output


def test_scores_without_a_ceiling_are_named_where_it_matters():
    def is_slow(name):
        # Conditional Gaussian scores have a ceiling for labels alone.
        without = SCORES[name].load().bounded_batch is DecomposableScore.bounded_batch
        return without or name.endswith("-cg")

    assert scores_without_ceilings() == [name for name in SCORES if is_slow(name)]
    said = " ".join(run("exact", "--help").output.split())
    assert (
        "fnml, qnml, bge, loglik-cg, aic-cg, bic-cg, bic-glm, nal, pnal and kernel every set of "
        "parents" in said
    )


def test_a_registered_score_is_known_everywhere(toys, tmp_path):
    asia, target = ROOT / "sample_data/asia.csv", tmp_path / "graph.json"
    for command in ("score", "hc", "ges", "exact", "imap", "average"):
        text = run(command, "--help").output
        assert "qnml, thrifty; " in text and "Nats for each parameter (thrifty)." in text
    graph = ROOT / "sample_data/asia.dot"
    found = run("score", asia, graph, "--score", "aic,thrifty", "--price", "1", "-f", "csv").output
    header, values = (line.split(",") for line in found.splitlines())
    assert values[header.index("aic")] == values[header.index("thrifty")]
    error = run("score", asia, graph, "--score", "bic", "--price", "1").exception
    assert str(error) == "`price` does not go with `score='bic'` (only with thrifty)"
    assert run("score", asia, graph, "--score", "thrifty", "--price", "-1").exit_code == 2
    assert run("hc", asia, "--score", "thrifty", "--price", "3", "-o", target).exit_code == 0
    learning = json.loads(target.read_text())["graph"]["learning"]
    assert learning["settings"]["score"] == "thrifty"
    assert learning["options"] == {"names": ["thrifty"], "price": 3.0}
    table = script("make_reference").scores_table()
    row = "| thrifty | loglik less a price for each parameter | loglik − price·d | yes | labels |"
    assert f"{row} --price |" in table


# ------------------------------------------------------------------ checks of what is asked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "gg"}, "test 'gg' not found; did you mean 'g'"),
        ({"name": "g", "permutations": 9}, "`permutations` does not go with `test='g'`"),
        ({"name": "g", "colour": 9}, "no test has an option `colour`; there are `min_per_cell`"),
        ({"name": "g", "df": "some"}, "`df` must be one of full, adjusted, not 'some'"),
        ({"name": "g", "min_per_cell": -1}, "`min_per_cell` must be at least 0, not -1"),
        (
            {"name": "permutation", "permutations": 0},
            "`permutations` must be between 1 and 1e9, not 0",
        ),
        ({"name": "permutation", "permutations": 1.5}, "`permutations` must be a whole number"),
        ({"name": "permutation", "seed": -1}, "`seed` must be at least 0, not -1"),
        ({"name": "bayes", "ess": 0}, "`ess` must be between 1e-100 and 1e100, not 0"),
        ({"name": "bayes", "log_bf": math.nan}, "`log_bf` must be a finite number, not nan"),
    ],
)
def test_tests_refuse_what_does_not_fit(counter, options, message):
    with pytest.raises(UsageError, match=message):
        make_test(**options, counter=counter)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "bicc"}, "score 'bicc' not found; did you mean 'bic'"),
        (
            {"name": "bic", "ess": 1},
            r"`ess` does not go with `score='bic'` \(only with bdeu, bds\)",
        ),
        ({"name": "bic", "colour": 1}, "no score has an option `colour`"),
        (
            {"name": "bd", "prior_count": "many"},
            "`prior_count` must be a finite number, not 'many'",
        ),
        ({"name": "bic", "edge_penalty": math.inf}, "`edge_penalty` must be a finite number"),
    ],
)
def test_scores_refuse_what_does_not_fit(counter, options, message):
    with pytest.raises(UsageError, match=message):
        make_score(**options, counter=counter)


def test_columns_of_the_wrong_kind_are_named(counter):
    words = "is for numeric columns, and columns 'asia', 'bronc', .* are categorical; leave"
    with pytest.raises(DataError, match=f"fisher-z {words}"):
        make_test(name="fisher-z", counter=counter)
    with pytest.raises(DataError, match=f"bge {words}"):
        make_score(name="bge", counter=counter)


def test_several_scores_go_together_or_do_not():
    check_scores(["bic", "bdeu"], ["ess", "bins", "edge_penalty"])
    with pytest.raises(UsageError, match="lists 'bic' twice"):
        check_scores(["bic", "bic"], [])
    with pytest.raises(UsageError, match="lists no score"):
        check_scores([], [])
    with pytest.raises(UsageError, match="`bins` does not go with scores of numbers"):
        check_scores(["bge"], ["bins"])


def test_levels_and_labels_are_for_tests_that_have_them():
    check_test("g", ["alpha", "adjust", "bins"])
    with pytest.raises(UsageError, match="`alpha` does not go with `test='bayes'`"):
        check_test("bayes", ["alpha"])
    with pytest.raises(UsageError, match="`bins` does not go with `test='fisher-z'`"):
        check_test("fisher-z", ["bins"])


@pytest.mark.parametrize("entry", [*TESTS.values(), *SCORES.values()], ids=lambda e: e.name)
def test_entries_describe_themselves(entry):
    registry, base = (
        (SCORES, FamilyScore) if isinstance(entry, KnownScore) else (TESTS, CounterTest)
    )
    assert registry[entry.name] is entry
    assert issubclass(entry.load(), base)
    assert entry.summary and entry.formula and entry.columns
    if entry.columns == (NUMBERS,):
        assert not {"df", "min_per_cell"} & {option.name for option in entry.options}
    if base is CounterTest:
        assert issubclass(entry.load(), PValueTest) == entry.p_value
    for option in entry.options:
        assert option.problem(option.default) is None and option.help[0].isupper()
