"""Rules that Make takes as they are meant, whatever the names."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import pytest

from gml.errors import UsageError
from gml.formats.depfile import depfile_text

NAMES = [
    "a b", "a  b", "a$b", "a$(b)c", "a#b", "a:b", "a%b", "a=b", "y=2024/m=1/x.parquet", "a:=b", "a+=b",
    "a&", "a'b", 'a"b', "a,b", "a{b}", "a(1).csv", "a (1) b.csv", "a\\b", "a\\ b", "a\\\\ b", "a\\#b",
    "a\\:b", "a\\%b", "é ü", "@a", "a^b", "a<b>c", "a!b", "include", "a:",
]  # fmt: skip


def make(folder, target):
    done = subprocess.run(
        ["make", "-s", "-f", "Makefile", target],
        cwd=folder,
        env={**os.environ, "TARGET": target},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("role", ["prerequisite", "target"])
def test_make_reads_the_names_back(tmp_path, name, role):
    source, target = (name, "out") if role == "prerequisite" else ("in", name)
    for path in (source, target):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / source).write_text("")
    text = depfile_text([target], [source])
    (tmp_path / "x.d").write_text(text)
    rule = depfile_text([target], []).rstrip("\n")
    recipe = '\t@echo made\n\t@touch "$$TARGET"\n'
    (tmp_path / "Makefile").write_text(f"-include x.d\n{rule}\n{recipe}")
    assert make(tmp_path, target) == "made\n"
    past = time.time() - 100
    os.utime(tmp_path / source, (past, past))
    os.utime(tmp_path / target, (past + 50, past + 50))
    assert make(tmp_path, target) == ""
    os.utime(tmp_path / source, (past + 75, past + 75))
    assert make(tmp_path, target) == "made\n"
    assert make(tmp_path, target) == ""
    (tmp_path / source).unlink()
    assert make(tmp_path, target) == "made\n"


@pytest.mark.parametrize(
    "name",
    ["", "a\nb", "a\tb", "a\rb", "a;b", "a|b", "a*b", "a?b", "a[b]", "~a", "a\\", "a(b)", "a!=b"],
)
def test_what_no_makefile_holds_is_refused(name):
    for targets, prerequisites in (([name], ["a"]), (["a"], [name])):
        with pytest.raises(UsageError, match="a makefile cannot hold the name"):
            depfile_text(targets, prerequisites)


def test_several_targets_and_no_prerequisite():
    assert depfile_text(["a", "b"], ["c", "d"]) == "a b: c d\n\nc:\n\nd:\n"
    assert depfile_text(["a"], []) == "a:\n"
