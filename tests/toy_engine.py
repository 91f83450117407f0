"""The engine that docs/engines.md shows."""

from __future__ import annotations

import re

from tests.places import ROOT

PAGE = (ROOT / "docs" / "engines.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def namespace_of_the_page():
    """Run the page."""
    namespace = {}
    for block in BLOCKS:
        exec(compile(block, "docs/engines.md", "exec"), namespace)
    return namespace


ListCounter = namespace_of_the_page()["ListCounter"]


def as_list(data):
    """The engine of the page over the same rows."""
    labels = [
        [variable.levels[code] for code in column.tolist()]
        for variable, column in zip(data.variables, data.columns, strict=True)
    ]
    return ListCounter(data.variables, list(zip(*labels, strict=True)))
