"""Where the `gml` script starts: from here on Ctrl-C ends the process, whatever it is doing.

The signal is blocked in all threads, and one waits for nothing else: it removes the files that are
half written and exits. Nothing has to come back to the interpreter first, as it would to see
KeyboardInterrupt, and no import or clean-up can swallow that or show it as a traceback. When the
interpreter shuts down after the run, the signal stays blocked and the exit code that of the result.
"""

# Not `signal`, which imports half a dozen modules while an interrupt still shows a traceback.
import _signal  # type: ignore[import-not-found]
import _thread
import os
import sys


def main() -> None:
    """Run the command line."""
    _leave_on_interrupt()
    from gml.cli.main import main as run

    run()


def _leave_on_interrupt() -> None:
    # Jobs that a shell script puts in the background ignore the interrupts of the terminal.
    if not hasattr(_signal, "sigwait") or _signal.getsignal(_signal.SIGINT) == _signal.SIG_IGN:
        return
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGINT])
    try:
        _thread.start_new_thread(_wait_for_interrupt, ())
    except RuntimeError:
        # No thread can be had: KeyboardInterrupt does what it can.
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])


def _wait_for_interrupt() -> None:
    _signal.sigwait([_signal.SIGINT])
    try:
        # Absent or half imported, it has made no file yet.
        atomic = sys.modules.get("gml.atomic")
        getattr(atomic, "remove_partial_files", list)()
        # Beside the progress bar, and whatever else holds the stream.
        os.write(2, (b"\r\x1b[K" if os.isatty(2) else b"") + b"gml: error: interrupted\n")
    finally:
        os._exit(130)
