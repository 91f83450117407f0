"""Explain: why PC has an edge there, or none."""

from __future__ import annotations

import os

from gml.formats.test_log import read_log
from gml.learners.explain import Explanation
from gml.learners.explain import explain as explain_records


def explain(log: str | os.PathLike[str], a: str, b: str) -> Explanation:
    """Say why there is an edge between two variables, or none, and why it has its direction.

    Parameters
    ----------
    log
        The file that `gml pc --test-log` wrote.
    a, b
        The variables.

    Examples
    --------
    >>> import gml, pathlib, subprocess, sys, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = pathlib.Path(folder, "log.jsonl")
    ...     command = [sys.executable, "-m", "gml.cli", "pc", "sample_data/cancer.csv"]
    ...     _ = subprocess.run([*command, "--test-log", log], capture_output=True, check=True)
    ...     found = gml.explain(log, "Cancer", "Smoker")
    >>> for sentence in found.sentences[1:3]:
    ...     print(sentence)
    The closest was given Pollution, Xray: G = 51.0729, df 4, p = 2.16e-10, n = 2000.
    It points from Smoker to Cancer because Cancer is a collider.
    """
    return explain_records(read_log(log, (a, b)), a, b)
