"""The Spark session that a run uses: found or started, watched, and what it says when it fails.

Whatever Spark prints goes to a file of its own, if the session was started here: it is removed at
the end, and kept if something failed, so that the message can name it. An interrupt cancels what
runs. On the command line the process ends at once, and Spark's own process with it.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gml.counts.spark_answers import other_gml, own_gml
from gml.errors import (
    CannotAnswer,
    DataError,
    GmlError,
    UsageError,
    parameter,
    quote,
)
from gml.progress import reporter
from gml.resources import lacking_extra
from gml.signals import partial_files

# Where a session that was started here keeps what Spark prints.
_LOG_KEY = "spark.gml.log"
_job_numbers = itertools.count(1)
_SHOWN = 400
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false"}
# What an executor says that has no gml, or one that is too different to read what it is sent.
_NO_GML = re.compile(r"(?:ModuleNotFoundError|ImportError|AttributeError)[^\n]*gml[^\n]*")
# What it logs as an error, without the time and the class; else what Java or a shell prints.
_LOGGED = re.compile(r"^\S+ \S+ ERROR \S+: *(.*\S)", re.MULTILINE)
_PRINTED = re.compile(r"^(.*(?:Exception|Error|error:).*)$", re.MULTILINE)
# Errors that hide what led to them.
_TOLD_BY_LOG = ("JAVA_GATEWAY_EXITED", "stopped SparkContext")
_OLD_JAVA = "UnsupportedClassVersionError"
_PYTHON_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*$", re.MULTILINE)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Say nothing about pandas, of which no frame is made here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        yield


def session_at(master: str | None) -> Any:
    """Return the session that is running, or start one at a master (None: what is configured)."""
    with _without_warnings():
        return _found_or_started(master)


def _found_or_started(master: str | None) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        raise lacking_extra(parameter("engine", "spark"), "spark") from None
    session = SparkSession.getActiveSession()
    if session is not None:
        at = None if is_remote(session) else session.sparkContext.master
        if master is not None and at not in (None, master):
            raise UsageError(
                f"{parameter('master')} {quote(master)}: a session runs at {at!r} already; stop "
                "it first"
            )
        return session
    return _started(master)


def is_remote(session: Any) -> bool:
    """Whether a session is one of Spark Connect, which has no context in this process."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _started(master: str | None) -> Any:
    from pyspark.sql import SparkSession

    remote = master if master is not None and master.startswith("sc://") else None
    if remote is None and "SPARK_REMOTE" not in os.environ:
        _require_java()
    reporter().status("starting Spark")
    descriptor, log = tempfile.mkstemp(prefix="gml-spark-", suffix=".log")
    # If a signal ends the process, this file goes with it.
    partial_files.add(log)
    # Lost connections are said once, by the error that they lead to.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    try:
        with _default_signals(), told_failures(log, "Spark did not start"):
            if remote is not None or "SPARK_REMOTE" in os.environ:
                builder = SparkSession.builder.remote(remote or os.environ["SPARK_REMOTE"])
                session = builder.config(_LOG_KEY, log).getOrCreate()
            else:
                session = _with_context(master, log, descriptor)
    except BaseException as error:
        if not isinstance(error, GmlError):
            _forget(log)
        raise
    finally:
        os.close(descriptor)
        reporter().status(None)
    atexit.register(_stop, session, log)
    return session


def _require_java() -> None:
    """Refuse to start Spark's own process where there is no Java for it."""
    from pyspark import SparkContext

    # Under spark-submit it runs already.
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    home = os.environ.get("JAVA_HOME")
    if home is not None and shutil.which(str(Path(home) / "bin" / "java")) is None:
        raise CannotAnswer(_java_wanted(f"JAVA_HOME is {quote(home)}, which has no bin/java"))
    if home is None and shutil.which("java") is None:
        raise CannotAnswer(_java_wanted("there is no java in PATH, and no JAVA_HOME"))


def _java_wanted(why: str) -> str:
    return (
        f"Spark needs Java 17 or later, and {why}; install it (apt install "
        "openjdk-17-jre-headless), or set JAVA_HOME"
    )


def _with_context(master: str | None, log: str, descriptor: int) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if SparkContext._gateway is None:
        prints_to = {"stdout": descriptor, "stderr": descriptor}
        SparkContext._ensure_initialized(gateway=launch_gateway(popen_kwargs=prints_to))
    # What spark-submit and the defaults of the installation say comes first.
    conf = SparkConf()
    if master is not None:
        conf.setMaster(master)
    elif not conf.contains("spark.master"):
        conf.setMaster("local[*]")
    at = conf.get("spark.master") or ""
    if not conf.contains("spark.app.name"):
        conf.setAppName("gml")
    defaults = {**_QUIET, **(_LOCAL if at.startswith("local") else {}), _LOG_KEY: log}
    for key, value in defaults.items():
        if not conf.contains(key):
            conf.set(key, value)
    # On this machine, this environment serves; elsewhere, the cluster says which does.
    here = at.startswith(("local", "spark://")) and not conf.contains("spark.pyspark.python")
    with _environment("PYSPARK_PYTHON", sys.executable if here else None):
        return SparkSession.builder.config(conf=conf).getOrCreate()


@contextmanager
def _environment(name: str, value: str | None) -> Iterator[None]:
    """Set a variable of the environment within a block, unless it is set."""
    if value is None or name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


@contextmanager
def _default_signals() -> Iterator[None]:
    """Start processes that can be ended: they inherit which signals are blocked.

    But Ctrl-C, which they ignore, stays with the thread that waits for it.
    """
    kept = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    signal.pthread_sigmask(signal.SIG_SETMASK, kept & {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, kept)


def _stop(session: Any, log: str) -> None:
    """Stop a session at the end of the process."""
    with suppress(Exception):
        session.stop()
    _forget(log)


def _forget(log: str) -> None:
    if log in partial_files:
        partial_files.discard(log)
        with suppress(OSError):
            Path(log).unlink()


def log_of(session: Any) -> str | None:
    """The file with what Spark prints, if the session was started here."""
    with suppress(Exception):
        found = session.conf.get(_LOG_KEY, None)
        if found is None and not is_remote(session):
            found = session.sparkContext.getConf().get(_LOG_KEY)
        return None if found is None else str(found)
    return None


@contextmanager
def job(session: Any, what: str) -> Iterator[None]:
    """Run a job within a block: whatever interrupts it cancels it, and failures are one line."""
    reporter().status(f"Spark: {what}")
    # Other jobs of the session, of gml or not, go on.
    tag = f"gml-{os.getpid()}-{next(_job_numbers)}"
    session.addTag(tag)
    try:
        with _without_warnings(), told_failures(log_of(session), what):
            yield
    except BaseException as error:
        if not isinstance(error, Exception):
            with suppress(Exception):
                session.interruptTag(tag)
        raise
    finally:
        with suppress(Exception):
            session.removeTag(tag)
        reporter().status(None)


@contextmanager
def told_failures(log: str | None, what: str) -> Iterator[None]:
    """Turn what Spark raises into an error of one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except (PySparkException, Py4JError, OSError, EOFError) as error:
        said = str(error)
        if _NO_GML.search(said):
            raise CannotAnswer(other_gml(own_gml(), "none, or one that is too different")) from None
        kept = ""
        if log is not None and Path(log).exists():
            if any(hiding in said for hiding in _TOLD_BY_LOG):
                said = _said_in(log) or said
            # What failed has to be looked into.
            partial_files.discard(log)
            kept = f"; its log is {log}"
        kind = DataError if isinstance(error, AnalysisException) else CannotAnswer
        place = what if kind is DataError else f"{what}: Spark"
        raise kind(f"{place}: {_in_one_line(said)}{kept if kind is CannotAnswer else ''}") from None


def _said_in(log: str) -> str | None:
    """What Spark's own process said before it ended."""
    text = Path(log).read_text(errors="replace")
    if _OLD_JAVA in text:
        return _java_wanted("the one in use is older")
    found = _LOGGED.search(text) or _PRINTED.search(text)
    return None if found is None else found[1]


def _in_one_line(said: str) -> str:
    """What an error of Spark says, without its stack.

    Examples
    --------
    >>> _in_one_line("[PATH_NOT_FOUND] Path does not exist: file:/x.csv.  SQLSTATE: 42K03;\\n")
    '[PATH_NOT_FOUND] Path does not exist: file:/x.csv'
    """
    said = said.split("JVM stacktrace:")[0]
    python = _PYTHON_ERROR.findall(said)
    if "Traceback (most recent call last)" in said and python:
        said = python[-1]
    lines = [line.strip() for line in said.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "Driver stacktrace"))]
    text = " ".join(lines[:3]) or "no reason given"
    text = re.sub(r"\.?\s*SQLSTATE: \w+[;.]?.*", "", text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _probe() -> Any:
    """What asks an executor which gml it has; sent as code, as there may be none."""

    def ask(batches: Any) -> Any:
        import pyarrow as pa

        for _ in batches:
            pass
        try:
            from gml.counts.spark_answers import own_gml as own

            found = own()
        except Exception:
            try:
                from gml import __version__

                found = f"gml {__version__}"
            except Exception:
                found = "no gml"
        yield pa.RecordBatch.from_pydict({"gml": pa.array([found], pa.string())})

    return ask


def require_same_gml(session: Any) -> None:
    """Refuse executors with another gml than this process has."""
    what = "asking executors for their gml"
    with job(session, what):
        n_tasks = 1 if is_remote(session) else session.sparkContext.defaultParallelism
        asked = session.range(0, n_tasks, 1, n_tasks).mapInArrow(_probe(), "gml string")
        others = {
            found for found in asked.toArrow().column("gml").to_pylist() if found != own_gml()
        }
    if others:
        raise CannotAnswer(other_gml(own_gml(), sorted(others)[0]))
