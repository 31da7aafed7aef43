"""Digests of files, and versions of the software that wrote them."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path

from riskcore.common.version import __version__

# The libraries that may change a bit of the result.
_LIBRARIES = ("numpy", "numba", "narwhals")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file that is published.

    For a confidential file see `riskcore.protection.release.secret.Key`: whoever knows
    all but one of its values finds that value by trying digests.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.sha256).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of Python and the libraries that compute."""
    libraries = {name: version(name) for name in _LIBRARIES}
    return {"riskcore": __version__, "python": platform.python_version(), **libraries}
