"""Files of codes that stay for the next run on the same input.

A file is named after the hash of the input and of the options that it was read with. It appears
whole or not at all, as outputs do (`gml.atomic`); what a killed run leaves of one is removed by the
next run in the same folder. All its checksums are compared before it is used, and a file that is
damaged, or that belongs to somebody else, is made again. A link under its name is neither read nor
written through, but replaced: in a folder that others can write to, it could lead anywhere.

It ends with what is known of the rows as JSON, its hash, and where that begins.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gml import __version__
from gml.data.block_file import BlockFile
from gml.data.column_tally import counts_labels, counts_numbers
from gml.data.columns import column_specs
from gml.data.row_spool import RowSpool
from gml.data.table_pieces import TablePieces
from gml.errors import CannotAnswer

PREFIX = "gml-spool-"
_MAGIC = b"gml/spool"
_END = struct.Struct("<QQ32s9s")


def kept_path(folder: str, digest: str, table: TablePieces) -> Path:
    """Return where the codes of an input are kept, if it was read in this way before."""
    options = table.options
    # All that decides which rows and codes there are; each run settles the levels for itself.
    about = (
        __version__,
        digest,
        list(table.names),
        list(table.chosen),
        column_specs(table.names, table.chosen, options),
        [
            (counts_labels(table.names[j], options), counts_numbers(table.names[j], options))
            for j in table.chosen
        ],
        sorted(options.na_tokens),
        # The same bytes are other rows under another suffix.
        (table.delimiter, options.decimal, options.encoding),
        (options.missing, options.weights_column),
    )
    key = hashlib.sha256(repr(about).encode("utf-8", "surrogateescape")).hexdigest()
    return Path(folder) / f"{PREFIX}{key[:40]}.codes"


def write_facts(spool: RowSpool) -> None:
    """End a file with what is known of its rows."""
    facts = json.dumps(spool.state()).encode()
    at = spool.file.size
    spool.file.write_bytes(facts)
    digest = hashlib.sha256(facts).digest()
    spool.file.write_bytes(_END.pack(at, len(facts), digest, _MAGIC))


def reopened(path: Path, spool_over: Callable[[BlockFile], RowSpool]) -> RowSpool | None:
    """Return the spool over a file that was kept, if there is one, whole and our own."""
    # A named pipe would be waited for.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return None
    found = os.fstat(descriptor)
    file = BlockFile(path.parent, descriptor=descriptor, size=found.st_size)
    try:
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            facts = _facts(descriptor, found.st_size)
            if facts is not None:
                spool = spool_over(file)
                spool.restore(facts)
                return spool
    except (CannotAnswer, ValueError, KeyError, TypeError):
        # Damaged in a way that only shows when it is read.
        pass
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _facts(descriptor: int, size: int) -> Any:
    if size < _END.size:
        return None
    at, length, digest, magic = _END.unpack(os.pread(descriptor, _END.size, size - _END.size))
    if magic != _MAGIC or at + length + _END.size != size:
        return None
    content = os.pread(descriptor, length, at)
    if hashlib.sha256(content).digest() != digest:
        return None
    return json.loads(content)
