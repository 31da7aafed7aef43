"""Ladders: the recodings of a key from fine to coarse.

Each rung joins categories of the one below, so that a record is alone with its keys on
a higher rung only if it is on all lower ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.arrays import Integers
from riskcore.common.text_numbers import number
from riskcore.common.words import quoted, sentence
from riskcore.data.columns import CodedColumn, plain_value
from riskcore.data.files.labels import code_text
from riskcore.data.hierarchy import Hierarchy
from riskcore.data.recode import Recoding
from riskcore.data.recoding_words import is_rule, recoding_for

# A rule in words by which all values become one.
ALL = "map:*=all"


@dataclass(frozen=True)
class Ladder:
    """The recodings of a column, from fine to coarse.

    Parameters
    ----------
    rules : sequence of str
        Recodings as of `riskcore.protect`, such as "round:5" or "from:15,30,45,65".

    Examples
    --------
    >>> ladder = Ladder.of(["from:18,40,65", "from:18,65", "map:*=all"])
    >>> len(ladder.rules), ladder.recodings("age")[0].apply([17, 18]).codes
    (3, ('< 18', '[18, 40)'))
    """

    rules: tuple[str, ...]
    # Of a hierarchy its values, which may be more than a file has.
    domain: tuple[Any, ...] = ()

    @classmethod
    def of(cls, rules: str | os.PathLike[str] | Iterable[str]) -> Ladder:
        """Return a ladder of rules, or of all levels of a hierarchy in a file.

        Raises
        ------
        TypeError, ValueError, OSError
            If there are no rules, or the file is no hierarchy.
        """
        if isinstance(rules, str | os.PathLike):
            path = str(rules).removeprefix("hierarchy:")
            hierarchy = Hierarchy.read(path)
            levels = range(1, len(hierarchy.levels) + 1)
            values = tuple(value for value in hierarchy.values if value is not None)
            return cls(tuple(f"hierarchy:{path}:{level}" for level in levels), values)
        words = tuple(rules)
        if not words:
            raise ValueError(
                "a ladder needs rules, such as round:5, from fine to coarse"
            )
        for rule in words:
            if not (isinstance(rule, str) and is_rule(rule)):
                shown = arguments.shown(rule)
                why = sentence("{rule}: not a rule in words, such as round:5", shown)
                raise TypeError(why)
        return cls(words)

    def recodings(self, name: Any) -> list[Recoding]:
        """Return the recoding of each rung; errors name the column."""
        return [recoding_for(name, rule, None) for rule in self.rules]


@dataclass(frozen=True, slots=True, eq=False)
class Rungs:
    """A column on each rung of its ladder, the values themselves being the lowest.

    Attributes
    ----------
    column : CodedColumn
    ladder : Ladder
    groups : sequence of int64 ndarray
        For each rung the group of each category, and of missing values the last one.
    sizes : sequence of float64 ndarray
        For each rung how many values of the domain each category's group covers.
    """

    column: CodedColumn
    ladder: Ladder
    groups: Sequence[Integers]
    sizes: Sequence[NDArray[np.float64]]
    codes: Sequence[Sequence[Any]]  # for each rung the new code of each category
    domain: int  # how many values the column may have

    @classmethod
    def of(cls, column: CodedColumn, ladder: Ladder) -> Rungs:
        """Climb a ladder; refuse rungs that separate what the one below has joined."""
        levels = len(column.labels)
        values = [plain_value(label) for label in column.labels]
        domain = [*values, *_others(values, ladder.domain)]
        groups = [np.arange(levels + 1)]
        sizes, new_codes = [np.ones(levels)], [values]
        records = np.bincount(column.codes, minlength=levels)[:levels].tolist()
        for rule, recoding in zip(
            ladder.rules, ladder.recodings(column.name), strict=True
        ):
            codes = recoding.resolved(values, records).apply(domain).codes
            number: dict[Any, int] = {}
            of = np.array([number.setdefault(x, len(number)) for x in codes], np.int64)
            group = np.append(of[:levels], len(number))
            # Those whose group below is the same must share one here.
            first = np.full(int(groups[-1].max()) + 1, -1)
            first[groups[-1][::-1]] = group[::-1]
            split = np.flatnonzero(first[groups[-1]] != group)
            if len(split):
                raise ValueError(
                    sentence(
                        "ladder of {key}: {rule} separates values that the rule before "
                        "it has joined; put the finer one first",
                        *(quoted(column.name), rule),
                    )
                )
            groups.append(group)
            new_codes.append([*codes[:levels]])
            sizes.append(np.bincount(of)[of[:levels]].astype(np.float64))
        return cls(column, ladder, groups, sizes, new_codes, len(domain))

    def __len__(self) -> int:
        """Return the number of rungs, with the lowest."""
        return len(self.groups)


def _others(values: Sequence[Any], domain: Iterable[str]) -> list[Any]:
    """Return the values of a hierarchy that a file does not have, of the same type."""
    texts = {code_text(value) for value in values}
    others = [text for text in domain if text not in texts]
    if values and not isinstance(values[0], str):
        return [number(text) for text in others]
    return others
