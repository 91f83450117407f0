"""UAI, the file format of the UAI inference competitions: directed and undirected models.

    MARKOV                 or BAYES
    3                      variables
    2 2 3                  levels of each
    2                      functions, each on a line of its own:
    2 0 1                  how many variables it has, and which
    2 1 2

    4  0.9 0.1 0.5 0.5     then the table of each, after its number of cells:
    6  1 2 3 4 5 6         the last variable varies fastest

The numbers of a function are not logarithms, and 0 is impossible. In a BAYES file each variable has
one function, P(last variable | the others). The format has neither names nor comments: nodes are
read as x0, x1, … and levels as 0, 1, … Comments from # to the end of a line, which pyAgrum 3.3
writes, are skipped; as it lets the first variable of a MARKOV table vary fastest, unlike those of
BAYES and unlike all others, such a file is read as the format says, with a warning.

Numbers are the shortest that read back as the same float64. Those of a BAYES file are the tables
themselves; an undirected model holds logarithms, in the sum-to-zero gauge, so that its numbers come
back to within rounding, and up to a constant. What would overflow is divided by its largest number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import MAX_LEVELS
from gml.errors import GraphError, counted
from gml.formats.assembly import Assembly, discrete_tables
from gml.formats.text_room import require_factor_text
from gml.kernel.layout import MOST_AXES
from gml.model.bayesnet import BayesNet
from gml.model.markovnet import MarkovNet
from gml.model.undirected.from_tables import LogTable, markov_of_tables
from gml.progress import reporter
from gml.resources import FEW_BYTES, require_memory

# exp of what is above overflows; below, numbers lose their digits.
_LARGEST = 700.0
_LONGEST = 40
_WORD = re.compile(r"#[^\n]*|[^\s#]+")
# A variable and its levels: the tuple that they share with others of that many.
_BYTES_PER_VARIABLE = 600
_BYTES_PER_LEVEL = 80

Table = NDArray[np.float64]

# ---------------------------------------------------------------------- writing


def dump_uai(net: BayesNet | MarkovNet) -> str:
    """Return the text of a UAI file: BAYES or MARKOV."""
    position = {name: k for k, name in enumerate(net.names)}
    functions: list[tuple[list[int], Table]]
    if isinstance(net, BayesNet):
        kind = "BAYES"
        functions = [
            (
                [position[variable.name] for variable in (*cpt.parents, cpt.variable)],
                cpt.table,
            )
            for cpt in discrete_tables(net, "UAI")
        ]
    else:
        kind = "MARKOV"
        if not net.variables:
            raise GraphError("UAI cannot hold a model without nodes; write JSON instead")
        require_factor_text(net.potentials, "UAI")
        functions = [
            ([position[name] for name in names], _numbers(table))
            for names, table in net.log_tables.items()
        ]
        _warn_of_zeros(net.log_tables.values(), [table for _, table in functions])
    sizes = [str(len(variable.levels or ())) for variable in net.variables]
    lines = [kind, str(len(sizes)), " ".join(sizes), str(len(functions))]
    lines += [" ".join(map(str, (len(scope), *scope))) for scope, _ in functions]
    for _, table in functions:
        rows = table.reshape(-1, table.shape[-1]).tolist()
        lines += ["", str(table.size), *(" ".join(map(repr, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def _numbers(log_table: Table) -> Table:
    largest = float(log_table.max())
    found: Table = np.exp(log_table - (largest if abs(largest) > _LARGEST else 0.0))
    return found


def _warn_of_zeros(logs: Iterable[Table], tables: Iterable[Table]) -> None:
    pairs = zip(logs, tables, strict=True)
    lost = sum(int(((table == 0) & np.isfinite(log)).sum()) for log, table in pairs)
    if lost:
        reporter().warn(
            f"{counted(lost, 'cell')} of the factors {'is' if lost == 1 else 'are'} possible, but "
            "too small for a floating-point number: 0 in the UAI file; JSON keeps the logarithms"
        )


# ---------------------------------------------------------------------- reading


def load_uai(text: str, where: str) -> BayesNet | MarkovNet:
    """Read a model: a BayesNet from BAYES, a MarkovNet from MARKOV."""
    words = _Words(text, where)
    kind = words.word("MARKOV or BAYES")
    if kind not in ("MARKOV", "BAYES"):
        raise words.fail(f"a UAI file begins with MARKOV or BAYES, not {_shown(kind)}")
    assembly = Assembly(where)
    names = _declare(words, assembly)
    scopes = _scopes(words, names)
    sizes = [len(assembly.variable(name).levels or ()) for name in names]
    tables: list[tuple[list[int], Table]] = []
    for k, scope in enumerate(scopes):
        tables.append((scope, _table(words, k, [sizes[j] for j in scope])))
    words.require_end()
    if kind == "BAYES":
        return _directed(words, assembly, names, tables)
    if words.has_comments:
        reporter().warn(
            f"{where}: comments, as pyAgrum writes them, whose tables have the first variable "
            "fastest; read with the last one fastest, as the format has it"
        )
    with np.errstate(divide="ignore"):
        logs = [
            LogTable(tuple(assembly.variable(names[j]) for j in scope), np.log(table))
            for scope, table in tables
        ]
    try:
        return markov_of_tables([assembly.variable(name) for name in names], logs)
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None


def _declare(words: _Words, assembly: Assembly) -> list[str]:
    """Read the variables, and return their names."""
    n = words.whole("the number of variables", least=1)
    sizes = [words.whole(f"the levels of variable {k}", 1, MAX_LEVELS) for k in words.first(n)]
    wanted = _BYTES_PER_VARIABLE * n + _BYTES_PER_LEVEL * sum(set(sizes))
    if wanted > FEW_BYTES:
        require_memory(wanted, None, f"{words.where}: {counted(n, 'variable')}")
    labels = tuple(map(str, range(max(sizes))))
    levels = {size: labels[:size] for size in set(sizes)}
    names = [f"x{k}" for k in range(n)]
    for name, size in zip(names, sizes, strict=True):
        assembly.declare(name, levels[size])
    return names


def _scopes(words: _Words, names: Sequence[str]) -> list[list[int]]:
    n = words.whole("the number of functions", least=0)
    found = []
    for k in words.first(n):
        size = words.whole(f"the number of variables of function {k}", 0, MOST_AXES)
        scope = [words.whole(f"a variable of function {k}", 0, len(names) - 1) for _ in range(size)]
        if len(set(scope)) != size:
            raise words.fail(f"function {k} has a variable twice")
        found.append(scope)
    return found


def _table(words: _Words, k: int, shape: list[int]) -> Table:
    cells = math.prod(shape)
    said = words.whole(f"the number of cells of function {k}", least=0)
    if said != cells:
        raise words.fail(f"function {k} has {counted(cells, 'cell')}, not {said}")
    return words.numbers(cells, f"function {k}").reshape(shape)


def _directed(
    words: _Words,
    assembly: Assembly,
    names: Sequence[str],
    tables: Iterable[tuple[list[int], Table]],
) -> BayesNet:
    for k, (scope, table) in enumerate(tables):
        if not scope:
            raise words.fail(f"function {k} of a BAYES file is over no variable")
        child, parents = assembly.family(names[scope[-1]], [names[j] for j in scope[:-1]])
        assembly.define(child, parents, table.reshape(-1, table.shape[-1]))
    return assembly.network()


class _Words:
    """The words of a file, one after the other; errors name the line of the last one."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self.where = where
        self._matches = _WORD.finditer(text)
        self._at = 0
        self.has_comments = False

    def fail(self, message: str) -> GraphError:
        """Return the error that names the file and the line."""
        line = self._text.count("\n", 0, self._at) + 1
        return GraphError(f"{self.where}: line {line}: {message}")

    def word(self, what: str) -> str:
        """Return the next word."""
        match = self._next()
        if match is None:
            self._at = len(self._text.rstrip())
            raise self.fail(f"the file ends before {what}")
        self._at = match.start()
        return match.group()

    def _next(self) -> re.Match[str] | None:
        for match in self._matches:
            if not match.group().startswith("#"):
                return match
            self.has_comments = True
        return None

    def whole(self, what: str, least: int = 0, most: int | None = None) -> int:
        """Return the next word, which is a whole number."""
        word = self.word(what)
        # A number of more digits than these counts nothing that a file could hold.
        plain = word.isascii() and word.isdecimal() and len(word) < 19
        value = int(word) if plain else -1
        if value < least or (most is not None and value > most):
            upper = " or more" if most is None else f" to {most}"
            raise self.fail(f"{what} must be {least}{upper}, not {_shown(word)}")
        return value

    def first(self, n: int) -> Iterator[int]:
        """Count to a number that the file says; more than it has words for is refused at once."""
        if n > len(self._text):
            raise self.fail(f"the file is too short for {n} of them")
        return iter(range(n))

    def numbers(self, n: int, what: str) -> Table:
        """Return the next words as numbers, none of which is negative or infinite."""
        if n > len(self._text):
            raise self.fail(f"the file ends before the numbers of {what}")
        found = np.empty(n)
        for k in range(n):
            word = self.word(f"the numbers of {what}")
            try:
                found[k] = float(word)
            except ValueError:
                found[k] = math.nan
            if not 0 <= found[k] < math.inf or "_" in word:
                raise self.fail(f"{_shown(word)} in {what} is not a number of 0 or more")
        return found

    def require_end(self) -> None:
        """Refuse words after the last table."""
        match = self._next()
        if match is not None:
            self._at = match.start()
            raise self.fail(f"{_shown(match.group())} comes after the last function")


def _shown(word: str) -> str:
    return repr(word if len(word) <= _LONGEST else word[:_LONGEST] + "…")
