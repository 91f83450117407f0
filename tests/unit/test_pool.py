"""Work on several threads: what is left over when nobody wants any more."""

from __future__ import annotations

import concurrent.futures
import threading

from gml.kernel.pool import in_order


def test_what_was_never_begun_is_not_waited_for(monkeypatch):
    """`wait` takes a future that is cancelled for one at work, and would use up its patience."""
    waited = []
    original = concurrent.futures.wait
    monkeypatch.setattr(
        concurrent.futures,
        "wait",
        lambda futures, patience: waited.extend(futures) or original(futures, patience),
    )
    busy = threading.Event()

    def work(item):
        if item:
            busy.wait(10)
        return item

    found = in_order(work, range(9), 2)
    assert next(found) == 0
    threading.Timer(0.05, busy.set).start()
    found.close()
    assert waited
    assert not any(future.cancelled() for future in waited)
