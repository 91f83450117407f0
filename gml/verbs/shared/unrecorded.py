"""What is asked for but not recorded in provenance, whether by keyword or on the command line.

This module imports nothing that computes: commands read it before they know whether they run.
"""

from __future__ import annotations

_WITHOUT_EFFECT = (
    "asked",
    "debug",
    "dry_run",
    "engine",
    "format",
    "if_changed",
    "kinds",
    "master",
    "quiet",
    "safe_csv",
    "spool",
    "spool_keep",
    "threads",
    "verbose",
)
_FILES_WRITTEN = ("test_log", "trace")
_WITH_OWN_ENTRY = (
    "against",
    "constraints",
    "data",
    "graph",
    "holdout",
    "implied",
    "knowledge",
    "levels",
    "start",
)

UNRECORDED = frozenset({*_WITHOUT_EFFECT, *_FILES_WRITTEN, *_WITH_OWN_ENTRY})
"""What changes nothing in the result, and inputs, which have an entry or a hash of their own."""
