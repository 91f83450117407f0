"""Restarts of searches: the same for any number of processes, and what is handed over."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

import gml
from gml.kernel import processes
from gml.learners import restarts
from gml.learners.ges import ges
from gml.learners.hillclimb import hill_climb
from gml.learners.local_scores import Computed
from gml.progress import Deadline

LEARNERS = [
    pytest.param(lambda score, **options: hill_climb(score, tabu=3, **options), id="hc"),
    pytest.param(ges, id="ges"),
    pytest.param(lambda score, **options: ges(score, extended=True, **options), id="extended"),
]


@pytest.fixture
def always_forking(monkeypatch):
    """Restarts of the sample data take next to no time."""
    if not processes.can_fork():
        pytest.skip("no processes can be forked here")
    monkeypatch.setattr(processes, "_WORTH_FORKING", 0.0)


def _counter():
    return gml.MemoryCounter(gml.read("sample_data/asia.csv"), threads=2)


@pytest.mark.parametrize("learn", LEARNERS)
def test_the_number_of_processes_changes_nothing(learn, always_forking):
    found = []
    for threads in (1, 2, 5):
        told = []
        score = gml.SCORES["bic"](_counter())
        result = learn(score, restarts=9, seed=3, threads=threads, trace=told.append)
        found.append((result.graph.names, result.graph.marks.tolist(), *result_facts(result), told))
    assert found[0] == found[1] == found[2]
    phases = [step.phase for step in found[0][-1] if step.move == "perturb"]
    assert phases == [f"restart {k}" for k in range(1, 10)]


def result_facts(result):
    return result.score, result.families, result.steps, result.complete


def test_a_restart_begins_at_the_best_of_all_but_the_last_two_before_it():
    """Its random moves are told with what they lose against where it began."""
    score, told = gml.SCORES["bic"](_counter()), []
    hill_climb(score, restarts=12, perturb=4, seed=2, trace=told.append)
    best = [max(step.score for step in told if step.phase == "climb")]
    for number in range(1, 13):
        steps = [step for step in told if step.phase == f"restart {number}"]
        start = best[max(0, number - restarts.AT_A_TIME)]
        assert steps[0].score - steps[0].gain == pytest.approx(start, abs=1e-9)
        best.append(max(best[-1], *(step.score for step in steps)))


def test_what_a_score_remarks_comes_from_all_processes(always_forking):
    """Families that are worth −∞ are named, whichever process met them."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 8, (60, 3))
    columns = {f"l{j}": [f"v{k}" for k in labels[:, j]] for j in range(3)}
    columns |= {f"x{j}": rng.normal(size=60) + labels[:, j % 3] for j in range(3)}
    remarks = []
    for threads in (1, 2):
        counter = gml.MemoryCounter(gml.read(pd.DataFrame(columns), numeric=["x0", "x1", "x2"]))
        score = gml.SCORES["bic-cg"](counter)
        hill_climb(score, restarts=6, threads=threads)
        remarks.append(score.remarks())
    assert remarks[0]
    assert remarks[0] == remarks[1]


def test_no_restart_begins_after_the_deadline(always_forking):
    class Over(Deadline):
        @property
        def passed(self):
            return True

    result = hill_climb(gml.SCORES["bic"](_counter()), restarts=50, threads=2, deadline=Over())
    assert not result.complete
    assert result.steps == 0


def test_a_score_of_the_user_stays_in_this_process(always_forking):
    asked = []

    class Own:
        names = ("a", "b", "c")

        def local(self, child, parents):
            asked.append((child, tuple(parents)))
            return float(len(parents) == 1)

    before = len(asked)
    result = hill_climb(Own(), restarts=5, threads=2)
    assert result.families == len(set(asked[before:]))


@pytest.mark.parametrize("says_so", [False, True])
def test_an_engine_of_the_user_is_forked_only_if_it_says_so(says_so, always_forking, tmp_path):
    """Processes that share its connection would read the answers of one another."""
    asked_by = tmp_path / "asked_by"

    class Connected(gml.Counter):
        inside = _counter()
        variables = inside.variables
        n = inside.n

        def tables(self, sets):
            with asked_by.open("a") as file:
                file.write(f"{os.getpid()}\n")
            return self.inside.tables(sets)

    class Forked(Connected):
        can_fork = True

    counter = Forked() if says_so else Connected()
    hill_climb(gml.SCORES["bic"](counter), restarts=4, perturb=3, threads=2)
    others = set(asked_by.read_text().split()) - {str(os.getpid())}
    assert bool(others) == says_so


def test_families_are_counted_once():
    computed, more = Computed(), Computed()
    computed.add_column(0, 0b0010, 0b1100)
    more.add_column(0, 0b0010, 0b0100)
    more.alone |= {(0, 0b0110), (0, 0b1000)}
    computed.add(more)
    assert len(computed) == 3


@pytest.mark.parametrize("learn", LEARNERS[:2])
def test_a_best_graph_of_another_process_does_not_count_twice(learn, shared, always_forking):
    model = gml.read_model(shared / "data" / "networks" / "insurance.bif")
    counter = gml.MemoryCounter(gml.sample(model, 500, seed=1), threads=1)
    one, two = (learn(gml.SCORES["bic"](counter), restarts=12, threads=k) for k in (1, 2))
    assert np.array_equal(one.graph.marks, two.graph.marks)
    assert result_facts(one) == result_facts(two)
