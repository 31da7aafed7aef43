"""Versions of the software that wrote a file."""

from __future__ import annotations

import platform
from importlib.metadata import version

from riskcore.common.version import __version__

# The libraries that compute. The compiler is not among them: its bits are the same.
_LIBRARIES = ("numpy", "narwhals")


def versions() -> dict[str, str]:
    """Return the versions of Python and the libraries that compute."""
    libraries = {name: version(name) for name in _LIBRARIES}
    return {"riskcore": __version__, "python": platform.python_version(), **libraries}
