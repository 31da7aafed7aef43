"""The digest of a file that is published."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(path: Path) -> str:
    """Return the SHA-256 of a file that is published.

    For a confidential file see `riskcore.protection.release.secret.Key`: whoever knows
    all but one of its values finds that value by trying digests.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.sha256).hexdigest()
