"""Rounding to multiples of a base or to significant digits, to nearest or unbiased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from riskcore.common import arguments
from riskcore.common.arrays import Floats
from riskcore.common.words import counted, sentence
from riskcore.protection.treatments.rules import (
    Given,
    Treatment,
    enter,
    number_of,
    refuse_fewer,
    shown_number,
    uniform,
    whole_of,
)

# The powers of ten that are exact doubles, and their inverses.
_MOST = 22
_POWERS = np.array([float(f"1e{power}") for power in range(_MOST + 1)])
_SIZES = np.array([float(f"1e{power}") for power in range(-_MOST, _MOST + 1)])
# A quotient this close to a whole number, relatively, is taken as that number.
_CLOSE = 2.0**-50


@enter
@dataclass(frozen=True, slots=True)
class Rounding(Treatment):
    """Values become multiples of a base, or numbers of few digits.

    ``unbiased``: a value is rounded up with a probability equal to its distance from
    the multiple below, in bases (Nargundkar and Saveland 1972); otherwise to the
    nearest one, halves to the even one.
    """

    base: float | None = None
    digits: int | None = None  # significant ones, instead of a base
    unbiased: bool = False

    kind = "round"

    def check(self) -> None:
        """Refuse digits that a double does not have, and bases of many digits."""
        base = self.base
        if base is None:
            digits = cast(int, self.digits)
            refuse_fewer("digits", digits, 1)
            if digits > 15:
                raise ValueError(f"digits={digits}: need 1 to 15 digits")
        elif not base > 0.0 or max(Fraction(repr(base)).as_integer_ratio()) > 1e22:
            raise ValueError(
                f"base={shown_number(base)}: need a number above 0 with few digits"
            )

    @property
    def alters(self) -> bool:
        """Whether a multiple that is not the nearest may be taken."""
        return self.unbiased

    @property
    def random(self) -> bool:
        """Whether it needs a secret."""
        return self.unbiased

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the base of ``100``, or the digits of ``2digits``."""
        if argument.endswith("digits") or argument.endswith("digit"):
            words = argument.rpartition("digit")[0]
            return {"digits": whole_of(words, "a number of digits")}
        example = "a base such as 100 or digits such as 2digits"
        return {"base": number_of(argument, example)}

    def argument(self) -> str:
        """Return the base, or the digits."""
        return f"{self.digits}digits" if self.base is None else shown_number(self.base)

    def describe(self, public: bool) -> str:
        """Return "rounded to multiples of 100"."""
        if self.base is None:
            to = counted(cast(int, self.digits), "significant digit")
        else:
            to = sentence("multiples of {n}", shown_number(self.base))
        return sentence(
            "rounded to {what}, unbiased at random"
            if self.unbiased
            else "rounded to {what}",
            to,
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the rounded values."""
        (x,) = values
        if self.base is None:
            up, down = self._scale(x, context.label)
        else:
            numerator, denominator = Fraction(repr(self.base)).as_integer_ratio()
            up, down = np.array(float(denominator)), np.array(float(numerator))
        # Multiples are whole numbers times one exact number, divided by another: so
        # 3 tenths are the double 0.3.
        multiple = x * up / down
        nearest = np.rint(multiple)
        if self.unbiased:
            below = np.floor(multiple)
            drawn = below + (uniform(context.numbers(x.size)) < multiple - below)
            exact = np.abs(multiple - nearest) <= _CLOSE * np.abs(multiple)
            nearest = np.where(exact, nearest, drawn)
        return [nearest * down / up + 0.0]

    def _scale(self, x: Floats, label: str) -> tuple[Floats, Floats]:
        """Return two powers of ten that bring each value to its whole digits."""
        size = np.abs(np.where(np.isnan(x) | (x == 0.0), 1.0, x))
        power = np.searchsorted(_SIZES, size, side="right") - 1 - _MOST
        last = power - (cast(int, self.digits) - 1)
        odd = (size >= _SIZES[-1]) | (last < -_MOST)
        arguments.refuse(label, odd, "of a size that can be rounded to these digits")
        return _POWERS[np.maximum(-last, 0)], _POWERS[np.maximum(last, 0)]
