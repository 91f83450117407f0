"""How threads learn that their work is no longer wanted.

The threads of a pool share a flag, a byte that is not 0 when they are to stop. The kernels look at
it as they go (`gml.kernel.pool` tells them), and Python code where it calls `check_stopped`: at the
latest when a search asks for its deadline. What they raise then ends the thread's work; whoever set
the flag knows why.
"""

from __future__ import annotations

import threading

_of_thread = threading.local()


class Stopped(BaseException):
    """The work is no longer wanted."""


def obey(flag: bytearray) -> None:
    """Make this thread stop when the flag is set, at the next place where it looks."""
    _of_thread.flag = flag


def check_stopped() -> None:
    """Raise if the flag of this thread, if it has one, is set.

    Examples
    --------
    >>> check_stopped()
    """
    flag = getattr(_of_thread, "flag", None)
    if flag is not None and flag[0]:
        raise Stopped
