"""Explain: why PC has an edge there, or none."""

from __future__ import annotations

import os
from typing import Any

from gml.formats.test_log import read_log
from gml.learners.explain import Explanation
from gml.learners.explain import explain as explain_records
from gml.verbs.shared.front_door import front_door


def _names(log: Any) -> list[str]:
    from gml.verbs.shared.known_names import log_names

    return log_names(str(log))


@front_door(reading=(), choices=dict.fromkeys("ab", _names))
def explain(log: str | os.PathLike[str], a: str, b: str) -> Explanation:
    """Say why there is an edge between two variables, or none, and why it has its direction.

    Parameters
    ----------
    log
        The file that `gml.pc(..., test_log=FILE)` wrote.
    a, b
        The variables.

    Examples
    --------
    >>> import gml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = gml.pc("sample_data/asia.csv", test_log=f"{folder}/log.jsonl")
    ...     found = gml.explain(f"{folder}/log.jsonl", "tub", "either")
    >>> for sentence in found.sentences[1:3]:
    ...     print(sentence)
    The closest was given dysp, xray: G = 66.9676, df 3, p = 1.9e-14, n = 5000.
    It points from tub to either because either is a collider.
    """
    return explain_records(read_log(log, (a, b)), a, b)
