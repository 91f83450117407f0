"""How a graph or a model was learned: the `learning` of its file.

The entries keep their order, and those that gml knows nothing about stay, so that a file that is
read and written again says the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gml import __version__

_POLICIES = ("drop", "level", "available", "em")


@dataclass(frozen=True)
class RecordedMissing:
    """How missing values were treated, in how many rows, and the missing cells by column.

    What a file does not say, or not in a way that gml writes, is None.
    """

    policy: str | None
    rows: int | float | None
    columns: Mapping[str, int | float] | None


@dataclass(frozen=True)
class Provenance(Mapping[str, Any]):
    """The entries of `learning`: a mapping whose common entries have a type.

    Examples
    --------
    >>> found = Provenance.of("chowliu", options={}, rows=5000, total_mi=0.67)
    >>> found.command, found.rows, found["total_mi"]
    ('chowliu', 5000, 0.67)
    >>> bool(Provenance())
    False
    """

    entries: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        command: str,
        *,
        options: Mapping[str, Any],
        settings: Mapping[str, Any] | None = None,
        rows: int | float,
        **found: Any,
    ) -> Provenance:
        """Say how something is learned by this version: the settings, and what was found."""
        entries: dict[str, Any] = {"command": command, "options": dict(options)}
        if settings is not None:
            entries["settings"] = dict(settings)
        return cls({**entries, "version": __version__, "rows": rows, **found})

    @classmethod
    def read(cls, content: Any) -> Provenance:
        """Take the entries of a file; anything but an object means that nothing is known."""
        return cls(content) if isinstance(content, dict) else cls()

    def written(self) -> dict[str, Any]:
        """Return the entries as a file has them."""
        return dict(self.entries)

    def also(self, **found: Any) -> Provenance:
        """Say more about the same run; an entry that exists keeps its place."""
        return Provenance({**self.entries, **found})

    def __getitem__(self, key: str) -> Any:
        return self.entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def command(self) -> str | None:
        """The command that learned it."""
        return self._text("command")

    @property
    def data(self) -> str | None:
        """SHA-256 of the data, if it was asked for."""
        return self._text("data")

    @property
    def rows(self) -> int | float | None:
        """The rows that it was learned from, with their weights."""
        return _number(self.entries.get("rows"))

    @property
    def options(self) -> Mapping[str, Any]:
        """What was asked for, by the names of the options."""
        found = self.entries.get("options")
        return found if isinstance(found, dict) else {}

    @property
    def na(self) -> tuple[str, ...] | None:
        """The tokens that meant missing, if they were chosen."""
        for found in (self.options.get("na"), self.entries.get("na")):
            if isinstance(found, list) and all(isinstance(token, str) for token in found):
                return tuple(found)
        return None

    @property
    def reading(self) -> dict[str, Any]:
        """How the table was read, by the names of the options, as far as that is recorded."""
        names = ("delimiter", "decimal", "encoding", "strip", "missing", "exclude")
        found = {name: self.options[name] for name in names if name in self.options}
        if self.na is not None:
            found["na"] = list(self.na)
        if self.missing is not None and self.missing.policy is not None:
            found.setdefault("missing", self.missing.policy)
        # Where missing values were refused, there were none, and nothing is known of others.
        return {name: said for name, said in found.items() if (name, said) != ("missing", "error")}

    @property
    def missing(self) -> RecordedMissing | None:
        """How missing values were treated, if that is recorded."""
        found = self.entries.get("missing")
        if not isinstance(found, dict):
            return None
        policy, columns = found.get("policy"), found.get("columns")
        cells = None
        if isinstance(columns, dict):
            numbers = {name: _number(number) for name, number in columns.items()}
            cells = {name: number for name, number in numbers.items() if number is not None}
        return RecordedMissing(
            policy if policy in _POLICIES else None, _number(found.get("rows")), cells
        )

    def _text(self, key: str) -> str | None:
        found = self.entries.get(key)
        return found if isinstance(found, str) else None


def _number(value: Any) -> int | float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None
