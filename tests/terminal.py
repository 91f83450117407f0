"""Real terminals: what a command shows on one, and what a line becomes when somebody presses Tab."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.command_line import GML

_SECONDS = 60
# How progress erases what stands on its line; a line of it is erased before anything else is written.
_ERASED = rb"\r\x1b\[K"
_PROGRESS = re.compile(rb"%s(?:[^\r\n]*(?=%s))?" % (_ERASED, _ERASED))
# At the start of the line, before what was completed, and again with the words that came of it.
_SHOW = "\x01printf '<%s>' \r"

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
LOAD = {
    "bash": "source <(gml completion bash)",
    "zsh": "unsetopt prompt_sp; bindkey -e; source <(gml completion zsh)",
    "fish": "gml completion fish | source",
}


def _folder_with_gml(place: Path) -> Path:
    """A folder for PATH in which `gml` is the package under test."""
    place.mkdir(exist_ok=True)
    script = place / "gml"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gml.cli "$@"\n')
    script.chmod(0o755)
    return place


# What is typed, Tab at its end, and the words that the shell then passes on.
CASES = {
    "gml prof": ["profile"],
    "gml -q pro": ["-q", "profile"],
    "gml pc odd.csv --alp": ["pc", "odd.csv", "--alpha"],
    "gml pc odd.csv --test fi": ["pc", "odd.csv", "--test", "fisher-z"],
    "gml pc odd.csv --test=fi": ["pc", "odd.csv", "--test=fisher-z"],
    "gml indtest odd.csv bl": ["indtest", "odd.csv", "blood type"],
    "gml indtest odd.csv 'bl": ["indtest", "odd.csv", "blood type"],
    "gml chowliu odd.csv --root inc": ["chowliu", "odd.csv", "--root", "income, net"],
    "gml pc odd.csv -c age,inc": ["pc", "odd.csv", "-c", 'age,"income, net"'],
    "gml query model.json --evidence blo": ["query", "model.json", "--evidence", "blood type="],
    "gml query model.json --evidence sex=": ["query", "model.json", "--evidence", 'sex="f, old"'],
    "gml query model.json --evidence=age=yo": ["query", "model.json", "--evidence=age=young"],
    "gml profile odd.c": ["profile", "odd.csv"],
    "gml pc odd.csv --levels=sch": ["pc", "odd.csv", "--levels=schema.json"],
}


def make_files(folder: Path) -> None:
    """The files that the cases are about."""
    (folder / "odd.csv").write_text(
        'age,"blood type",sex,"income, net"\n' + "young,0,f,1\nold,A,f,2\n" * 5
    )
    (folder / "schema.json").write_text("{}")
    levels = {"age": ["young", "old"], "blood type": ["0", "A"], "sex": ["f, old"]}
    nodes = [
        {
            "id": name,
            "levels": known,
            "parents": [],
            "cpt": [[1 / len(known)] * len(known)],
            "counts": [[1] * len(known)],
        }
        for name, known in levels.items()
    ]
    graph = {"schema": "gml/1", "kind": "dag"}
    model = {"directed": True, "multigraph": False, "graph": graph, "nodes": nodes, "edges": []}
    (folder / "model.json").write_text(json.dumps(model))


def completed(shell: str, lines: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """The words of each line after Tab was pressed at its end."""
    master, slave = pty.openpty()
    environment = {
        **os.environ,
        "PATH": f"{_folder_with_gml(folder / 'bin')}{os.pathsep}{os.environ['PATH']}",
        "TERM": "xterm" if shell == "fish" else "dumb",
        "HOME": str(folder),
    }
    process = subprocess.Popen(
        START[shell],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        env=environment,
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(slave)
    try:
        os.write(master, f"{LOAD[shell]}\recho rea''dy\r".encode())
        _read_until(master, b"ready\r\n")
        return {line: _words_of(master, line) for line in lines}
    finally:
        process.kill()
        process.wait()
        os.close(master)


def on_terminal(
    args: Sequence[str | Path],
    folder: Path,
    env: Mapping[str, str] | None = None,
    streams: Sequence[str] = ("stdout", "stderr"),
) -> bytes:
    """What a command leaves on a terminal; the streams that are not there go nowhere.

    Progress, which a slow machine shows and erases again, is left out.
    """
    master, slave = pty.openpty()
    given = {"NO_COLOR": "", "TERM": "xterm", **(env or {})}
    process = subprocess.Popen(
        [*GML, *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=slave if "stdout" in streams else subprocess.DEVNULL,
        stderr=slave if "stderr" in streams else subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, **given},
    )
    os.close(slave)
    seen = b""
    try:
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                # How Linux says that nobody holds the other end any more.
                break
            if not piece:
                break
            seen += piece
        process.wait(_SECONDS)
        return _PROGRESS.sub(b"", seen).replace(b"\r\n", b"\n")
    finally:
        process.kill()
        process.wait()
        os.close(master)


def _words_of(master: int, line: str) -> list[str]:
    os.write(master, f"{line}\t{_SHOW}".encode())
    screen = _read_until(master, b"<gml><").decode("utf-8", "replace")
    return re.findall(r"<gml>((?:<[^>]*>)+)", screen)[-1][1:-1].split("><")


def _take_terminal() -> None:
    """Let the new session have its terminal, without which fish does not start."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_until(master: int, mark: bytes) -> bytes:
    """Read until a mark was seen, and then as long as something comes."""
    found, end = b"", time.monotonic() + _SECONDS
    while time.monotonic() < end:
        wait = 0.3 if mark in found else 1.0
        if not select.select([master], [], [], wait)[0]:
            if mark in found:
                return found
            continue
        found += os.read(master, 65536)
    raise AssertionError(f"{mark!r} did not appear on the terminal: {found!r}")
