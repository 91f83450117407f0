"""How a signal ends a run: partial files are removed, and the process ends at once.

The signals that would end the process are blocked in all its threads, and one thread does nothing
but wait for them. Whatever the others are doing (a kernel, an import, a write), it removes the
files that are half written, says why and ends the process: after Ctrl-C with exit code 130, else by
that very signal, as the shell expects. Nothing has to come back to the interpreter first, and
nothing can swallow an exception or show it as a traceback. A signal that is ignored from the start
(by nohup, or by a shell for its background jobs) stays ignored. SIGKILL cannot be waited for; what
it leaves, `gml.atomic` removes later.

The library alone does none of this: there Ctrl-C is KeyboardInterrupt as ever.
"""

# Not `signal`, which imports half a dozen modules while an interrupt still shows a traceback.
import _signal  # type: ignore[import-not-found]
import _thread
import os

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

# Those that others send on purpose, and that end a process which does not handle them.
_ENDING = (
    *("SIGINT", "SIGHUP", "SIGQUIT", "SIGTERM", "SIGXCPU"),
    *("SIGALRM", "SIGUSR1", "SIGUSR2"),
)

_STACK_BYTES = 1 << 18
_PATIENCE_SECONDS = 1
_ATTEMPTS = 20

partial_files: set[str] = set()
"""Files that are being written, and must be gone when the process is."""
partial_folders: set[str] = set()
"""Folders of temporary files, and of no folders, that must be gone with them."""
making = _thread.allocate_lock()
"""Held while one of them is made, so that none is created after all have been removed."""


def end_on_signals() -> None:
    """Let signals end the process from now on, whatever it is doing."""
    if not hasattr(_signal, "sigwait"):
        return
    untouched = (_signal.SIG_DFL, _signal.default_int_handler)
    numbers = [getattr(_signal, name) for name in _ENDING if hasattr(_signal, name)]
    numbers = [number for number in numbers if _signal.getsignal(number) in untouched]
    _signal.pthread_sigmask(_signal.SIG_BLOCK, numbers)
    usual = _thread.stack_size(_STACK_BYTES)
    try:
        _thread.start_new_thread(_wait_for, (numbers,))
    except RuntimeError:
        # No thread can be started: KeyboardInterrupt does what it can.
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, numbers)
    _thread.stack_size(usual)


def remove_partial_files() -> None:
    """Remove what is half written; files that are complete have another name by then."""
    for path in list(partial_files):
        try:  # noqa: SIM105 - contextlib is yet to be imported
            os.unlink(path)  # noqa: PTH108
        except OSError:
            pass
    for folder in list(partial_folders):
        # Again if another thread has made a file in it meanwhile.
        for _ in range(_ATTEMPTS):
            if _is_removed(folder):
                break


def _is_removed(folder: str) -> bool:
    try:
        for name in os.listdir(folder):  # noqa: PTH208
            os.unlink(f"{folder}/{name}")  # noqa: PTH108
        os.rmdir(folder)  # noqa: PTH106
    except FileNotFoundError:
        return not os.path.lexists(folder)
    except OSError:
        return False
    return True


def _wait_for(numbers: list[int]) -> None:
    number = _signal.sigwait(numbers)
    interrupted = number == _signal.SIGINT
    try:
        # Never released: whoever is about to make a file waits for the end. But a file system that
        # hangs must not keep the process alive.
        making.acquire(timeout=_PATIENCE_SECONDS)
        remove_partial_files()
        text = "interrupted" if interrupted else f"stopped by {_name_of(number)}"
        # To the descriptor, as the main thread may be holding the stream.
        clear = b"\r\x1b[K" if os.isatty(2) else b""
        if _is_writable(2):
            os.write(2, clear + f"gml: error: {text}\n".encode())
    except OSError:
        pass
    finally:
        if not interrupted:
            # Unblocked in this thread alone, so that it is this one that the signal ends.
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [number])
            os.kill(os.getpid(), number)
        os._exit(INTERRUPTED if interrupted else 128 + number)


def _is_writable(descriptor: int) -> bool:
    """Whether writing would not wait for a reader that may never come."""
    import select

    return bool(select.select([], [descriptor], [], 0)[1])


def _name_of(number: int) -> str:
    return next(name for name in _ENDING if getattr(_signal, name, None) == number)
