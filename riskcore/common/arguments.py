"""Arguments of the wrong kind: said by name, before any work is done."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from operator import index
from typing import Any

_LONGEST = 80


def shown(value: Any) -> str:
    """Return what was given, in a message: whole frames are told by their type."""
    text = repr(value)
    short = len(text) <= _LONGEST and text.isprintable()
    return text if short else f"a {type(value).__name__}"


def names(argument: str, value: Any) -> list[Any]:
    """Return names of columns as a list.

    Raises
    ------
    TypeError
        If they are text, no list, or some cannot be names.
    """
    if isinstance(value, str | bytes):
        raise TypeError(f"{argument} is a list of column names: write [{value!r}]")
    if not isinstance(value, Iterable):
        raise TypeError(f"{argument} is a list of column names, not {shown(value)}")
    found = list(value)
    for one in found:
        column_name(argument, one)
    return found


def column_name(argument: str, value: Any) -> None:
    """Refuse what cannot be the name of a column, as the column itself.

    Raises
    ------
    TypeError
    """
    # Of lists and arrays too a test for equality would not be true or false.
    try:
        hash(value)
        named = isinstance(value, Hashable) and isinstance(value == value, bool)
    except TypeError:
        named = False
    if not named:
        raise TypeError(f"{argument}: give the name of a column, not {shown(value)}")


def number(argument: str, value: Any) -> float:
    """Return a real number as a double.

    Raises
    ------
    TypeError
        If it is none; a bool is none.
    """
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise TypeError(f"{argument}={shown(value)}: need a number")
    try:
        return float(value)
    except OverflowError:  # an integer or fraction beyond the doubles
        large: Any = value
        return math.inf if large > 0 else -math.inf


def whole(argument: str, value: Any) -> int:
    """Return a whole number.

    Raises
    ------
    TypeError
        If it is none; a bool and 3.0 are none.
    """
    try:
        if not isinstance(value, bool):
            return index(value)
    except TypeError:
        pass
    raise TypeError(f"{argument}={shown(value)}: need a whole number")


def one_of(argument: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is none of some words.

    Raises
    ------
    ValueError
        With the words.
    """
    if not isinstance(value, str) or value not in choices:
        *first, last = map(repr, choices)
        listed = f"{', '.join(first)} or {last}"
        raise ValueError(f"{argument}={shown(value)}: use {listed}")


def protection(
    *,
    weight: Any,
    household: Any,
    recodings: Any,
    household_keys: Any,
    related: Any,
    cost: Any,
) -> None:
    """Refuse arguments of `riskcore.protect` that are of another kind.

    Raises
    ------
    TypeError, ValueError
    """
    column_name("weight", weight)
    column_name("household", household)
    if household_keys is not None:
        names("household_keys", household_keys)
    for argument, value in (("recodings", recodings), ("related", related)):
        if value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{argument}={shown(value)}: need a mapping by column")
    for key, rule in (recodings or {}).items():
        if not (isinstance(rule, str | os.PathLike) or hasattr(rule, "rules")):
            raise TypeError(
                f"recodings of {key!r}: {shown(rule)} is no Recoding, nor the path of "
                "a .grc file"
            )
    for key, others in (related or {}).items():
        names(f"related of {key!r}", others)
    if cost is not None and not isinstance(cost, str | Mapping):
        raise ValueError(f"cost={shown(cost)}: use 'equal', 'entropy' or a mapping")
    if isinstance(cost, Mapping):
        for key, one in cost.items():
            number(f"cost of {key!r}", one)
