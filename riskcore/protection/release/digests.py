"""What identifies a file and the software that wrote it."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path

from riskcore.common.version import __version__

# What may change a bit of the result.
_LIBRARIES = ("numpy", "numba", "narwhals")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file that is published, never of a confidential one.

    Of a confidential file the digest tells every value that is not known, one by one:
    whoever has the rest tries them. See `riskcore.protection.release.secret.Key`.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, hashlib.sha256).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of all that computes."""
    libraries = {name: version(name) for name in _LIBRARIES}
    return {"riskcore": __version__, "python": platform.python_version(), **libraries}
