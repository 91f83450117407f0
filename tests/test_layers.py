"""Imports go strictly down, rooms have no knots, heavy packages keep to their places, files are short."""

from __future__ import annotations

import ast

import pytest

from tests.scripts import script

graph = script("import_graph")

# The floor, each file with those that it may use; then each room, the floor aside.
FLOOR = {
    "errors": {"printable_text"},
    "path_kinds": set(),
    "ledger": {"errors", "path_kinds"},
    "parameters": {"errors"},
    "signals": set(),
    "atomic": {"errors", "ledger", "path_kinds", "signals"},
    "pace": set(),
    "progress": {"errors", "pace", "printable_text", "stopping", "terminal_style"},
    "resources": {"errors"},
    "stopping": set(),
    "synonyms": {"errors", "calls"},
    "name_order": set(),
    "printable_text": set(),
    "terminal_style": set(),
    "text_table": {"printable_text"},
    "calls": {"errors"},
}
MAY_USE = {
    "kernel": set(),
    "graph": set(),
    "data": {"kernel"},
    "counts": {"data", "kernel"},
    "independence": {"counts", "data", "kernel", "graph"},
    "scores": {"counts", "data", "kernel", "graph"},
    "learners": {"independence", "scores", "counts", "data", "kernel", "graph"},
    "model": {"independence", "scores", "counts", "data", "kernel", "graph"},
    "gate": {"learners", "model", "independence", "scores", "counts", "data", "kernel", "graph"},
    "structural": {"learners", "model", "independence", "scores", "counts", "data", "kernel", "graph"},
    "planning": {"counts", "data", "kernel"},
    "formats": {"planning", "gate", "learners", "model", "independence", "scores", "counts", "data", "kernel", "graph"},
    "pictures": {"planning", "formats", "gate", "learners", "model", "independence", "scores", "counts", "data", "kernel", "graph"},
    "verbs": {
        "pictures", "formats", "gate", "structural", "planning", "learners", "model", "independence", "scores", "counts", "data",
        "kernel",
        "graph",
    },
    "cli": {
        "verbs", "pictures", "formats", "gate", "structural", "planning", "learners", "model", "independence", "scores", "counts", "data",
        "kernel", "graph",
    },
}  # fmt: skip

# What `cli/` uses when it runs, beside click, the floor and the names of gml itself.
CLI_MAY_USE = {"verbs", "formats"}

# Packages that may be imported only in some places, and there only inside a function.
HEAVY = {
    "pandas": {
        "data/dataset.py",
        "data/frames.py",
        "data/missing_patterns.py",
        "data/profile.py",
        "gate/result.py",
        "graph/graph.py",
        "learners/averaging.py",
        "model/answer.py",
        "model/mixtures/profiles.py",
        "model/mixtures/result.py",
        "model/decoded_metrics.py",
        "model/mixed/mixture.py",
        "model/entropy/density.py",
        "model/prediction_metrics.py",
        "model/raking/result.py",
        "model/network.py",
        "model/regressions.py",
        "model/row_answers.py",
        "verbs/impute.py",
        "verbs/shared/result_frames.py",
    },
    "networkx": {"formats/graphml.py", "graph/graph.py"},
    "pyarrow": {
        "counts/count_parquet.py",
        "counts/spark_answers.py",
        "counts/spark_rows.py",
        "counts/spark_session.py",
        "data/parquet.py",
        "data/parquet_file.py",
        "data/parquet_sample.py",
    },
    "pyspark": {
        "counts/spark.py",
        "counts/spark_answers.py",
        "counts/spark_session.py",
        "counts/spark_source.py",
    },
    "py4j": {"counts/spark_session.py"},
    "zstandard": {"data/decompression.py"},
    "scipy": {
        "model/entropy/polytope.py",
        "model/entropy/prices.py",
        "model/conditional/separation.py",
        "model/em/number_intervals.py",
        "model/fit.py",
        "model/regression_fit.py",
        "model/linear_programme.py",
        "model/raking/feasible.py",
        "model/sequences/separation.py",
        "model/undirected/boundary/facial_set.py",
    },
    "pydot": {"formats/pydot_graph.py", "pictures/layout/graphviz.py"},
    "vl_convert": {"pictures/rendering.py"},
}


every_module = pytest.mark.parametrize("path", graph.modules(), ids=graph.place_of)


def test_the_page_of_the_rooms_knows_them_all():
    assert set(graph.ROOMS) == set(MAY_USE)
    assert set(graph.FLOOR) == set(FLOOR)


@every_module
def test_imports(path):
    room = graph.room_of(path)
    if room == "__init__":
        return
    assert room in MAY_USE or room in FLOOR, f"{room} is a room that nobody planned"
    allowed = FLOOR[room] if room in FLOOR else MAY_USE[room] | set(FLOOR)
    for name, _, _ in graph.imports_of(path):
        target = graph.room_imported(name)
        if target is not None:
            assert target == room or target in allowed, f"{room} must not use {target}"
        elif name.startswith("gml") and name != "gml.__version__":
            assert room == "cli", f"{room} must not use the front door, {name}"
        if name.split(".")[0] == "click":
            assert room == "cli"


def test_the_command_line_uses_the_front_door():
    allowed = CLI_MAY_USE | {"cli"} | set(FLOOR)
    found = {
        (graph.place_of(path), target)
        for path in graph.modules()
        if graph.room_of(path) == "cli"
        for name, _, for_types in graph.imports_of(path)
        if not for_types and (target := graph.room_imported(name)) not in {None, *allowed}
    }
    assert found == set()


def test_plans_are_only_for_who_asks_for_them():
    found = {
        graph.place_of(path)
        for path in graph.modules()
        if any(graph.room_imported(name) == "planning" for name, _, _ in graph.imports_of(path))
    }
    apart = {place for place in found if not place.startswith("planning/")}
    assert apart == {"formats/reports/plans.py", "verbs/plan.py"}


def test_no_cycles_within_rooms():
    assert graph.cycles_within_rooms() == []


@every_module
def test_heavy_packages(path):
    place = graph.place_of(path)
    for name, at_top, for_types in graph.imports_of(path):
        package = name.split(".")[0]
        if package in HEAVY and not for_types:
            assert place in HEAVY[package], f"{package} does not belong in {place}"
            assert not at_top, f"{package} is imported when {place} is"


@every_module
def test_no_star_imports_and_a_docstring(path):
    assert not any(found.name.endswith(".*") for found in graph.imports_of(path))
    assert ast.get_docstring(ast.parse(path.read_text())), "a module says what it is for"


# The reporter of warnings, the kernel once it is loaded, and the memory that a process may take.
KEEP_STATE = {"progress.py", "kernel/__init__.py", "resources.py"}


@every_module
def test_no_state_outlives_a_call(path):
    tree = ast.parse(path.read_text())
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Global) or (isinstance(node, ast.Name) and node.id == "ContextVar")
    ]
    assert not found or graph.place_of(path) in KEEP_STATE, "what a call is to know is passed"
