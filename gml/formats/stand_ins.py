"""Names and levels that a format cannot hold: refused, or replaced by others that can be undone.

A stand-in is made of the text itself: accents are dropped, intervals and comparisons become words
([0,10) → from_0_to_10), letters beyond ASCII their code points, anything else `_`. One that the
format could not hold either gets a `_`, or is `x`; one that is taken gets a number. Names and
levels that the format can hold keep theirs, and the others take turns in the order of the file, so
that the same network always gives the same stand-ins.

The table that leads back stands in comments at the top of the file, one for each node, as ASCII:

    gml:original {"as": "a_b", "name": "a b", "levels": {"from_0_to_10": "[0,10)"}}

Whoever reads the file with gml gets the original names; other programs see the stand-ins.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gml.data.dataset import Variable
from gml.data.json_text import parse_json
from gml.errors import (
    CannotAnswer,
    DataError,
    GraphError,
    agreeing,
    counted,
    listing,
    parameter,
    quote,
)
from gml.model.bayesnet import CPT, BayesNet
from gml.progress import reporter

_MARK = "gml:original"
_ENTRY = re.compile(rf"^(?://|%|<!--) {_MARK} (.*?)(?: -->)?$", re.MULTILINE)
_INTERVAL = re.compile(r"\[([^,]+),([^,]+)\)")
_SIGNS = {"<=": "le_", ">=": "ge_", "<": "lt_", ">": "gt_", "≤": "le_", "≥": "ge_", "+": "_plus"}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_LONGEST = 60
_FORBIDDEN_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_LOST_BLANKS = re.compile(r"^\s|\s$|\s\s|^\ufeff|^$")


@dataclass(frozen=True)
class Alphabet:
    """What readers of a format give back."""

    format: str
    reads_name: Callable[[str], object]
    reads_level: Callable[[str], object]
    folds_case: bool = False
    """Whether names that differ only in case are one name."""

    def folded(self, name: str) -> str:
        """Return what is the same for all names that a reader takes for one."""
        return name.lower() if self.folds_case else name


# ---------------------------------------------------------------------- writing


def refuse_unreadable(variables: Sequence[Variable], alphabet: Alphabet) -> None:
    """Refuse names and levels that readers of a format would not give back."""
    format = alphabet.format
    bad = [variable.name for variable in variables if not alphabet.reads_name(variable.name)]
    if bad:
        raise GraphError(f"{format} cannot hold the name {listing(bad)}; {_instead(bad)}")
    for variable in variables:
        levels = variable.levels or ()
        bad = [level for level in levels if not alphabet.reads_level(level)]
        if bad:
            raise GraphError(
                f"{format} cannot hold the {agreeing(len(bad), 'level', 'levels')} {listing(bad)} "
                f"of {quote(variable.name)}; " + _instead(bad)
            )
    known: dict[str, str] = {}
    for variable in variables:
        name = variable.name
        other = known.setdefault(alphabet.folded(name), name)
        if other != name:
            raise GraphError(
                f"{format} readers take {quote(other)} and {quote(name)} for one name; XMLBIF and "
                f"JSON do not, and gml convert with {parameter('sanitize')} replaces one of them"
            )


def reads_xml(text: str) -> bool:
    """Whether readers of XMLBIF give a text back."""
    return not _FORBIDDEN_IN_XML.search(text) and not _LOST_BLANKS.search(text)


def _instead(texts: Iterable[str]) -> str:
    """What to do with names or levels that a format cannot hold."""
    can = "XMLBIF and JSON can" if all(map(reads_xml, texts)) else "JSON can"
    return f"{can}, and gml convert with {parameter('sanitize')} writes others in their place"


def with_stand_ins(tables: Sequence[CPT], alphabet: Alphabet) -> tuple[list[CPT], list[str]]:
    """Return tables with names and levels that a format can hold, and the comments that undo it."""
    names = _stand_ins(
        [cpt.variable.name for cpt in tables], alphabet.reads_name, alphabet.folded, "_"
    )
    made: dict[str, Variable] = {}
    comments = []
    n_levels = 0
    for cpt in tables:
        name, levels = cpt.variable.name, cpt.variable.levels or ()
        new = _stand_ins(levels, alphabet.reads_level, str, "_.-")
        made[name] = Variable(names[name], tuple(new[level] for level in levels))
        changed = {new[level]: level for level in levels if new[level] != level}
        n_levels += len(changed)
        if changed or names[name] != name:
            entry = {"as": names[name], "name": name, "levels": changed}
            # Two hyphens would end a comment of XML.
            text = json.dumps(entry).replace("-", "\\u002d")
            comments.append(f"{_MARK} {text}")
    n_names = sum(name != new for name, new in names.items())
    if comments:
        reporter().warn(
            f"{counted(n_names, 'name')} and {counted(n_levels, 'level')} replaced by others that "
            f"{alphabet.format} can hold; comments in the file lead back"
        )
    renamed = [
        replace(
            cpt,
            variable=made[cpt.variable.name],
            parents=tuple(made[parent.name] for parent in cpt.parents),
        )
        for cpt in tables
    ]
    return renamed, comments


def _stand_ins(
    texts: Sequence[str], reads: Callable[[str], object], folded: Callable[[str], str], marks: str
) -> dict[str, str]:
    """Return what stands for each text: itself where it can be read and is not taken."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for text in texts:
        if reads(text) and folded(text) not in taken:
            found[text] = text
            taken.add(folded(text))
    for text in texts:
        if text not in found:
            found[text] = next(
                name
                for name in _candidates(text, marks)
                if reads(name) and folded(name) not in taken
            )
            taken.add(folded(found[text]))
    return found


def _candidates(text: str, marks: str) -> Iterable[str]:
    stem = _plain(text, marks)
    first = [stem, f"_{stem}", f"{stem}_"] if stem else []
    yield from first
    for number in itertools.count(2):
        yield from (f"{name}_{number}" for name in first[:2])
        yield "x" if number == 2 else f"x_{number - 1}"


def _plain(text: str, marks: str) -> str:
    """Return a text in ASCII letters, digits and some marks."""
    interval = _INTERVAL.fullmatch(text)
    if interval:
        low, high = interval.groups()
        text = f"below_{high}" if low == "-inf" else f"from_{low}_to_{high}"
        text = text.removesuffix("_to_inf")
    text = _SIGN.sub(lambda sign: _SIGNS[sign[0]], text)
    letters = []
    for char in unicodedata.normalize("NFKD", text):
        if char.isascii():
            letters.append(char if char.isalnum() or char in marks else "_")
        elif char.isalnum():
            letters.append(f"u{ord(char):x}")
        elif not unicodedata.combining(char):
            letters.append("_")
    return re.sub("__+", "_", "".join(letters)).strip("_")[:_LONGEST]


# ---------------------------------------------------------------------- reading


def restored(net: BayesNet, text: str, where: str) -> BayesNet:
    """Return a network with the names that the comments of its file lead back to."""
    if _MARK not in text:
        return net
    original: dict[str, Mapping[str, Any]] = {}
    for match in _ENTRY.finditer(text):
        entry = _entry(match[1])
        if entry is None:
            line = text.count("\n", 0, match.start()) + 1
            raise GraphError(f"{where}: line {line}: not what gml convert wrote here: {match[0]}")
        original[entry["as"]] = entry
    made = {v.name: _original(v, original.get(v.name)) for v in net.variables}
    names = [variable.name for variable in made.values()]
    for texts, what in [
        (names, "node"),
        *((v.levels or (), f"level of {quote(v.name)}") for v in made.values()),
    ]:
        if len(set(texts)) != len(texts):
            twice = next(text for i, text in enumerate(texts) if text in texts[:i])
            raise GraphError(f"{where}: its comments lead twice to the {what} {quote(twice)}")
    cpds = tuple(
        replace(
            cpd,
            variable=made[cpd.variable.name],
            parents=tuple(made[parent.name] for parent in cpd.parents),
        )
        for cpd in net.cpds
    )
    return replace(net, cpds=cpds)


def _entry(text: str) -> Mapping[str, Any] | None:
    try:
        found = parse_json(text, "")
    except (DataError, CannotAnswer):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("levels"), dict):
        return None
    texts = [found.get("as"), found.get("name"), *found["levels"].values()]
    return found if all(isinstance(text, str) for text in texts) else None


def _original(variable: Variable, entry: Mapping[str, Any] | None) -> Variable:
    if entry is None:
        return variable
    levels = tuple(entry["levels"].get(level, level) for level in variable.levels or ())
    return Variable(entry["name"], levels)
