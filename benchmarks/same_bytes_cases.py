"""The tables and commands of benchmarks/same_bytes.py.

`alarm` is a sample of the network of that name, or a chain of the same shape where there is none;
`wide` has 500 columns; `gaps` has labels, numbers, missing values and weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from data import dataset

WIDE_COLUMNS = 500
_POLICIES = ("drop", "level", "available")


@dataclass(frozen=True)
class Case:
    """A command: its words, how rows are read, and what `gml count` counts for it.

    With a count file, `reading` is given to `gml count`, and not to the command. Without `counted`
    no count file is tried: the command is for numbers, or takes the rows.
    """

    command: str
    reading: str = ""
    counted: str | None = None

    @property
    def title(self) -> str:
        """What the case is called."""
        return f"{self.command} {self.reading}".strip()


@dataclass(frozen=True)
class Table:
    """A file, the commands that make graphs and models of it beforehand, and the cases."""

    path: Path
    bytes_in_memory: int
    """What its rows take as codes and numbers."""
    prepared: dict[str, str]
    cases: list[Case]


def alarm(folder: Path, rows: int) -> Table:
    """37 columns of labels; searches that take all columns are exact on the first ten."""
    path = dataset("alarm", rows)
    names = _header(path)
    ten, six = ",".join(names[:10]), ",".join(names[:6])
    sets = folder / "sets.csv"
    sets.write_text(f"{ten}\n")
    few = "--max-parents 2 --iterations 200"
    graphs = "--graph GRAPH --graph OTHER"
    twelve = ",".join(names[k] for k in range(0, 36, 3))
    prepared = {
        "GRAPH": "hc DATA --max-parents 3 -f json",
        "OTHER": "chowliu DATA -f json",
        "MODEL": f"fit-params {dataset('alarm', 5000)} GRAPH -f json",
    }
    cases = [
        Case("chowliu DATA -f json", "", "--pairs"),
        Case(f"chowliu DATA --prune g --class {names[0]} -f json", "", "--triples"),
        Case("pc DATA -f json", "", "--triples"),
        Case("pc DATA --test g --max-cond 1 --colliders sepset -f json", "", "--triples"),
        Case(f"pc DATA --bootstrap 4 --max-cond 1 -c {ten} -f json", "", "--triples"),
        Case("hc DATA -f json", "", "--triples"),
        Case("hc DATA --score bdeu --max-parents 2 -f json", "", "--triples"),
        Case("hc DATA --restarts 2 --tabu 5 --max-parents 2 -f json", "", "--triples"),
        Case("ges DATA -f json", "", "--triples"),
        Case("ges DATA --max-parents 2 -f json", "", "--triples"),
        # Bounds take the table of all columns.
        Case(f"exact DATA -c {ten} -f json", "", f"--sets {sets}"),
        Case(f"imap DATA --order {twelve} -f json", "", "--triples"),
        Case(f"imap DATA --order {twelve} --score k2 --max-parents 2 -f json", "", "--triples"),
        Case("score DATA GRAPH OTHER --score bic,bdeu,qnml --per-node -f json", "", graphs),
        Case("score DATA GRAPH --folds 3 -f json", "", "--graph GRAPH"),
        Case("indtest DATA --all-pairs --adjust holm -f json", "", "--pairs"),
        Case(f"indtest DATA {names[0]} {names[1]} -z {names[2]} -f json", "", "--triples"),
        Case(f"indtest DATA {names[0]} {names[1]} --test permutation -f json", "", "--pairs"),
        Case("indtest DATA --implied OTHER -f json", "", "--implied OTHER"),
        Case("fit-params DATA GRAPH -f json", "", "--graph GRAPH"),
        Case("fit-params DATA GRAPH --method bayes --intervals 0.9 -f json", "", "--graph GRAPH"),
        Case("fit-params DATA MODEL --update -f json", "", "--graph MODEL"),
        Case("check DATA MODEL -f json", "", "--implied MODEL"),
        Case("check DATA MODEL --families tables,structure -f json", "", "--implied MODEL"),
        Case("count DATA --triples -f parquet"),
        Case("count DATA --implied MODEL -f parquet"),
        Case(f"average DATA --by hc --bootstrap 4 -c {ten} -f json", "", "--triples"),
        Case(f"average DATA --by exact -c {six} --max-parents 2 -f json", "", "--triples"),
        Case(f"average DATA --by order-mcmc -c {ten} {few} -f json", "", "--triples"),
        Case("mrf DATA --structure tree -f json", "", "--pairs"),
    ]  # fmt: skip
    return Table(path, rows * len(names), prepared, cases)


def wide(folder: Path, rows: int) -> Table:
    """500 columns of two to four levels; what grows with the third power of that is left out."""
    path = folder / "wide.csv"
    _write_wide(path, rows)
    names = _header(path)
    ten, forty = ",".join(names[:10]), ",".join(names[:40])
    prepared = {
        "GRAPH": "chowliu DATA -f json",
        "MODEL": "fit-params DATA GRAPH --method bayes -f json",
    }
    cases = [
        Case("chowliu DATA -f json", "", "--pairs"),
        Case("pc DATA --test g --alpha 0.0001 --max-cond 0 -f json", "", "--pairs"),
        Case("pc DATA --test g --alpha 0.0001 --max-cond 1 -f json", "", "--pairs"),
        Case("hc DATA --max-parents 1 -f json", "", "--pairs"),
        Case("ges DATA --max-parents 1 -f json", "", "--pairs"),
        Case(f"exact DATA -c {ten} --max-parents 1 -f json", "", "--pairs"),
        Case(f"imap DATA --order {forty} --score bic --max-parents 1 -f json", "", "--pairs"),
        Case("score DATA GRAPH --score bic,bdeu --per-node -f json", "", "--graph GRAPH"),
        Case("indtest DATA --all-pairs -f json", "", "--pairs"),
        Case("fit-params DATA GRAPH -f json", "", "--graph GRAPH"),
        Case("check DATA MODEL -f json"),
        Case("check DATA MODEL --families tables -f json", "", "--graph MODEL"),
        Case("count DATA --pairs -f parquet"),
        Case(f"average DATA --by hc --bootstrap 4 -c {forty} -f json", "", "--pairs"),
        Case("mrf DATA --structure tree -f json", "", "--pairs"),
    ]
    return Table(path, rows * len(names), prepared, cases)


def gaps(folder: Path, rows: int) -> Table:
    """Labels, numbers, a missing value in one cell of thirty, and weights from 0 to 3."""
    path = folder / "gaps.csv"
    _write_gaps(path, rows)
    (folder / "labels.dot").write_text("digraph { a -> b; b -> c; a -> d; c -> d }")
    (folder / "mixed.dot").write_text("digraph { a -> x; b -> x; x -> y; y -> z; c -> z; d }")
    (folder / "numbers.dot").write_text("digraph { x -> y; y -> z }")
    dots = {name.upper(): str(folder / f"{name}.dot") for name in ("labels", "mixed", "numbers")}
    labels, both = "--exclude x,y,z", "--numeric x,y,z"
    prepared = {
        **dots,
        "MODEL": f"fit-params DATA LABELS {labels},w --missing drop -f json",
        "MIXEDMODEL": f"fit-params DATA MIXED {both} --exclude e,w --missing drop -f json",
        "NUMBERSMODEL": "fit-params DATA NUMBERS --gaussian -c x,y,z --missing available -f json",
    }
    cases = []
    for policy in _POLICIES:
        reading = f"{labels} --missing {policy} --weights w"
        # Where each table has its own rows, the exact sets are needed.
        sets = "--pairs --triples" if policy == "available" else "--triples"
        cases += [
            Case("chowliu DATA -f json", reading, sets),
            Case("pc DATA -f json", reading, sets),
            Case("indtest DATA --all-pairs -f json", reading, sets),
            Case("fit-params DATA LABELS -f json", reading, "--graph LABELS"),
            Case("count DATA --triples -f parquet", reading),
            Case("count DATA --pairs --bins 4 -f parquet", f"--missing {policy}"),
        ]
    whole = f"{labels} --missing drop --weights w"
    available = f"{labels} --missing available --weights w"
    cut = "--cut e=1,2 --missing level --weights w"
    mixed = f"{both} --missing drop --weights w"
    numbers = "-c x,y,z --missing drop --weights w"
    cases += [
        Case("chowliu DATA -f json", mixed),
        Case("chowliu DATA --class a --prune g -f json", mixed),
        Case("hc DATA --max-parents 2 -f json", whole, "--triples"),
        Case("ges DATA --max-parents 2 -f json", f"{labels},w --missing level", "--triples"),
        Case("exact DATA --max-parents 2 -f json", whole, "--triples"),
        Case("imap DATA --order a,b,c,d -f json", whole, "--triples"),
        Case("score DATA LABELS --score bic,bdeu,k2 -f json", whole, "--graph LABELS"),
        Case("score DATA LABELS --folds 3 -f json", whole, "--graph LABELS"),
        Case("check DATA MODEL -f json", f"{labels} --weights w"),
        Case("check DATA MODEL -f json", available),
        Case("check DATA MODEL --families tables,structure -f json", whole, "--implied MODEL"),
        Case("average DATA --by hc --bootstrap 4 -f json", whole),
        Case("average DATA --by pc --bootstrap 4 -f json", available),
        Case("mrf DATA --structure tree -f json", whole, "--pairs"),
        Case("pc DATA -f json", "--bins 3 --missing drop --weights w", "--triples"),
        Case("fit-params DATA LABELS -f json", cut, "--graph LABELS"),
        Case("pc DATA --test fisher-z -f json", numbers),
        Case("pc DATA --test dg -f json", f"{both} --missing available --weights w"),
        Case("pc DATA --test cg -f json", mixed),
        Case("hc DATA -f json", mixed),
        Case("hc DATA --score bic-cg -f json", mixed),
        Case("ges DATA --score bge -f json", numbers),
        Case("exact DATA --score bic-g -f json", numbers),
        Case("score DATA NUMBERS --score bic-g,loglik-g,bge -f json", numbers),
        Case("score DATA MIXED --score bic-cg -f json", mixed),
        Case("indtest DATA x z -z y --test fisher-z -f json", numbers),
        Case("fit-params DATA NUMBERS --gaussian -f json", numbers),
        Case("fit-params DATA MIXED -f json", mixed),
        Case("check DATA MIXEDMODEL -f json", "--exclude w --missing drop"),
        Case("check DATA MIXEDMODEL -f json", "--missing available --weights w"),
        Case("check DATA NUMBERSMODEL -f json", "--weights w"),
        Case("average DATA --by hc --bootstrap 4 -f json", mixed),
        Case("glasso DATA -f json", numbers),
        Case("glasso DATA --transform rank -f json", numbers),
        Case("notears DATA -f json", numbers),
        # What missing values without a policy say is compared too.
        Case("pc DATA -f json", labels),
    ]  # fmt: skip
    return Table(path, rows * (5 + 3 * 8), prepared, cases)


TABLES = {"alarm": alarm, "wide": wide, "gaps": gaps}


def _header(path: Path) -> list[str]:
    with path.open() as file:
        return [name.strip('"') for name in file.readline().rstrip("\n").split(",")]


def _write_wide(path: Path, rows: int) -> None:
    """Write columns that copy the one before in seven rows of ten."""
    rng = np.random.default_rng(1)
    cells = np.empty((rows, WIDE_COLUMNS), dtype=np.int64)
    for j in range(WIDE_COLUMNS):
        levels = 2 + j % 3
        cells[:, j] = rng.integers(0, levels, rows)
        if j:
            same = rng.random(rows) < 0.7
            cells[same, j] = cells[same, j - 1] % levels
    header = ",".join(f"v{j:03d}" for j in range(WIDE_COLUMNS))
    np.savetxt(path, cells, "%d", ",", header=header, comments="")


def _write_gaps(path: Path, rows: int) -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.6, a, rng.integers(0, 3, rows))
    c = np.where(rng.random(rows) < 0.5, b, rng.integers(0, 4, rows))
    d = (a + c + rng.integers(0, 2, rows)) % 3
    e = rng.integers(0, 4, rows)
    x = np.round(rng.normal(a + 0.5 * b, 1), 3)
    y = np.round(0.7 * x + rng.normal(size=rows), 3)
    z = np.round(y + (1 + c) * rng.normal(0.2, 1, rows), 3)
    numbers = {"e": e, "x": x, "y": y, "z": z}
    labels = {"a": a, "b": b, "c": c, "d": d}
    columns = [np.char.add(name, codes.astype(str)) for name, codes in labels.items()]
    columns += [values.astype(str) for values in numbers.values()]
    lacking = rng.random((len(columns), rows)) < 1 / 30
    cells = [np.where(gone, "NA", column) for gone, column in zip(lacking, columns, strict=True)]
    cells.append(rng.integers(0, 4, rows).astype(str))
    header = ",".join([*"abcd", *numbers, "w"])
    np.savetxt(path, np.stack(cells, axis=1), "%s", ",", header=header, comments="")
