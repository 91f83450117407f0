"""What the tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

# By hand every run looks at new examples; where a run decides on a change, the same ones each time.
settings.register_profile("explore", deadline=None, print_blob=True)
settings.register_profile("decide", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("decide" if os.environ.get("CI") else "explore")


def pytest_configure() -> None:
    """Let children be interrupted: a shell ignores Ctrl-C for what it runs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


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
    """Run the real command in a scratch folder; returns the finished process."""

    def run(
        *args: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, **(env or {})}
        return subprocess.run(
            [sys.executable, "-m", "gml.cli", *map(str, args)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environment,
            timeout=120,
        )

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[bytes]]:
    """Run a shell command in a scratch folder; G is gml."""

    def run(command: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["bash", "-c", f'G() {{ "{sys.executable}" -m gml.cli "$@"; }}; {command}'],
            capture_output=True,
            cwd=tmp_path,
            timeout=60,
        )

    return run
