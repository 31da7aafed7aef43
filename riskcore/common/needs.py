"""Check for libraries that only some tasks need."""

from __future__ import annotations

from importlib.util import find_spec


def lacking(*libraries: str) -> list[str]:
    """Return the libraries that are not installed."""
    return [name for name in libraries if find_spec(name) is None]


def need(what: str, *libraries: str) -> None:
    """Refuse a task whose libraries are not installed, before it begins."""
    if missing := lacking(*libraries):
        named = f"{what} need {', '.join(missing)}"
        raise ImportError(f"{named}: pip install {' '.join(missing)}")
