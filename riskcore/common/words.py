"""Names, labels and counts as words on one line, safe for terminals."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from riskcore.common.sentences import Sentence, joined, sentence

# The blanks within numbers and names of many languages: a person sees them.
_BLANKS = "\u00a0\u202f"


def printable(text: str) -> str:
    """Return text on one line, with control characters escaped; blanks stay."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in _BLANKS else repr(c)[1:-1] for c in text
    )


def quoted(name: Any) -> str:
    """Return a name or value in quotation marks, as a sentence mentions it."""
    text = printable(str(name))
    mark = '"' if "'" in text and '"' not in text else "'"
    return f"{mark}{text}{mark}"


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
    words = noun if count == 1 else plural or f"{noun}s"
    return Sentence(f"{{n}} {words}", {"n": count})


def one_of(words: Iterable[str]) -> str:
    """Return words as a choice in a sentence: "a or b or c"."""
    return reduce(lambda a, b: sentence("{others} or {last}", a, b), [*words] or [""])


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: "a, b and c"."""
    *others, last = [*words] or [""]
    if not others:
        return last
    return sentence("{others} and {last}", joined(", ", others), last)
