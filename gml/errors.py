"""Errors that a user can cause, each with its exit code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real

from gml.printable_text import plain_count


class GmlError(Exception):
    """Base of all errors with a message for people; the message is one line.

    Examples
    --------
    >>> import gml
    >>> try:
    ...     gml.read("sample_data/asia.csv", columns="smok")
    ... except gml.GmlError as error:
    ...     error.exit_code, str(error)[:45]
    (2, "column 'smok' not found; did you mean 'smoke'")
    """

    exit_code = 70

    def __str__(self) -> str:
        return unmarked(super().__str__())

    def __format__(self, spec: str) -> str:
        """The message for another message, in which parameters can still be told from the rest."""
        return format(super().__str__(), spec)


class UsageError(GmlError):
    """The call is wrong: an unknown column in an option, options that contradict."""

    exit_code = 2


class UnknownParameter(UsageError, TypeError):
    """A keyword that a function does not take; Python's own error for that is a TypeError."""


class DataError(GmlError):
    """The input is rejected."""

    exit_code = 3
    source: object = None  # The table that is rejected, as it was given (`gml.data.rejections`).


class GraphError(DataError):
    """A graph file or a graph is rejected."""


@contextmanager
def raising(kind: type[DataError]) -> Iterator[None]:
    """Raise what is rejected within a block as another kind of rejection.

    Examples
    --------
    >>> with raising(GraphError):
    ...     raise DataError("g.json: not a JSON file")
    Traceback (most recent call last):
    gml.errors.GraphError: g.json: not a JSON file
    """
    try:
        yield
    except DataError as error:
        if isinstance(error, kind):
            raise
        raise kind(f"{error}") from None


class CannotAnswer(GmlError):
    """The input is fine, but the question has no answer within the limits."""

    exit_code = 4


class MissingTable(CannotAnswer):
    """A count file lacks the table of some columns; `lacking` says so without a way out."""

    def __init__(self, lacking: str, names: Iterable[str] = (), way_out: str = "") -> None:
        super().__init__(f"{lacking}; {way_out}" if way_out else lacking)
        self.lacking = lacking
        self.names = frozenset(names)


class OutputError(CannotAnswer):
    """The result could not be written."""


class GmlWarning(UserWarning):
    """Category of the warnings that the library emits.

    Examples
    --------
    >>> import gml, warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always", GmlWarning)
    ...     net = gml.fit("sample_data/asia.csv", gml.pc("sample_data/asia.csv"))
    >>> str(said[-1].message)
    'the graph: a cpdag; the tables are those of one of the DAGs it stands for'
    """


_SHOWN = 8
_MARK = "\u2060"  # Names are quoted by repr, which escapes it.
_PARAMETER = re.compile(_MARK + r"`([a-z]\w*)(?:=([^`]*))?`")
# Comparing names takes the product of their lengths.
_LONGEST_COMPARED = 100
_MOST_WORK = 20_000_000


def quote(name: object) -> str:
    """Quote a name for a one-line message; what is not text is shown as Python does."""
    if not isinstance(name, str):
        return repr(name)
    return repr(name if len(name) <= 60 else name[:57] + "...")


def parameter(name: str, value: object = None) -> str:
    """Name a parameter in a message, or one with a value; the command line writes it as a flag.

    An invisible mark tells it from text of the data that looks the same; errors and warnings in
    Python are shown without.

    Examples
    --------
    >>> message = f"choose {parameter('missing', 'drop')} or raise {parameter('max_levels')}"
    >>> unmarked(message)
    "choose `missing='drop'` or raise `max_levels`"
    >>> with_flags(message)
    'choose --missing drop or raise --max-levels'
    >>> unmarked(parameter("exclude", ["id", "a,b"])), with_flags(parameter("exclude", ["id"]))
    ("`exclude=['id', 'a,b']`", "--exclude 'id'")
    """
    shown = repr(value)
    # A value with a backtick could not be told from the text around it.
    return f"{_MARK}`{name}`" if value is None or "`" in shown else f"{_MARK}`{name}={shown}`"


def unmarked(message: str) -> str:
    """Return a message as Python users see it."""
    return _PARAMETER.sub(lambda found: found[0].removeprefix(_MARK), message)


class Note(str):
    """A message that is kept, as Python users see it; `marked` can still be written with flags.

    Examples
    --------
    >>> note = Note(f"an effect below {parameter('min_effect')}")
    >>> print(note, with_flags(note), sep=" | ")
    an effect below `min_effect` | an effect below --min-effect
    """

    marked: str

    def __new__(cls, marked: str) -> Note:
        note = super().__new__(cls, unmarked(marked))
        note.marked = marked
        return note


EXIT_CODES = {
    0: "done; where a question was asked, the answer is yes",
    1: "the question was answered no",
    2: "usage: an unknown option, command or column, a missing argument, options that contradict",
    3: "input rejected: an unreadable file, a bad table or graph, a value that is not declared",
    4: "cannot answer: too few rows left, too little memory, impossible evidence, a missing extra",
    5: Note(f"stopped by {parameter('max_seconds')}; the best result so far was written"),
    70: Note(f"a bug in gml; {parameter('debug')} shows the traceback to report"),
    130: "interrupted; partial files were removed",
}
"""What the exit codes of commands mean."""


def require_one_of(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value of a parameter that is none of its choices.

    Examples
    --------
    >>> require_one_of("prune", "some", ("none", "bic", "g"))
    Traceback (most recent call last):
    gml.errors.UsageError: `prune` must be one of none, bic, g, not 'some'
    """
    choices = list(choices)
    if value not in choices:
        raise UsageError(f"{parameter(name)} must be one of {', '.join(choices)}, not {value!r}")


def require_whole(least: int, **given: object) -> None:
    """Refuse what is not a whole number, or too small, by the name of its parameter; None is none.

    Examples
    --------
    >>> require_whole(1, threads=0)
    Traceback (most recent call last):
    gml.errors.UsageError: `threads` must be at least 1, not 0
    """
    for name, value in given.items():
        if value is None:
            continue
        if not isinstance(value, Integral):
            raise UsageError(f"{parameter(name)} must be a whole number, not {value!r}")
        if int(value) < least:
            wanted = "0 or more" if least == 0 else f"at least {least}"
            raise UsageError(f"{parameter(name)} must be {wanted}, not {value}")


def require_share(**given: object) -> None:
    """Refuse what is not above 0 and at most 1, by the name of its parameter; None is none.

    Examples
    --------
    >>> require_share(alpha=5)
    Traceback (most recent call last):
    gml.errors.UsageError: `alpha` must be above 0 and at most 1, not 5
    """
    for name, value in given.items():
        if value is not None and not (isinstance(value, Real) and 0 < float(value) <= 1):
            raise UsageError(f"{parameter(name)} must be above 0 and at most 1, not {value!r}")


def with_flags(message: str) -> str:
    """Write the parameters that a message names as the flags of the command line."""
    marked = message.marked if isinstance(message, Note) else message
    return _PARAMETER.sub(lambda found: _flag(found[1], found[2]), marked)


def _flag(name: str, value: str | None) -> str:
    flag = "--" + name.rstrip("_").replace("_", "-")
    if value is None:
        return flag
    if value.startswith("["):
        import ast

        return f"{flag} '{csv_record(ast.literal_eval(value))}'"
    is_plain = value[:1] in ("'", '"') and value[1:-1].replace("-", "").isalnum()
    return f"{flag} {value[1:-1] if is_plain else value}"


def csv_record(names: Iterable[str]) -> str:
    """Names as one CSV record, which is how lists stand in options of the command line.

    Examples
    --------
    >>> print(csv_record(["a", "b,c", '6" pipe', ""]))
    a,"b,c","6"" pipe",""
    """
    return ",".join(
        double_quoted(name) if not name or set(name) & set(',"\r\n') else name for name in names
    )


def double_quoted(name: str) -> str:
    """A name in double quotes, with its own doubled."""
    return '"' + name.replace('"', '""') + '"'


def place(path: object) -> str:
    """Name the place that a path means, or stands for (its `shown`), for messages and reports."""
    return "standard input" if str(path) == "-" else encodable(str(getattr(path, "shown", path)))


def encodable(text: str) -> str:
    """A path as text that can be encoded; its bytes that are not UTF-8 are lost.

    Examples
    --------
    >>> encodable("caf\\udce9.csv")
    'caf�.csv'
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def listing(names: Iterable[str]) -> str:
    """Return names for a one-line message, cut after a few."""
    names = list(names)
    shown = ", ".join(quote(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def require_path(path: object) -> None:
    """Refuse what is not a path.

    Examples
    --------
    >>> require_path(5)
    Traceback (most recent call last):
    gml.errors.UsageError: `path` must be a path, not an int
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{parameter('path')} must be a path, not {kind_of(path)}")


def kind_of(given: object) -> str:
    """What something is that should be something else; others have frames and arrays too.

    Examples
    --------
    >>> import numpy as np
    >>> kind_of([1]), kind_of(np.zeros(2)), kind_of(None), kind_of(int)
    ('a list', 'a numpy ndarray', 'None', 'the class int')
    """
    if given is None:
        return "None"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    kind, package = type(given).__name__, type(given).__module__.partition(".")[0]
    if package not in ("builtins", "gml", "pathlib", "__main__"):
        kind = f"{package} {kind}"
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def counted(number: float, noun: str) -> str:
    """Return a number and its noun; fractions, as of weighted rows, have six digits.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row"), counted(5070.967741714, "row")
    ('1 row', '2 rows', '5070.97 rows')
    """
    return f"{(shown := plain_count(number))} {noun}{'s'[: shown != '1']}"


def share_of(part: float, whole: float) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> share_of(1, 8), share_of(3, 3), share_of(1, 30_000)
    ('12.5%', '100%', '0.00333%')
    """
    return f"{100 * part / whole:.3g}%"


def agreeing(number: int, singular: str, plural: str) -> str:
    """Return the form of a verb that a number of things takes.

    Examples
    --------
    >>> [f"{counted(n, 'row')} {agreeing(n, 'has', 'have')} no answer" for n in (1, 2)]
    ['1 row has no answer', '2 rows have no answer']
    """
    return singular if number == 1 else plural


def nearest_name(name: str, valid: Iterable[str]) -> str | None:
    """Return the valid name that is most like the one given, if any is similar."""
    return next(iter(_near(name, list(valid))), None)


def _near(name: str, valid: list[str]) -> list[str]:
    import difflib

    if len(name) > _LONGEST_COMPARED:
        return []
    work, compared = 0, []
    for candidate in valid:
        if len(candidate) <= _LONGEST_COMPARED and work <= _MOST_WORK:
            work += len(name) * len(candidate)
            compared.append(candidate)
    folded = {candidate.casefold(): candidate for candidate in reversed(compared)}
    near = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    return [folded[candidate] for candidate in near]


def unknown_name(what: str, name: object, valid: Iterable[str], *, owner: str = "") -> str:
    """Say that a name is unknown, or that its owner lacks it, with the nearest valid ones first.

    Examples
    --------
    >>> unknown_name("column", " b", ["a", "b"])
    "column ' b' not found; did you mean 'b', without blanks? there are 'b', 'a'"
    >>> print(unknown_name("column", "a", ["a,b"]))
    column 'a' not found; put a name with a comma in double quotes: '"a,b"'; there are 'a,b'
    >>> unknown_name("column", 0, ["0", "1"])
    "column 0 is not text, as names are: did you mean '0'? there are '0', '1'"
    """
    valid = list(valid)
    if not isinstance(name, str):
        hint = f"did you mean {quote(str(name))}? " if str(name) in valid else ""
        return f"{what} {quote(name)} is not text, as names are: {hint}there are {listing(valid)}"
    nearest = _near(name, valid)
    bare = name.strip()
    if bare != name and bare in valid:
        nearest = [bare, *(candidate for candidate in nearest if candidate != bare)]
    hint = f"did you mean {quote(nearest[0])}? " if nearest else ""
    if bare != name and bare in valid:
        hint = f"did you mean {quote(bare)}, without blanks? "
    elif whole := next((known for known in valid if bare and bare in known.split(",")), None):
        hint = f"put a name with a comma in double quotes: {quote(csv_record([whole]))}; "
    unknown = f"{what} {quote(name)}"
    said = f"{quote(owner)} has no {unknown}" if owner else f"{unknown} not found"
    return f"{said}; {hint}there are {listing(dict.fromkeys([*nearest, *valid]))}"
