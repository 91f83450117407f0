"""Shares for people: rounded, but never to what is certain or impossible unless they are that."""

from __future__ import annotations


def percent(share: float) -> str:
    """Return a share in percent; only 0 and 1 themselves are shown as such.

    Examples
    --------
    >>> [percent(share) for share in (0, 1e-9, 0.123, 0.99999, 1)]
    ['0 %', '<0.1 %', '12.3 %', '>99.9 %', '100 %']
    """
    return f"{_up_to(100, 100 * share, 1)} %"


def share_in_words(share: float, decimals: int = 3) -> str:
    """Return a share with as many decimals as it needs, at most; only 0 and 1 are shown as such.

    Examples
    --------
    >>> [share_in_words(share) for share in (0, 1e-9, 0.5, 0.9449, 0.9997, 1)]
    ['0', '<0.001', '0.5', '0.945', '>0.999', '1']
    """
    text = _up_to(1, share, decimals)
    return text.rstrip("0") if "." in text else text


def _up_to(whole: int, value: float, decimals: int) -> str:
    if value <= 0 or value >= whole:
        return "0" if value <= 0 else str(whole)
    text = f"{value:.{decimals}f}"
    least = 10.0**-decimals
    if float(text) == 0:
        return f"<{least:.{decimals}f}"
    return f">{whole - least:.{decimals}f}" if float(text) >= whole else text
