"""The public names of a package, each loaded when it is first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def homes_of(package: str) -> dict[str, str]:
    """Return the module of each public name, from the ``__init__.pyi`` of a package.

    Type checkers read the same file. Each of its lines is ``from HOME import NAME as
    NAME``.
    """
    listed = Path(package).with_suffix(".pyi").read_text(encoding="utf-8")
    words = [line.split() for line in listed.splitlines() if line.startswith("from ")]
    return {name: home for _, home, _, name, *_ in words if name != "__version__"}


def late(
    names: dict[str, Any], homes: dict[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package, given its globals."""
    package = names["__name__"]

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        names[name] = getattr(import_module(homes[name]), name)
        return names[name]

    def listed() -> list[str]:
        return sorted([*(x for x in names if x.startswith("__")), *homes])

    return load, listed
