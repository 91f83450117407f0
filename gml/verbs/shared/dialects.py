"""Keywords of reading, joined with what schemas, graphs and files of settings say of a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from gml.data.dialect import NAMES, Dialect, Said, first_said, plain_delimiter, tell_of_difference
from gml.data.options import ReadingKeywords, given_keywords, reading_options, schema_of
from gml.data.schema import NUMERIC, Schema, with_levels
from gml.verbs.shared.declared_columns import DeclaredColumns

_Keywords = TypeVar("_Keywords", bound=Mapping[str, Any])


def declaring(reading: ReadingKeywords, declared: DeclaredColumns) -> ReadingKeywords:
    """Return the keywords, if they agree with what is declared, and with the levels declared."""
    schema = declared.schema_beside(schema_of(reading.get("levels") or {}))
    reading = {**reading, "levels": schema}
    options = reading_options(**reading)
    declared.require_agreement(options, given_keywords(reading))
    # A way to cut that agrees is the declared one, whatever these rows would make of it.
    cut = {name: how for name, how in options.cut.items() if name not in declared.levels}
    schema = options.levels
    schema = replace(
        schema,
        cuts={name: at for name, at in schema.cuts.items() if name not in declared.levels},
        kinds={
            **{name: kind for name, kind in schema.kinds.items() if name not in declared.levels},
            **dict.fromkeys(declared.numeric, NUMERIC),
        },
    )
    levels = with_levels(schema, declared.levels)
    return {**reading, "levels": levels, "cut": cut or None}


def with_policy(reading: _Keywords, dialect: Dialect, policies: Collection[str]) -> _Keywords:
    """Return the keywords with what became of missing values where a graph was learned.

    That is one of the `policies` of the verb, and an option says nothing else; a schema may.
    """
    said = dialect.get("missing")
    if said is None or said.value not in policies:
        return reading
    schema = schema_of(reading.get("levels") or {})
    # What stands there is a keyword already (`front_door`).
    in_schema = schema.dialect.get("missing")
    if in_schema is None and (asked := reading.get("missing")) is not None:
        tell_of_difference("missing", asked, said)
        return reading
    own = {"missing": said}
    merged = replace(schema, dialect=first_said([own, schema.dialect]))
    return cast("_Keywords", {**reading, "missing": said.value, "levels": merged})


def asked_with(
    asked: Mapping[str, Any] | None, reading: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return what was asked for, with what becomes of missing values, whoever says it."""
    policy = reading.get("missing")
    return asked if policy is None else {**(asked or {}), "missing": policy}


def leaving_to_schema(
    reading: dict[str, Any], schema: Schema, sources: Mapping[str, str]
) -> dict[str, Any]:
    """Return the keywords without those that files of settings are the `sources` of.

    Of what says how a table is read; the schema says it, unless it says something else. So a graph
    wins over a file of settings.
    """
    left = {name: reading[name] for name in sources if name in NAMES}
    if not left:
        return reading
    found = {name: Said(plain_delimiter(value), sources[name]) for name, value in left.items()}
    rest = {name: value for name, value in reading.items() if name not in found}
    return {**rest, "levels": replace(schema, dialect=first_said([schema.dialect, found]))}
