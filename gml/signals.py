"""The end of a run by a signal: partial files go, and the process ends by that very signal.

The first signal is raised in the main thread, Ctrl-C as KeyboardInterrupt and others as Terminated,
so that whatever is under way can end in good order. A second one does not wait for that: the files
are removed on the spot. SIGKILL cannot be handled; what it leaves, `gml.atomic` removes later.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""Exit code after Ctrl-C."""
# Below are answers, and what is found to be wrong before a run begins.
_FAILED = 3

# Those that end a process which does not handle them, and that others send on purpose.
_NAMES = ("SIGHUP", "SIGQUIT", "SIGTERM", "SIGXCPU", "SIGALRM", "SIGUSR1", "SIGUSR2")
_ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))

partial_files: set[str] = set()
"""Files that are being written, and must be gone when the process is."""


class Terminated(BaseException):
    """A signal asks the process to end; like KeyboardInterrupt, it is no error to recover from."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


class _Course:
    """How far the run is on its way to the end."""

    raised: int | None = None
    stopping = False
    ended = False


def run_to_end(run: Callable[[], int]) -> NoReturn:
    """Run a command and end the process, with its exit code or by the signal that stopped it."""
    try:
        _handle_signals()
        code = run()
        # From here on a signal has nothing to stop.
        _Course.stopping = True
        if code >= _FAILED and code != INTERRUPTED and _Course.raised is not None:
            # Extensions take what is raised while they are imported for a failure of their own.
            _raise(_Course.raised)
    except KeyboardInterrupt:
        _say("interrupted")
        code = INTERRUPTED
    except Terminated as stop:
        _say(str(stop))
        _end_by(stop.number)
    # What a block would have removed that a signal kept from even beginning.
    remove_partial_files()
    sys.exit(code)


def remove_partial_files() -> None:
    """Remove what is written to; files that are complete have another name by then."""
    for path in list(partial_files):
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108
        partial_files.discard(path)


def _handle_signals() -> None:
    """Take over signals from their default action; one that is ignored (by nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _on_signal)
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_signal)


def _on_signal(number: int, frame: FrameType | None) -> None:
    if _Course.ended:
        return
    if _Course.stopping:
        _end_by(number)
    _Course.stopping, _Course.raised = True, number
    _raise(number)


def _raise(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise Terminated(number)


def _end_by(number: int) -> NoReturn:
    """Remove partial files, whatever signals come, and end at once."""
    _Course.ended = True
    remove_partial_files()
    if number == signal.SIGINT:
        os._exit(INTERRUPTED)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    # Not reached, unless whoever started the process blocked the signal.
    os._exit(128 + number)


def _say(message: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"gml: error: {message}\n")
        sys.stderr.flush()
