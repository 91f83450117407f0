"""Where the figures come from: runs of bnlearn, shared published figures, and small printed tables."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import numpy as np

import gml
from gml.data.dataset import Dataset, Variable

DATA = Path(__file__).parent / "data"
GOLDEN = json.loads((DATA / "bnlearn.json").read_text())

# Cooper & Herskovits 1992, Machine Learning 9:309, table 1.
COOPER_HERSKOVITS = ["100", "111", "001", "111", "000", "011", "111", "000", "111", "000"]


@functools.cache
def golden_counter(name):
    return gml.MemoryCounter(gml.read(DATA / f"{name}.csv.gz"))


def golden_graph(name):
    arcs = GOLDEN["arcs"][name.split("_")[0]]
    names = golden_counter(name).rows().names
    return gml.Graph.from_edges(names, [(a, "-->", b) for a, b in arcs])


def graph_of(model, names=None):
    """Read bnlearn's model string, in which a name may have a bracket or a colon in it only once."""
    families = [node.partition("|")[::2] for node in re.findall(r"\[([^\]]*)\]", model)]
    edges = [(p, "-->", child) for child, parents in families for p in parents.split(":") if p]
    return gml.Graph.from_edges(names or [child for child, _ in families], edges)


def cooper_herskovits():
    levels = ("0", "1")
    variables = tuple(Variable(name, levels) for name in ("x1", "x2", "x3"))
    columns = tuple(
        np.array([int(row[j]) for row in COOPER_HERSKOVITS], dtype=np.uint8) for j in range(3)
    )
    return gml.MemoryCounter(Dataset(variables, columns))


def published(shared, wanted):
    """The figures that others published, of one entry."""
    return published_entry(shared, wanted)["expected"]


def published_entry(shared, wanted):
    entries = json.loads((shared / "data/published.json").read_text())["entries"]
    return next(entry for entry in entries if entry["id"] == wanted)
