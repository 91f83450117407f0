"""Verify: are files still what was written, and were they made from these inputs?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

from gml.counts.count_parquet import DamagedCounts, written_counts
from gml.data.digests import input_digest
from gml.data.parquet import is_parquet
from gml.data.text_file import read_text
from gml.errors import DataError, place
from gml.formats.content_hash import is_changed, parse_document, recorded_hash
from gml.ledger import note_digest
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.result_frames import frame_of, html_of_rows, shown_rows

if TYPE_CHECKING:
    import pandas as pd

_WITHOUT_HASH = "has no hash: not JSON that gml wrote, or taken out"
_COUNTS_WITHOUT_HASH = "has no hash: counted before there was one; count again"


@dataclass(frozen=True)
class VerifiedFile:
    """The verdict on a file: ok, changed, other inputs, no hash or unreadable.

    `inputs` names what was recorded (data, graph, levels and so on), `matched` the parts that the
    given inputs played, `unmatched` given inputs that are not among them; a file that is rejected,
    or damaged, has a `reason`.
    """

    file: str
    verdict: str
    inputs: list[str]
    matched: list[str]
    unmatched: list[str]
    reason: str | None


@dataclass(frozen=True, repr=False)
class Verification:
    """The verdicts on files, in their order; true if all are as written."""

    files: tuple[VerifiedFile, ...]

    def __bool__(self) -> bool:
        return all(file.verdict == "ok" for file in self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[VerifiedFile]:
        return iter(self.files)

    @property
    def rejected(self) -> list[VerifiedFile]:
        """The files that have no hash, or cannot be read as what gml writes."""
        return [file for file in self.files if file.verdict in ("no hash", "unreadable")]

    def rows(self) -> list[dict[str, object]]:
        """The verdicts as a table."""
        return [asdict(file) for file in self.files]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per file."""
        return frame_of(self.rows())

    def __repr__(self) -> str:
        return shown_rows("Verification", self.rows())

    def _repr_html_(self) -> str:
        return html_of_rows(self.rows(), ["file"])


@front_door(reading=())
def verify(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
) -> Verification:
    """Rehash files of gml: graphs, models, reports (SARIF too), schemas, baselines and counts.

    All are JSON but for count files, which are Parquet.

    Parameters
    ----------
    files
        A path or several.
    inputs
        What every file must have been made from: a path or several.

    Examples
    --------
    >>> import gml, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "graph.json")
    ...     gml.write_graph(gml.read_graph("sample_data/asia.dot"), path)
    ...     before = gml.verify(path)
    ...     _ = path.write_text(path.read_text().replace("asia", "africa"))
    ...     after = gml.verify(path)
    >>> bool(before), [file.verdict for file in after]
    (True, ['changed'])
    """
    digests = {}
    for path in _paths(inputs):
        digests[path] = input_digest(path)
        note_digest(path, digests[path])
    return Verification(tuple(_verified(path, digests) for path in _paths(files)))


def _paths(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    return [os.fspath(p) for p in ([given] if isinstance(given, str | os.PathLike) else given)]


def _verified(path: str, digests: Mapping[str, str]) -> VerifiedFile:
    where = place(path)
    try:
        found = _found(path, where)
    except DataError as error:
        # What begins as counts do was written whole.
        verdict = "changed" if isinstance(error, DamagedCounts) else "unreadable"
        reason = str(error).removeprefix(f"{where}: ")
        return VerifiedFile(where, verdict, [], [], [], reason)
    role_of = {digest: role for role, digest in reversed(found.inputs)}
    wanted = {name: role_of.get(f"sha256:{digest}") for name, digest in digests.items()}
    unmatched = [place(name) for name, role in wanted.items() if role is None]
    verdict = "other inputs" if unmatched else "ok"
    if found.lack is not None:
        verdict = "no hash"
    elif found.is_changed:
        verdict = "changed"
    return VerifiedFile(
        where,
        verdict,
        inputs=list(dict.fromkeys(role for role, _ in found.inputs)),
        matched=[role for role in wanted.values() if role is not None],
        unmatched=unmatched,
        reason=found.lack,
    )


class _Found(NamedTuple):
    """The inputs that a file records and whether it was changed, or why nobody can tell."""

    inputs: list[tuple[str, str]]
    is_changed: bool
    lack: str | None


def _found(path: str, where: str) -> _Found:
    if is_parquet(path, whole=False):
        counts = written_counts(path)
        inputs = [("data", f"sha256:{digest}") for digest in counts.data]
        return _Found(inputs, counts.is_changed, None if counts.hash else _COUNTS_WITHOUT_HASH)
    document = parse_document(read_text(path), where)
    found = recorded_hash(document)
    inputs = [] if found is None else list(found.of_inputs())
    return _Found(inputs, is_changed(document), None if found else _WITHOUT_HASH)
