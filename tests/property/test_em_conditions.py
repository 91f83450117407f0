"""EM on random problems: `benchmarks/em_conditions.py` goes through thousands of the same."""

from __future__ import annotations

import pytest

from tests.em_conditions import EXAMINED, Conditions

pytestmark = pytest.mark.filterwarnings("ignore::gml.GmlWarning")

N_PROBLEMS = {"tables": 30, "gaussian": 12, "mixed": 6, "mixtures": 12}


@pytest.mark.parametrize("kind", EXAMINED)
def test_em_keeps_its_promises(kind):
    found = Conditions()
    for seed in range(N_PROBLEMS[kind]):
        EXAMINED[kind](found, seed)
    assert not found.broken
    assert found.converged > N_PROBLEMS[kind] / 2
