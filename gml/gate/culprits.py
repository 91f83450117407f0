"""Culprits: which column is behind the failures of a run, and what happened to it.

The columns are those that explain all failures best (`suspects`). Failures of all rows together,
such as that of the fit, accuse no column. If rows are repeated, p-values are too small, and only
columns that broke the schema, other than by a drift or by repeats of their own, are accused. If no
set of three columns explains all failures, the column that is in most of them is named as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gml.errors import counted
from gml.gate.check import DRIFT, EDGE, REPEATS, UNIQUE, Check
from gml.gate.margins import Margin
from gml.gate.suspects import (
    Evidence,
    Suspect,
    involved,
    is_of_all_rows,
    smallest_set,
)

VALUES, RELATIONS, UNKNOWN = "values", "relations", "unknown"
# Two levels were exchanged if undoing that removes this share of the change.
_EXCHANGED = 0.75


@dataclass(frozen=True)
class Culprit:
    """A column that explains failures, or several of which one does though nothing tells which.

    It explains `failures` of all `of` failures. `cause` is the kind of its failing schema check if
    it has one ("columns", "levels", …); otherwise "drift" if its own distribution changed and no
    relation of others to it, "values" if both changed, "relations" if its own distribution is
    unchanged, "unknown" if the model has no counts to tell by or no small set of columns explains
    all failures; "repeats", without columns, if rows are repeated.
    """

    columns: tuple[str, ...]
    failures: int
    of: int
    cause: str
    message: str


def find_culprits(
    failures: Sequence[Check],
    powered: Sequence[Check],
    margins: Mapping[str, Margin],
    parents: Mapping[str, Sequence[str]],
    *,
    alpha: float,
    noun: str = "failure",
) -> tuple[Culprit, ...]:
    """Return the culprits that together explain all failures, the one behind most of them first.

    `powered` has the checks that could have failed, those that do included; `margins` the columns
    by themselves, where known; `parents` the graph of the model; `noun` says what failures are
    called.
    """
    repeats = [check for check in failures if check.kind == REPEATS]
    accusing = [check for check in failures if not is_of_all_rows(check)]
    if repeats:
        accusing = [c for c in accusing if c.family == "schema" and c.kind not in (UNIQUE, DRIFT)]
    told = _Telling(len(failures), 0 if repeats else len(failures) - len(accusing), noun)
    found = [told.about_repeats(repeats[0])] if repeats else []
    if not accusing:
        return tuple(found)
    evidence = Evidence(accusing, powered, margins, parents, alpha)
    suspects = evidence.suspects()
    chosen = smallest_set(suspects, len(accusing))
    if chosen is None:
        return (*found, told.about_no_one(min(suspects, key=lambda s: s.most_first)))
    for suspect in sorted(chosen, key=lambda s: s.most_first):
        alike = evidence.alike(suspect, suspects) if len(chosen) == 1 else ()
        found.append(told.about(suspect, alike, evidence))
    return tuple(found)


@dataclass(frozen=True)
class _Telling:
    """Makes sentences of what was found.

    There are `of_failures`, `of_all_rows` of them of whole rows, which accuse no column.
    """

    of_failures: int
    of_all_rows: int
    noun: str

    def about_repeats(self, check: Check) -> Culprit:
        """Rows that occur more than once make p-values too small to blame a column by."""
        said = check.message
        if self.of_failures > 1:
            said += "; while rows repeat, no column is blamed for what else fails"
        return Culprit((), self.of_failures, self.of_failures, REPEATS, said)

    def about_no_one(self, first: Suspect) -> Culprit:
        """No small set of columns explains all."""
        explained = first.explained.bit_count() + self.of_all_rows
        whole = f"all {counted(self.of_failures, self.noun)}"
        said = f"no one column is behind {whole}; {first.column} is in {explained}"
        return Culprit((first.column,), explained, self.of_failures, UNKNOWN, said)

    def about(self, suspect: Suspect, alike: Sequence[str], evidence: Evidence) -> Culprit:
        """A column, and others that may as well be it."""
        own = evidence.explained_by(suspect)
        explained = len(own) + self.of_all_rows
        in_all = all(suspect.column in involved(check) for check in own)
        verb = ("involve" if self.of_failures > 1 else "involves") if in_all else "can come from"
        who = f"{self._how_many(explained)} {verb} "
        if alike:
            columns = (suspect.column, *alike)
            cause, why = _cause_of_either(columns, evidence)
            said = f"{who}{' and '.join(columns)}, which cannot be told apart{why}"
            return Culprit(columns, explained, self.of_failures, cause, said)
        cause, why = _cause(suspect, own, evidence)
        said = f"{who}{suspect.column}{why}"
        return Culprit((suspect.column,), explained, self.of_failures, cause, said)

    def _how_many(self, explained: int) -> str:
        of, noun = self.of_failures, self.noun
        if of == 1:
            return f"the {noun}"
        if explained < of:
            return f"{explained} of {counted(of, noun)}"
        return f"both {noun}s" if of == 2 else f"all {counted(of, noun)}"


def _cause(suspect: Suspect, own: Sequence[Check], evidence: Evidence) -> tuple[str, str]:
    """What happened to a column, for programs and for people."""
    name = suspect.column
    for check in own:
        if check.family == "schema" and check.variables == (name,) and check.kind != DRIFT:
            return check.kind, f": {check.message.removeprefix(f'{name}: ')}"
    if name not in evidence.known:
        return UNKNOWN, ""
    if name not in evidence.changed:
        return RELATIONS, f"; its own distribution is unchanged{_of_relations(name, own)}"
    of_others = [c for c in own if name in involved(c) and c.variables[-1] != name]
    cause, so = (VALUES, ", and so did its relations") if of_others else (DRIFT, "")
    return cause, f"; its own distribution changed{so}: {_change(name, evidence)}"


def _cause_of_either(columns: Sequence[str], evidence: Evidence) -> tuple[str, str]:
    """What happened to one of several columns."""
    if not all(name in evidence.known for name in columns):
        return UNKNOWN, ""
    if columns[0] in evidence.changed:
        return DRIFT, f"; both changed: {_change(columns[0], evidence)}"
    return RELATIONS, "; their own distributions are unchanged: shuffled or joined wrongly?"


def _of_relations(name: str, own: Sequence[Check]) -> str:
    """A column that lost an edge is likely from other rows; otherwise a relation just changed."""
    if any(check.kind == EDGE and name in check.variables for check in own):
        return ": shuffled or joined wrongly?"
    others = dict.fromkeys(other for check in own for other in involved(check) if other != name)
    return f", its relation to {', '.join(others)} is not" if len(others) in (1, 2) else ""


def _change(name: str, evidence: Evidence) -> str:
    """How numbers moved, the level that changed most, or what happened to the levels."""
    by_itself = evidence.by_itself.get(name)
    if by_itself is not None:
        return by_itself.message.removeprefix(f"{name}: ")
    margin = evidence.margins[name]
    before, after, levels = margin.before, margin.after, margin.levels
    here = [k for k, share in enumerate(after) if share]
    if len(here) == 1 and sum(share > 0 for share in before) > 1:
        return f"always {levels[here[0]]!r} now"
    first, second = sorted(range(len(levels)), key=lambda k: -round(abs(after[k] - before[k]), 9))[
        :2
    ]
    undone = list(after)
    undone[first], undone[second] = after[second], after[first]
    left = sum(abs(p - q) for p, q in zip(before, undone, strict=True)) / 2
    said = f"P({name}={levels[first]}) {before[first]:.3g} → {after[first]:.3g}"
    if left <= (1 - _EXCHANGED) * margin.total_variation:
        return f"{said}; are {levels[first]!r} and {levels[second]!r} exchanged?"
    return said
