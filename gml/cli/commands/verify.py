"""gml verify FILE…: are files still what was written, and were they made from these inputs?"""

from __future__ import annotations

import click

from gml.cli.shared.command import Command
from gml.cli.shared.common_options import common_options
from gml.cli.shared.output import ReportOutput
from gml.cli.shared.output_options import report_output
from gml.cli.shared.run import claim_input
from gml.errors import DataError, counted


@click.command(
    "verify",
    cls=Command,
    epilog="\b\nExamples:\n"
    "  gml verify model.json\n"
    "  gml verify *.json -q -o /dev/null || echo somebody changed a file\n"
    "  gml verify model.json --input survey.csv    # was it made from this table?\n"
    "  gml verify report.json --input survey.csv --input model.json -f json\n"
    "  gml verify counts/*.parquet -q              # are the shards whole?\n"
    "\n\b\n"
    "Exit codes: 0 all as written, 1 a file was changed or made from other inputs,\n"
    "3 a file is unreadable or has no hash, whatever the others are.",
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="FILE",
    help="Require that every file was made from this input (repeatable).",
)
@report_output
@common_options
def command(paths: tuple[str, ...], inputs: tuple[str, ...], out: ReportOutput) -> int:
    """Rehash files of gml: graphs, models, reports (SARIF too), schemas, baselines and counts.

    The verdict on a file is ok, changed (a value is not what was written, or a count file is
    damaged; layout, the order of keys and the compression of Parquet do not matter), other inputs
    (one of --input is not among those recorded), no hash, or unreadable, with the reason. `inputs`
    names what was recorded: data, graph, levels and so on; of a count file, what was counted.
    """
    from gml.verbs.verify import verify

    files = [claim_input(path, "file", several=True) for path in paths]
    found = verify(files, [claim_input(path, "input", several=True) for path in inputs])
    # For people, the error below says all that a report on one such file would.
    if not (found.rejected and len(found) == 1 and out.format == "text" and out.path is None):
        out.write(found.rows())
    rejected = [f"{file.file}: {file.reason}" for file in found.rejected]
    if rejected:
        more = f"; and {counted(len(rejected) - 1, 'file')} more" if len(rejected) > 1 else ""
        raise DataError(rejected[0] + more)
    return 0 if found else 1
