"""Exact elimination of variables from integer cross-products."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gml.errors import DataError, listing, parameter

# Numbers of 53 bits that lie on a line keep up to 2⁻¹⁰⁰ of their variance off it.
SINGULAR_BITS = 94
"""A variable of which less than 2 to minus this is left is a linear function of the others."""


class CollinearError(DataError):
    """A variable has no variance left given others."""


def eliminate(
    cross: Sequence[Sequence[int]], first: int, names: Sequence[str] | None = None
) -> tuple[list[list[int]], int]:
    """Eliminate the first variables; returns the matrix and the last pivot.

    The division of Bareiss (1968) leaves no remainder: entry (i, j) below and to the right of the
    eliminated rows is the determinant of the eliminated variables with row i and column j, and
    the pivot is the one without these. With names, a variable without any variance left is an
    error.

    Examples
    --------
    >>> eliminate([[4, 2], [2, 4]], 1, "xy")
    ([[4, 2], [2, 12]], 4)
    """
    matrix = [list(row) for row in cross]
    size = len(matrix)
    before = 1
    for k in range(first):
        pivot = matrix[k][k]
        if names is not None:
            require_regular(pivot, before * cross[k][k], names[: k + 1])
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                matrix[i][j] = (matrix[i][j] * pivot - matrix[i][k] * matrix[k][j]) // before
        before = pivot
    return matrix, before


def exact_shares(cross: Sequence[Sequence[int]], names: Sequence[str]) -> list[float]:
    """Return the share of each variance that is left given the variables before, rounded once.

    A variable without any is an error; several may have the same name.

    Examples
    --------
    >>> exact_shares([[4, 2], [2, 4]], "xy")
    [1.0, 0.75]
    """
    matrix = [list(row) for row in cross]
    size = len(matrix)
    before, shares = 1, []
    for k in range(size):
        pivot = matrix[k][k]
        whole = before * cross[k][k]
        require_regular(pivot, whole, list(dict.fromkeys(names[: k + 1])))
        shares.append(pivot / whole)
        for i in range(k + 1, size):
            for j in range(i, size):
                left = matrix[i][j] * pivot - matrix[k][i] * matrix[k][j]
                matrix[i][j] = left // before
        before = pivot
    return shares


def exact_shares_left(cross: Sequence[Sequence[int]]) -> list[Fraction]:
    """Return the share of each variance that is left given the variables before; 0 for none.

    Examples
    --------
    >>> exact_shares_left([[4, 2, 4], [2, 4, 2], [4, 2, 4]])
    [Fraction(1, 1), Fraction(3, 4), Fraction(0, 1)]
    """
    matrix = [[Fraction(entry) for entry in row] for row in cross]
    shares = []
    for k, pivots in enumerate(matrix):
        pivot = pivots[k]
        shares.append(pivot / cross[k][k] if cross[k][k] else Fraction(0))
        if pivot:
            for row in matrix[k + 1 :]:
                by = row[k] / pivot
                row[k:] = [a - by * b for a, b in zip(row[k:], pivots[k:], strict=True)]
    return shares


def regression(
    cross: Sequence[Sequence[int]], names: Sequence[str]
) -> tuple[list[Fraction], Fraction]:
    """Regress the last variable on the others: exact coefficients, and the cross-product left.

    Examples
    --------
    >>> regression([[4, 2], [2, 4]], "xy")
    ([Fraction(1, 2)], Fraction(3, 1))
    """
    size = len(cross) - 1
    matrix, pivot = eliminate(cross, size, names)
    require_regular(matrix[size][size], pivot * cross[size][size], names)
    coefficients = [Fraction(0)] * size
    for k in reversed(range(size)):
        known = sum((matrix[k][j] * coefficients[j] for j in range(k + 1, size)), Fraction(0))
        coefficients[k] = (matrix[k][size] - known) / matrix[k][k]
    return coefficients, Fraction(matrix[size][size], pivot)


def inverse(cross: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Return the exact inverse of a regular matrix of integers.

    Examples
    --------
    >>> inverse([[2, 1], [1, 1]])
    [[Fraction(1, 1), Fraction(-1, 1)], [Fraction(-1, 1), Fraction(2, 1)]]
    """
    size = len(cross)
    rows = [
        [*map(Fraction, row), *(Fraction(int(i == k)) for k in range(size))]
        for i, row in enumerate(cross)
    ]
    for k in range(size):
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(size):
            if i != k:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]


def require_regular(left: int, whole: int, names: Sequence[str]) -> None:
    """Refuse a variable that has no variance left given the others."""
    if left << SINGULAR_BITS <= whole:
        raise CollinearError(
            f"the correlations of {listing(names)} are perfect: one of these columns is a linear "
            "function of the others, labels by their levels; leave one out, as by "
            + parameter("exclude", [names[-1]])
        )
