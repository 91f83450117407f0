"""Tables of benchmarks/mixed_levels.py, many draws at a time, the same for every package.

A cell is a law, the kinds of x and y (n for numbers, l for labels), the kinds of the columns of Z,
the levels of labels, and the rows. Every block of draws has a seed of its own, so that any package
may have the first few of them. Cells are arrays of draws × rows; numbers have 14 binary places,
which exact sums add up faster, labels are small integers.

Nulls. x and y depend on Z alone, each with noise of its own. Numbers are linear in the numbers of
Z and shifted by its labels; labels copy one of Z now and then.

inside      all of that, with normal noise: in the models of dg and of cg
laplace, t3 noise of Laplace's distribution, or of Student's with 3 degrees of freedom
groups      the sd of numbers triples where a label of Z is odd: in the model of cg alone
logit       labels depend on the numbers of Z by a logit
spread      the sd of numbers triples where a number of Z is positive, and labels are by a logit
quadratic   numbers and labels depend on the squares of the numbers of Z
slopes      the sign of the numbers of Z depends on a label of Z
xor         x and y are the XOR of two labels of Z, and noise

Alternatives. As inside, and then y depends on x: linear, squared (of x), sine (of 2x),
heteroscedastic (the sd of y depends on x), interaction (with the sign that a label of Z gives), and
mixed (a number rises with the number of the level); linear, of a label and a number, has one level
that differs from the rest, and of two labels one copies the other now and then.
"""

from __future__ import annotations

import zlib

import numpy as np

NULLS = (
    "inside", "laplace", "t3", "groups", "logit", "spread", "quadratic", "slopes", "xor",
)  # fmt: skip
ALTERNATIVES = ("linear", "squared", "sine", "heteroscedastic", "interaction", "mixed")
BLOCK = 50
"""Draws of a block."""
LEVELS = (2, 3, 4, 5, 6)
_GIVEN = {
    "nn": ("", "n", "l", "nn", "nl", "ll", "nnn", "nnl", "nll"),
    "ln": ("", "n", "l", "nl", "ll", "nnl", "nll"),
    "ll": ("", "n", "l", "nl", "ll", "nnl", "nll", "lll"),
}
_GIVEN_OF_ALTERNATIVES = ("", "n", "l", "nl", "nll")
_PLACES = 2.0**14


def cells(rows, levels=LEVELS):
    """Every cell with so many rows: law, kinds of x and y, kinds of Z, levels, rows."""
    for law in (*NULLS, *ALTERNATIVES):
        for kinds, sets in _GIVEN.items():
            for given in sets:
                if not _has_cell(law, kinds, given):
                    continue
                has_labels = "l" in kinds + given
                for size in (2,) if law == "xor" or not has_labels else levels:
                    yield law, kinds, given, size, rows


def _has_cell(law, kinds, given):
    if law in ALTERNATIVES and given not in _GIVEN_OF_ALTERNATIVES:
        return False
    return {
        "inside": True,
        "laplace": "n" in kinds,
        "t3": "n" in kinds,
        "groups": "n" in kinds and "l" in given,
        "logit": "l" in kinds and "n" in given,
        "spread": "n" in kinds and "n" in given,
        "quadratic": "n" in given,
        "slopes": given in ("nl", "nnl"),
        "xor": given == "ll",
        "linear": True,
        "squared": kinds == "nn",
        "sine": kinds == "nn",
        "heteroscedastic": "n" in kinds,
        "interaction": "l" in given,
        "mixed": kinds == "ln",
    }[law]


def draw(cell, block):
    """The tables of one block: x, y, z0, z1, … → draws × rows."""
    law, kinds, given, levels, rows = cell
    key = zlib.crc32(f"{law} {kinds} {given}".encode())
    rng = np.random.default_rng([key, levels, rows, block])
    if law == "xor":
        kinds_of_z = [rng.integers(2, size=(BLOCK, rows)) for _ in range(2)]
    else:
        kinds_of_z = [
            rng.integers(levels, size=(BLOCK, rows)) if k == "l" else rng.normal(size=(BLOCK, rows))
            for k in given
        ]
    z = _Given(kinds_of_z, levels, rows)
    x, y = (
        _labels(law, z, levels, rng) if kind == "l" else _numbers(law, z, levels, rng)
        for kind in kinds
    )
    if law in ALTERNATIVES:
        y = _related(law, kinds, x, y, z, levels, rng)
    columns = {"x": x, "y": y, **{f"z{k}": column for k, column in enumerate(kinds_of_z)}}
    return {
        name: c.astype(np.uint8) if c.dtype.kind != "f" else np.round(c * _PLACES) / _PLACES
        for name, c in columns.items()
    }


class _Given:
    """Z: its numbers, its labels, and signs by the parity of the first label."""

    def __init__(self, columns, levels, rows):
        self.shape = (BLOCK, rows)
        self.numbers = [c for c in columns if c.dtype.kind == "f"]
        self.labels = [c for c in columns if c.dtype.kind != "f"]
        self.total = sum(self.numbers) if self.numbers else np.zeros(self.shape)
        self.signs = np.where(self.labels[0] % 2, 1.0, -1.0) if self.labels else None


def _numbers(law, z, levels, rng):
    if law == "xor":
        return 1.6 * (z.labels[0] ^ z.labels[1]) + rng.normal(size=z.shape)
    signal = 0.6 * z.total
    if law == "quadratic":
        signal = 0.6 * sum(column**2 for column in z.numbers)
    if law == "slopes":
        signal = signal * z.signs
    for column in z.labels:
        signal = signal + 0.5 * (column - (levels - 1) / 2)
    if law == "laplace":
        return signal + rng.laplace(size=z.shape)
    if law == "t3":
        return signal + rng.standard_t(3, size=z.shape)
    noise = rng.normal(size=z.shape)
    if law == "spread":
        noise = noise * np.where(z.numbers[0] > 0, 3.0, 1.0)
    if law == "groups":
        noise = noise * np.where(z.signs > 0, 3.0, 1.0)
    return signal + noise


def _labels(law, z, levels, rng):
    if law == "xor":
        return z.labels[0] ^ z.labels[1] ^ (rng.random(z.shape) < 0.1)
    if law in ("logit", "spread", "quadratic", "slopes"):
        scores = sum(c**2 - 1 for c in z.numbers) if law == "quadratic" else z.total
        if law == "slopes":
            scores = scores * z.signs
        slopes = np.linspace(-1.5, 1.5, levels)
        found = rng.gumbel(size=(levels, *z.shape)) + slopes[:, None, None] * scores
        return np.argmax(found, axis=0)
    found = rng.integers(levels, size=z.shape)
    chosen = rng.random(z.shape)
    for k, column in enumerate(z.labels):
        # Each label is copied by a share of rows of its own, so that effects add up.
        found = np.where((chosen >= 0.2 * k) & (chosen < 0.2 * (k + 1)), column, found)
    return found


def _related(law, kinds, x, y, z, levels, rng):
    if kinds == "ll":
        copied = x if law == "linear" else np.where(z.signs > 0, x, levels - 1 - x)
        return np.where(rng.random(z.shape) < (0.15 if law == "linear" else 0.25), copied, y)
    if kinds == "ln":
        return {
            "linear": lambda: y + 0.4 * (x == 0),
            "mixed": lambda: y + 0.25 * (x - (levels - 1) / 2),
            "heteroscedastic": lambda: y * np.where(x == 0, 1.6, 1.0),
            "interaction": lambda: y + 0.5 * z.signs * (x == 0),
        }[law]()
    return {
        "linear": lambda: y + 0.2 * x,
        "squared": lambda: y + 0.15 * x**2,
        "sine": lambda: y + 0.8 * np.sin(2 * x),
        "heteroscedastic": lambda: y * (0.5 + 0.5 * np.abs(x)),
        "interaction": lambda: y + 0.3 * x * z.signs,
    }[law]()
