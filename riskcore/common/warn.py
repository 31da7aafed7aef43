"""Warnings that point at the caller's line, however deep in the package they arise."""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning]) -> None:
    """Warn, located at the innermost line outside this package."""
    level, frame = 1, sys._getframe()
    package = __name__.partition(".")[0]
    while frame.f_back and _is_of(package, frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_of(package: str, module: str) -> bool:
    return module == package or module.startswith(f"{package}.")
