"""Hashes of inputs."""

from __future__ import annotations

import os

from gml.data.parquet import is_parquet, parquet_digest
from gml.data.raw_bytes import open_raw


def input_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of an input: the bytes of a file, or the Parquet files of a folder."""
    if str(path) != "-" and is_parquet(path):
        return parquet_digest(path)
    with open_raw(path, digest=True) as raw:
        digest = raw.digest()
    assert digest is not None
    return digest
