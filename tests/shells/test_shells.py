"""zsh and fish complete lines of gml, typed on a terminal."""

from __future__ import annotations

import shutil

import pytest

from tests.terminal import CASES, completed, make_files


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_lines_are_completed(shell, tmp_path):
    assert shutil.which(shell), f"{shell} is not installed; run make shells"
    make_files(tmp_path)
    assert completed(shell, list(CASES), tmp_path) == CASES
