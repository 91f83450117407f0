"""The undirected structures that are learned from a table, by name."""

from __future__ import annotations

STRUCTURES_AVERAGED = ("forward", "tree", "l1")
"""Those that depend on the rows, so that averaging them says something."""
STRUCTURES = (*STRUCTURES_AVERAGED, "complete")
