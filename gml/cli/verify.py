"""gml verify FILE…: are files still what was written, and were they made from these inputs?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from gml.cli.options import claim_input, common_options
from gml.cli.output import ReportOutput, report_output
from gml.errors import DataError, listing, place
from gml.ledger import note_digest


@click.command(
    "verify",
    epilog="\b\nExamples:\n"
    "  gml verify model.json\n"
    "  gml verify *.json -q -o /dev/null || echo somebody changed a file\n"
    "  gml verify model.json --input survey.csv    # was it made from this table?\n"
    "  gml verify report.json --input survey.csv --input model.json -f json\n"
    "\n\b\n"
    "Exit codes: 0 all as written, 1 a file was changed or made from other inputs,\n"
    "3 a file has no hash or is not JSON.",
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="FILE",
    help="An input that every file must have been made from (repeatable).",
)
@report_output
@common_options
def command(paths: tuple[str, ...], inputs: tuple[str, ...], out: ReportOutput) -> int:
    """Rehash JSON files of gml: graphs, models, reports (SARIF too), schemas and baselines.

    The verdict on a file is ok, changed (a value is not what was written; layout and the order of
    keys do not matter), other inputs (one of --input is not among those recorded), or no hash.
    `inputs` names what was recorded: data, graph, levels and so on.
    """
    from gml.data.source import input_digest

    for path in paths:
        claim_input(path, "file", several=True)
    for path in inputs:
        claim_input(path, "input", several=True)
    out.require_writable()
    digests = {}
    for path in inputs:
        digests[path] = input_digest(path)
        note_digest(path, digests[path])
    rows = [_row(path, digests) for path in paths]
    out.write(rows)
    if any(row["verdict"] in ("changed", "other inputs") for row in rows):
        return 1
    bare = [row["file"] for row in rows if row["verdict"] == "no hash"]
    if bare:
        raise DataError(f"no hash in {listing(bare)}: not JSON that gml wrote, or taken out")
    return 0


def _row(path: str, digests: Mapping[str, str]) -> dict[str, Any]:
    from gml.formats.content_hash import is_changed, parse_document, recorded_hash
    from gml.formats.file_text import read_text

    document = parse_document(read_text(path), place(path))
    found = recorded_hash(document)
    recorded = [] if found is None else list(found.of_inputs())
    role_of = {digest: role for role, digest in reversed(recorded)}
    wanted = {name: role_of.get(f"sha256:{digest}") for name, digest in digests.items()}
    unmatched = [place(name) for name, role in wanted.items() if role is None]
    if found is None:
        verdict = "no hash"
    elif is_changed(document):
        verdict = "changed"
    else:
        verdict = "other inputs" if unmatched else "ok"
    return {
        "file": place(path),
        "verdict": verdict,
        "inputs": list(dict.fromkeys(role for role, _ in recorded)),
        "matched": [role for role in wanted.values() if role is not None],
        "unmatched": unmatched,
    }
