"""What the tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.command_line import Finished, run_here, run_process
from tests.places import ROOT, SHARED

# By hand every run looks at new examples; where a run decides on a change, the same ones each time.
settings.register_profile("explore", deadline=None, print_blob=True)
settings.register_profile("decide", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("decide" if os.environ.get("CI") else "explore")


def pytest_configure() -> None:
    """Let children be interrupted: a shell ignores Ctrl-C for what it runs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Why a test may be skipped where `NO_SKIPS` is set, as by .ci/run: what `make` does not install.
MACHINE_LACKS = ["Graphviz is not installed", "needs make", "only root can", "no device that is"]
if not SHARED.is_dir():
    # Tests of each file there have no files to be run for.
    MACHINE_LACKS += ["no shared data beside the checkout", "got empty parameter set"]


Report = pytest.TestReport | pytest.CollectReport


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Report, Report]:
    """Let a skipped test, or file of tests, fail if all are to run and the machine can run it."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("NO_SKIPS"):
        _, _, reason = report.longrepr
        if not any(lack in reason for lack in MACHINE_LACKS):
            report.outcome = "failed"
            report.longrepr = f"skipped although NO_SKIPS is set: {reason}"
    return report


pytest_make_collect_report = pytest_runtest_makereport


Run = Callable[..., Finished]


@pytest.fixture(scope="session")
def sample_data() -> Path:
    """The sample data of the repository."""
    return ROOT / "sample_data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference data that a checkout may have beside it."""
    if not SHARED.is_dir():
        pytest.skip("no shared data beside the checkout")
    return SHARED


@pytest.fixture
def gml(tmp_path: Path) -> Run:
    """Run the command in a scratch folder, in this process; returns what a finished process has."""

    def run(*args: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None) -> Finished:
        return run_here(args, tmp_path, stdin, env)

    return run


@pytest.fixture
def gml_process(tmp_path: Path) -> Run:
    """Run the command in a scratch folder as a process, where the way in and out matters."""

    def run(*args: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None) -> Finished:
        return run_process(args, tmp_path, stdin, env)

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], Finished]:
    """Run a shell command in a scratch folder; G is gml."""

    def run(command: str) -> Finished:
        return subprocess.run(
            ["bash", "-c", f'G() {{ "{sys.executable}" -m gml.cli "$@"; }}; {command}'],
            capture_output=True,
            cwd=tmp_path,
            timeout=60,
        )

    return run


@pytest.fixture(scope="session")
def asia():
    """The tables of the asia network, fitted to the sample data."""
    import gml

    return gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
