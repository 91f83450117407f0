"""Names of checks: the same from run to run, so that a baseline can accept a check by its name."""

from __future__ import annotations

from collections.abc import Sequence

from gml.gate.check import COLUMNS, LIKELIHOOD, REPEATS
from gml.gate.families import label, listed

FIT_ID = f"fit:{LIKELIHOOD}"
REPEATS_ID = f"schema:{REPEATS}"
COPIES_ID = "schema:copies"
UNSEEN = "unseen"
"""Stands for the rows of a table that have no data."""


def column_id(kind: str, name: str) -> str:
    """The name of a check of a column by itself.

    Examples
    --------
    >>> column_id("columns", "A"), column_id("drift", "a,b")
    ('schema:column:A', 'schema:drift:"a,b"')
    """
    return f"schema:{'column' if kind == COLUMNS else kind}:{label(name)}"


def table_id(name: str, given: Sequence[str] = ()) -> str:
    """The name of the check of a whole table, or regression; others begin with it.

    `given` tells the tables of one variable apart, in an undirected model.

    Examples
    --------
    >>> table_id("A"), table_id("A", ["B", "C"])
    ('tables:A', 'tables:A|B,C')
    """
    return f"tables:{label(name)}{f'|{_names(given)}' if given else ''}"


def row_id(name: str, given: Sequence[tuple[str, str]]) -> str:
    """The name of the check of a row of a table.

    Examples
    --------
    >>> row_id("A", [("B", "x")]), row_id("A", [])
    ('tables:A|B=x', 'tables:A|')
    """
    return f"{table_id(name)}|{listed(given)}"


def unseen_id(name: str, given: Sequence[str] = ()) -> str:
    """The name of the check of all rows of a table that have no data."""
    return f"{table_id(name, given)}|{UNSEEN}"


def regression_id(name: str, given: Sequence[tuple[str, str]] = ()) -> str:
    """The name of the check of a regression, of all or in one configuration of labels.

    Examples
    --------
    >>> regression_id("A"), regression_id("A", [("B", "x")])
    ('tables:A', 'tables:A|B=x')
    """
    return row_id(name, given) if given else table_id(name)


def regression_part_id(name: str, kind: str, given: Sequence[tuple[str, str]] = ()) -> str:
    """The name of a check of the errors of a regression.

    Examples
    --------
    >>> regression_part_id("A", "sd"), regression_part_id("A", "sd", [("B", "x")])
    ('tables:A:sd', 'tables:A|B=x:sd')
    """
    return f"{regression_id(name, given)}:{kind}"


def independence_id(u: str, v: str, given: Sequence[str]) -> str:
    """The name of the check of an independence, whichever of the two comes first.

    Examples
    --------
    >>> independence_id("B", "A", ["C"])
    'structure:A independent of B|C'
    """
    first, second = sorted((u, v))
    where = f"|{_names(given)}" if given else ""
    return f"structure:{label(first)} independent of {label(second)}{where}"


def edge_id(source: str, target: str) -> str:
    """The name of the check of an edge."""
    return f"structure:{label(source)}->{label(target)}"


def link_id(u: str, v: str) -> str:
    """The name of the check of an edge without a direction, whichever of the two comes first.

    Examples
    --------
    >>> link_id("B", "A")
    'structure:A---B'
    """
    return f"structure:{'---'.join(label(name, ['-']) for name in sorted((u, v)))}"


def _names(given: Sequence[str]) -> str:
    return listed([(name, None) for name in given])
