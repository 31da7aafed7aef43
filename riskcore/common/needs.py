"""Check for libraries that only some tasks need."""

from __future__ import annotations

from importlib.util import find_spec


def need(library: str, what: str) -> None:
    """Refuse a task whose library is not installed, before it begins.

    >>> need("numpy", "arrays")
    >>> need("no_such_library", "dreams")
    Traceback (most recent call last):
    ImportError: dreams need no_such_library: pip install no_such_library
    """
    if find_spec(library) is None:
        raise ImportError(f"{what} need {library}: pip install {library}")
