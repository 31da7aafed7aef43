"""Apply treatments to columns of numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.protection.release.secret import check_secret, treatment_numbers
from riskcore.protection.treatments.rules import (
    Floats,
    Given,
    Integers,
    Names,
    Treatment,
    joined,
)

# So that no square or product overflows.
_LARGEST = 1e100
# Larger whole numbers are not all doubles.
_EXACT = 2.0**53


def treated_columns(
    columns: Mapping[str, Floats],
    treat: Mapping[Names, Treatment | Sequence[Treatment]],
    *,
    weights: Floats | None = None,
    strata: Mapping[str, NDArray[np.integer[Any]]] | None = None,
    secret: str | None = None,
    household: Integers | None = None,
    risk: Floats | None = None,
    tell: Callable[[str, dict[str, Any]], object] | None = None,
    column: Callable[[str, Mapping[str, Floats]], Any] | None = None,
) -> dict[str, Floats]:
    """Return the treated columns.

    Parameters
    ----------
    columns : mapping of str to float64 ndarray, shape (n,)
        At least the columns that are treated; nan is missing, and stays so.
    treat : mapping of tuple of str to Treatment, or to a sequence of them
        The rules by the columns that they treat together, as `parsed_treatments` gives
        them. Those of a sequence apply one after the other.
    weights : float64 ndarray, shape (n,), optional
        Sampling weights, at least 0: shares of records and means are weighted.
    strata : mapping of str to int ndarray, shape (n,), optional
        The codes of the columns that rules have in ``within``.
    secret : str, optional
        256 random bits as hexadecimal text, see `new_secret`. The same secret gives the
        same values on every machine.
    household : int64 ndarray, shape (n,), optional
        The household of each record: areas are swapped between households.
    risk : float64 ndarray, shape (n,), optional
        A risk of each record: the households with the largest are swapped first.
    tell : callable, optional
        Called with a label and the effects of each treatment that reports them, plain
        data for the private record.

    column : callable, optional
        Called with a name and the columns treated so far; returns its codes and labels.

    Returns
    -------
    dict of str to float64 ndarray, shape (n,)
        The columns of ``treat``; the input is not changed.

    Raises
    ------
    TypeError, ValueError
        If a column, a weight, a stratum or the secret is missing or invalid, or if a
        rule cannot protect its column, for example because fewer than k records have
        values.

    Examples
    --------
    >>> rule = Treatment.of("income", "round:100")
    >>> treated_columns({"income": np.array([140.0, np.nan])}, {("income",): rule})
    {'income': array([100.,  nan])}
    """
    plan = [
        (names, rule)
        for names, rules in treat.items()
        for rule in ([rules] if isinstance(rules, Treatment) else rules)
    ]
    plan.sort(key=lambda step: step[1].last)
    found = {name: _column(name, columns) for names, _ in plan for name in names}
    lengths = {len(column) for column in found.values()}
    codes = _strata(plan, strata or {})
    lengths |= {len(code) for code in codes.values()}
    if weights is not None:
        weights = _weights(weights)
        lengths.add(len(weights))
    lengths |= {len(each) for each in (household, risk) if each is not None}
    if len(lengths) > 1:
        raise ValueError(
            "columns, weights, strata, households and risks have different lengths: "
            f"{sorted(lengths)}"
        )
    _check_secret(plan, secret)
    for step, (names, rule) in enumerate(plan):
        values = [found[name] for name in names]
        label = f"treat {joined(names)}={rule}"
        stratum = _combined([codes[name] for name in getattr(rule, "within", ())])
        stream = json.dumps([*map(str, names), str(rule), step])
        numbers = partial(treatment_numbers, secret or "", stream)
        given = Given(weights, stratum, label, numbers, household, risk)
        if column is not None:
            given = replace(given, column=partial(_as_now, column, found))
        if tell is not None:
            given = replace(given, tell=partial(tell, label))
        new = rule.treated(values, given)
        found.update(zip(names, new, strict=True))
    return found


def _as_now(
    column: Callable[[str, Mapping[str, Floats]], Any],
    found: Mapping[str, Floats],
    name: str,
) -> Any:
    """Return the codes and labels of a column after the treatments so far."""
    return column(name, found)


def _column(name: str, columns: Mapping[str, Floats]) -> Floats:
    """Return a column of finite or missing numbers, or refuse it."""
    if name not in columns:
        raise ValueError(f"treat {name}: there is no such column")
    column = arguments.numbers(f"treat {name}", columns[name], dimensions=1)
    whole = column.dtype.kind != "f"
    column = column.astype(np.float64)
    inexact = np.abs(column) > _EXACT if whole else np.zeros(column.size, bool)
    arguments.refuse(f"treat {name}", inexact, "whole numbers up to 2^53")
    large = np.abs(column) > _LARGEST
    arguments.refuse(f"treat {name}", large, f"between -{_LARGEST:g} and {_LARGEST:g}")
    return column


def _weights(weights: Floats) -> Floats:
    """Return weights as doubles, or refuse them."""
    found = arguments.numbers("weights", weights, dimensions=1).astype(np.float64)
    arguments.refuse("weights", ~(found >= 0.0) | np.isinf(found), "finite and >= 0")
    return found


def _strata(
    plan: Sequence[tuple[Names, Treatment]], strata: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return the codes of the strata that rules name."""
    named = {name for _, rule in plan for name in getattr(rule, "within", ())}
    for name in sorted(named - set(strata)):
        raise ValueError(f"within={name}: there are no codes of this column in strata")
    return {
        name: arguments.numbers(
            f"stratum {name}", strata[name], kinds="iu", dimensions=1
        )
        for name in named
    }


def _check_secret(plan: Sequence[tuple[Names, Treatment]], secret: str | None) -> None:
    """Refuse random treatments without a secret."""
    for names, rule in plan:
        if rule.random and secret is None:
            raise ValueError(
                f"treat {joined(names)}={rule}: a random treatment needs a secret"
            )
    if secret is not None:
        check_secret(secret)


def _combined(codes: Sequence[NDArray[Any]]) -> Integers | None:
    """Return one code for each combination of codes."""
    if not codes:
        return None
    found = np.zeros(len(codes[0]), np.int64)
    for code in codes:
        _, own = np.unique(code, return_inverse=True)
        pair = found * (int(own.max(initial=0)) + 1) + own
        _, found = np.unique(pair, return_inverse=True)
    return found
