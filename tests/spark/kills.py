"""Kills executors of a cluster in the middle of a run: python -m tests.spark.kills 10."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.spark.cluster import Cluster, standalone
from tests.spark.tables import cells, written

_PATIENCE_SECONDS = 60


def answers_with_kills(cluster: Cluster, table: Path, times: int) -> tuple[Any, list[Any], int]:
    """The right answer, those of runs in which an executor was killed, and how many were."""
    import gml
    from gml.counts.spark import open_spark
    from gml.counts.spark_session import session_at
    from gml.data.options import reading_options

    reading = {"exclude": ["income", "spent"], "missing": "available", "weights": "weight"}
    right = _answer(gml, gml.read(str(table), **reading))
    found, deaths = [], 0
    session = session_at(cluster.master)
    for _ in range(times):
        options = reading_options(engine="spark", master=cluster.master, **reading)
        with open_spark(str(table), options) as counter:
            killer = _Killer(cluster, session)
            killer.start()
            found.append(_answer(gml, counter))
            killer.join()
            deaths += killer.done
        _wait_for_executors(cluster)
    return right, found, deaths


def _answer(gml: Any, data: Any) -> Any:
    """A graph with its statistics, and all pairs."""
    learned = gml.pc(data)
    tested = gml.indtest(data, all_pairs=True)
    return sorted(map(str, learned.graph.edges)), learned.tests, list(map(repr, tested.results))


class _Killer(threading.Thread):
    """Waits for a job to run, then kills an executor."""

    def __init__(self, cluster: Cluster, session: Any) -> None:
        super().__init__()
        self._cluster = cluster
        self._tracker = session.sparkContext.statusTracker()
        self.done = 0

    def run(self) -> None:
        """Kill once."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < end:
            stages = self._tracker.getActiveStageIds()
            infos = [self._tracker.getStageInfo(stage) for stage in stages]
            if any(info is not None and info.numActiveTasks for info in infos):
                self._cluster.kill_executor()
                self.done = 1
                return


def _wait_for_executors(cluster: Cluster) -> None:
    """A worker starts another executor in the place of one that died."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while len(cluster.executors()) < len(cluster.workers) and time.monotonic() < end:
        time.sleep(0.1)


def main() -> int:
    """Kill so many, and say how many answers were right."""
    from tests.spark.conftest import stop_session

    times = int(sys.argv[1])
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    conf = "--conf spark.sql.files.maxPartitionBytes=32k --conf spark.executor.memory=512m"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{conf} pyspark-shell"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with standalone(folder) as cluster:
            table = written(folder / "people.csv", cells())
            try:
                right, found, deaths = answers_with_kills(cluster, table, times)
            finally:
                stop_session()
    n_right = sum(answer == right for answer in found)
    sys.stdout.write(f"{deaths} executors killed in {times} runs; {n_right} right answers\n")
    return 0 if n_right == deaths == times else 1


if __name__ == "__main__":
    raise SystemExit(main())
