"""Rake weights: change them little, so that they add to known totals."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats
from riskcore.common.words import counted, sentence
from riskcore.comparison.measures import sums_by
from riskcore.data.files.labels import code_text
from riskcore.protection.treatments.rules import (
    Given,
    Names,
    Treatment,
    enter,
    number_of,
    rows_of_file,
    shown_number,
    text_of_rows,
)

# Largest relative error of a total that counts as reached, and rounds of raking.
TOLERANCE = 1e-9
MOST_ROUNDS = 1000

_NEED = "a header, such as column,category,total, and a line for each category"


class Margin(NamedTuple):
    """A variable with known totals: the category of each record, and each total."""

    codes: NDArray[Any]  # shape (n,), from 0
    totals: Floats  # shape (L,)


def rake(
    weights: Floats, margins: Mapping[str, Margin]
) -> tuple[Floats, dict[str, Any]]:
    """Return weights changed little, so that they add to known totals, and the effects.

    The raking ratio of Deville and Särndal (1992), Journal of the American Statistical
    Association 87, 376-382: of all weights with these totals those with the smallest
    sum of w (g log g - g + 1), where the g-weights are new weights over old ones. Each
    round multiplies the records of one category after the other by a factor (iterative
    proportional fitting). If they have not converged, the totals cannot be reached, or
    not in so many rounds.
    """
    factors = np.ones(len(weights))
    error, rounds = _error(weights, margins), 0
    while error > TOLERANCE and rounds < MOST_ROUNDS and np.isfinite(factors).all():
        for margin in margins.values():
            factors *= (margin.totals / _sums(weights * factors, margin))[margin.codes]
        rounds, error = rounds + 1, _error(weights * factors, margins)
    return weights * factors, {
        "converged": error <= TOLERANCE,
        "rounds": rounds,
        "largest_error": error,
        "smallest_factor": float(factors.min()),
        "largest_factor": float(factors.max()),
    }


def margins_of(
    columns: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
    totals: Mapping[str, Mapping[Any, float]],
) -> dict[str, Margin]:
    """Return the margins of coded columns; refuse totals that cannot be reached."""
    margins = {}
    for name, category_totals in totals.items():
        codes, labels = columns[name]
        by_text = {code_text(label): label for label in labels.tolist()}
        category_totals = {by_text.get(c, c): x for c, x in category_totals.items()}
        missing = int(np.count_nonzero(codes >= len(labels)))
        if missing:
            raise ValueError(
                f"margin {name!r}: missing in {counted(missing, 'record')}; a record "
                "without a category cannot be raked"
            )
        present = labels.tolist()
        _refuse("no total is given for", name, set(present) - set(category_totals))
        _refuse("no record has", name, set(category_totals) - set(present))
        numbers = np.array([category_totals[label] for label in present], np.float64)
        if not ((numbers > 0) & (numbers < np.inf)).all():
            raise ValueError(f"margin {name!r}: a total is positive and finite")
        margins[name] = Margin(codes, numbers)
    sums = {name: fsum(margin.totals.tolist()) for name, margin in margins.items()}
    if sums and max(sums.values()) > min(sums.values()) * (1 + TOLERANCE):
        listed = ", ".join(f"{name!r} to {total:,.15g}" for name, total in sums.items())
        raise ValueError(
            f"margins: the totals add to different populations, {listed}; they must "
            "agree"
        )
    return margins


def _refuse(fault: str, name: str, labels: set[Any]) -> None:
    """Refuse labels of a margin that have a fault."""
    if labels:
        listed = ", ".join(sorted(map(repr, labels))[:5])
        raise ValueError(f"margin {name!r}: {fault} {listed}")


def _sums(weights: Floats, margin: Margin) -> Floats:
    """Return the weights of each category, added in the order of the records."""
    return sums_by(margin.codes, weights, len(margin.totals))


def _error(weights: Floats, margins: Mapping[str, Margin]) -> float:
    """Return the largest relative error of a total."""
    return max(
        float(abs(_sums(weights, margin) / margin.totals - 1).max())
        for margin in margins.values()
    )


def _total(at: int, row: Sequence[str]) -> tuple[str, str, float]:
    """Return a total; the text of a file that is another one is not shown."""
    with suppress(ValueError):
        column, category, total = row
        return column, category, number_of(total, "a total")
    raise ValueError(f"total {at}: need a column, a category and its total")


@enter
@dataclass(frozen=True, slots=True)
class Raking(Treatment):
    """Weights are raked to known totals, after all other treatments."""

    totals: tuple[tuple[str, str, float], ...]  # columns, categories and their people

    kind = "rake"
    last = True

    def check(self) -> None:
        """Refuse two totals of one category."""
        pairs = [row[:2] for row in self.totals]
        twice = [row for row in dict.fromkeys(pairs) if pairs.count(row) > 1]
        if twice:
            raise ValueError(f"totals: {' '.join(twice[0])} appears twice")

    @property
    def margins(self) -> dict[str, dict[str, float]]:
        """The totals by column and category."""
        totals: dict[str, dict[str, float]] = {}
        for column, category, total in self.totals:
            totals.setdefault(column, {})[category] = total
        return totals

    @property
    def needs(self) -> Names:
        """The columns whose categories have totals."""
        return tuple(self.margins)

    @classmethod
    def parsed(cls, words: str) -> Self:
        """Return the rule of all the words: names of files may have colons."""
        return cls(**cls.read(words))

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the totals of a CSV file, or of ``SEX,f,510;SEX,m,490``."""
        if "," in argument:
            rows = [*csv.reader(argument.split(";"))]
        else:
            rows = rows_of_file(Path(argument), _NEED)[1:]
        return {"totals": tuple(_total(at, row) for at, row in enumerate(rows, 1))}

    def argument(self) -> str:
        """Return the totals, in quotes where a name has a comma."""
        return text_of_rows((*names, shown_number(x)) for *names, x in self.totals)

    def describe(self, public: bool) -> str:
        """Return "raked to known totals of REGION, SEX"."""
        return sentence("raked to known totals of {columns}", ", ".join(self.margins))

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the raked weights, or refuse totals that cannot be reached."""
        (weights,) = values
        columns = {name: context.column(name) for name in self.margins}
        margins = margins_of(columns, self.margins)
        empty = [x for x, of in margins.items() if not _sums(weights, of).all()]
        if empty:
            raise ValueError(
                f"margin {empty[0]!r}: in a category all weights are zero, so they "
                "cannot add to its total; recode it together with another"
            )
        raked, effects = rake(weights, margins)
        if not effects["converged"]:
            raise ValueError(
                f"{context.label[:80]}: the totals are not reached after "
                f"{effects['rounds']} rounds; they are "
                f"{100 * effects['largest_error']:.3g} % away. Together they may be "
                "impossible: a combination of categories has no records"
            )
        context.tell(effects)
        return [raked]
