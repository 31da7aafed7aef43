"""Order categories by the numbers they are made of: "[15, 30)" before "[100, 200)"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

_NUMBER = r"([+-]?[0-9]+(?:\.[0-9]+)?)"
# Each form with the places of its lower and upper end; 0 is an open end.
_FORMS = [
    (re.compile(form.replace("N", _NUMBER)), ends)
    for form, ends in (
        ("N", (1, 1)),
        (r"[\[(]\s*N\s*[,;]\s*N\s*[\])]", (1, 2)),
        (r"N\s*(?:-|\u2013|to|\.\.)\s*N", (1, 2)),
        (r"(?:<|<=|≤|under|below)\s*N", (0, 1)),
        (r"N\s*(?:-|and|or)?\s*(?:under|below|less)", (0, 1)),
        (r"(?:>|>=|≥|over|above)\s*N", (1, 0)),
        (r"N\s*(?:\+|(?:and|or)\s*(?:over|above|more))", (1, 0)),
    )
]


def in_order(categories: Iterable[Any]) -> list[Any]:
    """Return categories by their numbers, or as given if one is not of numbers."""
    given = list(categories)
    spans = []
    for one in given:
        span = _span(one)
        if span is None:
            return given
        spans.append(span)
    return [given[i] for i in sorted(range(len(given)), key=spans.__getitem__)]


def _span(category: Any) -> tuple[float, float] | None:
    """Return the ends of an interval, or a number twice; None of other categories."""
    if isinstance(category, int | float) and not isinstance(category, bool):
        return category, category
    if not isinstance(category, str):
        return None
    for form, ends in _FORMS:
        found = form.fullmatch(category.strip())
        if found is not None:
            low, high = ends
            return (
                float(found[low]) if low else -math.inf,
                float(found[high]) if high else math.inf,
            )
    return None
