"""One level of threads: products of matrices have none of their own within threads of gml.

NumPy's OpenBLAS splits products among as many threads as there are cores. Where gml works on blocks
of rows in threads, these would wait for one another at every product, which takes ten times as long
when the machine has other work. The number is OpenBLAS's own, for the whole process: it is set
while the work goes on, and then as it was. Whoever finds it at 1 leaves it, so that it ends as it
was also where several are at work at once; the later ones then have its threads back early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

_PREFIXES, _SUFFIXES = ("scipy_openblas", "openblas"), ("64_", "_", "")


@contextmanager
def one_blas_thread() -> Iterator[bool]:
    """Let products of matrices use one thread in this block; yield whether that is so.

    Examples
    --------
    >>> with one_blas_thread() as is_alone:
    ...     isinstance(is_alone, bool)
    True
    """
    functions = thread_functions()
    if functions is None:
        yield False
        return
    get, put = functions
    before = get()
    if before == 1:
        yield True
        return
    put(1)
    try:
        yield True
    finally:
        put(before)


def thread_functions() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """Return what gets and sets OpenBLAS's number of threads; None with another library."""
    import ctypes

    try:
        compiled = import_module("numpy._core._multiarray_umath").__file__
    except ImportError:
        return None
    # Libraries that this one needs are searched, too.
    library = ctypes.CDLL(compiled)
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
            put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                put.restype = None
                return get, put
    return None
