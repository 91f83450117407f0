"""The same rows by every route to a check, for tests that all of them say the same."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import gml
from gml.model.baseline import Baseline
from tests.stream_checks import in_passes

NAMES = ("a", "b", "c", "d")
EDGES = [("a", "-->", "b"), ("b", "-->", "c")]
LABELS = {"a": ("u", "v", "w"), "b": ("yes", "no"), "c": ("p", "q", "r"), "d": ("s", "t")}
NUMBER = "x"

POLICIES = ("error", "drop", "level", "available")
SPELLINGS = ("NA", "?", "", "N/A", "null", "-", " NA ")
BY_DEFAULT = {"NA", "?", "", "N/A", "null", " NA "}

ROWS_ALONE = frozenset({"schema:repeats", "fit:likelihood"})
"""What rows alone can answer."""
ALL_ROWS_ALONE = frozenset(f"schema:{kind}:{NUMBER}" for kind in ("range", "sentinel", "unique"))
"""What is asked of all rows, those among them that are dropped later."""
PLACES = {"row", "line"}
COUNTS_HOLD_NUMBERS = False
"""Whether count files have what checks ask of numeric columns."""


@dataclass(frozen=True)
class Case:
    """A table to fit a model to, a table to check, and how both are read."""

    policy: str
    spelling: str
    seed: int
    gaps: Mapping[str, float]
    """The share of missing cells of columns of the first table."""
    new_gaps: Mapping[str, float]
    n: int
    """The rows of the second table."""
    strength: float
    """How much its columns depend on each other; 0.8 in the first one."""
    numeric: bool
    weighted: bool
    n_shards: int
    left_out: frozenset[str] = ROWS_ALONE
    """Checks that are left out before p-values are adjusted for all checks of a run."""

    @functools.cached_property
    def train(self) -> pd.DataFrame:
        """The first table."""
        return _table(np.random.default_rng(self.seed), 400, self.gaps, 0.8)

    @functools.cached_property
    def new(self) -> pd.DataFrame:
        """The second one."""
        rng = np.random.default_rng(self.seed + 1)
        return _table(rng, self.n, self.new_gaps, self.strength)

    @property
    def names(self) -> list[str]:
        """The columns of the model."""
        return [*NAMES, NUMBER] if self.numeric else [*NAMES]

    @property
    def reading(self) -> dict[str, object]:
        """How the tables are read, missing values aside."""
        found: dict[str, object] = {"columns": self.names}
        if self.spelling not in BY_DEFAULT:
            found["na"] = [self.spelling]
        if self.numeric:
            found["numeric"] = [NUMBER]
        if self.weighted:
            found["weights"] = "n"
        return found

    @property
    def policy_of_new(self) -> str:
        """A model of rows without gaps is held against whatever rows are complete in its tables."""
        lacking = self.new[self.names].isna().to_numpy().any()
        return "available" if self.policy == "error" and lacking else self.policy

    def for_counts(self) -> Case:
        """The same, without what count files cannot hold."""
        return self if COUNTS_HOLD_NUMBERS else replace(self, numeric=False)

    def for_complete_rows(self) -> Case:
        """The same, without what is asked of rows that were dropped as they were read."""
        asked = ALL_ROWS_ALONE if self.policy == "drop" else frozenset()
        return replace(self, left_out=self.left_out | asked)

    def model(self) -> object:
        """The model of the first table."""
        edges = [*EDGES, ("b", "-->", NUMBER)] if self.numeric else EDGES
        graph = gml.Graph.from_edges(self.names, edges, kind="dag")
        return gml.fit(self.spelt(self.train), graph, missing=self.policy, **self.reading)

    def spelt(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table in which missing cells are text."""
        return frame.astype(object).where(frame.notna(), self.spelling).astype(str)

    def written(self, frame: pd.DataFrame, path: Path) -> Path:
        """A table as CSV."""
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(frame.columns)
            rows.writerows(self.spelt(frame).itertuples(index=False, name=None))
        return path


@st.composite
def cases(draw: st.DrawFn, policy: str) -> Case:
    """Tables of labels, and perhaps of numbers and weights, with gaps in some columns."""
    shares = st.sampled_from([0.0, 0.02, 0.15])
    names = [*NAMES, NUMBER]
    gaps, new_gaps = (draw(st.fixed_dictionaries(dict.fromkeys(names, shares))) for _ in range(2))
    if policy == "error":
        gaps = dict.fromkeys(names, 0.0)
    if policy == "level":
        # What is missing is no level of numbers.
        gaps[NUMBER] = new_gaps[NUMBER] = 0.0
    return Case(
        policy,
        # The one that is the name of the level, too, is half of them.
        draw(st.just("NA") | st.sampled_from(SPELLINGS)),
        draw(st.integers(0, 2**32)),
        gaps,
        new_gaps,
        n=draw(st.sampled_from([60, 250, 600])),
        strength=draw(st.sampled_from([0.8, 0.4])),
        numeric=draw(st.booleans()),
        weighted=draw(st.booleans()),
        n_shards=draw(st.integers(2, 4)),
    )


def _table(
    rng: np.random.Generator, n: int, gaps: Mapping[str, float], strength: float
) -> pd.DataFrame:
    """Rows of the network a -> b -> c, d, and of a number that depends on b."""
    codes = {name: rng.integers(0, len(labels), n) for name, labels in LABELS.items()}
    for child, parent in (("b", "a"), ("c", "b")):
        follows = rng.random(n) < strength
        codes[child] = np.where(follows, codes[parent] % len(LABELS[child]), codes[child])
    frame = pd.DataFrame({name: np.array(LABELS[name])[codes[name]] for name in NAMES})
    frame[NUMBER] = np.round(codes["b"] + rng.normal(size=n), 4)
    for name, share in gaps.items():
        frame[name] = frame[name].where(rng.random(n) >= share)
    frame["n"] = rng.integers(1, 4, n)
    return frame


# ---------------------------------------------------------------------- routes


def by_rows(case: Case, model: object, folder: Path) -> object:
    """A file that is read into memory."""
    return of_rows(case.written(case.new, folder / "new.csv"), model, case)


def by_stream(case: Case, model: object, folder: Path) -> object:
    """A file that is read in passes."""
    path = case.written(case.new, folder / "new.csv")
    with in_passes():
        return of_rows(path, model, case, engine="stream")


def by_frame(case: Case, model: object, folder: Path) -> object:
    """A data frame that says itself what is missing."""
    return of_rows(case.new, model, case)


def by_frame_of_text(case: Case, model: object, folder: Path) -> object:
    """A data frame in which missing cells are text, as in the file."""
    return of_rows(case.spelt(case.new), model, case)


def by_dataset(case: Case, model: object, folder: Path) -> object:
    """Rows that were read before."""
    return checked(_read(case, folder), model, case)


def by_open_stream(case: Case, model: object, folder: Path) -> object:
    """A stream that was opened before, and is read in passes."""
    path = case.written(case.new, folder / "new.csv")
    with in_passes(), gml.open_stream(path, **_reading(case)) as stream:
        return checked(stream, model, case)


def by_blocks(case: Case, model: object, folder: Path) -> object:
    """Blocks of rows that were read before."""
    with in_passes(), gml.open_stream(_read(case, folder).blocks(70)) as stream:
        return checked(stream, model, case)


def by_counts(case: Case, model: object, folder: Path, **how: object) -> object:
    """A count file."""
    path = case.written(case.new, folder / "new.csv")
    return checked(_counted(case, model, path, **_reading(case), **how), model, case)


def by_counts_of_stream(case: Case, model: object, folder: Path) -> object:
    """A count file of rows that are read in passes."""
    return by_counts(case, model, folder, engine="stream")


def by_counts_of_dataset(case: Case, model: object, folder: Path) -> object:
    """A count file of rows that were read before."""
    counts = gml.count(_read(case, folder), graph=model, implied=model)
    return checked(gml.CountFileCounter(counts), model, case)


def by_shards(case: Case, model: object, folder: Path) -> object:
    """Count files of parts of the rows, merged."""
    shards = []
    for k in range(case.n_shards):
        part = case.written(case.new.iloc[k :: case.n_shards], folder / f"{k}.csv")
        shards.append(_counted(case, model, part, **_reading(case)))
    gml.write_counts(gml.merge(*shards), folder / "all.parquet")
    return checked(folder / "all.parquet", model, case)


OF_ROWS = (by_rows, by_stream, by_frame, by_frame_of_text)
OF_COMPLETE_ROWS = (by_rows, by_dataset, by_open_stream, by_blocks)
OF_COUNTS = (by_rows, by_counts, by_counts_of_stream, by_counts_of_dataset, by_shards)


def of_rows(data: object, model: object, case: Case, **how: object) -> object:
    """The report on rows as they come, which are read as the model says; but for weights."""
    return checked(data, model, case, weights="n" if case.weighted else None, **how)


def checked(data: object, model: object, case: Case, **how: object) -> object:
    """The report on all that is not left out."""
    return gml.check(data, model, baseline=Baseline(case.left_out), **how)


def _reading(case: Case) -> dict[str, object]:
    return {"missing": case.policy_of_new, **case.reading}


def _read(case: Case, folder: Path) -> gml.Dataset:
    return gml.read(case.written(case.new, folder / "new.csv"), **_reading(case))


def _counted(case: Case, model: object, rows: Path, **how: object) -> Path:
    gml.write_counts(
        gml.count(rows, graph=model, implied=model, **how), rows.with_suffix(".parquet")
    )
    return rows.with_suffix(".parquet")


def answers(report: object, case: Case) -> dict[str, dict[str, object]]:
    """By the id of each check, all that it says, p-values to the last bit; but for where a row is."""
    return {
        check.id: {name: value for name, value in asdict(check).items() if name not in PLACES}
        for check in report.checks
        if check.id not in case.left_out
    }
