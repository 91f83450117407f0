"""Bases of terms from sums over rows, beside least squares of the same rows in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gml.counts import chunked_rows
from gml.counts.chunked_rows import RowsInMemory
from gml.counts.number_rows import NumberReader, NumberRows
from gml.counts.orthogonal_terms import Design, Group, bases_of
from gml.counts.row_sums import NumberTable, ask
from gml.data.dataset import Dataset, Variable


@dataclass(frozen=True)
class Plain(Design):
    """1 and all columns but the last, which is regressed on them, by the levels of labels."""

    columns: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def names(self) -> Sequence[str]:
        return (*self.columns, *(name for name, _ in self.sizes))

    @property
    def n_terms(self) -> int:
        return len(self.columns)

    @property
    def n_targets(self) -> int:
        return 1

    def groups(self, rows: NumberRows) -> Iterator[Group]:
        for place, found in rows.by_configuration(dict(self.sizes)):
            complete = found.complete(self.columns)
            *terms, target = (complete.columns[name] for name in self.columns)
            yield Group(place, [np.ones(len(target)), *terms], [target], complete)


def table_of(columns, weights=None):
    names = [f"x{k}" for k in range(len(columns))]
    variables = tuple(Variable(name, None) for name in names)
    rows = Dataset(variables, tuple(np.array(c, dtype=np.float64) for c in columns), weights)
    return NumberTable(RowsInMemory(rows, threads=1), NumberReader.of(variables)), Plain((*names,))


def basis_of(columns, weights=None):
    table, design = table_of(columns, weights)
    return ask(table, bases_of(design))[0]


def relative(found, expected):
    return np.abs(np.asarray(found) - expected).max() / max(1.0, np.abs(expected).max())


@pytest.mark.parametrize(
    ("shift", "rest"),
    [(0.0, 1.0), (0.0, 1e-3), (0.0, 1e-6), (3.0, 1.0), (3.0, 1e-5), (1e3, 1.0), (1e3, 1e-3)],
)
def test_least_squares(shift, rest):
    rng = np.random.default_rng([3, int(shift)])
    x = rng.normal(size=(4, 400))
    # The third follows from the others but for a rest.
    x[2] = x[0] - 2 * x[1] + rest * x[2]
    y = x[0] + 0.5 * x[1] + rng.laplace(size=400)
    columns = [*(x[:3] + shift), y]
    basis = basis_of(columns)
    design = np.column_stack([np.ones(400), *columns[:3]])
    assert basis.kept == (0, 1, 2, 3)
    columns_of = basis.columns(list(design.T))
    gram = np.array([[np.sum(a * b) for a in columns_of] for b in columns_of])
    assert np.abs(gram - np.eye(4)).max() < 1e-15 * max(1e2, (1 + shift) / rest)
    (errors,) = basis.errors(columns_of, [y])
    expected = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert relative(errors, expected) < 1e-14 * max(10.0, (1 + shift) / rest)
    known = np.linalg.qr(design)[1]
    signs = np.sign(np.diag(known))[:, None]
    assert relative(basis.square, known * signs) < 1e-13 * max(1.0, shift)


@pytest.mark.parametrize("rest", [0.0, 1e-12, 1e-10])
def test_terms_that_follow_from_others_are_left_out(rest):
    rng = np.random.default_rng(4)
    a, b, noise, y = rng.normal(size=(4, 300))
    basis = basis_of([a, 2 * a + b + rest * noise, b, np.full(300, 7.0), a + b, y])
    assert basis.kept == (0, 1, 2)
    design = np.column_stack([np.ones(300), a, 2 * a + b, b, np.full(300, 7.0), a + b])
    assert np.abs(design - design[:, basis.kept] @ basis.terms).max() < 1e-9
    (errors,) = basis.errors(basis.columns(list(design.T)), [y])
    expected = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert relative(errors, expected) < 1e-9


@pytest.mark.parametrize(
    ("e", "f", "g"),
    [(1e-3, 1e-3, 1e-3), (1e-5, 1e-7, 1e-4), (1e-7, 1e-5, 1e-4), (1e-6, 1e-4, 1e-4)],
)
def test_chains_of_terms_that_nearly_follow_from_rests_of_others(e, f, g):
    a, u, v, w, y = np.random.default_rng(1).normal(size=(5, 500))
    columns = [a, a + e * u, u + f * v, a + v + g * w, y]
    basis = basis_of(columns)
    assert basis.kept == (0, 1, 2, 3, 4)
    found = basis.columns([np.ones(500), *columns[:-1]])
    gram = np.array([[np.sum(one * other) for one in found] for other in found])
    assert np.abs(gram - np.eye(5)).max() < 1e-14
    (errors,) = basis.errors(found, [y])
    assert np.abs([np.sum(one * errors) for one in found]).max() < 1e-12


@given(st.integers(0, 2**32), st.integers(1, 60), st.booleans())
def test_neither_order_nor_chunks_show(seed, block, weighted):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, 100)) * 10.0 ** rng.integers(-3, 4, (3, 1))
    x[rng.random(x.shape) < 0.05] = np.nan
    weights = rng.integers(0, 4, 100) if weighted else None
    order = rng.permutation(100)
    with pytest.MonkeyPatch.context() as patched:
        whole = basis_of(list(x), weights)
        patched.setattr(chunked_rows, "_BLOCK_ROWS", block)
        turned = basis_of(list(x[:, order]), None if weights is None else weights[order])
    assert whole.n == turned.n and whole.kept == turned.kept
    assert whole.triangle.tobytes() == turned.triangle.tobytes()
    assert whole.shares.tobytes() == turned.shares.tobytes()
    if weights is not None:
        repeated = basis_of(list(np.repeat(x, weights, axis=1)))
        assert repeated.triangle.tobytes() == whole.triangle.tobytes()


def test_configurations_have_bases_of_their_own():
    rng = np.random.default_rng(6)
    a, y = rng.normal(size=(2, 200))
    label = rng.integers(0, 3, 200).astype(np.uint8)
    variables = (Variable("x0", None), Variable("x1", None), Variable("l", ("p", "q", "r")))
    rows = Dataset(variables, (a, y, label))
    table = NumberTable(RowsInMemory(rows), NumberReader.of(variables, ["l"]))
    found = ask(table, bases_of(Plain(("x0", "x1"), (("l", 3),))))
    for place in range(3):
        own = basis_of([a[label == place], y[label == place]])
        assert own.triangle.tobytes() == found[place].triangle.tobytes()


@pytest.mark.parametrize("large", [1e61, np.inf])
def test_numbers_that_cannot_be_squared_have_no_basis(large):
    table, design = table_of([[1.0, 2.0, large], [1.0, 0.0, 3.0]])
    assert ask(table, bases_of(design)) == {}
