"""Benchmark data: networks sampled with fixed seeds, or tables of our own where there are none.

With a folder of BIF files and the sampler beside the checkout (shared/data/networks and
shared/tools/gen_data.py) the data are samples of alarm, asia and link. Without, they are chains of
noisy copies with as many columns, levels and rows.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent.parent / "shared"
FOLDER = HERE / "data"
SHAPES = {"asia": (8, 2), "alarm": (37, 3), "andes": (223, 2), "link": (724, 3)}


def dataset(network: str, rows: int) -> Path:
    """Return the path of a CSV file, made if need be."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{network}_{rows}.csv"
    if not path.exists():
        sampler = SHARED / "tools" / "gen_data.py"
        if sampler.exists():
            environment = {
                **os.environ,
                "GML_BENCH_BIF": str(SHARED / "data" / "networks"),
                "GML_BENCH_DATA": str(FOLDER),
            }
            subprocess.run(
                [sys.executable, sampler, f"{network}:{rows}"], env=environment, check=True
            )
        else:
            _write_chain(path, *SHAPES[network], rows)
    return path


def _write_chain(path: Path, columns: int, levels: int, rows: int) -> None:
    draw = random.Random(columns * rows)
    labels = ["LOW", "NORMAL", "HIGH"][:levels]
    with path.open("w") as file:
        file.write(",".join(f'"V{j}"' for j in range(columns)) + "\n")
        for _ in range(rows):
            value = draw.randrange(levels)
            cells = []
            for _ in range(columns):
                if draw.random() < 0.4:
                    value = draw.randrange(levels)
                cells.append(f'"{labels[value]}"')
            file.write(",".join(cells) + "\n")
