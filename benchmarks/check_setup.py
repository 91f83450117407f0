"""What the experiments on checks share: networks, rows as a file would have them, and results.

Networks are BIF files in a folder of GML_BENCH_BIF, by default the one beside the checkout. Results
are files of one JSON object per line, one line per setting; a setting that is there already is not
run again.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from data import HERE, SHARED

import gml
from gml.data.dataset import Variable, code_type
from gml.learners.hillclimb import hill_climb
from gml.model.fit import fit
from gml.model.training import training_of

RESULTS = HERE / "results"
NETWORK_FOLDER = Path(os.environ.get("GML_BENCH_BIF", SHARED / "data" / "networks"))


@functools.cache
def network(name):
    """Read a network; rounded rows of published tables are no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gml.read_model(NETWORK_FOLDER / f"{name}.bif")


def seeds(setting, repetition, how_many):
    """Seeds that depend on the words of a setting and on the repetition alone."""
    words = zlib.crc32(setting.encode())
    state = np.random.SeedSequence([words, repetition]).generate_state(how_many)
    return [int(seed) for seed in state]


def with_seen_levels(data):
    """Leave out the levels that no row has, as if the rows had been read from a file."""
    variables, columns = [], []
    for variable, column in zip(data.variables, data.columns, strict=True):
        seen = np.bincount(column, minlength=len(variable.levels)) > 0
        kept = tuple(level for level, there in zip(variable.levels, seen, strict=True) if there)
        codes = np.cumsum(seen) - 1
        variables.append(Variable(variable.name, kept))
        columns.append(codes.astype(code_type(len(kept)))[column])
    return replace(data, variables=tuple(variables), columns=tuple(columns))


def sampled(net, n, seed):
    """Rows of a network, with the levels that they have."""
    return with_seen_levels(net.sample(n, seed=seed))


def fitted(graph, data, **options):
    """Tables of a graph, by maximum likelihood unless told otherwise."""
    net = fit(graph, gml.MemoryCounter(data, threads=1), **options)
    return replace(net, training=training_of(data))


def checked(model, data, seed=0, *, baseline=None):
    """Check as the default is, on one thread."""
    settings = gml.CheckSettings(threads=1, seed=seed)
    return gml.check_model(model, data, settings, baseline=baseline)


def learned(data):
    """The graph that hill climbing by BIC finds."""
    return hill_climb(gml.SCORES["bic"](gml.MemoryCounter(data, threads=1))).graph


def first_alarm(report):
    """The least adjusted p-value of a report, and the kind of its check."""
    judged = [check for check in report.checks if check.log_p_adjusted is not None]
    if not judged:
        return 1.0, None
    least = min(judged, key=lambda check: (check.log_p_adjusted, check.log_p, check.id))
    return float(np.exp(least.log_p_adjusted)), least.kind


def interval(hits, n, level=0.95):
    """Clopper & Pearson's interval of a share."""
    from scipy.stats import beta

    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits == n else float(beta.ppf(1 - tail, hits + 1, n - hits))
    return low, high


def share(hits, n):
    """Alarms of repetitions with the interval of their share."""
    low, high = interval(hits, n)
    return f"{hits} of {n} = {hits / n:.4f} ({low:.4f} to {high:.4f})"


# ---------------------------------------------------------------------- results


class Results:
    """Lines of one experiment, by the key of a setting."""

    def __init__(self, name):
        self.path = RESULTS / f"{name}.jsonl"
        self.lines = []
        if self.path.exists():
            self.lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        self._keys = {line["setting"] for line in self.lines}

    def __contains__(self, setting):
        return setting in self._keys

    def add(self, setting, **figures):
        """Write one line at once, so that a run can go on where it was stopped."""
        line = {"setting": setting, **figures}
        RESULTS.mkdir(exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.lines.append(line)
        self._keys.add(setting)
        print(setting, _short(figures), file=sys.stderr, flush=True)


def _short(figures):
    return " ".join(f"{name}={value}" for name, value in figures.items())
