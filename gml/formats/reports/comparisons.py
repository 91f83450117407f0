"""The report of `gml compare`: each graph beside the reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_text, encode
from gml.formats.reports.rows import as_csv, as_markdown, shown
from gml.graph.comparison import Comparison, Rates
from gml.model.compare import Divergence
from gml.text_table import aligned, column

UNDIRECTED = "undirected"
"""How two graphs without arrows are compared, in which there are no directions to count."""
_SHOWN_NODES = 8


@dataclass(frozen=True)
class ComparedPair:
    """The files of the reference and of another graph, how they were compared, and the result.

    `kl` is None unless both are models whose divergence could be computed.
    """

    a: str
    b: str
    view: str
    found: Comparison
    kl: Divergence | None = None


def as_object(pair: ComparedPair) -> dict[str, Any]:
    """Return the JSON object of a pair."""
    found = pair.found
    return {
        "a": pair.a,
        "b": pair.b,
        "as": pair.view,
        "shd": found.shd,
        "dag_shd": found.dag_shd,
        "skeleton": asdict(found.skeleton),
        "arrowheads": asdict(found.arrowheads),
        "sid": None if found.sid is None else found.sid._asdict(),
        "kl": None if pair.kl is None else _divergence(pair.kl),
        "differences": [asdict(difference) for difference in found.differences],
    }


def _divergence(kl: Divergence) -> dict[str, Any]:
    return {
        "total": _finite(kl.total),
        "nodes": {name: _finite(term) for name, term in kl.nodes.items()},
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def as_row(pair: ComparedPair) -> dict[str, Any]:
    """Return the row of a pair in a table."""
    found = pair.found
    row: dict[str, Any] = {"a": pair.a, "b": pair.b, "as": pair.view}
    row |= {"shd": found.shd, "dag_shd": found.dag_shd, "differences": len(found.differences)}
    for what, rates in (("skeleton", found.skeleton), ("arrowheads", found.arrowheads)):
        row |= {f"{what}_{name}": value for name, value in asdict(rates).items()}
    low, high, exact = (None, None, None) if found.sid is None else found.sid
    row |= {"sid_lower": low, "sid_upper": high}
    row["sid_exact"] = None if exact is None else "yes" if exact else "no"
    return row | {"kl": None if pair.kl is None else _finite(pair.kl.total)}


def _text(pair: ComparedPair) -> str:
    found = pair.found
    lines = [f"{shown(pair.b)} compared with {shown(pair.a)}, as {pair.view}"]
    facts = [("shd", str(found.shd))]
    if found.dag_shd is not None:
        facts.append(("dag_shd", str(found.dag_shd)))
    if found.sid is not None:
        low, high, exact = found.sid
        bounds = str(low) if low == high else f"{low}..{high}"
        facts.append(("sid", bounds + ("" if exact else "  (wide bounds)")))
    if pair.view == UNDIRECTED:
        facts.append(("edges", _rates(found.skeleton)[0]))
    else:
        skeleton, arrowheads = _rates(found.skeleton, found.arrowheads)
        facts += [("skeleton", skeleton), ("arrowheads", arrowheads)]
    if pair.kl is not None:
        facts.append(("kl", _kl(pair.kl)))
    lines += aligned(facts)
    lines += aligned(
        [(shown(d.x), d.a or "   ", d.b or "   ", shown(d.y), d.kind) for d in found.differences]
    )
    return "\n".join(lines) + "\n"


def _rates(*found: Rates) -> list[str]:
    """The rates of each with their names, those of the same name below one another."""
    rates = list(map(asdict, found))
    columns = [
        column([shown(each[name]) for each in rates], name=name, to_the_right=True)
        for name in rates[0]
    ]
    return ["  ".join(cells) for cells in zip(*columns, strict=True)]


def _kl(kl: Divergence) -> str:
    """The total and, in parentheses, the nodes that matter most."""
    most = sorted(kl.nodes, key=lambda name: (-abs(kl.nodes[name]), name))
    some = [name for name in most if kl.nodes[name]][:_SHOWN_NODES]
    parts = ", ".join(f"{shown(name)} {shown(kl.nodes[name])}" for name in some)
    left = sum(1 for term in kl.nodes.values() if term) - len(some)
    more = f" and {left} more" if left else ""
    return f"{shown(kl.total)} nats" + (f"  ({parts}{more})" if parts else "")


def _as_json(pairs: Sequence[ComparedPair], *, inputs: Hashes = NO_INPUTS) -> str:
    found = [as_object(pair) for pair in pairs]
    return document_text({"schema": SCHEMA, "pairs": found}, inputs)


def _as_csv(pairs: Sequence[ComparedPair], *, safe_csv: bool = False) -> str:
    return as_csv([as_row(pair) for pair in pairs], safe_csv=safe_csv)


FORMATS: dict[str, Callable[..., str]] = {
    "text": lambda pairs: "\n".join(_text(pair) for pair in pairs),
    "json": _as_json,
    "jsonl": lambda pairs: "".join(encode(as_object(pair)) + "\n" for pair in pairs),
    "csv": _as_csv,
    "markdown": lambda pairs: as_markdown([as_row(pair) for pair in pairs]),
}
"""From compared pairs to text; that of JSON takes `inputs` too, and that of CSV `safe_csv`."""
