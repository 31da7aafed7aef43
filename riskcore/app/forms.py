"""What people enter: fields of forms, and numbers as English, Germans and French write.

A number is read by the format that the reader chose. A separator that the format does
not know, or that stands at a wrong place, is refused: "1.5" is not 15.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from riskcore.common import text_numbers
from riskcore.common.html import readable
from riskcore.common.words import joined, quoted, sentence

# What word processors write for a blank, an apostrophe and a minus sign: no-break,
# narrow no-break and thin blanks, the right quotation mark, U+2212.
_AS_TYPED = str.maketrans("\u00a0\u202f\u2009\u2019\u2212", "   '-")
_LONGEST = 300
_N = TypeVar("_N", int, float)


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How numbers are written."""

    decimal: str
    group: str  # the separator of thousands that is written
    groups: str  # all that are read

    def read(self, text: str) -> str:
        """Return a number, or a share in per cent, as a program writes it."""
        if len(text) > _LONGEST:
            long = sentence("a number of {n} characters is too long", len(text))
            raise ValueError(long)
        plain = " ".join(text.translate(_AS_TYPED).split())
        number, percent, rest = plain.partition("%")
        match = re.fullmatch(self._shape, number.strip())
        if rest or not match or not (match["digits"] or match["decimals"]):
            example = self.write("1234.5")
            raise ValueError(
                sentence(
                    "{text} is not a number as it is written here, such as {example}",
                    quoted(plain),
                    example,
                )
            )
        digits = re.sub("[^0-9]", "", match["digits"])
        decimals = "" if match["decimals"] is None else f".{match['decimals']}"
        power = f"e{match['power']}" if match["power"] else ""
        return f"{match['sign']}{digits}{decimals}{power}{percent}"

    @property
    def _shape(self) -> str:
        """The pattern of a number: what begins with 0 has no groups, as in "0,001"."""
        group, decimal = re.escape(self.groups), re.escape(self.decimal)
        return (
            "(?P<sign>[+-]?)"
            f"(?P<digits>[1-9][0-9]{{0,2}}(?P<group>[{group}])[0-9]{{3}}"
            "((?P=group)[0-9]{3})*|[0-9]*)"
            f"({decimal}(?P<decimals>[0-9]*))?([eE](?P<power>[+-]?[0-9]{{1,3}}))?"
        )

    def write(self, text: str) -> str:
        """Return a number that a program has written as people write it."""
        whole, mark, decimals = text.replace(",", "").partition(".")
        digits = whole.lstrip("+-")
        if digits.isdecimal() and len(digits) > 3:
            sign = whole[: len(whole) - len(digits)]
            whole = f"{sign}{int(digits):,}".replace(",", self.group)
        return f"{whole}{self.decimal if mark else ''}{decimals}"


FORMATS: Final[Mapping[str, NumberFormat]] = {
    "en": NumberFormat(".", ",", ","),
    "de": NumberFormat(",", ".", ".' "),
    "fr": NumberFormat(",", "\u202f", " '"),
}


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form or of an address, all of them text."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: NumberFormat = FORMATS["en"]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], numbers: NumberFormat) -> Form:
        """Return a form of pairs of names and values."""
        fields: dict[str, list[str]] = {}
        for name, value in pairs:
            fields.setdefault(name, []).append(value)
        return cls({name: tuple(values) for name, values in fields.items()}, numbers)

    def text(self, name: str, usual: str = "") -> str:
        """Return a field as text, without blanks around it."""
        return self.fields.get(name, (usual,))[-1].strip()

    def all(self, name: str) -> tuple[str, ...]:
        """Return all values of a field."""
        return self.fields.get(name, ())

    def has(self, name: str) -> bool:
        """Return whether a field was sent with a value."""
        return bool(self.text(name))

    def number(self, name: str, label: str = "") -> float:
        """Return a field as a number; an error names it by its label."""
        return self._read(name, text_numbers.number, label)

    def fraction(self, name: str) -> float:
        """Return a field as a fraction of 1; it may be given in per cent."""
        return self._read(name, text_numbers.fraction)

    def whole(self, name: str) -> int:
        """Return a field as a whole number."""
        return self._read(name, text_numbers.whole)

    def _read(self, name: str, read: Callable[[str], _N], label: str = "") -> _N:
        """Return a field as a number; an error names the field."""
        try:
            return read(self.numbers.read(self.text(name)))
        except ValueError as error:
            (why,) = error.args
            raise ValueError(joined(": ", [label or name, why])) from None


def place_in(text: str, count: int) -> int | None:
    """Return a position among so many things; None for any other text."""
    is_whole = text.isascii() and text.isdecimal() and len(text) < 10
    return int(text) if is_whole and int(text) < count else None


def shown(number: float | int, numbers: NumberFormat) -> str:
    """Return a number for a page; whole numbers keep all digits."""
    if isinstance(number, int):
        return numbers.write(str(number))
    return numbers.write(readable(float(number)))


def size_shown(size: int, numbers: NumberFormat) -> str:
    """Return the size of a file as people say it."""
    power = min((len(str(size)) - 1) // 3, 3)
    amount = size / 1000**power
    text = f"{amount:.3g}" if amount < 100 else f"{amount:.0f}"
    return f"{numbers.write(text)} {('B', 'kB', 'MB', 'GB')[power]}"
