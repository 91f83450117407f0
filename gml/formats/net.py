"""NET, the file format of HUGIN (HUGIN API Reference Manual, chapter "The NET language").

    net { }
    node X { states = ("no" "yes"); }
    potential ( X | A B ) { data = ((0.9 0.1) (0.2 0.8)); }

The levels of X vary fastest, then the last parent. Both `net { … }` and the newer
`class NAME { … }` around the nodes are read; comments are % to the end of the line, and // and
/* */ as pgmpy reads them. Attributes other than `states` and `data` are ignored. Continuous,
decision and utility nodes, and tables given by a model instead of data, are refused.

Writing is narrow, so that pgmpy 1.1 and pyAgrum 3.3 read the same names: names of ASCII letters,
digits and _, not beginning with a number; levels of printable ASCII without blanks, quotes,
backslashes, commas, parentheses, comments, or text that pgmpy takes for data; two levels at least.
"""

from __future__ import annotations

import re

import numpy as np

from gml.errors import counted, quote
from gml.formats.assembly import Assembly, numbers, refuse_single_levels, tables_to_write
from gml.formats.stand_ins import Alphabet, restored
from gml.formats.statements import Statement, Statements, split_names, unquoted
from gml.model.bayesnet import CPT, BayesNet

# ---------------------------------------------------------------------- writing

_IDENTIFIER = re.compile(r"([A-Za-z_]|[0-9]+[A-DF-Za-df-z_])[A-Za-z0-9_]*")
_KEYWORDS = frozenset(("net", "class", "node", "potential", "data", "states"))
_LEVEL = re.compile(r"(?!.*(//|/\*|data=))[!#-'*+\--\[\]-~]+")


def dump_net(net: BayesNet, *, sanitize: bool = False) -> str:
    """Return NET text; names that a reader would not read back are refused, or replaced."""
    tables, comments = tables_to_write(net, ALPHABET, sanitize)
    refuse_single_levels(tables, "NET")
    parts = [*(f"% {comment}\n" for comment in comments), "net {\n}\n"]
    for cpt in tables:
        states = " ".join(f'"{level}"' for level in cpt.variable.levels or ())
        parts.append(f"node {cpt.variable.name} {{\n  states = ({states});\n}}\n")
    parts += map(_potential, tables)
    return "".join(parts)


def _potential(cpt: CPT) -> str:
    # pgmpy takes "…node b" within the parents for a declaration of b, but not across a line.
    parents = "".join(
        f"{parent.name}\n" if parent.name.endswith("node") else f"{parent.name} "
        for parent in cpt.parents
    )
    header = f"{cpt.variable.name} | {parents.rstrip()}" if parents else cpt.variable.name
    rows = [f"({' '.join(map(repr, row))})" for row in cpt.table.tolist()]
    data = "(\n    " + "\n    ".join(rows) + ")" if cpt.parents else rows[0]
    return f"potential ( {header} ) {{\n  data = {data};\n}}\n"


def _reads_name(name: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(name)) and name not in _KEYWORDS


ALPHABET = Alphabet("NET", _reads_name, _LEVEL.fullmatch)


# ---------------------------------------------------------------------- reading

_NODE = re.compile(r"(?:(discrete|continuous|decision|utility|function)\s+)?node\s+(.+)", re.DOTALL)
_POTENTIAL = re.compile(r"potential\s*\((.*)\)", re.DOTALL)
_CLASS = re.compile(r"net|class\s+\S+")
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*(.*)", re.DOTALL)


def load_net(text: str, where: str) -> BayesNet:
    """Read a network from NET text."""
    statements = Statements(text, where, "//|%")
    assembly = Assembly(where)
    definitions: list[tuple[Statement, Statement | None]] = []
    depth = 0
    for statement in statements:
        if statement.mark == "}" and not statement.text and depth:
            depth -= 1
        elif statement.mark == ";" and (not statement.text or depth):
            continue
        elif statement.mark == "{" and _CLASS.fullmatch(statement.text) and not depth:
            depth += 1
        elif statement.mark == "{" and (node := _NODE.fullmatch(statement.text)):
            _read_node(statements, statement, node, assembly)
        elif statement.mark == "{" and _POTENTIAL.fullmatch(statement.text):
            attributes = _attributes(statements, "a potential")
            definitions.append((statement, attributes.get("data")))
        else:
            shown = quote(statement.text + statement.mark)
            raise statements.fail(f"{shown} where a node or a potential should begin")
    if depth:
        raise statements.fail("the file ends within a block")
    for header, data in definitions:
        _read_potential(header, data, assembly)
    return restored(assembly.network(), text, where)


def _attributes(statements: Statements, what: str) -> dict[str, Statement]:
    """Read `key = value;` up to the end of a block."""
    found: dict[str, Statement] = {}
    while (statement := statements.next_or_fail(what)).mark != "}":
        attribute = _ATTRIBUTE.fullmatch(statement.text)
        if statement.mark == "{" or (statement.text and attribute is None):
            raise statements.fail(f"{quote(statement.text + statement.mark)} within {what}")
        if attribute is not None:
            found[attribute[1]] = statement._replace(text=attribute[2])
    if statement.text:
        raise statements.fail(f"{quote(statement.text)} has no ; behind it")
    return found


def _read_node(
    statements: Statements, header: Statement, node: re.Match[str], assembly: Assembly
) -> None:
    kind, name = node[1], unquoted(node[2])
    what = f"node {quote(name)}"
    if kind not in (None, "discrete"):
        raise statements.fail(f"{what} is a {kind} node; only discrete ones are read", header.line)
    states = _attributes(statements, what).get("states")
    listed = None if states is None else re.fullmatch(r"\((.*)\)", states.text, re.DOTALL)
    if listed is None:
        raise statements.fail(f'{what} has no "states = (…);"', header.line)
    assembly.declare(name, split_names(listed[1]), header.line)


def _read_potential(header: Statement, data: Statement | None, assembly: Assembly) -> None:
    match = _POTENTIAL.fullmatch(header.text)
    left, _, right = match[1].partition("|") if match else ("", "", "")
    left_names = split_names(left)
    if len(left_names) != 1:
        raise assembly.fail("a potential must have exactly one node before |", header.line)
    child, parents = assembly.family(left_names[0], split_names(right), header.line)
    what = f"the potential of {quote(child.name)}"
    if data is None:
        raise assembly.fail(f"{what} has no data", header.line)
    rows, columns = assembly.shape(child, parents, header.line)
    try:
        values = numbers(data.text.replace("(", " ").replace(")", " "))
    except ValueError as error:
        raise assembly.fail(f"{what}: {error}", data.line) from None
    if len(values) != rows * columns:
        raise assembly.fail(
            f"{counted(len(values), 'number')} in {what} where {rows * columns} should be",
            data.line,
        )
    table = np.ascontiguousarray(values.reshape(rows, columns))
    assembly.define(child, parents, table, header.line)
