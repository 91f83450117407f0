"""The budget itself: sizes that cannot be, and that every command takes one."""

from __future__ import annotations

import pytest

from gml.cli.main import COMMANDS


@pytest.mark.parametrize("size", ["1" + "0" * 400, "1" + "0" * 400 + "G", "-1", "nan", "1e3", ""])
def test_a_size_that_is_none_is_refused(watched, sample_data, size):
    done = watched("chowliu", sample_data / "asia.csv", f"--max-memory={size}")
    assert done.code == 2
    assert done.error.startswith("gml: error: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_budget(command):
    from gml.cli.main import cli

    found = cli.get_command(None, command)
    assert "--max-memory" in {flag for parameter in found.params for flag in parameter.opts}
