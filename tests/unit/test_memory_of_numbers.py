"""What EM, mixtures and models keep of incomplete rows of numbers, beside the table itself."""

import tracemalloc

import numpy as np
import pytest

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.graph.graph import Graph
from gml.model.em.fitting import EmSettings, fit_em
from gml.model.em.normal import normal_em
from gml.model.em.number_expectations import Expectation
from gml.model.em.number_families import Families
from gml.model.em.number_rows import number_rows
from gml.model.fit import fit
from gml.model.mixtures.rows import mixture_rows
from gml.model.training import training_of
from gml.verbs.shared.em_request import observing

N = 300_000
GRAPH = Graph.from_edges("abcde", [(p, "-->", c) for p, c in ("ab", "ac", "bc", "cd", "de", "ae")])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    cells = rng.standard_normal((5, N)) + rng.standard_normal(N)
    cells[rng.random((5, N)) < 0.2] = np.nan
    return Dataset(tuple(Variable(name, None) for name in "abcde"), tuple(cells))


def peak_per_row(work):
    """The most bytes per row that some work takes at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / N
    finally:
        tracemalloc.stop()


def expectation(table):
    rows = number_rows("abcde", table)
    return Expectation(Families.of(GRAPH, rows), rows)


def test_rows_that_em_climbs_on_take_twice_the_table_at_the_most(table):
    # A copy of 40 bytes on scales of its own, 5 that say what was seen, and positions.
    assert peak_per_row(lambda: expectation(table)) < 85


def test_a_normal_distribution_takes_as_much(table):
    values = np.column_stack(table.columns)
    assert peak_per_row(lambda: normal_em(values, most_steps=2)) < 85


def test_the_rows_of_a_mixture_take_less_than_twice_the_table(table):
    assert peak_per_row(lambda: mixture_rows(table)) < 85


def test_what_a_model_keeps_of_its_rows_takes_less_than_twice_the_table(table):
    complete = Dataset(table.variables, tuple(np.nan_to_num(c) for c in table.columns))
    assert peak_per_row(lambda: fit(GRAPH, MemoryCounter(complete))) < 170
    assert peak_per_row(lambda: training_of(table)) < 85


def test_rows_without_values_count_0_times_rather_than_that_the_others_are_copied(table):
    found = observing(table, weighed=True)
    empty = np.isnan(np.stack(table.columns)).all(axis=0)
    assert 0 < empty.sum() == found.n_rows - found.n
    assert all(a is b for a, b in zip(found.columns, table.columns, strict=True))
    assert (found.weights == ~empty).all()


def test_a_table_that_is_complete_but_for_such_rows_has_no_gap_left(table):
    gap, full = np.array([1.0, np.nan, 2.0]), np.array([3.0, np.nan, 4.0])
    found = observing(Dataset(table.variables[:2], (gap, full)), weighed=True)
    assert found.n_rows == 2 and not found.missing


def test_rows_that_count_0_times_change_no_fit(table):
    few = Dataset(table.variables, tuple(np.append(c[:4000], np.nan) for c in table.columns))
    settings = EmSettings(restarts=1)
    weighed, left = observing(few, weighed=True), observing(few)
    assert left.n_rows < weighed.n_rows
    one, other = (fit_em(GRAPH, rows, settings=settings) for rows in (weighed, left))
    assert one.report.log_likelihood == pytest.approx(other.report.log_likelihood, rel=1e-13)
    assert [c.n for c in one.net.cpds] == [c.n for c in other.net.cpds]
