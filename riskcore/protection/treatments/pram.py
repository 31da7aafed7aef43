"""Post-randomization (PRAM): categories change at random, by a known matrix."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common.arrays import Floats
from riskcore.common.words import sentence
from riskcore.data.files.labels import code_text
from riskcore.data.ranks import stable_order
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

Counts = NDArray[np.int64]
Matrix = Floats  # row i: the probabilities of what category i becomes

# A matrix has a row and a column for each category.
MOST_CATEGORIES = 2000
# Largest distance of the sum of a row from 1.
TOLERANCE = 1e-9


def _probability(text: str, row: int) -> float:
    """Return a probability; the text of a file that is another one is not shown."""
    with suppress(ValueError):
        return number_of(text, "a probability")
    raise ValueError(f"row {row}: need a category and its probabilities")


@enter
@dataclass(frozen=True, slots=True)
class PostRandomization(Treatment):
    """Categories change at random, by a `transition_matrix`."""

    # Probability that a record keeps its category in the first step.
    keep: float = 0.0
    invariant: bool = False  # whether a second step restores expected frequencies
    within: Names = ()  # the columns of the strata, which have matrices of their own
    # A matrix of one's own as text: a header, and a row for each category.
    table: tuple[Names, ...] = ()

    kind = "pram"
    alters = True
    random = True
    categorical = True

    def check(self) -> None:
        """Refuse what is not a probability below 1, or not a matrix of them."""
        if not 0.0 <= self.keep < 1.0:
            raise ValueError(f"{shown_number(self.keep)}: need a probability in [0, 1)")
        (_, *names), *rows = self.table or [("",)]
        first = [row[0] for row in rows]
        if odd := (Counter(names) - Counter(first)) + (Counter(first) - Counter(names)):
            raise ValueError(
                f"matrix: {min(odd)!r} needs one place in the header and one row"
            )
        if any(len(row) != len(names) + 1 for row in rows) or len({*names}) < len(rows):
            raise ValueError("matrix: need one row and one column for each category")
        for name, row in self._rows().items():
            if not all(0.0 <= number <= 1.0 for number in row):
                raise ValueError(f"matrix: row {name!r} has numbers outside [0, 1]")
            if abs(math.fsum(row) - 1.0) > TOLERANCE:
                raise ValueError(
                    f"matrix: row {name!r} adds to {math.fsum(row):.12g}, not to 1"
                )

    def _rows(self) -> dict[str, list[float]]:
        """Return the rows of the matrix by category."""
        return {
            name: [_probability(text, at) for text in texts]
            for at, (name, *texts) in enumerate(self.table[1:], 1)
        }

    @classmethod
    def parsed(cls, words: str) -> Self:
        """Return the rule of a probability, or of a matrix: a CSV file or its text."""
        if "," in words:
            rows = [*csv.reader(words.split(";"))]
        elif words.endswith(".csv"):
            rows = rows_of_file(Path(words), "a header, and a row for each category")
        else:
            return super(PostRandomization, cls).parsed(words)
        return cls(table=tuple(map(tuple, rows)))

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the probability of ``0.8``."""
        what = "a probability such as 0.8; a matrix, as m.csv, has no options"
        return {"keep": number_of(argument, what)}

    def argument(self) -> str:
        """Return the probability, or the matrix as text."""
        return text_of_rows(self.table) if self.table else shown_number(self.keep)

    def describe(self, public: bool) -> str:
        """Return "post-randomized"; the public phrase tells nothing of the matrix."""
        if public:
            return "post-randomized"
        if self.table:
            return sentence("post-randomized by a matrix of one's own")
        return sentence(
            "post-randomized in two steps, kept with {probability}{within}"
            if self.invariant
            else "post-randomized, kept with {probability}{within}",
            *(shown_number(self.keep), self.in_strata()),
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the categories that were drawn."""
        (x,) = values
        present = ~np.isnan(x)
        labels, ranks = np.unique(x[present], return_inverse=True)
        codes = np.full(x.size, len(labels), np.int64)
        codes[present] = ranks
        new, effects = post_randomize(
            codes,
            len(labels),
            context.numbers(x.size),
            keep=self.keep,
            invariant=self.invariant,
            strata=context.stratum,
            matrix=self._own_matrix(context) if self.table else None,
        )
        context.tell({"categories": labels.tolist(), **effects})
        return [np.append(labels, np.nan)[np.minimum(new, len(labels))]]

    def _own_matrix(self, context: Given) -> Matrix:
        """Return the matrix of the categories of a column, or refuse others."""
        _, labels = context.column(context.names[0])
        texts = [*map(code_text, labels.tolist())]
        names, rows = self.table[0][1:], self._rows()
        if lacking := [text for text in texts if text not in rows]:
            raise ValueError(
                f"treat {context.names[0]}: the matrix has no row for {lacking[0]!r}; "
                "add it, with 1 on the diagonal if it stays"
            )
        places = [names.index(text) for text in texts]
        table = np.array([rows[text] for text in texts])[:, places]
        for text, total in zip(texts, table.sum(axis=1), strict=True):
            if total < 1.0 - TOLERANCE:
                raise ValueError(
                    f"treat {context.names[0]}: row {text!r} of the matrix has "
                    "categories that nobody has: write 0 there"
                )
        if (np.diag(table) == 1.0).all():
            raise ValueError(
                f"treat {context.names[0]}: by the matrix each category of the column "
                "stays, which changes nothing; leave the rule out"
            )
        return table


def post_randomize(
    codes: NDArray[Any],
    levels: int,
    numbers: NDArray[np.uint64],
    *,
    keep: float,
    invariant: bool = False,
    strata: NDArray[Any] | None = None,
    matrix: Matrix | None = None,
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return codes of categories changed at random, and what changed."""
    # Each stratum has its own matrix: nobody gets a category that does not occur in it.
    if levels > MOST_CATEGORIES:
        raise ValueError(
            f"post-randomization: the column has {levels:,} categories, more than "
            f"{MOST_CATEGORIES:,}; recode it first"
        )
    strata = np.zeros(len(codes), np.int64) if strata is None else strata
    present = np.flatnonzero((codes >= 0) & (codes < levels))
    own = strata[present].astype(np.int64)
    cells, number = own * levels + codes[present], int(own.max(initial=0)) + 1
    counts = np.bincount(cells, minlength=number * levels).reshape(number, levels)
    matrices = [
        transition_matrix(row, keep, invariant=invariant) if matrix is None else matrix
        for row in counts
    ]
    new = codes.copy()
    order = present[stable_order(cells, counts.size)]
    ends = np.cumsum(counts).tolist()
    for cell, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if start < end:
            row = matrices[cell // levels][cell % levels]
            new[order[start:end]] = draw(row, numbers[order[start:end]])
    before, after = (np.bincount(x[present], minlength=levels) for x in (codes, new))
    return new, {
        "matrices": [matrix.tolist() for matrix in matrices],
        "before": before.tolist(),
        "after": after.tolist(),
        "changed": int(np.count_nonzero(new != codes)),
        "total_variation": total_variation(before, after),
    }


def transition_matrix(counts: ArrayLike, keep: float, *, invariant: bool) -> Matrix:
    """Return the probabilities of what each category becomes, shape (L, L).

    A record keeps its category with probability ``keep``. Otherwise it draws one by the
    shares of the file, perhaps its own. If ``invariant``, it moves to any other
    category that occurs, with equal probabilities, and the second step of `restore`
    follows. Both kinds leave the expected number of records in each category as it is.
    They differ in rare categories: by the first, a record of a category keeps it with
    probability ``keep`` or more, however rare it is; by the second, most records of a
    rare category leave it.
    """
    records = np.asarray(counts, np.float64)
    matrix = np.eye(len(records))
    present = np.flatnonzero(records)
    if len(present) < 2:
        return matrix
    records = records[present]
    if invariant:
        stays = np.eye(len(present), dtype=bool)
        first = np.where(stays, keep, (1.0 - keep) / (len(present) - 1))
        within = restore(first, records)
    else:
        within = (1.0 - keep) * (records / records.sum()) + keep * np.eye(len(present))
    matrix[np.ix_(present, present)] = within
    return matrix


def restore(first: Matrix, counts: NDArray[Any]) -> Matrix:
    """Return the matrix of a first step and of the step that undoes it on average.

    For a first step P and t records in each category that is P Q, where
    q_kj = t_j p_jk / sum_i t_i p_ik is the probability that a record which arrived in k
    came from j: t P Q = t (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998, Journal of
    Official Statistics 14, 463-478).
    """
    came = first * counts[:, None]  # t_j p_jk
    result = np.zeros_like(first)
    # Not by `@`: its sums differ between processors.
    for k, arrived in enumerate(came.sum(axis=0)):
        result += first[:, k, None] * (came[:, k] / arrived)
    return result


def draw(probabilities: Matrix, numbers: NDArray[np.uint64]) -> Counts:
    """Return categories drawn by these probabilities, one for each number."""
    ends = np.cumsum(probabilities)
    # The last possible category takes what rounding leaves.
    ends[np.flatnonzero(probabilities)[-1] :] = np.inf
    places = (numbers >> np.uint64(11)) * 2.0**-53
    return np.searchsorted(ends, places, side="right")


def total_variation(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Return half the sum of the absolute differences of shares, 0 to 1."""
    if not (before.sum() and after.sum()):
        return 0.0
    return float(abs(before / before.sum() - after / after.sum()).sum() / 2)
