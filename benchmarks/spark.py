"""All pairs of columns that Spark holds: the kernel on each partition, against GROUPING SETS.

    python benchmarks/spark.py [--rows 1000000] [--columns 40] [--levels 4] [--master 'local[2]']

Both count the same rows, cached before the clock starts: gml its codes, one binary cell per column
and piece, and Spark SQL the same codes as byte columns. Runs alternate, and medians are compared;
the counts must agree. An engine keeps what it has counted, so each run of gml has a new one. The
overhead of a job is the time of one that counts a single column of a thousand rows.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import statistics
import time
from typing import Any

import numpy as np

import gml
from gml.counts.spark import open_spark
from gml.counts.spark_session import job, session_at
from gml.data.options import reading_options

_RUNS = 3
_OVERHEAD_RUNS = 10


def coded_rows(session: Any, rows: int, columns: int, levels: int, parts: int) -> Any:
    """Columns of random labels as bytes, with some dependence."""
    cells = [
        f"cast(pmod(xxhash64(id, {j // 4}) + pmod(xxhash64(id, {1000 + j}), 2), {levels}) as byte) "
        f"as v{j:02d}"
        for j in range(columns)
    ]
    return session.range(0, rows, 1, parts).selectExpr(*cells)


def by_kernel(counter: Any, columns: int) -> dict[tuple[int, int], np.ndarray]:
    """Tables of all pairs, by the engine."""
    pairs = list(itertools.combinations(range(columns), 2))
    found = counter.tables([gml.TableSet(pair, ()) for pair in pairs])
    return {pair: counts.table[0] for pair, counts in zip(pairs, found, strict=True)}


def by_grouping_sets(session: Any, columns: int, levels: int) -> dict[tuple[int, int], np.ndarray]:
    """The same by one query of Spark SQL."""
    names = [f"v{j:02d}" for j in range(columns)]
    pairs = list(itertools.combinations(range(columns), 2))
    sets = ", ".join(f"({names[i]}, {names[j]})" for i, j in pairs)
    with job(session, "grouping sets"):
        found = session.sql(
            f"select grouping_id() as which, {', '.join(names)}, count(*) as n from cached "
            f"group by grouping sets ({sets})"
        ).toArrow()
    tables = {pair: np.zeros((levels, levels), dtype=np.int64) for pair in pairs}
    cells = {name: found.column(name).to_pylist() for name in names}
    for k, (which, n) in enumerate(
        zip(found.column("which").to_pylist(), found.column("n").to_pylist(), strict=True)
    ):
        # A bit is 0 for a column that is grouped by; the first column has the highest one.
        i, j = (c for c in range(columns) if not which >> (columns - 1 - c) & 1)
        tables[i, j][cells[names[i]][k], cells[names[j]][k]] = n
    return tables


def timed(work: Any) -> tuple[float, Any]:
    """Wall seconds, and what was found."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def main() -> None:
    """Print the times, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--levels", type=int, default=4)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--runs", type=int, default=_RUNS)
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = "--conf spark.driver.memory=4g --conf spark.sql.shuffle.partitions=4"
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"{conf} pyspark-shell")
    session = session_at(given.master)
    frame = coded_rows(session, given.rows, given.columns, given.levels, given.parts).cache()
    frame.createOrReplaceTempView("cached")
    seconds, _ = timed(lambda: frame.selectExpr("sum(v00)").toArrow())
    print(f"{given.rows} rows, {given.columns} columns of {given.levels} levels, "
          f"{given.parts} partitions, {given.master}")  # fmt: skip
    print(f"caching for Spark SQL      {seconds:8.2f} s")
    kernel, sql = [], []
    for _ in range(given.runs):
        seconds, counter = timed(lambda: open_spark(frame, reading_options()))
        print(f"  reading and coding by gml: {seconds:.2f} s")
        with counter:
            seconds, mine = timed(functools.partial(by_kernel, counter, given.columns))
        kernel.append(seconds)
        print(f"  a run by the kernel: {seconds:.2f} s", flush=True)
        seconds, theirs = timed(lambda: by_grouping_sets(session, given.columns, given.levels))
        sql.append(seconds)
        print(f"  a run by GROUPING SETS: {seconds:.2f} s", flush=True)
        assert all(np.array_equal(mine[pair], theirs[pair]) for pair in mine)
    print(f"all pairs by the kernel    {statistics.median(kernel):8.2f} s  {kernel}")
    print(f"all pairs by GROUPING SETS {statistics.median(sql):8.2f} s  {sql}")
    print(f"ratio of medians           {statistics.median(sql) / statistics.median(kernel):8.2f}")
    small = open_spark(frame.limit(1000).repartition(2), reading_options())
    times = [
        timed(functools.partial(lambda j: list(small.tables([gml.TableSet((j,), ())])), j))[0]
        for j in range(_OVERHEAD_RUNS)
    ]
    print(f"a job, whatever it counts  {statistics.median(times):8.2f} s")


if __name__ == "__main__":
    main()
