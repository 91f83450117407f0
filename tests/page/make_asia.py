"""Write asia.json: the model of the sample data, and what `gml query` says of it.

Run it from the root of the repository after a change of sample_data: python -m tests.page.make_asia
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gml
from tests.places import ROOT

CASES: list[tuple[dict[str, str], dict[str, str]]] = [
    ({}, {}),
    ({"xray": "yes"}, {}),
    ({"dysp": "yes", "smoke": "no", "asia": "yes"}, {}),
    ({}, {"either": "yes"}),
    ({"dysp": "yes"}, {"bronc": "no"}),
    ({"lung": "yes", "xray": "no"}, {"either": "no", "smoke": "yes"}),
]


def asia_answers() -> dict[str, Any]:
    """Return the nodes of the model and the answers to the cases."""
    model = gml.fit_params(ROOT / "sample_data/asia.csv", ROOT / "sample_data/asia.dot")
    nodes = [
        {
            "id": cpt.variable.name,
            "levels": list(cpt.variable.levels),
            "parents": [parent.name for parent in cpt.parents],
            "cpt": cpt.table.reshape(-1, len(cpt.variable.levels)).tolist(),
        }
        for cpt in model.cpds
    ]
    answers = []
    for evidence, do in CASES:
        answer = gml.query(model, evidence=evidence, do=do)
        shares = {node: list(found.values()) for node, found in answer.distributions.items()}
        answers.append(
            {"evidence": evidence, "do": do, "log": answer.log_evidence, "shares": shares}
        )
    return {"nodes": nodes, "answers": answers}


if __name__ == "__main__":
    text = json.dumps(asia_answers(), separators=(",", ":"))
    Path(__file__).with_name("asia.json").write_text(text + "\n", encoding="utf-8")
