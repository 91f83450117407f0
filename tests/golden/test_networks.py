"""The networks of the Bayesian network repository read to their published sizes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from gml.errors import GmlWarning
from gml.formats.graphs import read_graph
from gml.formats.models import MODEL_WRITERS, parse_model, read_model
from tests.model_files import assert_same
from tests.places import SHARED

from .sources import published

FILES = sorted((SHARED / "data/networks").glob("*.bif*"))
ROUNDED = 1e-9


def test_every_published_network_is_there(shared):
    assert {path.name.split(".")[0] for path in FILES} == set(published(SHARED, "network-sizes"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_sizes(path):
    expected = published(SHARED, "network-sizes")[path.name.split(".")[0]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = read_model(path)
    assert len(net.names) == expected["nodes"]
    assert net.graph.n_edges == expected["arcs"]
    assert net.n_parameters == expected["parameters"]
    assert max(len(cpt.parents) for cpt in net.cpds) == expected["max_in_degree"]
    assert max(cpt.n_levels for cpt in net.cpds) == expected["max_states"]
    complaints = [w for w in caught if w.category is GmlWarning]
    assert len(complaints) == (expected["largest_row_sum_error"] > ROUNDED)
    assert all(np.abs(cpt.table.sum(axis=1) - 1).max() < ROUNDED for cpt in net.cpds)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix == ".bif"], ids=lambda path: path.name
)
@pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")
def test_identity_through_every_format(path):
    net = read_model(path)
    for format in ("bif", "xmlbif", "net"):
        assert_same(parse_model(MODEL_WRITERS[format](net), "t"), net)
    text = MODEL_WRITERS["json"](net)
    assert MODEL_WRITERS["json"](parse_model(text, "t")) == text
    assert read_graph(path) == net.graph
