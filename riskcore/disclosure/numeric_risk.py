"""Measure the risk from an intruder who knows numbers, in one file or in a pair."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.assessment.exact_matches import code_numbers, exact_matches
from riskcore.assessment.numeric_risk import KEYS, RANK, SPREAD, NumericRisk
from riskcore.common import arguments
from riskcore.common.words import counted
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records, exact_numbers
from riskcore.disclosure.interval_disclosure import interval_disclosure
from riskcore.disclosure.record_linkage import link_records, scales_of

Floats = NDArray[np.float64]

_MOST = 1 << 32  # codes are below
_WEIGHT = "weight"  # what weights are called


def numeric_risk(
    original: Mapping[Hashable, ArrayLike],
    released: Mapping[Hashable, ArrayLike] | None = None,
    *,
    keys: ArrayLike | None = None,
    released_keys: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    rank_width: float = 0.05,
    spread_width: float = 0.05,
) -> NumericRisk:
    r"""Measure the risk of an intruder who knows numbers, in one file or in a pair.

    Of one file: how many records are alone with their numbers. Of an original and what
    is released of it: how often a released record is linked to its original, and how
    often the original numbers lie close around the released ones.

    Parameters
    ----------
    original : frame or mapping of column name to array_like, shape (n,)
        Numbers of the records, nan for missing.
    released : frame or mapping, optional
        The same columns as they are released; row i is the record of row i above.
    keys : array_like of integers, shape (n,) or (n, K), optional
        Codes of the keys of each record, in the categories of the released file; -1 for
        missing. Or the number of its cell.
    released_keys : array_like of integers, of the shape of ``keys``, optional
        The same codes as released, -1 where a key was blanked; by default ``keys``.
    weight : array_like, shape (n,), optional
        Sampling weights; by default 1.
    rank_width, spread_width : float
        How far the intervals reach on each side: a share of the records, from 0 to 1,
        and a share of the standard deviation.

    Returns
    -------
    NumericRisk
        ``matches`` are of the released file if it is given; ``linkages`` and
        ``intervals`` only exist then.

    Raises
    ------
    TypeError
        If values are not numbers, or keys not whole numbers.
    ValueError
        If there is no column, a column is not in both files, or lengths differ; if a
        number is infinite, 2^53 or more, or beyond 1e150 standard deviations; if a key
        is below -1; if a weight is not positive and finite; or if a width is not in its
        range.

    Notes
    -----
    Let d(i, j) be the distance of the released record i from the original record j, the
    root of the sum over the columns of ((y_i - x_j) / s)^2, where s is the standard
    deviation of the original column (Domingo-Ferrer and Torra 2001), or 1.4826 times
    its median absolute deviation. If i is the nearest original record of itself, at the
    same distance as m - 1 others, the link is right with probability 1/m.

    Columns that a released record lacks are left out, for it alone; original records
    that lack one of the others are not its candidates. A blanked key matches any value;
    keys that differ are never linked.

    The interval around y_i reaches from y_i - k s to y_i + k s, s being the standard
    deviation of the released column (Mateo-Sanz, Sebe and Domingo-Ferrer 2004;
    ``dRisk`` of sdcMicro), or over the released numbers whose ranks differ by at most
    p n (Domingo-Ferrer and Torra 2001).

    Examples
    --------
    >>> import riskcore
    >>> original = {"income": [10.0, 20.0, 30.0, 40.0], "debts": [0.0, 0.0, 5.0, 9.0]}
    >>> released = {"income": [11.0, 19.0, 36.0, 39.0], "debts": [0.0, 0.0, 8.0, 9.0]}
    >>> found = riskcore.numeric_risk(original, released)
    >>> [(one.columns, one.sample_uniques) for one in found.matches]
    [(('income',), 4), (('debts',), 2), (('income', 'debts'), 4)]
    >>> found.linkage("standardized distance")
    <RecordLinkage: numbers by standardized distance, rate 75.000000%, by chance ...>
    >>> found.linkage("standardized distance").right
    array([1., 1., 0., 1.])
    >>> found.interval("spread").shares
    {'income': 0.0, 'debts': 0.75}
    """
    widths = {
        RANK: arguments.number_in("rank_width", rank_width, "[0, 1]"),
        SPREAD: arguments.number_in("spread_width", spread_width, "[0, inf)"),
    }
    before = _columns("original", original)
    after = before if released is None else _columns("released", released)
    names = list(before)
    n = len(before[names[0]])
    if set(names) != set(after) or n != len(after[names[0]]):
        raise ValueError(
            f"released: {_shape(after)}; the original has {_shape(before)}. Give the "
            "same columns and records in the same order"
        )
    codes = _codes("keys", keys, n)
    kept = codes if released_keys is None else _codes("released_keys", released_keys, n)
    if [one.shape for one in kept] != [one.shape for one in codes]:
        raise ValueError("released_keys: need the shape of keys")
    files = [before[name] for name in names], [after[name] for name in names]
    scales = {} if released is None else scales_of(names, *files)
    coded = _coded(n, kept, weight, names)
    numbers = code_numbers(Records.of(after), names)
    matches = exact_matches(coded, numbers, list(coded.columns), "wildcard")
    if released is None:
        return NumericRisk(tuple(names), matches)
    both = (codes[0], kept[0]) if codes else None
    return NumericRisk(
        tuple(names),
        matches,
        tuple(link_records(*files, scales, both)),
        tuple(
            interval_disclosure(measure, width, names, *files)
            for measure, width in widths.items()
        ),
    )


def _columns(argument: str, data: Any) -> dict[Hashable, Floats]:
    """Return columns of numbers by name."""
    try:
        records = Records.of(data)
        return {name: exact_numbers(records, name) for name in records.columns}
    except (TypeError, ValueError) as error:
        raise type(error)(f"{argument}: {error}") from None


def _shape(columns: Mapping[Hashable, Floats]) -> str:
    n = len(next(iter(columns.values())))
    return f"{counted(n, 'record')} of {', '.join(map(repr, columns))}"


def _codes(argument: str, keys: ArrayLike | None, n: int) -> list[NDArray[np.int64]]:
    """Return the codes of keys in a list, shape (n, K); an empty list for no keys."""
    if keys is None:
        return []
    given = arguments.numbers(argument, keys, "whole numbers", kinds="iu")
    codes = given.astype(np.int64).reshape(len(given), -1) if given.ndim else given
    if given.ndim not in (1, 2) or codes.shape[0] != n or not codes.size:
        raise ValueError(f"{argument}: shape {given.shape}, need ({n},) or ({n}, K)")
    arguments.refuse(argument, (codes < -1) | (codes >= _MOST), f"in -1..{_MOST - 1}")
    return [codes]


def _coded(
    n: int,
    codes: Sequence[NDArray[np.int64]],
    weight: ArrayLike | None,
    names: Sequence[Hashable],
) -> CodedRecords:
    """Return the coded keys and the weights of records."""
    columns: dict[Hashable, Any] = {}
    for one in codes:
        for k, key in enumerate(one.T, 1):
            name = KEYS if one.shape[1] == 1 else f"{KEYS} {k}"
            columns[name] = np.ma.array(key, mask=key < 0)
    keys = list(columns)
    taken = [name for name in names if name in (*keys, _WEIGHT)]
    if taken:
        raise ValueError(
            f"original: a column is called {taken[0]!r}, as keys or weights are here; "
            "rename it"
        )
    if weight is not None:
        columns[_WEIGHT] = weight
        if len(np.atleast_1d(np.asarray(weight))) != n:
            raise ValueError(f"weight: need {n:,} weights, one for each record")
        return CodedRecords.of(columns, keys, _WEIGHT)
    return CodedRecords.of(columns, keys) if keys else CodedRecords(n, {})
