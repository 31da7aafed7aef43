"""Names, labels and counts as words on one line, safe for terminals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def printable(text: str) -> str:
    """Return text on one line, with control characters escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shortened(value: Any, longest: int) -> str:
    """Return a name or value on one line of at most ``longest`` characters."""
    label = on_one_line(value)
    whole = value is None or len(label) <= longest
    return label if whole else label[: longest - 1] + "…"


def on_one_line(value: Any) -> str:
    """Return a name or value on one line, whole; None is "(missing)"."""
    return "(missing)" if value is None else printable(str(value))


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, in the singular for 1."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: "a, b and c"."""
    *others, last = [*words] or [""]
    return f"{', '.join(others)} and {last}" if others else last
