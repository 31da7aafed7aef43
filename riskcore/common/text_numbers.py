"""Numbers as people write them: in options, in rules, in files of rules."""

from __future__ import annotations

import re
from decimal import Decimal

from riskcore.common.words import Number, quoted, sentence

# Python would also take 1_000, Arabic digits and sNaN.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_MOST_DIGITS = 300
# A number in data, a pattern for both Python and Arrow.
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"

# What may stand between thousands if the decimal mark is a comma.
_MARKS = "[. \u00a0\u202f]"
_GROUPED = re.compile(rf"[+-]?[1-9]\d{{0,2}}({_MARKS})\d{{3}}(\1\d{{3}})*(,\d+)?", re.A)


def is_number(text: str) -> bool:
    """Tell whether text is a number, which nan, inf and 1_000 are not."""
    return re.fullmatch(NUMBER, text) is not None


def with_point(text: str, decimal: str) -> str:
    """Return the text of a number with a point, and without marks of thousands."""
    text = text.strip()
    if decimal == "," and _GROUPED.fullmatch(text):
        text = re.sub(_MARKS, "", text)
    return text.replace(decimal, ".")


def fraction(text: str) -> float:
    """Read a fraction such as 0.00125 or 0.125%."""
    number = text.strip()
    exact = _decimal(number.removesuffix("%").rstrip(), text)
    percent = number.endswith("%")
    if not 0 <= exact <= (100 if percent else 1):
        raise ValueError(sentence("{n} is not in [0, 1] (or 0% to 100%)", Number(text)))
    return float(exact.scaleb(-2) if percent else exact)


def number(text: str) -> float:
    """Read a number such as 0.01 or 1-1e-8."""
    if not text.startswith("1-"):
        return float(_decimal(text, text))
    below = _decimal(text[2:], text)
    if not -1 <= below <= 1:
        raise ValueError(f"{text!r} is not near 1: write the number")
    return float(1 - below)


def whole(text: str) -> int:
    """Read a whole number."""
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(sentence("{text} is not a whole number >= 0", quoted(text)))
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits is too long")
    return int(text)


def _decimal(number: str, text: str) -> Decimal:
    """Return a number exactly; ``text`` is what was written."""
    if len(number) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(number)} characters is too long")
    if not _NUMBER.fullmatch(number):
        raise ValueError(sentence("{text} is not a number", quoted(text)))
    return Decimal(number)
