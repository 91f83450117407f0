"""Warnings, progress and deadlines: the one place through which the library talks while it works.

The library warns with Python's `warnings`; the command line installs a reporter that writes to
standard error instead. All that goes there goes through `write_stderr`.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

from gml.errors import GmlWarning, UsageError, parameter, unmarked, with_flags
from gml.pace import Stage, bar, clock
from gml.printable_text import printable, shortened_to_cells
from gml.stopping import check_stopped
from gml.terminal_style import Style, painted, rule, takes_colours

_QUIET_SECONDS = 1.0
_REDRAW_SECONDS = 0.1
_SILENT_SECONDS = 1.0
_FORGOTTEN_SECONDS = 5.0
# Of a terminal that does not say how wide it is.
_WIDE = 500
_KINDS = (rule(r"(?<=\Agml: )error:", Style.BAD), rule(r"(?<=\Agml: )warning:", Style.DOUBTFUL))

Item = TypeVar("Item")

# NumPy says where a formula of ours divides by 0 or leaves the range of floats: nobody else can act
# on that. What was asked for on Python's command line, or in the tests (an error), comes first.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gml(\.|$)", append=True)


def silence_libraries() -> None:
    """Let nothing that libraries warn of reach the standard error of a command."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


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
    reporter().finish()
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

    def advance(
        self,
        what: str,
        done: int,
        total: int | None,
        *,
        in_bytes: bool = False,
        is_paced: bool = True,
    ) -> None:
        """Report how far the work is; `total` None when unknown.

        What is not paced counts things that mean nothing to a reader: no number or rate is shown.
        """

    @contextmanager
    def phase(self, what: str) -> Iterator[None]:
        """Say what is done in this block while nobody says how far it is."""
        yield

    def status(self, text: str | None, done: int | None = None, total: int | None = None) -> None:
        """Show this text in place of the progress of the parts; None ends that.

        What is before the first colon names the stage of the work; `done` is what its rate counts.
        """

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Count]:
        """Count parts of the work on one line, which replaces what the parts say themselves."""
        yield _uncounted

    def finish(self) -> None:
        """Clear the progress display."""

    def start(self) -> None:
        """Show from now on that work is done, also while nobody says how far it is."""

    def stop(self) -> None:
        """Clear the progress display for good: the end, or a result that goes to the screen."""
        self.finish()


class Remembering(Reporter):
    """What a worker process has: what it says is kept, for its parent to say."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def warn(self, message: str) -> None:
        """Keep a warning."""
        self.said.append(("warn", message))

    def tell(self, message: str) -> None:
        """Keep what belongs to the result."""
        self.said.append(("tell", message))

    def note(self, message: str) -> None:
        """Keep a detail."""
        self.said.append(("note", message))


class StderrReporter(Reporter):
    """What the command line gives: one-line warnings, and a bar on a terminal after a second."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._bar = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        self._drawn = 0.0
        self._visible = False
        # One thread works, another shows that it does.
        self._screen = threading.RLock()
        self._stopped = threading.Event()
        self._latest: Stage | None = None
        self._stages: dict[str, Stage] = {}
        self._status: Stage | None = None
        self._counted: Stage | None = None
        self._said: set[str] = set()
        self._phase = "working"

    def warn(self, message: str) -> None:
        """Write `gml: warning: …`, once for the same message."""
        self._say_once("warning: ", message)

    def tell(self, message: str) -> None:
        """Write `gml: …`, once for the same message."""
        self._say_once("", message)

    def _say_once(self, kind: str, message: str) -> None:
        if not self._quiet and message not in self._said:
            self._said.add(message)
            self._say(kind, message)

    def note(self, message: str) -> None:
        """Write `gml: …` under --verbose."""
        if self._verbose and not self._quiet:
            self._say("", message)

    def _say(self, kind: str, message: str) -> None:
        with self._screen:
            self.finish()
            say(kind, message)

    def advance(
        self,
        what: str,
        done: int,
        total: int | None,
        *,
        in_bytes: bool = False,
        is_paced: bool = True,
    ) -> None:
        """Draw the bar, at most ten times a second and not within the first second."""
        if self._bar:
            stage = self._stage(what, done, total)
            stage.in_bytes, stage.is_paced = in_bytes, is_paced
            stage.text = what
            self._draw(self._counted or self._status or self._outer(stage))

    def _stage(self, name: str, done: int | None, total: int | None) -> Stage:
        """The stage of this name, as far as it is now; one that begins again is a new one."""
        now = time.monotonic()
        stage = self._stages.get(name)
        if stage is None or (done is not None and done < (stage.done or 0)):
            self._stages.pop(name, None)
            stage = self._stages[name] = Stage(now, done or 0)
        stage.done, stage.total, stage.heard_of = done, total, now
        return stage

    def _outer(self, stage: Stage) -> Stage:
        """The stage that this one is a part of: begun before it, heard of lately and not over."""
        for other in self._stages.values():
            if other is stage:
                break
            if (
                other.total
                and not other.is_complete
                and stage.heard_of - other.heard_of < _FORGOTTEN_SECONDS
            ):
                return other
        return stage

    def _draw(self, stage: Stage) -> None:
        self._latest = stage
        now = time.monotonic()
        if now - self._started >= _QUIET_SECONDS and now - self._drawn >= _REDRAW_SECONDS:
            self._show(f"{stage.shown()}{stage.pace(now, now - self._started)}", now)

    def _show(self, text: str, now: float) -> None:
        with self._screen:
            if self._bar:
                self._drawn = now
                self._visible = True
                # A line that the terminal breaks could not be erased.
                text = shortened_to_cells(printable(text), _columns() - 1)
                write_stderr(f"\r\x1b[K{text}")

    def start(self) -> None:
        """Show the time that passes, once a second without news."""
        if self._bar:
            # Where no thread can be started, only news is shown.
            with suppress(RuntimeError):
                threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._stopped.wait(_SILENT_SECONDS / 4):
            now = time.monotonic()
            if now - max(self._started, self._drawn) < _SILENT_SECONDS:
                continue
            stage = self._latest
            if stage is None or stage.is_complete:
                self._show(f"{self._phase}  {clock(now - self._started)}", now)
            else:
                self._show(f"{stage.shown()}{stage.pace(now, now - self._started)}", now)

    def stop(self) -> None:
        """Remove the bar, and draw none any more."""
        with self._screen:
            self._stopped.set()
            self.finish()
            self._bar = False

    def status(self, text: str | None, done: int | None = None, total: int | None = None) -> None:
        """Show the text instead of a bar."""
        if not self._bar:
            return
        self._status = self._latest = None
        if text is not None:
            self._status = self._stage(text.partition(":")[0], done, total)
            self._status.text, self._status.is_bar = text, False
            self._draw(self._counted or self._status)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Count]:
        """Count on one line; within parts that are counted, theirs is not shown."""
        if self._counted is not None or not self._bar:
            yield _uncounted
            return

        def count(done: int, note: str = "") -> None:
            self._counted = stage = self._stage(what, done, total)
            after = f", {note}" if note else ""
            stage.text = f"{what} {bar(done, total)} {done:,} of {total:,}{after}"
            stage.is_bar = False
            self._draw(stage)

        count(0)
        try:
            yield count
        finally:
            self._counted = self._latest = None

    @contextmanager
    def phase(self, what: str) -> Iterator[None]:
        """Show this and the time that passes, when there is no news."""
        before, self._phase, self._latest = self._phase, what, None
        try:
            yield
        finally:
            self._phase, self._latest = before, None

    def finish(self) -> None:
        """Remove the bar from the terminal."""
        with self._screen:
            if self._visible:
                write_stderr("\r\x1b[K")
                self._visible = False


def _columns() -> int:
    """How wide the terminal is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _WIDE
    except (OSError, ValueError):
        return _WIDE


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

    @property
    def remaining(self) -> float:
        """How many seconds are left: infinitely many, if there is no end."""
        return math.inf if self._end is None else max(0.0, self._end - time.monotonic())


_current: Reporter = Reporter()


def reporter() -> Reporter:
    """Return the reporter in force."""
    return _current


@contextmanager
def reporting_to(new: Reporter) -> Iterator[Reporter]:
    """Use another reporter within a block."""
    global _current
    previous, _current = _current, new
    new.start()
    try:
        yield new
    finally:
        new.stop()
        _current = previous


def tracked(what: str, items: Collection[Item]) -> Iterator[Item]:
    """Go through items, and report after each how far that is.

    Examples
    --------
    >>> sum(tracked("adding", [1, 2, 3]))
    6
    """
    for done, item in enumerate(items, start=1):
        yield item
        reporter().advance(what, done, len(items))
