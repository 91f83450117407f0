"""From what a model file declares to a checked network: what BIF, XMLBIF and NET share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.errors import GraphError, quote, unknown_name
from gml.formats.stand_ins import Alphabet, refuse_unreadable, with_stand_ins
from gml.formats.text_room import require_table_text
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.configurations import described_row
from gml.progress import reporter
from gml.resources import FEW_BYTES, require_memory

# A network may have rows that add up to 1 within the first; what is written is read back bit for
# bit. Files of other programs have six or seven digits.
_EXACT = 1e-9
_ROUNDED = 1e-5
# Copies of a table: itself, one to draw from, and what adds up its rows while it is checked.
_BYTES_PER_CELL = 24
_BYTES_PER_ROW = 24
_PIECE = 1 << 20
_ENOUGH_BITS = 200
_BLANK = re.compile(r"[\s,]")


class TableRoom:
    """Asks for the memory of all tables of a file, each before it is made.

    Few words can declare a table of any size, and many tables.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._asked = self._total = 0

    def shape(
        self, child: Variable, parents: Sequence[Variable], line: int | None = None
    ) -> tuple[int, int]:
        """Return the rows and columns of the table of a family, for which there is room."""
        rows, columns = 1, len(child.levels or ())
        for parent in parents:
            rows *= len(parent.levels or ())
            if rows.bit_length() > _ENOUGH_BITS:
                break
        self._total += rows * (columns * _BYTES_PER_CELL + _BYTES_PER_ROW)
        # The budget may be what is free, which takes longer to find out than reading a small table.
        if self._total > self._asked + FEW_BYTES:
            at = self._where if line is None else f"{self._where}: line {line}"
            more = " and those before it" if self._asked else ""
            require_memory(self._total, None, f"{at}: the table of {quote(child.name)}{more}")
            self._asked = self._total
        return rows, columns


class Assembly:
    """Collects variables and tables in the order of the file, and makes the network of them."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._variables: dict[str, Variable] = {}
        self._tables: dict[str, tuple[tuple[Variable, ...], NDArray[np.float64]]] = {}
        self._codes: dict[str, dict[str, int]] = {}
        self.shape = TableRoom(where).shape
        self._rounded = 0

    def fail(self, message: str, line: int | None = None) -> GraphError:
        """Return the error that names the file and, if known, the line."""
        at = "" if line is None else f"line {line}: "
        return GraphError(f"{self.where}: {at}{message}")

    def declare(self, name: str, levels: Sequence[str], line: int | None = None) -> None:
        """Note a variable and its levels."""
        if name in self._variables:
            raise self.fail(f"variable {quote(name)} is declared twice", line)
        if not levels:
            raise self.fail(f"variable {quote(name)} has no levels", line)
        seen: set[str] = set()
        for level in levels:
            if level in seen:
                raise self.fail(f"variable {quote(name)} has the level {quote(level)} twice", line)
            seen.add(level)
        self._variables[name] = Variable(name, tuple(levels))

    def variable(self, name: str) -> Variable:
        """Return a variable that was declared."""
        return self._variables[name]

    def family(
        self, child: str, parents: Iterable[str], line: int | None = None
    ) -> tuple[Variable, tuple[Variable, ...]]:
        """Return a variable and its parents, all of them declared and different."""
        found: dict[str, Variable] = {}
        for name in (child, *parents):
            if name not in self._variables:
                known = self._variables
                message = unknown_name("variable", name, known) if known else "no variables"
                raise self.fail(message, line)
            if name in found:
                raise self.fail(f"{quote(name)} is twice in the family of {quote(child)}", line)
            found[name] = self._variables[name]
        if child in self._tables:
            raise self.fail(f"variable {quote(child)} has a second table", line)
        own, *given = found.values()
        return own, tuple(given)

    def codes(self, variable: Variable) -> dict[str, int]:
        """Return the position of each level of a variable."""
        if variable.name not in self._codes:
            self._codes[variable.name] = {
                label: code for code, label in enumerate(variable.levels or ())
            }
        return self._codes[variable.name]

    def define(
        self,
        child: Variable,
        parents: tuple[Variable, ...],
        table: NDArray[np.float64],
        line: int | None = None,
    ) -> None:
        """Note the table of a variable: one row per configuration, the last parent fastest."""
        if not (table.min() >= 0 and table.max() < np.inf):
            bad = ~(np.isfinite(table) & (table >= 0))
            row, column = map(int, np.argwhere(bad)[0])
            raise self.fail(
                f"{table[row, column]:g} in the table of {quote(child.name)} is not a probability"
                f"{described_row(parents, row)}",
                line,
            )
        sums = table.sum(axis=1)
        error = sums - 1
        np.abs(error, out=error)
        worst = int(np.argmax(error))
        if error[worst] > _ROUNDED:
            raise self.fail(
                f"the table of {quote(child.name)} has a row that adds up to {sums[worst]:.9g}, "
                f"not 1{described_row(parents, worst)}",
                line,
            )
        rounded = error > _EXACT
        if rounded.any():
            self._rounded += int(np.count_nonzero(rounded))
            table[rounded] /= sums[rounded, np.newaxis]
        self._tables[child.name] = parents, table

    def network(self) -> BayesNet:
        """Return the network; one warning covers all rows that were rounded."""
        if not self._variables:
            raise self.fail("there are no variables")
        cpds: list[CPT | LinearGaussian] = []
        for name, variable in self._variables.items():
            if name not in self._tables:
                raise self.fail(f"variable {quote(name)} has no table")
            parents, table = self._tables[name]
            cpds.append(CPT(variable, parents, table))
        try:
            net = BayesNet(tuple(cpds))
        except GraphError as error:
            raise GraphError(f"{self.where}: {error}") from None
        if self._rounded:
            rows = "1 row adds" if self._rounded == 1 else f"{self._rounded} rows add"
            reporter().warn(f"{self.where}: {rows} up to 1 only after rounding; divided by the sum")
        return net


def numbers(text: str) -> NDArray[np.float64]:
    """Read numbers separated by blanks or commas; ValueError if one is not a number."""
    pieces = []
    position = 0
    while position < len(text):
        # A list of all the words of a large table would take many times its memory.
        end = _BLANK.search(text, position + _PIECE)
        stop = end.start() if end else len(text)
        words = text[position:stop].replace(",", " ").split()
        pieces.append(np.array(list(map(float, words)), dtype=np.float64))
        position = stop
    return np.concatenate(pieces) if pieces else np.zeros(0)


def refuse_numbers(variables: Sequence[Variable], format: str) -> None:
    """Refuse nodes of numbers, which a format cannot hold."""
    number = next((v.name for v in variables if v.is_continuous), None)
    if number is not None:
        raise GraphError(
            f"{format} cannot hold a node of numbers such as {quote(number)}; write JSON instead"
        )


def discrete_tables(net: BayesNet, format: str) -> list[CPT]:
    """Return the tables of a network that a format can hold and there is room to write.

    A network of numbers is refused, and so is one without nodes.
    """
    tables = [cpd for cpd in net.cpds if isinstance(cpd, CPT)]
    if len(tables) != len(net.cpds):
        refuse_numbers(net.variables, format)
    if not tables:
        raise GraphError(f"{format} cannot hold a network without nodes; write JSON instead")
    require_table_text(tables, format)
    return tables


def tables_to_write(
    net: BayesNet, alphabet: Alphabet, sanitize: bool
) -> tuple[list[CPT], list[str]]:
    """Return the tables of a network in names that a format can hold, and comments about them.

    Names that readers would not give back are refused, or replaced if `sanitize` says so.
    """
    tables = discrete_tables(net, alphabet.format)
    comments: list[str] = []
    if sanitize:
        tables, comments = with_stand_ins(tables, alphabet)
    refuse_unreadable([cpt.variable for cpt in tables], alphabet)
    return tables, comments


def refuse_single_levels(tables: Sequence[CPT], format: str) -> None:
    """Refuse nodes of one level, which readers of a format do not accept."""
    for cpt in tables:
        if len(cpt.variable.levels or ()) < 2:
            raise GraphError(
                f"{format} readers refuse a node with one level, that of "
                f"{quote(cpt.variable.name)}; write XMLBIF or JSON instead"
            )
