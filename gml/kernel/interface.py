"""What both kernels offer: the compiled one, and the reference in Python.

What the functions and classes do is said where they are written, in `_kernel.pyx` and `reference/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gml.kernel.chain_layout import ChainLayout
from gml.kernel.expectation_interface import ExpectationKernel
from gml.kernel.gibbs_plan import GibbsPlan, ScopeLayout
from gml.kernel.held_interface import HeldTablesKernel
from gml.kernel.layout import (
    ColumnSpec,
    CsvDialect,
    CsvResult,
    FamilyRule,
    FamilyWorth,
    FamilyWorths,
    GrownSets,
    PairSums,
    RowGroups,
    TableStatistics,
)
from gml.kernel.matrix_interface import MatrixKernel
from gml.kernel.plan import GaussianPlan, TablePlan

Codes = NDArray[Any]
"""Codes of levels, uint8 or uint16."""
Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.int32]
Bits = NDArray[np.uint64]


class CodedData(Protocol):
    """Coded columns in the form that the counting kernels need."""

    def count(self, members: Positions) -> Integers:
        """Joint table of the columns `members`, flat, the last column fastest."""

    def count_many(self, sets: Positions) -> Integers:
        """Joint tables of sets of as many columns each (a row of `sets` each), end to end."""

    def remember_pairs(self) -> None:
        """Keep the tables of all pairs, if that is possible."""

    def pair_statistics(self, pairs: Positions) -> TableStatistics:
        """Statistics of the pair tables."""

    def set_statistics(self, members: Positions, starts: Integers) -> TableStatistics:
        """Statistics of tables (x, y | Z); members[starts[k]:starts[k+1]] = *Z, x, y."""

    def family_values(self, members: Positions, starts: Integers, rule: FamilyRule) -> Numbers:
        """Values of families members[starts[k]:starts[k+1]] = *parents, child."""

    def family_ceilings(
        self, members: Positions, starts: Integers, rule: FamilyRule, cell_prior: float
    ) -> FamilyWorths:
        """The same with their ceilings, as if every cell were a stratum."""


class ConditioningSets(Protocol):
    """The sets of nodes that PC conditions the pairs on, by their number."""

    @property
    def totals(self) -> Integers:
        """How many sets each pair has."""

    def fill(self, which: Integers, first: Integers, count: Integers) -> Positions:
        """Rows (x, y, *set): for pair which[k] the sets number first[k] and the count[k]-1 next."""


class CsvReader(Protocol):
    """Reads CSV text block by block, and gives out cells whenever they are wanted.

    Labels keep their codes: column k of each result has the same list of labels, which grows.
    """

    @property
    def n_rows(self) -> int:
        """Rows that were read and not taken yet."""

    def expect(self, n_rows: int) -> None:
        """Make room for so many rows at once."""

    def feed(self, block: bytearray, size: int, final: bool) -> int:
        """Read the whole records among the first bytes of a block, and say how many bytes."""

    def catch_up(self, leader: Any) -> None:
        """Make ready for a chunk: without rows, with the labels and kinds of another reader."""

    def absorb(self, chunk: Any) -> bool:
        """Take over the rows of a chunk that begins where this reader is, if that is possible."""

    def take(self) -> CsvResult:
        """Return the cells of all rows since the last time."""


class CsvWriter(Protocol):
    """Writes coded columns as CSV text."""

    @property
    def row_bytes(self) -> int:
        """Bytes of the longest row."""

    def room(self, n_rows: int) -> int:
        """Bytes that a buffer for so many rows has."""

    def write(self, columns: list[Codes], buffer: bytearray) -> int:
        """Write the rows into the buffer and return the number of bytes."""


class Elimination(Protocol):
    """A program of elimination steps, and the room for its tables (`work`)."""

    @property
    def work(self) -> Numbers:
        """The tables of the steps, end to end."""

    def eliminate(self, tables: Numbers, bases: Integers) -> float:
        """Multiply and eliminate; ln of the product of all factors, -inf when that is 0."""

    def distribute(self, offsets: Integers, out: Numbers) -> None:
        """Turn each table into a distribution; that of its last variable goes to out[offsets]."""

    def marginals(
        self, tables: Numbers, bases: Integers, offsets: Integers, out: Numbers, log_p: Numbers
    ) -> None:
        """Eliminate and distribute for each row of bases; rows of probability 0 are left alone."""

    def expectations(
        self,
        tables: Numbers,
        bases: Integers,
        weights: Numbers,
        offsets: Integers,
        out: Numbers,
        counts: Numbers,
        log_p: Numbers,
    ) -> None:
        """Add the distributions given each row of bases to counts, where the factors came from."""

    def trace(self) -> Positions:
        """The levels that reach the maximum, the first of those that do; -1 where not asked."""


class Sampler(Protocol):
    """Draws rows after a plan."""

    def draw(self, first_row: int, columns: list[NDArray[Any]]) -> None:
        """Fill the columns with the rows from first_row on."""


class GibbsSampler(Protocol):
    """Draws chains after a plan."""

    def set_tables(self, numbers: Numbers) -> None:
        """Draw from these tables of logarithms from now on, all finite."""

    def sweep(self, states: Codes, first: int, last: int, first_sweep: int, n_sweeps: int) -> None:
        """Draw the chains from `first` to `last` (multiples of 64) in so many sweeps."""


class ChainRows(Protocol):
    """Sequences of rows with attributes, and a chain of labels over each."""

    def gradient(
        self,
        cells: Numbers,
        transitions: Numbers,
        targets: Positions,
        span: tuple[int, int],
        out: tuple[Numbers, Numbers],
    ) -> float:
        """Σ −ln p(targets) over sequences; its derivatives are added to `out`."""

    def marginals(
        self, cells: Numbers, transitions: Numbers, span: tuple[int, int], out: Numbers
    ) -> None:
        """Fill in the probability of each label of each row of some sequences."""

    def viterbi(
        self, cells: Numbers, transitions: Numbers, span: tuple[int, int], out: Positions
    ) -> None:
        """Fill in the labels of the highest score; of those that reach it, the lowest."""


class OrderChain(Protocol):
    """A Markov chain over orders of variables."""

    @property
    def order(self) -> Positions:
        """The order that the chain is at."""

    @property
    def sums(self) -> Numbers:
        """For each variable, ln of the sum over its sets of parents that come before it."""

    def walk(self, first: int, last: int) -> int:
        """Take some steps; returns how many were accepted."""

    def edges(self) -> Numbers:
        """Probabilities of the edges, from row to column, given the order."""


class OrderSearch(Protocol):
    """A* over sets of variables that come first in an order."""

    @property
    def bound(self) -> int:
        """The losses of the order found, or those that it has to be below."""

    @property
    def reached(self) -> int:
        """No order that is still looked for has smaller losses than this."""

    @property
    def expanded(self) -> int:
        """How many sets were looked at."""

    @property
    def states(self) -> int:
        """How many sets are held."""

    def run(self, expansions: int) -> int:
        """Look at some more sets; returns whether there are more, none, or no room."""

    def path(self) -> list[int] | None:
        """The sets on the way to the order found, the smallest first; None without one."""


class Kernel(MatrixKernel, ExpectationKernel, HeldTablesKernel, Protocol):
    """The functions and classes of a kernel, which is a module."""

    # ------------------------------------------------------------------ reading and writing

    def obey(self, flag: bytearray) -> None: ...

    def CsvReader(
        self, columns: list[ColumnSpec], dialect: CsvDialect, first_line: int
    ) -> CsvReader: ...

    def recode(self, codes: Codes, new_codes: list[int]) -> None: ...

    def CsvWriter(self, fields: list[list[bytes]]) -> CsvWriter: ...

    # ------------------------------------------------------------------ counting

    def CodedData(
        self,
        columns: list[Codes],
        n_levels: list[int],
        weights: Integers | None,
        mask_levels: int,
    ) -> CodedData: ...

    def group_rows(self, rows: NDArray[np.uint8], limit: int) -> RowGroups | None: ...

    def exact_dot(self, x: Integers, y: Integers, weights: Integers | None = None) -> int: ...

    # ------------------------------------------------------------------ statistics of tables

    def table_statistics_of(self, table: Integers) -> TableStatistics: ...

    def family_value(self, table: Integers, cells: float, rule: FamilyRule) -> float: ...

    def family_ceiling(
        self, table: Integers, cells: float, rule: FamilyRule, cell_prior: float
    ) -> FamilyWorth: ...

    def log_regret(self, n: float, levels: float) -> float: ...

    def log_bayes_factor(self, table: Integers, alpha: float) -> float: ...

    def log_chi2_upper(self, statistic: Numbers, df: Numbers) -> Numbers: ...

    def permutation_draws(
        self, table: Integers, key: tuple[int, int], first: int, last: int
    ) -> Numbers: ...

    def information_loss_draws(
        self,
        table: Integers,
        weights: Numbers,
        groups: Integers,
        key: tuple[int, int],
        first: int,
        last: int,
    ) -> Numbers: ...

    # ------------------------------------------------------------------ sets and orders

    def ConditioningSets(
        self, neighbours: NDArray[np.bool_], tiers: Positions, pairs: Positions, level: int
    ) -> ConditioningSets: ...

    def grow_sets(self, sets: Bits, best: Integers, candidates: int, room: int) -> GrownSets: ...

    def best_sinks(
        self,
        masks: Bits,
        units: Integers,
        starts: Integers,
        low: int,
        first: int,
        last: int,
        best: Integers,
        sinks: NDArray[np.uint8],
    ) -> None: ...

    def losses_to_go(
        self, masks: Bits, units: Integers, starts: Integers, low: int, to_go: Bits
    ) -> None: ...

    def improve_order(
        self, masks: Bits, units: Integers, starts: Integers, order: Positions
    ) -> int: ...

    def OrderSearch(
        self,
        masks: Bits,
        units: Integers,
        starts: Integers,
        sizes: Positions,
        to_go: Bits,
        bound: int,
        most: int,
    ) -> OrderSearch: ...

    def log_sum_sets(self, values: Numbers, up: bool) -> None: ...

    def sum_orders(self, parents: Numbers, rest: bool) -> Numbers: ...

    def OrderChain(
        self,
        candidates: Positions,
        candidate_starts: Integers,
        sets: Bits,
        logs: Numbers,
        set_starts: Integers,
        order: Sequence[int],
        key: Sequence[int],
    ) -> OrderChain: ...

    # ------------------------------------------------------------------ models

    def Elimination(
        self, code: Integers, starts: Integers, room: int, n_variables: int
    ) -> Elimination: ...

    def row_log_probabilities(
        self,
        columns: list[Codes],
        n_levels: list[int],
        members: list[list[int]],
        tables: list[Numbers],
        first: int,
        last: int,
    ) -> Numbers: ...

    def TableSampler(self, plan: TablePlan) -> Sampler: ...

    def GaussianSampler(self, plan: GaussianPlan) -> Sampler: ...

    def blank_cells(
        self, columns: list[NDArray[Any]], keys: Bits, limit: int, first_row: int
    ) -> None: ...

    def GibbsSampler(self, plan: GibbsPlan) -> GibbsSampler: ...

    def count_states(self, layout: ScopeLayout, states: Codes, n: int) -> Integers: ...

    def sum_states(
        self, layout: ScopeLayout, states: Codes, n: int, numbers: Numbers
    ) -> Numbers: ...

    def pair_sums(
        self, middle: Numbers, inner: Numbers, couplings: Numbers, blocks: Numbers
    ) -> PairSums: ...

    def ChainRows(self, layout: ChainLayout) -> ChainRows: ...

    def normal_quantile(self, p: Numbers) -> Numbers: ...
