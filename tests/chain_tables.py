"""Small tables of sequences for tests of chain fields."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gml.data.options import ReadOptions
from gml.data.sequences import read_sequences


def chain_frame(seed=0, n_sequences=40, longest=7, n_labels=3, n_words=12):
    """Sequences of one row and more, whose words tell something of their labels."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(n_sequences):
        label = int(rng.integers(n_labels))
        for _ in range(int(rng.integers(1, longest + 1))):
            word = int(rng.integers(n_words))
            word = word - word % n_labels + label if rng.random() < 0.5 else word
            rows.append((f"s{s}", f"w{word}", "xyz"[word % 3], f"t{label}"))
            label = label if rng.random() < 0.4 else int(rng.integers(n_labels))
    return pd.DataFrame(rows, columns=["id", "word", "shape", "tag"])


def heat_frame(seed=0, **how):
    """The same with a column of numbers, some of them missing, that tell something of the labels."""
    frame = chain_frame(seed, **how)
    rng = np.random.default_rng([seed, 1])
    heat = 20 + 3 * frame["tag"].str[1:].astype(float) + rng.normal(0, 4, len(frame))
    return frame.assign(heat=heat.round(1).mask(rng.random(len(frame)) < 0.1))


def heat_rows(frame, **more):
    """The sequences of such a table; what is missing says nothing."""
    return chain_rows(frame, options=ReadOptions(numeric=("heat",), missing="available"), **more)


def chain_rows(frame, **more):
    """The sequences of such a table."""
    options = more.pop("options", ReadOptions())
    return read_sequences(frame, options, **{"sequence": "id", "target": "tag", **more})
