"""Write the parts of docs/architecture.md that are made from the code: import graph and walks.

python docs/make_architecture.py       # or: make docs
"""

from __future__ import annotations

import re
from pathlib import Path

from import_graph import import_graph
from trace_walks import walks

TARGET = Path(__file__).with_name("architecture.md")


def refreshed(text: str) -> str:
    """Return the page with its parts as they are now."""
    graph = f"```text\n{import_graph()}```\n"
    return _with_part(_with_part(text, "import graph", graph), "walks", walks())


def _with_part(text: str, name: str, made: str) -> str:
    begin = f"<!-- made by docs/make_architecture.py: {name} -->\n"
    part = re.compile(re.escape(begin) + "(.*?)<!-- end -->", re.DOTALL)
    if not part.search(text):
        raise SystemExit(f"{TARGET.name} has no place for the {name}")
    return part.sub(lambda _: f"{begin}\n{made}\n<!-- end -->", text)


if __name__ == "__main__":
    TARGET.write_text(refreshed(TARGET.read_text(encoding="utf-8")), encoding="utf-8")
