"""Standard output: bytes as they come, to a reader that may have gone away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from gml.errors import OutputError
from gml.ledger import goes_to_standard_output
from gml.progress import reporter
from gml.terminal_style import takes_colours


def write_standard_output(content: bytes) -> None:
    """Write to standard output; a reader that went away is no error."""
    stream_to_standard_output([content])


def stream_to_standard_output(pieces: Iterable[bytes | memoryview]) -> None:
    """Write pieces as they come; a reader that went away ends it without an error."""
    is_screen = sys.stdout.isatty()
    try:
        for piece in pieces:
            # Else a bar would stand before the result, and its removal would take a line of it.
            if is_screen:
                reporter().stop()
            else:
                # Who reads a pipe may write to the same screen; more may be said between pieces.
                reporter().finish()
            sys.stdout.buffer.write(piece)
        # Pieces may leave only now.
        reporter().finish()
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        abandon_standard_output()
    except OSError as error:
        abandon_standard_output()
        raise OutputError(f"cannot write to standard output: {error.strerror}") from None


def abandon_standard_output() -> None:
    """Let what Python still holds for a broken stream go nowhere, without a complaint at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def shows_colours(path: str | None) -> bool:
    """Whether what is written to this path, or to standard output, is seen in colours."""
    to_standard_output = path is None or goes_to_standard_output(path)
    return to_standard_output and takes_colours(sys.stdout)
