"""How verbs read data: what reading keywords come to, asked before anything is read."""

from __future__ import annotations

from gml.data.options import ReadingKeywords, ReadOptions, reading_options

__all__ = ["ReadOptions", "ReadingKeywords", "reading_options"]
