"""What answers of models, and the figures of predictions, have in common in a notebook.

A model loads their classes only when it is asked, long after the front door gave other
classes what they show; so it gives that to their base, which costs nothing to load.
"""

from __future__ import annotations


class NotebookTable:
    """Something that a notebook shows as a table."""
