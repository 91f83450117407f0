"""BIF, the Interchange Format for Bayesian Networks, version 0.15 (Cozman 1998), as text.

    network NAME { property …; }
    variable X { type discrete [ 2 ] { no, yes }; property …; }
    probability ( X | A, B ) { (a, b) 0.1, 0.9; … default 0.5, 0.5; }
    probability ( X ) { table 0.2, 0.8; }

In a `table` of a node with parents the levels of X vary slowest and the last parent fastest, which
is how pgmpy and pyAgrum read it too; rows may come in any order, and `default` fills those that are
not given. Comments are // and /* */. Reading is wider than the specification: labels may begin with
digits and contain any character but ; { } " and the comma, and within quotes these too; without
commas, blanks separate them; names with parentheses are read only in quotes.

Writing is narrower, so that pgmpy 1.1 and pyAgrum 3.3 both read the same names: ASCII
letters, digits and _ . ? % -, not beginning with a number; labels may also be whole numbers. Words
of the format are refused, and so are names that differ only in case (pgmpy folds it), names in
which pgmpy would find a `table` of numbers, and nodes of a single level (pyAgrum refuses those).
pyAgrum keeps single precision of what it reads.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import counted, listing, quote
from gml.formats.assembly import Assembly, numbers, refuse_single_levels, tables_to_write
from gml.formats.stand_ins import Alphabet, restored
from gml.formats.statements import Statement, Statements, split_names, unquoted
from gml.model.bayesnet import CPT, BayesNet

# ---------------------------------------------------------------------- writing

_IDENTIFIER = re.compile(r"([A-Za-z_]|[0-9]+[A-DF-Za-df-z_])[A-Za-z0-9_.?%-]*")
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_KEYWORDS = frozenset(
    ("network", "variable", "probability", "type", "discrete", "table", "default", "property")
)
_LOOKS_LIKE_TABLE = re.compile(r"(table|default)[-+.eE0-9]")


def dump_bif(net: BayesNet, *, sanitize: bool = False) -> str:
    """Return BIF text; names that a reader would not read back are refused, or replaced."""
    tables, comments = tables_to_write(net, ALPHABET, sanitize)
    refuse_single_levels(tables, "BIF")
    parts = [*(f"// {comment}\n" for comment in comments), "network unknown {\n}\n"]
    for cpt in tables:
        levels = cpt.variable.levels or ()
        parts.append(
            f"variable {cpt.variable.name} {{\n"
            f"  type discrete [ {len(levels)} ] {{ {', '.join(levels)} }};\n}}\n"
        )
    parts += map(_probability, tables)
    return "".join(parts)


def _probability(cpt: CPT) -> str:
    if not cpt.parents:
        values = ", ".join(map(repr, cpt.table[0].tolist()))
        return f"probability ( {cpt.variable.name} ) {{\n  table {values};\n}}\n"
    parents = ", ".join(parent.name for parent in cpt.parents)
    labels = itertools.product(*(parent.levels or () for parent in cpt.parents))
    rows = "".join(
        f"  ({', '.join(row)}) {', '.join(map(repr, values))};\n"
        for row, values in zip(labels, cpt.table.tolist(), strict=True)
    )
    return f"probability ( {cpt.variable.name} | {parents} ) {{\n{rows}}}\n"


def _reads_name(name: str) -> bool:
    words = name in _KEYWORDS or _LOOKS_LIKE_TABLE.search(name)
    return bool(_IDENTIFIER.fullmatch(name)) and not words


def _reads_level(level: str) -> bool:
    plain = _IDENTIFIER.fullmatch(level) or _WHOLE_NUMBER.fullmatch(level)
    return bool(plain) and level not in _KEYWORDS


ALPHABET = Alphabet("BIF", _reads_name, _reads_level, folds_case=True)


# ---------------------------------------------------------------------- reading

_TYPE = re.compile(r"type\s+discrete\s*(?:\[\s*(\d+)\s*\])?")
_HEADER = re.compile(r"probability\s*\((.*)\)", re.DOTALL)
_ROW = re.compile(r"\((.*)\)([^()]*)", re.DOTALL)


def load_bif(text: str, where: str) -> BayesNet:
    """Read a network from BIF text."""
    statements = Statements(text, where, "//")
    assembly = Assembly(where)
    definitions: list[tuple[Statement, list[Statement]]] = []
    for statement in statements:
        word = re.match(r"\w*", statement.text)
        keyword = word[0] if word else ""
        if statement.mark == ";" and (not statement.text or keyword == "property"):
            continue
        if statement.mark != "{" or keyword not in ("network", "variable", "probability"):
            shown = quote(statement.text + statement.mark)
            raise statements.fail(f"{shown} where a variable or probability block should begin")
        if keyword == "network":
            _skip_properties(statements, "the network block")
        elif keyword == "variable":
            _read_variable(statements, statement, assembly)
        else:
            definitions.append((statement, _block(statements, "a probability block")))
    # Blocks may come in any order, so tables wait until every variable is known.
    for header, rows in definitions:
        _read_probability(header, rows, assembly)
    return restored(assembly.network(), text, where)


def _block(statements: Statements, what: str) -> list[Statement]:
    found = []
    while (statement := statements.next_or_fail(what)).mark != "}":
        if statement.mark == "{":
            raise statements.fail(f"{quote(statement.text + '{')} within {what}")
        found.append(statement)
    if statement.text:
        raise statements.fail(f"{quote(statement.text)} has no ; behind it")
    return found


def _skip_properties(statements: Statements, what: str) -> None:
    for statement in _block(statements, what):
        if statement.text and not statement.text.startswith("property"):
            raise statements.fail(f"{quote(statement.text)} within {what}", statement.line)


def _read_variable(statements: Statements, header: Statement, assembly: Assembly) -> None:
    name = unquoted(header.text.removeprefix("variable"))
    if not name:
        raise statements.fail("a variable has no name", header.line)
    what = f"variable {quote(name)}"
    levels: list[str] | None = None
    while (statement := statements.next_or_fail(what)).mark != "}":
        if statement.mark == "{":
            declared = _TYPE.fullmatch(statement.text)
            if declared is None or levels is not None:
                raise statements.fail(f"{quote(statement.text)} is not the type of {what}")
            listed = statements.next_or_fail(what)
            if listed.mark != "}":
                raise statements.fail(f"the levels of {what} have no }} behind them", listed.line)
            levels = split_names(listed.text)
            if declared[1] is not None and declared[1].lstrip("0") != str(len(levels)):
                raise statements.fail(
                    f"{what} has {counted(len(levels), 'level')}, not the {declared[1][:20]} of "
                    "its type",
                    statement.line,
                )
        elif statement.text and not statement.text.startswith("property"):
            raise statements.fail(f"{quote(statement.text)} within {what}", statement.line)
    if levels is None:
        raise statements.fail(f"{what} has no type with levels", header.line)
    assembly.declare(name, levels, header.line)


def _read_probability(header: Statement, rows: list[Statement], assembly: Assembly) -> None:
    match = _HEADER.fullmatch(header.text)
    if match is None:
        raise assembly.fail(f"{quote(header.text)} names no variable", header.line)
    left, _, right = match[1].partition("|")
    names = [*split_names(left), *split_names(right)]
    if not names:
        raise assembly.fail("a probability block names no variable", header.line)
    child, parents = assembly.family(names[0], names[1:], header.line)
    table = _Rows(child, parents, assembly, header.line)
    for row in rows:
        if row.text and not row.text.startswith("property"):
            table.read(row)
    assembly.define(child, parents, table.finished(), header.line)


class _Rows:
    """The table of one probability block, filled row by row."""

    def __init__(
        self, child: Variable, parents: tuple[Variable, ...], assembly: Assembly, line: int
    ) -> None:
        self.what = f"the table of {quote(child.name)}"
        self.parents = parents
        self.assembly = assembly
        self.line = line
        self.n_rows, self.n_levels = assembly.shape(child, parents, line)
        self.codes = [assembly.codes(parent) for parent in parents]
        self.default: NDArray[np.float64] | None = None
        self.whole: NDArray[np.float64] | None = None
        self.rows: dict[int, list[float]] = {}

    def read(self, row: Statement) -> None:
        """Read one statement of the block."""
        text = row.text
        if text.startswith("("):
            match = _ROW.fullmatch(text)
            if match is None:
                raise self.assembly.fail(f"{quote(text)} is not a row", row.line)
            index = self._index(match[1], row.line)
            if index in self.rows:
                raise self.assembly.fail(
                    f"{self.what} has the row {quote(match[1])} twice", row.line
                )
            self.rows[index] = self._numbers(match[2], self.n_levels, row.line).tolist()
        elif re.match(r"table\b", text) and self.whole is None:
            values = self._numbers(text[5:], self.n_rows * self.n_levels, row.line)
            self.whole = values.reshape(self.n_levels, self.n_rows).T.copy()
        elif re.match(r"default\b", text) and self.default is None:
            self.default = self._numbers(text[7:], self.n_levels, row.line)
        else:
            raise self.assembly.fail(f"{quote(text)} in {self.what}", row.line)

    def _index(self, labels: str, line: int) -> int:
        given = split_names(labels)
        if len(given) != len(self.parents):
            raise self.assembly.fail(
                f"{quote(labels)} in {self.what} must have one level for each of "
                f"{counted(len(self.parents), 'parent')}",
                line,
            )
        index = 0
        for parent, codes, label in zip(self.parents, self.codes, given, strict=True):
            if label not in codes:
                raise self.assembly.fail(
                    f"{quote(label)} is not a level of {quote(parent.name)}: there are "
                    f"{listing(codes)}",
                    line,
                )
            index = index * len(codes) + codes[label]
        return index

    def _numbers(self, text: str, expected: int, line: int) -> NDArray[np.float64]:
        try:
            values = numbers(text)
        except ValueError as error:
            raise self.assembly.fail(f"{self.what}: {error}", line) from None
        if len(values) != expected:
            raise self.assembly.fail(
                f"{counted(len(values), 'number')} in {self.what} where {expected} should be", line
            )
        return values

    def finished(self) -> NDArray[np.float64]:
        """Return the table; a row that nothing gives is an error."""
        if self.whole is not None:
            if self.rows or self.default is not None:
                raise self.assembly.fail(f"{self.what} is given whole and by rows", self.line)
            return self.whole
        if len(self.rows) < self.n_rows and self.default is None:
            raise self.assembly.fail(
                f"{self.what} has {len(self.rows)} of its {counted(self.n_rows, 'row')}", self.line
            )
        table = np.empty((self.n_rows, self.n_levels))
        if self.default is not None:
            table[:] = self.default
        if self.rows:
            table[list(self.rows)] = list(self.rows.values())
        return table
