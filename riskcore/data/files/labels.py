"""Labels, formats and missing codes that a labelled file has for its columns."""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from typing import Any

from riskcore.common.text_numbers import is_number

_SINGLE = struct.Struct("f")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
# Letters of Cyrillic and Greek, and those of Latin that look the same.
_OTHERS = "авекмнорстухіјѕαβεζηικμνορτυχ"
_LATIN = "abekmhopctyxijsabezhikmnoptyx"
LOOKS = str.maketrans(_OTHERS + _OTHERS.upper(), _LATIN + _LATIN.upper())
_DIGITS = re.compile(r"[+-]?[0-9]+\.?[0-9]*")
# A code, or the codes from the first to the last.
Range = tuple[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels, formats and declared missing codes of the columns of a file.

    Attributes
    ----------
    variables : dict of str to str
        The labels of columns.
    values : dict of str to dict
        For each column the labels of its codes, by the code as text: "2", not "2.0".
    missing : dict of str to tuple of (first, last)
        Codes that stand for a missing value, as ranges.
    formats, measures : dict of str to str
        The display format of a column; "nominal", "ordinal" or "scale".

    Examples
    --------
    >>> labels = Labels({"sex": "Sex"}, {"sex": {"1": "male", "2": "female"}})
    >>> labels.shown("sex", 2.0), labels.shown("sex", 3), labels.shown("age", 2)
    ('2 (female)', 3, 2)
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)

    def shown(self, column: Any, code: Any) -> Any:
        """Return a code followed by its label; a code without a label as given."""
        label = self.values.get(str(column), {}).get(code_text(code))
        return code if label is None else f"{code_text(code)} ({label})"

    def beside(self, other: Labels) -> Labels:
        """Return these labels, and those of other columns."""
        names = (part.name for part in fields(self))
        return Labels(*({**getattr(other, x), **getattr(self, x)} for x in names))

    def without_codes_of(self, columns: Collection[str]) -> Labels:
        """Return the labels, leaving out the code labels of some columns."""

        def others(names: Mapping[str, Any]) -> dict[str, Any]:
            return {name: entry for name, entry in names.items() if name not in columns}

        values, missing = others(self.values), others(self.missing)
        formats = others(self.formats)
        return replace(self, values=values, missing=missing, formats=formats)

    def occurring(self, column: str, codes: Iterable[Any]) -> dict[Any, str]:
        """Return the labels of codes that occur, by the code itself.

        Labels of other codes would show values that were suppressed.
        """
        own = self.values.get(column, {})
        return {code: own[text] for code in codes if (text := code_text(code)) in own}

    def plain(self, columns: Iterable[Any]) -> dict[str, dict[str, Any]]:
        """Return the labels of columns that have any, as plain data."""
        named = {
            name: {
                "label": self.variables.get(name),
                "values": dict(self.values.get(name, {})),
            }
            for name in map(str, columns)
        }
        return {
            n: entry for n, entry in named.items() if entry["label"] or entry["values"]
        }


def labels_of_plain(plain: Mapping[str, Mapping[str, Any]] | None) -> Labels:
    """Return the labels that `Labels.plain` gave, or none."""
    entries = plain or {}
    return Labels(
        {name: entry["label"] for name, entry in entries.items() if entry["label"]},
        {name: entry["values"] for name, entry in entries.items()},
    )


def code_text(code: Any) -> str:
    """Return a code as text, whole numbers without a point: "2", never "2.0"."""
    if isinstance(code, float) and code.is_integer():
        return str(int(code))
    return str(code)


def code_number(code: Any) -> Any:
    """Return the number that a code is or that its text writes, or None."""
    if isinstance(code, bool):
        return int(code)
    if not isinstance(code, str) or not is_number(code):
        return code if isinstance(code, int | float) else None
    number = float(code)
    whole = int(number) if number.is_integer() else number
    # "01" is a name, and so is a number that a double does not hold.
    return whole if code_text(whole) == code else None


def look_alike(code: Any) -> Hashable:
    r"""Return what is equal for codes that a reader takes for the same."""
    text = code_text(code)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).translate(LOOKS)
    text = " ".join(text.casefold().split())
    return Decimal(text) if _DIGITS.fullmatch(text) else text


def number_text(code: Any) -> str:
    """Return a number as people write it, of 32 bits as well; text as it is."""
    text = code_text(code)
    if isinstance(code, float) and not code.is_integer():
        short = f"{code:.7g}"  # as many digits as 32 bits hold
        (single,) = _SINGLE.unpack(_SINGLE.pack(float(short)))
        text = min(text, short, key=len) if single == code else text
    number = "." in text and _DIGITS.fullmatch(text)
    return text.rstrip("0").rstrip(".") if number else text
