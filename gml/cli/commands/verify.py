"""gml verify FILE…: are files still what was written, and were they made from these inputs?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from gml.cli.shared.common_options import common_options
from gml.cli.shared.output import ReportOutput, report_output
from gml.cli.shared.run import claim_input
from gml.errors import DataError, counted, place
from gml.ledger import note_digest

_WITHOUT_HASH = "has no hash: not JSON that gml wrote, or taken out"


@click.command(
    "verify",
    epilog="\b\nExamples:\n"
    "  gml verify model.json\n"
    "  gml verify *.json -q -o /dev/null || echo somebody changed a file\n"
    "  gml verify model.json --input survey.csv    # was it made from this table?\n"
    "  gml verify report.json --input survey.csv --input model.json -f json\n"
    "\n\b\n"
    "Exit codes: 0 all as written, 1 a file was changed or made from other inputs,\n"
    "3 a file cannot be read, is not JSON or has no hash, whatever the others are.",
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
    keys do not matter), other inputs (one of --input is not among those recorded), no hash, or
    unreadable, with the reason. `inputs` names what was recorded: data, graph, levels and so on.
    """
    from gml.data.digests import input_digest

    for path in paths:
        claim_input(path, "file", several=True)
    for path in inputs:
        claim_input(path, "input", several=True)
    digests = {}
    for path in inputs:
        digests[path] = input_digest(path)
        note_digest(path, digests[path])
    rows = [_row(path, digests) for path in paths]
    out.write(rows)
    rejected = [f"{row['file']}: {row['reason']}" for row in rows if row["reason"] is not None]
    if rejected:
        more = f"; and {counted(len(rejected) - 1, 'file')} more" if len(rejected) > 1 else ""
        raise DataError(rejected[0] + more)
    return 0 if all(row["verdict"] == "ok" for row in rows) else 1


def _row(path: str, digests: Mapping[str, str]) -> dict[str, Any]:
    """The verdict on a file; a file that is rejected has a reason."""
    from gml.data.text_file import read_text
    from gml.formats.content_hash import is_changed, parse_document, recorded_hash

    where = place(path)
    row: dict[str, Any] = {"file": where, "verdict": "unreadable"}
    row |= {"inputs": [], "matched": [], "unmatched": [], "reason": None}
    try:
        document = parse_document(read_text(path), where)
    except DataError as error:
        return row | {"reason": str(error).removeprefix(f"{where}: ")}
    found = recorded_hash(document)
    recorded = [] if found is None else list(found.of_inputs())
    role_of = {digest: role for role, digest in reversed(recorded)}
    wanted = {name: role_of.get(f"sha256:{digest}") for name, digest in digests.items()}
    row["inputs"] = list(dict.fromkeys(role for role, _ in recorded))
    row["matched"] = [role for role in wanted.values() if role is not None]
    row["unmatched"] = [place(name) for name, role in wanted.items() if role is None]
    if found is None:
        return row | {"verdict": "no hash", "reason": _WITHOUT_HASH}
    if is_changed(document):
        return row | {"verdict": "changed"}
    return row | {"verdict": "other inputs" if row["unmatched"] else "ok"}
