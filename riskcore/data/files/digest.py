"""Digests of files: of a safe file, and of the input in a private record."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path


def digest(path: Path) -> str:
    """Return the SHA-256 of a file.

    Whoever knows all but one of the values of a confidential file finds that value by
    trying digests: the digest of such a file is as private as the file.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.sha256).hexdigest()


def digest_of_files(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of a file, or one for all files of a data set.

    Files in folders named ``column=value`` differ by these, too.
    """
    if len(paths) == 1:
        return digest(paths[0])
    whole = hashlib.sha256()
    for path in paths:
        folders = "/".join(part for part in path.parts[:-1] if "=" in part)
        whole.update(hashlib.sha256(os.fsencode(folders)).digest())
        whole.update(bytes.fromhex(digest(path)))
    return whole.hexdigest()
