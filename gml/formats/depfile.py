"""Dependencies for Make: `targets: prerequisites`, and one empty rule per prerequisite.

The empty rules keep Make going when a file that was read is gone (as with gcc -MP). What a makefile
would take for something else is escaped; what it cannot hold is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gml.atomic import is_special
from gml.errors import UsageError, parameter, quote
from gml.path_kinds import is_folder

# Tried with GNU Make 4: no quoting helps in the name of a target.
_IMPOSSIBLE = re.compile(r"[\t\n\v\f\r;|*?\[]|!=|\A~|\\\Z|\(.*\)\Z")
_BACKSLASHED = re.compile(r"(\\*)([ #:])")
# A name with = would be read as setting a variable, & at the end as a group of targets.
_BY_EXPANSION = re.compile("[=&]")


def require_make_name(path: str) -> None:
    """Refuse a name that no makefile can hold."""
    if _IMPOSSIBLE.search(path) or not path:
        raise UsageError(f"{parameter('depfile')}: a makefile cannot hold the name {quote(path)}")


def depfile_text(targets: Sequence[str], prerequisites: Sequence[str]) -> str:
    r"""Return the rules.

    Examples
    --------
    >>> print(depfile_text(["model.json"], ["my data.csv", "100%.dot"]), end="")
    model.json: my\ data.csv 100%.dot
    <BLANKLINE>
    my\ data.csv:
    <BLANKLINE>
    100\%.dot:
    """
    made = " ".join(map(_target, targets))
    rules = ["".join([made, ":", *(f" {_escaped(path)}" for path in prerequisites)])]
    rules += [f"{_target(path)}:" for path in prerequisites]
    return "\n\n".join(rules) + "\n"


def _target(path: str) -> str:
    """A target: % would make it a pattern."""
    return re.sub(r"(\\*)%", r"\1\1\\%", _escaped(path))


def _escaped(path: str) -> str:
    require_make_name(path)
    text = _BACKSLASHED.sub(r"\1\1\\\2", path.replace("$", "$$"))
    return _BY_EXPANSION.sub(lambda match: f"$(if ,,{match[0]})", text)


def require_holdable(path: str) -> None:
    """Refuse an input whose name no makefile can hold, before the work."""
    for name in input_files(path):
        require_make_name(name)


def input_files(path: str) -> list[str]:
    """The files behind an input: those of a folder; none for what can be read only once."""
    if path == "-" or (is_special(path) and not is_folder(path)):
        return []
    from gml.data.parquet import parquet_files

    return parquet_files(path)
