"""The runs of missing_recovery.py as Markdown."""

from __future__ import annotations

import statistics

_WHAT = {"parameters": "kl", "structure": "shd", "cells": "right", "peers": None}
_TITLES = {
    "kl": "KL from the true network, in nats",
    "shd": "Structural Hamming distance between CPDAGs",
    "right": "Share of blanked cells that are filled rightly",
}


def report(lines):
    """One table per figure and mechanism."""
    parts = []
    for what, title in _TITLES.items():
        for how in ("mcar", "mar"):
            some = [x for x in lines if what in x and x["how"] == how]
            if some:
                parts.append(f"{title}, {how}\n\n{_table(some, what)}")
    for x in lines:
        if "failed" in x:
            why = f"cut at {x['cut']} s" if x["cut"] else x["failed"]
            parts.append(f"{x['method']}, {x['network']} {x['share']:.0%}, seed {x['seed']}: {why}")
    return "\n\n".join(parts)


def _table(lines, what):
    cells = sorted({(x["network"], x["share"]) for x in lines})
    methods = list(dict.fromkeys(x["method"] for x in lines))
    head = " | ".join(f"{network} {share:.0%}" for network, share in cells)
    rows = [f"| | {head} |", "|---" * (len(cells) + 1) + "|"]
    for method in methods:
        shown = []
        for cell in cells:
            own = [x for x in lines if x["method"] == method and (x["network"], x["share"]) == cell]
            shown.append(_cell(own, what))
        rows.append(f"| {method} | {' | '.join(shown)} |")
    return "\n".join(rows)


def _cell(lines, what):
    """Mean ± its standard error, runs, and CPU seconds."""
    values = [x[what] for x in lines if x[what] is not None]
    if not values:
        return "refused" if lines else ""
    digits = 1 if what == "shd" else 4
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    seconds = statistics.mean(x["cpu"] for x in lines)
    refused = f", {len(lines) - len(values)} refused" if len(values) < len(lines) else ""
    mean = f"{statistics.mean(values):.{digits}f} ± {error:.{digits}f}"
    return f"{mean} ({len(values)}{refused}; {seconds:.2g} s)"
