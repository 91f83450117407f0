"""Write mixed.json: a model of labels and numbers, and what `gml query` says of it.

Run it from the root of the repository after a change of sample_data: python -m tests.page.make_mixed
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gml
from tests.page.mixed_model import flats

CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"district": "village"}, {}),
    ({"rent": 900.0}, {}),
    ({"rent": 1200.0, "heating": 60.0, "parking": "yes"}, {}),
    ({"heating": 80.0}, {"size": 70.0}),
    ({"rent": 5000.0}, {"condition": "old"}),
    ({"rent": 700.0, "size": 60.0, "heating": 55.0}, {"district": "centre"}),
]


def answers(net: gml.BayesNet) -> list[dict[str, Any]]:
    """Return what a model says about all nodes in each case."""
    found = []
    for evidence, do in CASES:
        answer = gml.query(net, evidence=evidence, do=do)
        shares, moments = {}, {}
        for name, known in answer.distributions.items():
            if hasattr(known, "mean"):
                moments[name] = [known.mean, known.sd]
            else:
                shares[name] = list(known.values())
        log = answer.log_evidence
        found.append(
            {"evidence": evidence, "do": do, "log": log, "shares": shares, "moments": moments}
        )
    return found


def nodes(net: gml.BayesNet) -> list[dict[str, Any]]:
    """Return the nodes as the page has them."""
    from gml.pictures.page.payload import node_facts

    return [node_facts(cpd, computes=True) for cpd in net.cpds]


if __name__ == "__main__":
    net = flats()
    text = json.dumps({"nodes": nodes(net), "answers": answers(net)}, separators=(",", ":"))
    Path(__file__).with_name("mixed.json").write_text(text + "\n", encoding="utf-8")
