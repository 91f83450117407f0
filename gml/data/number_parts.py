"""The different numbers of a column that are too many for memory, in parts of a file.

Numbers are counted once as they come, as long as the different ones fit into memory. Where they do
not, some drawn at random say where to divide them; what lies between two dividers goes together in
a temporary file, and is counted by itself. Where the numbers are so uneven that a part does not fit
either, it is divided again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.block_file import BlockFile, Stored
from gml.data.number_summary import Numbers, NumberValues
from gml.progress import reporter
from gml.stopping import check_stopped

Vector = NDArray[np.float64]
Chunks = Callable[[], Iterable[NumberValues]]

# A number and its count, those that they are joined with, and their order.
BYTES_PER_NUMBER = 64
_DIVIDERS_FROM = 1 << 16


class _Part(NamedTuple):
    """Where numbers and their counts are in a file, and how many there are."""

    values: Stored
    counts: Stored
    size: int


@dataclass(frozen=True, eq=False)
class PartedNumbers(Numbers):
    """Numbers in a file that nobody else sees, which goes with them."""

    file: BlockFile
    stored: Sequence[_Part]
    times: int = 1

    def parts(self) -> Iterator[NumberValues]:
        for part in self.stored:
            found = _read(self.file, part)
            yield NumberValues(found.values, found.counts // self.times)

    def once(self, times: int) -> Numbers:
        if any((part.counts % times).any() for part in self.parts()):
            return self
        return PartedNumbers(self.file, self.stored, self.times * times)


def numbers_in_parts(chunks: Chunks, limit: int, folder: str) -> Numbers:
    """Count the numbers of chunks, gone through several times, in so many bytes of memory.

    Examples
    --------
    >>> chunk = NumberValues.of(np.array([3.0, 1.0, 3.0]))
    >>> numbers_in_parts(lambda: [chunk, chunk], 1 << 20, "/tmp").multiplicities()
    {2: 1, 4: 1}
    """
    found: list[NumberValues] = []
    size = 0
    for chunk in chunks():
        check_stopped()
        size += len(chunk.values)
        found = _joined([*found, chunk])
        if _bytes_of(found) > limit:
            found = [NumberValues.joined(found)]
            # A single number cannot be divided.
            if _bytes_of(found) > limit and len(found[0].values) > 1:
                del found
                return _in_file(chunks, limit, folder)
    return NumberValues.joined(found) if size else NumberValues.of(np.zeros(0))


def _bytes_of(parts: Sequence[NumberValues]) -> int:
    return BYTES_PER_NUMBER * sum(len(part.values) for part in parts)


def _joined(parts: list[NumberValues]) -> list[NumberValues]:
    """Join the last parts, so that each is much smaller than the one before it."""
    while len(parts) > 1 and 2 * len(parts[-1].values) > len(parts[-2].values):
        parts = [*parts[:-2], NumberValues.joined(parts[-2:])]
    return parts


def _in_file(chunks: Chunks, limit: int, folder: str) -> Numbers:
    file = BlockFile(folder)
    return PartedNumbers(file, [_written(file, p) for p in _divided(chunks, limit, folder)])


def _divided(chunks: Chunks, limit: int, folder: str) -> Iterator[NumberValues]:
    """Yield the numbers in ascending parts, each of which fits into memory."""
    size = sum(len(chunk.values) for chunk in chunks())
    rng, share = np.random.default_rng(0), _DIVIDERS_FROM / size
    some = [chunk.values[rng.random(len(chunk.values)) < share] for chunk in chunks()]
    sample = np.sort(np.concatenate(some))
    n_parts = 2 * size * BYTES_PER_NUMBER // limit + 2
    dividers = np.unique(sample[np.arange(1, n_parts) * len(sample) // n_parts])
    scratch = BlockFile(folder)
    try:
        blocks: list[list[_Part]] = [[] for _ in range(len(dividers) + 1)]
        for chunk in chunks():
            check_stopped()
            ends = np.searchsorted(chunk.values, dividers).tolist()
            for own, start, end in zip(blocks, [0, *ends], [*ends, len(chunk.values)], strict=True):
                if end > start:
                    piece = NumberValues(chunk.values[start:end], chunk.counts[start:end])
                    own.append(_written(scratch, piece))
        for done, own in enumerate(blocks, start=1):
            reporter().advance("looking for equal numbers", done, len(blocks))
            if not own:
                continue
            yield from numbers_in_parts(_pieces(scratch, own), limit, folder).parts()
    finally:
        scratch.close()


def _pieces(file: BlockFile, stored: Sequence[_Part]) -> Chunks:
    def pieces() -> Iterator[NumberValues]:
        return (_read(file, part) for part in stored)

    return pieces


def _written(file: BlockFile, found: NumberValues) -> _Part:
    return _Part(file.write(found.values), file.write(found.counts), len(found.values))


def _read(file: BlockFile, part: _Part) -> NumberValues:
    return NumberValues(file.read(part.values, part.size), file.read(part.counts, part.size))
