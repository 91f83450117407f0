"""How a fit by EM went, for people: from the `em` that `learning` has of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gml.text_table import aligned


def dump_em_text(em: Mapping[str, Any]) -> str:
    """Return a few lines, with what the file does not say left out.

    Examples
    --------
    >>> print(dump_em_text({"log_likelihood": -7.25, "parameters": 2, "rank": 2, "starts": 5}))
    fitted by EM to what was seen of each row
      log-likelihood  -7.250000
      parameters      2
      starts          5
    <BLANKLINE>
    """
    lines = [["log-likelihood", _fixed(em.get("log_likelihood"))]]
    rank, parameters = em.get("rank"), em.get("parameters")
    if isinstance(parameters, int):
        told = isinstance(rank, int) and rank < parameters
        lines.append(["parameters", f"{parameters}{f', of which the data tell {rank}' * told}"])
    if isinstance(em.get("steps"), int):
        left = "" if em.get("converged", True) else ", not converged"
        lines.append(["steps", f"{em['steps']}{left}"])
    if isinstance(em.get("starts"), int):
        best = em.get("times_best") if em["starts"] > 1 else None
        reached = f", {best} of which reached the best end" if isinstance(best, int) else ""
        lines.append(["starts", f"{em['starts']}{reached}"])
    return "\n".join(
        ["fitted by EM to what was seen of each row", *aligned(lines, indent="  ")]
    ) + ("\n")


def _fixed(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, int | float) else "-"
