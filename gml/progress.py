"""Warnings, progress and deadlines: the one place through which the library talks while it works.

The library warns with Python's `warnings`; the command line installs a reporter that writes to
standard error instead. All that goes there goes through `write_stderr`.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from gml.errors import GmlWarning, UsageError, parameter, unmarked, with_flags
from gml.printable_text import printable
from gml.stopping import check_stopped
from gml.terminal_style import Style, painted, rule, takes_colours

_QUIET_SECONDS = 1.0
_REDRAW_SECONDS = 0.1
_BAR_WIDTH = 30
_KINDS = (rule(r"(?<=\Agml: )error:", Style.BAD), rule(r"(?<=\Agml: )warning:", Style.DOUBTFUL))


def write_stderr(text: str = "") -> None:
    """Write to standard error if possible; a failure never changes the exit code."""
    try:
        if text:
            sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        # Python would try again at exit, and change the exit code when that fails too.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stderr.fileno())
            os.close(nowhere)


def say(kind: str, message: str) -> None:
    """Write a line `gml: …` to standard error; what a message quotes cannot break out of it.

    Parameters that the library names are written as flags.
    """
    text = f"gml: {kind}{printable(with_flags(message))}\n"
    write_stderr(painted(text, _KINDS) if takes_colours(sys.stderr) else text)


def _callers_level() -> int:
    """How many calls up the code that uses gml is, whose line a warning should name."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    return level


def _is_own(module: object) -> bool:
    return isinstance(module, str) and (module == "gml" or module.startswith("gml."))


class Count(Protocol):
    """Takes how many parts are done, and a few words on how things stand."""

    def __call__(self, done: int, note: str = "") -> None:
        """Report it."""


def _uncounted(done: int, note: str = "") -> None:
    """Report nothing."""


class Reporter:
    """What a library user gets: warnings, and no progress."""

    def warn(self, message: str) -> None:
        """Report something the user should know."""
        warnings.warn(unmarked(message), GmlWarning, stacklevel=_callers_level())

    def tell(self, message: str) -> None:
        """Report what belongs to the result but not into it; a library user has it as values."""

    def note(self, message: str) -> None:
        """Report a detail, for those who asked for details."""

    def advance(self, what: str, done: int, total: int | None) -> None:
        """Report how far the work is; `total` None when unknown."""

    def status(self, text: str | None) -> None:
        """Show this text in place of the progress of the parts; None ends that."""

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Count]:
        """Count parts of the work on one line, which replaces what the parts say themselves."""
        yield _uncounted

    def finish(self) -> None:
        """Clear the progress display."""


class StderrReporter(Reporter):
    """What the command line gives: one-line warnings, and a bar on a terminal after a second."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._bar = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        self._drawn = 0.0
        self._visible = False
        self._status: str | None = None
        self._counted: str | None = None
        self._said: set[str] = set()

    def warn(self, message: str) -> None:
        """Write `gml: warning: …`, once for the same message."""
        self._say_once("warning: ", message)

    def tell(self, message: str) -> None:
        """Write `gml: …`, once for the same message."""
        self._say_once("", message)

    def _say_once(self, kind: str, message: str) -> None:
        if not self._quiet and message not in self._said:
            self._said.add(message)
            self.finish()
            say(kind, message)

    def note(self, message: str) -> None:
        """Write `gml: …` under --verbose."""
        if self._verbose and not self._quiet:
            self.finish()
            say("", message)

    def advance(self, what: str, done: int, total: int | None) -> None:
        """Draw the bar, at most ten times a second and not within the first second."""
        now = time.monotonic()
        if not self._bar or now - self._started < _QUIET_SECONDS:
            return
        if now - self._drawn < _REDRAW_SECONDS:
            return
        self._drawn = now
        self._visible = True
        if self._counted is not None:
            text = self._counted
        elif self._status is not None:
            text = self._status
        elif total:
            text = f"{what} {_bar(done, total)} {min(1.0, done / total):4.0%}"
        else:
            text = f"{what} {done:,}"
        write_stderr(f"\r\x1b[K{printable(text)}")

    def status(self, text: str | None) -> None:
        """Show the text instead of a bar."""
        self._status = text
        self.advance("", 0, None)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Count]:
        """Count on one line; within parts that are counted, theirs is not shown."""
        if self._counted is not None:
            yield _uncounted
            return

        def count(done: int, note: str = "") -> None:
            after = f", {note}" if note else ""
            self._counted = f"{what} {_bar(done, total)} {done:,} of {total:,}{after}"
            self.advance(what, done, total)

        count(0)
        try:
            yield count
        finally:
            self._counted = None

    def finish(self) -> None:
        """Remove the bar from the terminal."""
        if self._visible:
            write_stderr("\r\x1b[K")
            self._visible = False


def _bar(done: int, total: int) -> str:
    filled = int(min(1.0, done / max(total, 1)) * _BAR_WIDTH)
    return f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}]"


class Deadline:
    """When a search has to stop: never, if no number of seconds is given.

    Examples
    --------
    >>> Deadline().passed, Deadline(0).passed
    (False, True)
    """

    def __init__(self, seconds: float | None = None) -> None:
        if seconds is not None and not (isinstance(seconds, int | float) and seconds >= 0):
            raise UsageError(f"{parameter('max_seconds')} must be 0 or more, not {seconds!r}")
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether time is up; a search that has been told to stop altogether stops here."""
        check_stopped()
        return self._end is not None and time.monotonic() >= self._end


_current: Reporter = Reporter()


def reporter() -> Reporter:
    """Return the reporter in force."""
    return _current


@contextmanager
def reporting_to(new: Reporter) -> Iterator[Reporter]:
    """Use another reporter within a block."""
    global _current
    previous, _current = _current, new
    try:
        yield new
    finally:
        new.finish()
        _current = previous
