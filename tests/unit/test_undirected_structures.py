"""Undirected graphs by the name of how they are learned."""

from __future__ import annotations

import pytest

import gml
from gml.errors import UsageError
from gml.learners.chowliu import chow_liu
from gml.learners.decomposable import forward_decomposable
from gml.verbs.shared.undirected_structures import choose_structure
from tests.graphs import named_edges


@pytest.fixture
def counter(sample_data):
    return gml.MemoryCounter(gml.read(sample_data / "asia.csv"))


def learned(counter, name, options):
    return choose_structure(name, options)[0].learn(counter)


def test_each_name_learns_its_graph(counter):
    complete = learned(counter, "complete", {})
    assert (complete.graph.kind, complete.graph.n_edges) == ("undirected", 28)
    tree = learned(counter, "tree", {"prune": "bic"})
    assert tree.graph == chow_liu(counter, directed=False, prune="bic").graph
    assert tree.found["pairs"] == 28
    result = forward_decomposable(gml.SCORES["bdeu"](counter, ess=5), max_clique=2)
    forward = learned(counter, None, {"score": "bdeu", "ess": 5, "max_clique": 2})
    assert named_edges(forward.graph) == named_edges(result.graph)
    assert forward.found == {
        "score": result.score,
        "scores_computed": result.families,
        "steps": result.steps,
    }
    assert all(found.complete for found in (complete, tree, forward))


def test_what_is_not_about_a_structure_is_handed_back():
    chosen, rest = choose_structure("tree", {"prune": "g", "alpha": 0.1, "bins": 3})
    assert chosen.shown == {"structure": "tree", "prune": "g", "alpha": 0.1}
    assert chosen.tests
    assert rest == {"bins": 3}
    assert not choose_structure("forward", {})[0].tests
    assert choose_structure("l1", {})[0].tests


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("chain", {}, "must be one of forward, tree, l1, complete, not 'chain'"),
        ("tree", {"prune": "aic"}, "must be one of none, bic, g, not 'aic'"),
        ("tree", {"alpha": 0.1}, "`alpha` belongs to `prune='g'`"),
        ("tree", {"prune": "g", "alpha": 2.0}, "`alpha` must"),
        ("tree", {"ess": 2.0}, r"`ess` does not go with `structure='tree'` \(only with forward"),
        ("forward", {"ess": 2.0}, "`ess` does not go with `score='bic'`"),
        ("forward", {"max_clique": 0}, "`max_clique` must be at least 1"),
        ("l1", {"rule": "xor"}, "must be one of and, or, not 'xor'"),
        ("l1", {"criterion": "aic"}, "must be one of ebic, folds, not 'aic'"),
        ("l1", {"criterion": "folds", "gamma": 0.5}, "`gamma` belongs to `criterion='ebic'`"),
        ("l1", {"folds": 5}, "`folds` belongs to `criterion='folds'`"),
        ("l1", {"criterion": "folds", "folds": 1}, "`folds` must be at least 2"),
        ("l1", {"gamma": -1.0}, "`gamma` must be 0 or more and finite, not -1.0"),
        ("l1", {"gamma": float("nan")}, "`gamma` must be 0 or more and finite, not nan"),
        ("complete", {"prune": "bic"}, "`prune` does not go with `structure='complete'`"),
    ],
)
def test_what_means_nothing_to_a_structure_is_refused(name, options, message):
    with pytest.raises(UsageError, match=message):
        choose_structure(name, options)
