"""pgmpy and pyAgrum read the files that gml writes, and gml reads theirs, to the same tables.

The packages run in a process of their own, which warns as it likes.
"""

from __future__ import annotations

import importlib.util
import json
import re
import select
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.formats.models import MODEL_WRITERS, parse_model, read_model, write_model
from gml.model.bayesnet import CPT, BayesNet
from tests.model_files import random_network

PEER = Path(__file__).with_name("peer.py")

# Names and levels at the edges of what each format may hold.
NAMES = {
    "bif": ["A", "b_1", "5a", "x.y", "a-b", "a?%", "_", "lymph_node", "Variables", "e", "mytable"],
    "net": ["A", "b_1", "5a", "_", "lymph_node", "Variables", "e", "E1", "nodes", "table", "dataset"],
    "xmlbif": ["A", "a b", "é日🌳", "<5", "&amp;", "]]>", "a,b", '"q"', "1", "{;}", "a\u00a0b"],
}  # fmt: skip
LABELS = {
    "bif": ["yes", "0", "-1", "007", "5a", "x.y", "a-b", "_", "table5", "Other"],
    "net": ["yes", "0", "-1", "1.5", "1e5", "<5", ">=5", "[0;1]", "a/b", "%", "{", "}", "'", "#"],
    "xmlbif": ["yes", "0", "-1", "1.5", "<5", ">=5", "[0,10)", "a b", "é", "'", '"', "%"],
}  # fmt: skip
FORMATS = list(NAMES)
# pyAgrum keeps single precision of BIF and NET.
DIGITS = {"pyagrum": 1e-6, "pgmpy": 1e-12}


@pytest.fixture(scope="module", params=["pgmpy", "pyagrum"])
def package(request):
    # Importing takes seconds and warns: only whether it is there.
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.fixture(scope="module")
def peer(package):
    """Ask a process of the package to read or write a file; importing it takes seconds, so once."""
    with subprocess.Popen(
        [sys.executable, PEER, package],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:

        def ask(*request):
            process.stdin.write(json.dumps(list(map(str, request))).encode() + b"\n")
            process.stdin.flush()
            assert select.select([process.stdout], [], [], 300)[0], "no answer"
            assert json.loads(process.stdout.readline()) == ""

        yield ask
        process.kill()


SUFFIXES = {"bif": "bif", "xmlbif": "bifxml", "net": "net"}


def tables_by_labels(levels, parents, parent_levels, table):
    """Probabilities by the labels of parents, sorted by name, and of the node."""
    order = sorted(range(len(parents)), key=lambda i: parents[i])
    array = np.array(table).reshape(*map(len, parent_levels), len(levels))
    return (
        levels,
        [parents[i] for i in order],
        [parent_levels[i] for i in order],
        array.transpose(*order, len(parents)),
    )


def assert_read_alike(net, found, tolerance):
    assert set(found) == set(net.names)
    for cpt in net.cpds:
        parents = [parent.name for parent in cpt.parents]
        levels = [list(parent.levels) for parent in cpt.parents]
        *mine, table = tables_by_labels(list(cpt.variable.levels), parents, levels, cpt.table)
        *theirs, other = tables_by_labels(*found[cpt.variable.name])
        assert theirs == mine
        np.testing.assert_allclose(other, table, rtol=0, atol=tolerance)


@pytest.mark.parametrize("format", FORMATS)
def test_they_read_what_we_write(package, peer, format, tmp_path):
    rng = np.random.default_rng(7)
    net = random_network(rng, NAMES[format], LABELS[format])
    path = tmp_path / f"net.{SUFFIXES[format]}"
    write_model(net, path, format)
    peer("read", format, path, tmp_path / "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert_read_alike(net, found, DIGITS[package])


@pytest.mark.parametrize("format", FORMATS)
def test_every_label_at_the_edge(package, peer, format, tmp_path):
    levels = tuple(LABELS[format])
    root = Variable("root", levels)
    p = np.arange(1.0, len(levels) + 1)
    child = CPT(Variable("child", levels[::-1]), (root,), np.tile(p / p.sum(), (len(levels), 1)))
    net = BayesNet((CPT(root, (), (p / p.sum())[np.newaxis]), child))
    path = tmp_path / f"net.{SUFFIXES[format]}"
    write_model(net, path, format)
    peer("read", format, path, tmp_path / "found.json")
    assert_read_alike(net, json.loads((tmp_path / "found.json").read_text()), DIGITS[package])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.filterwarnings("ignore:.* replaced by others")
def test_they_read_stand_ins(package, peer, format, tmp_path):
    names = [
        "a b",
        "a_b",
        "A B",
        "é",
        "node",
        "table5",
        "日本",
        "a,b",
        "*/",
        "-->",
        "{;}",
        '"',
        "%",
    ]
    labels = ["[-inf,0)", "[0,1e-07)", "[10,inf)", "<5", "65+", "a b", "a_b", "é", "", "0.5", "1,5"]
    net = random_network(np.random.default_rng(5), names, labels)
    path = tmp_path / f"net.{SUFFIXES[format]}"
    text = MODEL_WRITERS[format](net, sanitize=True)
    path.write_text(text)
    peer("read", format, path, tmp_path / "found.json")
    seen = parse_model(re.sub("^.*gml:original.*\n", "", text, flags=re.MULTILINE), "t")
    assert_read_alike(seen, json.loads((tmp_path / "found.json").read_text()), DIGITS[package])


@pytest.mark.parametrize("format", FORMATS)
def test_we_read_what_they_write(peer, format, tmp_path):
    rng = np.random.default_rng(11)
    net = random_network(rng, ["a", "b", "c", "d", "e"], ["no", "yes", "maybe", "l7"])
    source, target = tmp_path / "source.bif", tmp_path / f"net.{SUFFIXES[format]}"
    source.write_text(MODEL_WRITERS["bif"](net))
    peer("write", format, source, target)
    with warnings.catch_warnings():
        # They write six to eight digits.
        warnings.simplefilter("ignore")
        back = read_model(target)
    found = {
        cpt.variable.name: [
            list(cpt.variable.levels),
            [parent.name for parent in cpt.parents],
            [list(parent.levels) for parent in cpt.parents],
            cpt.table,
        ]
        for cpt in back.cpds
    }
    assert_read_alike(net, found, 2e-6)


def test_a_full_table_has_the_child_slowest(package, peer, tmp_path):
    text = (
        "network unknown {\n}\n"
        "variable a {\n  type discrete [ 2 ] { x, y };\n}\n"
        "variable c {\n  type discrete [ 3 ] { u, v, w };\n}\n"
        "probability ( a ) {\n  table 0.25, 0.75;\n}\n"
        "probability ( c | a ) {\n  table 0.1, 0.2, 0.3, 0.4, 0.6, 0.4;\n}\n"
    )
    (tmp_path / "net.bif").write_text(text)
    peer("read", "bif", tmp_path / "net.bif", tmp_path / "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert_read_alike(parse_model(text, "t"), found, DIGITS[package])
