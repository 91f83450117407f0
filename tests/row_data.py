"""Tables of numbers and labels for tests that look at rows."""

from __future__ import annotations

import numpy as np

import gml
from gml.data.dataset import Dataset, Variable

IRIS_SEPALS = (
    "51 49 47 46 50 54 46 50 44 49 54 48 48 43 58 57 54 51 57 51 54 51 46 51 48 50 50 52 52 47 48 "
    "54 52 55 49 50 55 49 44 51 50 45 44 50 51 48 51 46 53 50 70 64 69 55 65 57 63 49 66 52 50 59 "
    "60 61 56 67 56 58 62 56 59 61 63 61 64 66 68 67 60 57 55 55 58 60 54 60 67 63 56 55 55 61 58 "
    "50 56 57 57 62 51 57 63 58 71 63 65 76 49 73 67 72 65 64 68 57 58 64 65 77 77 60 69 56 77 63 "
    "67 72 62 61 64 72 74 79 64 63 61 77 63 64 60 69 67 69 58 68 67 67 63 65 62 59",
    "35 30 32 31 36 39 34 34 29 31 37 34 30 30 40 44 39 35 38 38 34 37 36 33 34 30 34 35 34 32 31 "
    "34 41 42 31 32 35 36 30 34 35 23 32 35 38 30 38 32 37 33 32 32 31 23 28 28 33 24 29 27 20 30 "
    "22 29 29 31 30 27 22 25 32 28 25 28 29 30 28 30 29 26 24 24 27 27 30 34 31 23 30 25 26 30 26 "
    "23 27 30 29 29 25 28 33 27 30 29 30 30 25 29 25 36 32 27 30 25 28 32 30 38 26 22 32 28 28 27 "
    "33 32 28 30 28 30 28 38 28 28 26 30 34 31 30 31 31 31 27 32 33 30 25 30 34 30",
)
"""Length and width of the sepals of Fisher's irises (1936), in tenths of a centimetre."""


def iris_sepals():
    """The two columns in centimetres."""
    return tuple(np.array([int(v) / 10 for v in text.split()]) for text in IRIS_SEPALS)


def dataset(columns, *, weights=None):
    """A dataset of columns by name; floats are numbers, integers and text labels."""
    variables, cells = [], []
    for name, values in columns.items():
        values = np.asarray(values)
        if values.dtype.kind == "f":
            variables.append(Variable(name, None))
            cells.append(values.copy())
            continue
        levels, codes = np.unique(values, return_inverse=True)
        variables.append(Variable(name, tuple(map(str, levels))))
        cells.append(codes.astype(np.uint8))
    return Dataset(tuple(variables), tuple(cells), weights)


def asked(test, columns, x, y, given=(), *, threads=1, weights=None, **options):
    """The result of one test, by names."""
    made = gml.TESTS[test](
        gml.MemoryCounter(dataset(columns, weights=weights), threads=threads),
        threads=threads,
        **options,
    )
    place = {name: j for j, name in enumerate(made.names)}
    return made(place[x], place[y], tuple(place[name] for name in given))


def mixed_table(n, seed=0):
    """Numbers and labels that depend on one another."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    group = np.where(z + rng.normal(size=n) > 0, "hi", "lo")
    x = np.round(z + rng.normal(size=n), 2)
    y = np.round(np.sin(2 * z) + 0.7 * rng.normal(size=n), 2)
    kind = rng.integers(0, 3, n)
    return {"x": x, "y": y, "z": z, "group": group, "kind": kind}
