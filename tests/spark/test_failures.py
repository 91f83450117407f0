"""What goes wrong is said in one line: bad input, another gml, executors that die, interrupts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gml as library
from tests.command_line import GML, error_line
from tests.spark.cluster import children
from tests.spark.conftest import LOCAL, stop_session
from tests.spark.kills import answers_with_kills

SPARK = ["--engine", "spark", "--master", LOCAL]


def test_bad_input(gml, local, table, tmp_path):
    lost = error_line(gml("chowliu", tmp_path / "none.csv", *SPARK), 3)
    assert "none.csv" in lost and "PATH_NOT_FOUND" in lost
    assert "TABLE_OR_VIEW_NOT_FOUND" in error_line(gml("chowliu", "spark:none", *SPARK), 3)
    assert "standard input" in error_line(gml("chowliu", "-", *SPARK), 2)
    assert "did you mean 'sex'" in error_line(gml("chowliu", table, "-c", "sx", *SPARK), 2)
    identifiers = ["chowliu", table, "-c", "income,sex", "--kinds", "labels"]
    assert error_line(gml(*identifiers, *SPARK), 3) == error_line(gml(*identifiers), 3)
    collision = ["chowliu", table, "-c", "sex,choice", "--na", "?", "--missing", "level"]
    plain = gml(*collision)
    assert gml(*collision, *SPARK).stderr == plain.stderr
    (tmp_path / "ragged.csv").write_text("A,B\na,b\n" * 9 + "a\n")
    ragged = ["chowliu", tmp_path / "ragged.csv"]
    assert error_line(gml(*ragged, *SPARK), 3) == error_line(gml(*ragged), 3)
    (tmp_path / "empty.csv").write_text("A,B\n")
    empty = ["chowliu", tmp_path / "empty.csv"]
    assert error_line(gml(*empty, *SPARK), 4) == error_line(gml(*empty), 4)
    (tmp_path / "weights.csv").write_text("A,B,w\n" + "a,b,1\n" * 9 + "a,c,1.5\n")
    weights = ["chowliu", tmp_path / "weights.csv", "--weights", "w"]
    assert error_line(gml(*weights, *SPARK), 3) == error_line(gml(*weights), 3)
    words = ["pc", table, "-c", "sex,income", "--test", "fisher-z"]
    assert re.search("'(fe)?male' is not a number", error_line(gml(*words, *SPARK), 3))


def test_no_java(gml_process, table, tmp_path):
    args = ["chowliu", table, "-c", "sex,code", *SPARK]
    nowhere = error_line(gml_process(*args, env={"JAVA_HOME": str(tmp_path)}), 4)
    assert "Spark needs Java 17 or later, and JAVA_HOME is" in nowhere
    assert "apt install openjdk-17-jre-headless" in nowhere
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho java.lang.UnsupportedClassVersionError >&2\nexit 1\n")
    java.chmod(0o755)
    old = error_line(gml_process(*args, env={"JAVA_HOME": str(tmp_path)}), 4)
    assert "Spark needs Java 17 or later, and the one in use is older" in old
    log = Path(old.rpartition("its log is ")[2].strip())
    assert "UnsupportedClassVersionError" in log.read_text()
    log.unlink()


def test_a_log_says_what_an_error_hides(tmp_path):
    from gml.counts.spark_session import told_failures

    log = tmp_path / "spark.log"
    log.write_text(
        "26/11/18 16:24:04 WARN Client: Failed to connect\norg.apache.SparkException: waiting\n"
        "26/11/18 16:24:44 ERROR Backend: All masters are unresponsive! Giving up.\n"
    )
    with (
        pytest.raises(library.CannotAnswer) as caught,
        told_failures(str(log), "Spark did not start"),
    ):
        raise OSError("Cannot call methods on a stopped SparkContext.")
    said = "Spark did not start: Spark: All masters are unresponsive! Giving up."
    assert str(caught.value) == f"{said}; its log is {log}"


def test_what_needs_rows(gml, local, table):
    command = ["pc", table, "--bootstrap", "5", "-c", "sex,code", *SPARK]
    assert "needs rows, which Spark does not have" in error_line(gml(*command), 4)


def test_cuts_by_other_columns(gml, local, table, monkeypatch):
    from gml.counts import spark

    by_class = ["--bins", "3", "--discretize", "mdlp", "--discretize-class", "sex"]
    refused = error_line(gml("chowliu", table, "-c", "sex,income", *by_class, *SPARK), 4)
    assert "to cut 'income' by other columns" in refused
    assert "give the cut points (--cut)" in refused
    # As in passes, they are of no concern where nothing is to be cut.
    words = ["chowliu", table, "-c", "sex,region", "--missing", "drop", *by_class]
    memory = gml(*words)
    assert memory.returncode == 0, memory.stderr
    assert gml(*words, *SPARK).stdout == memory.stdout
    # What options alone say is said before the rows are read.
    monkeypatch.delattr(spark, "_tallied")
    named = ["--cut", "income=mdlp", "--discretize-class", "sex"]
    assert error_line(gml("chowliu", table, "-c", "sex,income", *named, *SPARK), 4) == refused


def test_another_master_than_the_one_in_use(gml, local, table):
    assert gml("chowliu", table, "-c", "sex,code", *SPARK).returncode == 0
    args = ["chowliu", table, "--engine", "spark", "--master", "local[1]"]
    assert "a session runs at 'local[2]' already" in error_line(gml(*args), 2)


def test_a_job_that_fails(local, tmp_path):
    from pyspark.sql import functions as F

    import gml
    from gml.counts.spark_session import log_of, session_at

    session = session_at(LOCAL)
    frame = session.range(100).select(F.expr("if(id = 7, raise_error('seven'), 1)").alias("a"))
    with pytest.raises(gml.GmlError) as caught:
        gml.chow_liu(frame.withColumn("b", F.lit("x")))
    text = str(caught.value)
    assert caught.value.exit_code == 4 and "\n" not in text
    assert "seven" in text and text.endswith(f"its log is {log_of(session)}")
    assert "seven" in Path(log_of(session)).read_text()
    Path(log_of(session)).unlink()


def test_a_table_that_changes(local, tmp_path):
    import gml
    from gml.counts.spark import open_spark
    from gml.data.options import reading_options

    path = tmp_path / "changing.csv"
    path.write_text("A,B\n" + "a,b\nc,d\n" * 1000)
    with open_spark(str(path), reading_options(engine="spark", master=LOCAL)) as counter:
        path.write_text("A,B\n" + "a,b\nc,d\n" * 900)
        counter._coded.unpersist(blocking=True)
        with pytest.raises(gml.DataError, match="1800 rows where there were 2000"):
            list(counter.tables([gml.TableSet((0, 1), ())]))


@pytest.mark.parametrize("at", ["reading", "coding"])
def test_what_is_interrupted_leaves_nothing_cached(local, table, monkeypatch, at):
    from gml.counts import spark
    from gml.counts.spark_session import job, session_at
    from gml.data.options import reading_options

    def interrupted(session, what):
        if what.endswith(f": {at}"):
            raise KeyboardInterrupt
        return job(session, what)

    session = session_at(LOCAL)
    session.catalog.clearCache()
    kept = session._jsparkSession.sharedState().cacheManager()
    monkeypatch.setattr(spark, "job", interrupted)
    reading = {"columns": ["sex", "code"], "engine": "spark", "master": LOCAL}
    with pytest.raises(KeyboardInterrupt):
        spark.open_spark(str(table), reading_options(**reading))
    assert kept.isEmpty()


def test_executors_with_another_gml(gml_process, cluster, table, tmp_path):
    # A session of this process would have all cores.
    stop_session()
    other = tmp_path / "other" / "gml"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text('__version__ = "0.0.1"\n')
    conf = f"--conf spark.executorEnv.PYTHONPATH={other.parent}"
    env = {"PYSPARK_SUBMIT_ARGS": f"{conf} {os.environ['PYSPARK_SUBMIT_ARGS']}"}
    args = ["chowliu", table, "-c", "sex,code", "--engine", "spark", "--master", cluster.master]
    refused = error_line(gml_process(*args, env=env), 4)
    assert re.search(
        r"the driver has gml \S+ \(compiled kernel\), but an executor has gml 0\.0\.1;", refused
    )


@pytest.mark.parametrize("master", ["cluster"], indirect=True)
def test_executors_that_die(master, cluster, table):
    wanted, found, deaths = answers_with_kills(cluster, table, 1)
    assert deaths == 1
    assert found == [wanted]


def test_interrupt(table, tmp_path):
    big = tmp_path / "big.csv"
    lines = table.read_text().splitlines(keepends=True)
    with big.open("w") as file:
        file.write(lines[0])
        for _ in range(100):
            file.writelines(lines[1:])
    args = ["pc", str(big), "--exclude", "income,spent", "--missing", "available", *SPARK]
    process = subprocess.Popen([*GML, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 120
    while time.monotonic() < end and not any(_is_java(child) for child in children(process.pid)):
        time.sleep(0.05)
    java = [child for child in children(process.pid) if _is_java(child)]
    assert java
    time.sleep(3)
    os.kill(process.pid, signal.SIGINT)
    start = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == b"gml: error: interrupted\n"
    assert time.monotonic() - start < 10
    while time.monotonic() < start + 60 and any(map(_is_java, java)):
        time.sleep(0.1)
    assert not any(map(_is_java, java))


class _Tagged:
    """A session that writes down which tags are given to jobs, and which are cancelled."""

    def __init__(self):
        self.tags, self.cancelled = [], []

    def addTag(self, tag):
        self.tags.append(tag)

    def removeTag(self, tag):
        self.tags.remove(tag)

    def interruptTag(self, tag):
        self.cancelled.append(tag)


def test_an_interrupt_cancels_its_own_job_alone():
    from gml.counts.spark_session import job

    session = _Tagged()
    with job(session, "one"):
        (first,) = session.tags
        with pytest.raises(KeyboardInterrupt), job(session, "another"):
            raise KeyboardInterrupt
        assert session.tags == [first]
    assert len(session.cancelled) == 1 and session.cancelled != [first]
    assert session.tags == []


def _is_java(pid: int) -> bool:
    try:
        return b"java" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return False


def test_nothing_of_spark_is_imported_without_need():
    code = (
        "import sys, gml; gml.pc('sample_data/asia.csv', columns=['smoke', 'lung']);"
        "print([name for name in sys.modules if name.startswith(('pyspark', 'py4j', 'pyarrow'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
