"""A standalone cluster of Spark on this machine: a master and two workers, bound to loopback."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

# One core each, as a test machine may have only two.
_WORKERS = 2
_PATIENCE_SECONDS = 120
# For processes that live for a minute: code that is good soon, rather than very good later.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True)
class Cluster:
    """The address of the master, and the processes of the workers."""

    master: str
    workers: tuple[int, ...]

    def executors(self) -> list[int]:
        """The processes that the workers have started: one per application and worker."""
        return [child for worker in self.workers for child in children(worker)]

    def kill_executor(self) -> None:
        """End one of them as a machine that fails would."""
        os.kill(self.executors()[0], signal.SIGKILL)


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in task.read_text().split()]
    return found


@contextmanager
def standalone(folder: Path) -> Iterator[Cluster]:
    """Run a cluster within a block, with its logs in a folder; it ends whatever happens."""
    import pyspark

    home = Path(pyspark.__file__).parent
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *args: str) -> subprocess.Popen[bytes]:
        with (folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(home / "bin" / "spark-class"), *args],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=folder,
                env={
                    **os.environ,
                    "SPARK_HOME": str(home),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "SPARK_CONF_DIR": str(folder),
                    "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
                },
                start_new_session=True,
            )
        started.append(process)
        return process

    try:
        port = _free_port()
        address = f"spark://127.0.0.1:{port}"
        here = ("--host", "127.0.0.1", "--webui-port", "0")
        (folder / "log4j2.properties").write_text(_LOG_INFO)
        start("master", f"{_DEPLOY}.master.Master", "--port", str(port), *here)
        _wait_for(folder / "master.log", "Starting Spark master at")
        workers = []
        for k in range(_WORKERS):
            room = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{k}"))
            worker = start(f"worker{k}", f"{_DEPLOY}.worker.Worker", *here, *room, address)
            workers.append(worker.pid)
        _wait_for(folder / "master.log", "Registering worker", times=_WORKERS)
        yield Cluster(address, tuple(workers))
    finally:
        for process in reversed(started):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


_DEPLOY = "org.apache.spark.deploy"
_LOG_INFO = """
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


def _wait_for(log: Path, text: str, times: int = 1) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        if len(re.findall(re.escape(text), log.read_text(errors="replace"))) >= times:
            return
        time.sleep(0.1)
    raise TimeoutError(f"{text!r} is not in {log}: {log.read_text(errors='replace')[-2000:]}")
