"""Where the `gml` script starts: imports wait until an interrupt can be caught."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C during start-up exits like any other."""
    try:
        from gml.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("gml: error: interrupted\n")
        raise SystemExit(130) from None
    run()
