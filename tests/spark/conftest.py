"""Sessions of Spark: in this process with two threads, and on a cluster of two workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.cluster import Cluster, standalone
from tests.spark.tables import cells, written

LOCAL = "local[2]"
# Small parts, so that a small table has many of them.
_SETTINGS = {
    "spark.sql.files.maxPartitionBytes": "64k",
    "spark.sql.files.openCostInBytes": "1k",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
}


@pytest.fixture(scope="session", autouse=True)
def settings() -> Iterator[None]:
    """Settings of Spark as the environment gives them."""
    conf = " ".join(f"--conf {key}={value}" for key, value in _SETTINGS.items())
    kept = dict(os.environ)
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{conf} pyspark-shell"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    yield
    os.environ.clear()
    os.environ.update(kept)


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with labels, numbers, missing values and weights."""
    return written(tmp_path_factory.mktemp("table") / "people.csv", cells())


@pytest.fixture(scope="session")
def cluster(settings: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone cluster."""
    with standalone(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="session")
def master(request: pytest.FixtureRequest, settings: None) -> Iterator[str]:
    """Where a session runs ("local" or "cluster"); the first command that needs one starts it."""
    yield LOCAL if request.param == "local" else request.getfixturevalue("cluster").master
    stop_session()


def stop_session() -> None:
    """End the session of this process, if there is one, so that another master can be used."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        session.stop()
    # The settings of the environment are read by a new process.
    if SparkContext._gateway is not None:
        SparkContext._gateway.shutdown()
        SparkContext._gateway.proc.stdin.close()
        SparkContext._gateway.proc.wait(30)
        SparkContext._gateway = SparkContext._jvm = None
