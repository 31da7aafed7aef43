"""What people enter: fields of forms, and numbers as English, Germans and French write.

A number is read by the format that the reader chose. A separator that the format does
not know, or that stands at a wrong place, is refused: "1.5" is not 15.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from riskcore.common import text_numbers
from riskcore.common.html import readable

# Blanks that separate thousands: no-break, narrow no-break, thin.
_BLANKS = "\u00a0\u202f\u2009"
# A number in a text of ours, with commas between thousands.
_NUMBER = re.compile(r"(?<![\w.])-?[0-9]+(,[0-9]{3})*(\.[0-9]+)?(e[+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How numbers are written.

    Attributes
    ----------
    name : str
        The language.
    decimal, group : str
        The decimal mark, and the separator of thousands.
    groups : str
        All separators of thousands that are read.
    """

    name: str
    decimal: str
    group: str
    groups: str

    def read(self, text: str) -> str:
        """Return a number, or a share in per cent, as a program writes it."""
        text = " ".join(text.translate(dict.fromkeys(map(ord, _BLANKS), " ")).split())
        number, percent, rest = text.partition("%")
        whole, mark, decimals = number.strip().partition(self.decimal)
        sign = whole[:1] if whole[:1] in ("+", "-") else ""
        digits, _, power = whole[len(sign) :].partition("e")
        shape = f"[0-9]{{1,3}}([{re.escape(self.groups)}][0-9]{{3}})+"
        if re.fullmatch(shape, digits):
            digits = re.sub(f"[{re.escape(self.groups)}]", "", digits)
        power = f"e{power}" if power else ""
        plain = f"{sign}{digits}{power}{'.' if mark else ''}{decimals}"
        fits = re.fullmatch(r"[+-]?[0-9]*(\.[0-9]*)?(e[+-]?[0-9]{1,3})?", plain)
        fits = fits and re.fullmatch("[0-9]*", digits)  # no separator is left
        if rest.strip() or not re.search("[0-9]", plain) or not fits:
            example = self.write("1234.5")
            raise ValueError(
                f"{text!r} is not a number as it is written here, such as {example}"
            )
        return f"{plain}%" if percent else plain

    def write(self, text: str) -> str:
        """Return a number that a program has written as people write it."""
        whole, mark, decimals = text.replace(",", "").partition(".")
        digits = whole.lstrip("+-")
        if digits.isdecimal() and len(digits) > 3:
            sign = whole[: len(whole) - len(digits)]
            whole = f"{sign}{int(digits):,}".replace(",", self.group)
        return f"{whole}{self.decimal if mark else ''}{decimals}"


FORMATS: Final[Mapping[str, NumberFormat]] = {
    "en": NumberFormat("English", ".", ",", ","),
    "de": NumberFormat("Deutsch", ",", ".", ".' "),
    "fr": NumberFormat("Français", ",", "\u202f", " '"),
}


def format_of(cookie: str | None, languages: str = "") -> NumberFormat:
    """Return the format that was chosen, or that of the first language of a browser."""
    for name in [cookie or "", *re.split("[,;-]", languages.lower())]:
        if name.strip() in FORMATS:
            return FORMATS[name.strip()]
    return FORMATS["en"]


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form or of an address, all of them text."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: NumberFormat = FORMATS["en"]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], numbers: NumberFormat) -> Form:
        """Return a form of pairs of names and values."""
        fields: dict[str, tuple[str, ...]] = {}
        for name, value in pairs:
            fields[name] = (*fields.get(name, ()), value)
        return cls(fields, numbers)

    def text(self, name: str, usual: str = "") -> str:
        """Return a field as text, without blanks around it."""
        return self.fields.get(name, (usual,))[-1].strip()

    def all(self, name: str) -> tuple[str, ...]:
        """Return all values of a field."""
        return self.fields.get(name, ())

    def has(self, name: str) -> bool:
        """Return whether a field was sent with a value."""
        return bool(self.text(name))

    def number(self, name: str) -> float:
        """Return a field as a number."""
        return text_numbers.number(self._plain(name))

    def fraction(self, name: str) -> float:
        """Return a field as a fraction of 1; it may be given in per cent."""
        return text_numbers.fraction(self._plain(name))

    def whole(self, name: str) -> int:
        """Return a field as a whole number."""
        return text_numbers.whole(self._plain(name))

    def _plain(self, name: str) -> str:
        """Return a number as programs write it; an error names the field."""
        try:
            return self.numbers.read(self.text(name))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def shown(number: float | int, numbers: NumberFormat) -> str:
    """Return a number for a page; whole numbers keep all digits."""
    if isinstance(number, int):
        return numbers.write(str(number))
    return numbers.write(readable(float(number)))


def in_format(text: str, numbers: NumberFormat) -> str:
    """Return a text of a report with its numbers as people write them."""
    return _NUMBER.sub(lambda found: numbers.write(found[0]), text)
