"""The scripts of docs/, for tests of what they make."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def script(name):
    """Import a script of docs/, which finds its neighbours as it does when it is run."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))
    return importlib.import_module(name)
