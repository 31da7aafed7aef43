"""Post-randomization (PRAM): categories change at random, by a known matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.common.words import counted
from riskcore.protection.treatments.rules import (
    Floats,
    Given,
    Names,
    Treatment,
    checked_names,
    checked_number,
    enter,
    flag,
    number_of,
    options_of,
    shown_number,
    shown_strata,
    strata_of,
)

Counts = NDArray[np.int64]
Matrix = NDArray[np.float64]  # row i: the probabilities of what category i becomes

KEEP = 0.8
# A matrix has a row and a column for each category.
MOST_CATEGORIES = 2000
# Largest distance from 1 at which the sum of a row is taken as rounded.
_ROUNDED = 1e-9


@enter
@dataclass(frozen=True, slots=True)
class PostRandomization(Treatment):
    """Categories change at random, by a transition matrix.

    Attributes
    ----------
    keep : float
        Probability that a record keeps its category in the first step.
    invariant : bool
        Whether a second step restores the expected frequencies, see
        `transition_matrix`.
    within : tuple of str
        The columns of the strata, which have matrices of their own.
    """

    keep: float = KEEP
    invariant: bool = False
    within: Names = ()

    kind = "pram"
    alters = True
    random = True
    categorical = True

    def __post_init__(self) -> None:
        keep = checked_number("keep", self.keep)
        if not 0.0 <= keep < 1.0:
            raise ValueError(f"{shown_number(keep)}: need a probability in [0, 1)")
        object.__setattr__(self, "keep", keep)
        if not isinstance(self.invariant, bool):
            raise ValueError("invariant: need true or false")
        checked_names(self.within)

    @classmethod
    def parsed(cls, words: str) -> Self:
        """Return the rule of ``0.8`` or ``0.8:invariant:within=REGION``."""
        argument, options = options_of(words, ("invariant", "within"))
        keep = number_of(argument, "a probability such as 0.8")
        return cls(keep, flag(options, "invariant"), strata_of(options))

    def words(self) -> str:
        """Return the words of the rule."""
        invariant = ":invariant" if self.invariant else ""
        return f"{shown_number(self.keep)}{invariant}{shown_strata(self.within)}"

    def describe(self, public: bool) -> str:
        """Return "post-randomized"; the public phrase tells nothing of the matrix."""
        if public:
            return "post-randomized"
        kind = " in two steps" if self.invariant else ""
        within = f" within {', '.join(self.within)}" if self.within else ""
        return f"post-randomized{kind}, kept with {shown_number(self.keep)}{within}"

    def treated(self, values: Sequence[Floats], given: Given) -> list[Floats]:
        """Return the categories that were drawn."""
        (x,) = values
        labels, codes = np.unique(x, return_inverse=True)
        labels = labels[~np.isnan(labels)]
        stratum = given.stratum
        if stratum is not None:
            stratum = np.unique(stratum, return_inverse=True)[1]
        found = post_randomize(
            codes,
            len(labels),
            given.numbers(x.size),
            keep=self.keep,
            invariant=self.invariant,
            strata=stratum,
        )
        given.tell(found.to_dict(labels.tolist()))
        return [np.append(labels, np.nan)[np.minimum(found.codes, len(labels))]]


@dataclass(frozen=True, slots=True, eq=False)
class PostRandomized:
    """A post-randomized column, and what changed.

    Attributes
    ----------
    codes : integer ndarray, shape (n,)
        The new categories; codes that were missing are unchanged.
    changed : int
        Number of records whose category changed.
    before, after : int64 ndarray, shape (L,)
        Records in each category.
    matrices : tuple of ndarray, each shape (L, L)
        The transition matrix of each stratum; for the private record only.
    """

    codes: NDArray[Any]
    changed: int
    before: Counts
    after: Counts
    matrices: tuple[Matrix, ...]

    @property
    def total_variation(self) -> float:
        """Distance between the shares of the categories before and after, 0 to 1."""
        return total_variation(self.before, self.after)

    def to_dict(self, labels: Sequence[Any]) -> dict[str, Any]:
        """Return the matrices and the effects, for the private record.

        Parameters
        ----------
        labels : sequence, length L
            The categories, as JSON can hold them.

        Returns
        -------
        dict
        """
        return {
            "categories": list(labels),
            "matrices": [matrix.tolist() for matrix in self.matrices],
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "changed": self.changed,
            "total_variation": self.total_variation,
        }


def post_randomize(
    codes: NDArray[Any],
    levels: int,
    numbers: NDArray[np.uint64],
    *,
    keep: float = KEEP,
    invariant: bool = False,
    strata: NDArray[Any] | None = None,
    matrix: ArrayLike | None = None,
) -> PostRandomized:
    """Change the categories of a column at random.

    Parameters
    ----------
    codes : integer ndarray, shape (n,)
        The category of each record, 0 to L - 1; any other code is missing and stays.
    levels : int
        L, the number of categories.
    numbers : uint64 ndarray, shape (n,)
        One secret number of 64 random bits for each record.
    keep : float
        Probability in [0, 1) that a record keeps its category in the first step.
    invariant : bool
        Take a second step that restores the expected frequencies, see
        `transition_matrix`.
    strata : integer ndarray, shape (n,), optional
        A matrix of its own for each stratum, from 0. Nobody gets a category that does
        not occur in the stratum.
    matrix : array_like, shape (L, L), optional
        The transition matrix (with ``invariant``, of the first step) to use instead of
        ``keep``, in every stratum.

    Returns
    -------
    PostRandomized

    Raises
    ------
    TypeError, ValueError
        If ``keep`` is not a number in [0, 1), the matrix does not have a row of
        probabilities for each category, or there are too many categories.

    Notes
    -----
    Gouweleeuw, Kooiman, Willenborg and de Wolf (1998), Journal of Official Statistics
    14, 463-478.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 2])  # 2 is missing
    >>> numbers = np.array([0, 2**64 - 1, 2**63, 0], np.uint64)
    >>> found = post_randomize(codes, 2, numbers, keep=0.5)
    >>> found.codes, found.changed, found.before, found.after
    (array([0, 1, 1, 2]), 1, array([2, 1]), array([1, 2]))
    """
    arguments.number_in("keep", keep, "[0, 1)", "a probability")
    if levels > MOST_CATEGORIES:
        raise ValueError(
            f"post-randomization: the column has {levels:,} categories, more than "
            f"{MOST_CATEGORIES:,}; recode it first"
        )
    given = None if matrix is None else check_matrix(matrix, levels)
    strata = np.zeros(len(codes), np.int64) if strata is None else strata
    present = np.flatnonzero((codes >= 0) & (codes < levels))
    counts = _counts(codes[present], strata[present], levels)
    matrices = tuple(_matrix(row, keep, invariant, given) for row in counts)
    new = codes.copy()
    cells = strata[present].astype(np.int64) * levels + codes[present]
    order = present[np.argsort(cells, kind="stable")]
    ends = np.cumsum(counts).tolist()
    for cell, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if start < end:
            row = matrices[cell // levels][cell % levels]
            new[order[start:end]] = draw(row, numbers[order[start:end]])
    return PostRandomized(
        new,
        int(np.count_nonzero(new != codes)),
        np.bincount(codes[present], minlength=levels),
        np.bincount(new[present], minlength=levels),
        matrices,
    )


def transition_matrix(counts: ArrayLike, keep: float, *, invariant: bool) -> Matrix:
    """Return the probabilities of what each category becomes.

    Parameters
    ----------
    counts : array_like, shape (L,)
        Records in each category.
    keep : float
        Probability of keeping the category in the first step.
    invariant : bool
        If false, a record keeps its category with probability ``keep`` and otherwise
        draws one by the shares of the file, perhaps its own. If true, it otherwise
        moves to any other category that occurs, with equal probabilities, and the
        second step of `restore` follows.

    Returns
    -------
    ndarray, shape (L, L)
        Both kinds leave the expected number of records in each category as it is. They
        differ in rare categories: by the first, a record of a category keeps it with
        probability ``keep`` or more, however rare it is; by the second, most records of
        a rare category leave it.

    Examples
    --------
    >>> transition_matrix([90, 10], 0.8, invariant=False).round(3).tolist()
    [[0.98, 0.02], [0.18, 0.82]]
    >>> transition_matrix([90, 10], 0.8, invariant=True).round(3).tolist()
    [[0.917, 0.083], [0.748, 0.252]]
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

    Parameters
    ----------
    first : ndarray, shape (L, L)
        The transition matrix P of the first step.
    counts : ndarray, shape (L,)
        Records in each category, t.

    Returns
    -------
    ndarray, shape (L, L)
        P Q, where q_kj = t_j p_jk / sum_i t_i p_ik is the probability that a record
        which arrived in k came from j: t P Q = t.
    """
    came = first * np.asarray(counts, np.float64)[:, None]  # t_j p_jk
    arrived = came.sum(axis=0)
    reached = np.flatnonzero(arrived)
    result = np.zeros_like(first)
    # Not by `@`: its sums differ between processors.
    for k in reached:
        result += first[:, k, None] * (came[:, k] / arrived[k])
    empty = np.asarray(counts) == 0
    result[empty] = np.eye(len(first))[empty]
    return result


def check_matrix(matrix: ArrayLike, levels: int) -> Matrix:
    """Return a transition matrix; refuse one whose rows are not probabilities."""
    found = np.asarray(matrix, np.float64)
    if found.shape != (levels, levels):
        raise ValueError(
            f"matrix: shape {found.shape}, but the column has "
            f"{counted(levels, 'category', 'categories')}: give a row and a column for "
            "each"
        )
    wrong = ~(found >= 0).all(axis=1) | ~(abs(found.sum(axis=1) - 1) <= _ROUNDED)
    if wrong.any():
        raise ValueError(
            f"matrix: row {int(np.argmax(wrong)) + 1} is not a row of probabilities "
            "that add to 1"
        )
    return found


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


def _counts(codes: NDArray[Any], strata: NDArray[Any], levels: int) -> Counts:
    """Return the records by stratum and category."""
    number = int(strata.max(initial=0)) + 1
    cells = strata.astype(np.int64) * levels + codes
    return np.bincount(cells, minlength=number * levels).reshape(number, levels)


def _matrix(
    counts: Counts, keep: float, invariant: bool, given: Matrix | None
) -> Matrix:
    """Return the transition matrix of a stratum."""
    if given is None:
        return transition_matrix(counts, keep, invariant=invariant)
    return restore(given, counts) if invariant else given
