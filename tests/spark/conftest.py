"""Sessions of Spark: in this process with two threads, and on a cluster of two workers.

A session takes many seconds of two cores to start, so all tests of a place share one, and come one
after the other. Of two processes (pytest -n 2 --dist loadgroup), one has those of each place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.cluster import JAVA_OPTIONS, Cluster, standalone
from tests.spark.tables import cells, written

LOCAL = "local[2]"
# Small parts, so that a small table has many of them.
_SETTINGS = {
    "spark.sql.files.maxPartitionBytes": "64k",
    "spark.sql.files.openCostInBytes": "1k",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of each place together; those without a session go wherever there is time."""
    for item in items:
        if (place := _place(item)) is not None:
            item.add_marker(pytest.mark.xdist_group(place))
    items.sort(key=lambda item: _place(item) or "")


def _place(item: pytest.Item) -> str | None:
    """Where the session of a test runs; None if it needs none, or starts one in a process."""
    if Path(__file__).parent not in item.path.parents:
        return None
    fixtures = getattr(item, "fixturenames", ())
    callspec = getattr(item, "callspec", None)
    at = "" if callspec is None else callspec.params.get("master", "")
    if at == "cluster" or "cluster" in fixtures:
        return "on the cluster"
    return LOCAL if at == "local" or "local" in fixtures else None


@pytest.fixture(scope="session", autouse=True)
def settings() -> Iterator[None]:
    """Settings of Spark as the environment gives them."""
    conf = " ".join(f"--conf '{key}={value}'" for key, value in _SETTINGS.items())
    kept = dict(os.environ)
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{conf} pyspark-shell"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Java finds out with what to start Java.
    os.environ["SPARK_LAUNCHER_OPTS"] = JAVA_OPTIONS
    yield
    stop_session()
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
        stop_session()


@pytest.fixture
def local(settings: None) -> str:
    """Let no session run but one in this process; the first command that needs one starts it."""
    return _alone(LOCAL)


@pytest.fixture
def master(request: pytest.FixtureRequest, settings: None) -> str:
    """Where the session runs: "local" or "cluster"."""
    at = LOCAL if request.param == "local" else request.getfixturevalue("cluster").master
    return _alone(at)


def _alone(master: str) -> str:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None and session.sparkContext.master != master:
        stop_session()
    return master


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
