"""Version: which gml this is, and what it computes with."""

from __future__ import annotations

from gml import __version__, kernel


def version() -> str:
    """Return the version and the kernel in use.

    Examples
    --------
    >>> version().split()[1]
    '(kernel:'
    """
    return f"{__version__} (kernel: {kernel.description()})"
