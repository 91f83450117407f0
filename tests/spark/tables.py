"""A table with labels, numbers, missing values and weights, as text and in other formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np

N_ROWS = 4000


def cells(seed: int = 0) -> dict[str, list[str]]:
    """Columns of texts: labels with odd characters, numbers, gaps, weights."""
    random = np.random.default_rng(seed)
    sex = random.integers(0, 2, N_ROWS)
    region = random.integers(0, 4, N_ROWS)
    choice = (sex + region + random.integers(0, 3, N_ROWS)) % 3
    income = np.round(random.normal(30 + 10 * sex + 5 * choice, 8), 2)
    spent = np.round(0.6 * income + random.normal(0, 3, N_ROWS), 2)
    code = random.integers(0, 12, N_ROWS)
    found = {
        "sex": [("male", "female")[k] for k in sex],
        "region": [("north", "south, west", 'the "east"', " none")[k] for k in region],
        "choice": [("1", "01", "1.0")[k] for k in choice],
        "code": [str(k) for k in code],
        "income": [f"{value}" for value in income],
        "spent": [f"{value}" for value in spent],
        "weight": [str(k) for k in random.integers(0, 4, N_ROWS)],
    }
    for name, share, token in (("choice", 0.05, "NA"), ("region", 0.02, ""), ("spent", 0.03, "?")):
        for row in np.flatnonzero(random.random(N_ROWS) < share):
            found[name][row] = token
    return found


def written(path: Path, columns: dict[str, list[str]]) -> Path:
    """Write columns as CSV, with quotes where they are needed."""
    lines = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    text = "".join(",".join(map(quoted, line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def quoted(cell: str) -> str:
    """A cell as it stands in a CSV file."""
    needed = any(mark in cell for mark in ',"\n')
    return '"' + cell.replace('"', '""') + '"' if needed else cell
