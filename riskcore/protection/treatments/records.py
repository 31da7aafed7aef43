"""Treat the columns of a file, and give them back as columns like the original."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.coded import CodedRecords
from riskcore.data.columns import CodedColumn, Records, code_column, plain_value
from riskcore.data.household_rows import HouseholdRows
from riskcore.data.recode import column_like
from riskcore.data.unsigned import Codes
from riskcore.protection.treatments.apply import treated_columns
from riskcore.protection.treatments.effects import Effects, effects
from riskcore.protection.treatments.rules import Floats, Names, Treatment

Rules = Mapping[Names, Sequence[Treatment]]


@dataclass(frozen=True, slots=True, eq=False)
class Treated:
    """Columns before and after treatment.

    Attributes
    ----------
    columns : dict of column name to column
        The treated columns, of the type of the original ones.
    before, after : dict of column name to float64 ndarray, shape (n,)
        The columns as numbers, nan for missing; categories as codes.
    categorical : set of column names
        The columns whose numbers are codes.
    told : dict of str to dict
        What treatments tell of their effects, by rule.
    weights : float64 ndarray, shape (n,), or None
        The original weights.
    weight : column name or None
        Their column.
    """

    columns: dict[Any, Any]
    before: dict[Any, Floats]
    after: dict[Any, Floats]
    categorical: frozenset[Hashable]
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    weights: Floats | None = None
    weight: Hashable | None = None

    def altered(self, name: Hashable) -> NDArray[np.bool_]:
        """Return the mask of the values of a column that are others now, shape (n,)."""
        old, new = self.before[name], self.after[name]
        mask: NDArray[np.bool_] = (old != new) & ~(np.isnan(old) & np.isnan(new))
        return mask

    def effects(self) -> Effects:
        """Return what became of the columns of numbers."""
        after = {
            str(name): one
            for name, one in self.after.items()
            if name not in self.categorical
        }
        before = {str(name): one for name, one in self.before.items()}
        found = effects(before, after, self.weights)
        if self.weight is None or self.weight not in self.after:
            return found
        name = str(self.weight)  # weights are not weighted by themselves
        own = effects(before, {name: after[name]}).columns
        return replace(found, columns={**found.columns, **own})

    def recoded(self, coded: CodedRecords) -> CodedRecords:
        """Return coded records with the treated keys and weights."""
        records = Records.of(self.columns)
        keys = [name for name in self.columns if name in coded.columns]
        coded = coded.with_columns({name: code_column(records, name) for name in keys})
        if self.weight in self.after:
            return replace(coded, weights=self.after[self.weight])
        return coded


def treat_records(
    data: Any,
    rules: Rules,
    numbers_of: Callable[[Hashable], Floats],
    *,
    decimal: str = ".",
    weights: Floats | None = None,
    weight: Hashable | None = None,
    units: HouseholdRows | None = None,
    **given: Any,
) -> Treated:
    """Return the treated columns of data.

    ``numbers_of`` returns a column of the data as numbers, ``decimal`` is the decimal
    mark of numbers in text. With ``units`` columns that all members of a household
    share are treated with one row for each household. ``given`` goes to
    `treated_columns`.
    """
    records = Records.of(data)
    names = [name for columns in rules for name in columns]
    categorical = frozenset(
        name
        for columns, each in rules.items()
        for name in columns
        if any(rule.categorical for rule in each)
    )
    coded = {name: code_column(records, name) for name in names}
    strata = {
        name: code_column(records, name).codes
        for each in rules.values()
        for rule in each
        for name in getattr(rule, "within", ())
    }
    before = {
        name: _codes(coded[name]) if name in categorical else numbers_of(name)
        for name in names
    }
    told: dict[str, dict[str, Any]] = {}
    given |= {"weights": weights, "tell": told.__setitem__}
    shared = _shared(before, rules, strata, units)
    apart = {names: each for names, each in rules.items() if names not in shared}
    after = treated_columns(before, apart, strata=strata, **given)
    if units is not None:
        after |= _by_household(before, shared, strata, units, given)
    columns = {}
    for name in names:
        values, codes = _table(after[name])
        table = (
            coded[name].labels[np.array(values, np.int64)].tolist()
            if name in categorical
            else _numbers(values, coded[name], decimal)
        )
        column = replace(coded[name], codes=codes)
        own = data[name] if isinstance(data, Mapping) else None
        columns[name] = column_like(records, name, [*table, None], column, own)
    return Treated(columns, before, after, categorical, told, weights, weight)


def _shared(
    before: Mapping[Any, Floats],
    rules: Rules,
    strata: Mapping[Any, Codes],
    units: HouseholdRows | None,
) -> Rules:
    """Return the rules of columns and strata that all members of households share."""
    if units is None:
        return {}
    # Comparable codes: nan differs from itself.
    columns = {name: np.nan_to_num(one, nan=np.inf) for name, one in before.items()}
    alike = {name for name, one in columns.items() if not units.differing(one)}
    within = {name for name, one in strata.items() if not units.differing(one)}
    return {
        names: each
        for names, each in rules.items()
        if alike.issuperset(names)
        and all(within.issuperset(getattr(rule, "within", ())) for rule in each)
    }


def _by_household(
    before: Mapping[Any, Floats],
    rules: Rules,
    strata: Mapping[Any, Codes],
    units: HouseholdRows,
    given: Mapping[str, Any],
) -> dict[Any, Floats]:
    """Return columns that are treated with one row for each household."""
    arrays = ("weights", "household", "risk")
    rows = {
        name: one[units.first] if name in arrays and one is not None else one
        for name, one in given.items()
    }
    treated = treated_columns(
        {name: one[units.first] for name, one in before.items()},
        rules,
        strata={name: one[units.first] for name, one in strata.items()},
        **rows,
    )
    return {name: one[units.of] for name, one in treated.items()}


def _codes(column: CodedColumn) -> Floats:
    """Return the codes of a column as doubles, nan for missing."""
    codes = column.codes.astype(np.float64)
    codes[column.codes == len(column.labels)] = np.nan
    return codes


def _table(numbers: Floats) -> tuple[list[float], Codes]:
    """Return the distinct numbers, and the code of each; missing comes after them."""
    missing = np.isnan(numbers)
    values, inverse = np.unique(numbers[~missing], return_inverse=True)
    codes = np.full(len(numbers), len(values), np.uint64)
    codes[~missing] = inverse
    return values.tolist(), codes


def _numbers(values: list[float], column: CodedColumn, decimal: str) -> list[Any]:
    """Return numbers as the values of a column: text as text, whole as whole.

    A number that the column has already is written as there.
    """
    labels = [plain_value(one) for one in column.labels]
    if not any(isinstance(one, str) for one in labels):
        if any(isinstance(one, Decimal) for one in labels):
            return [Decimal(repr(one)) for one in values]
        whole = all(isinstance(one, int) for one in labels)
        whole = whole and all(one.is_integer() for one in values)
        return [int(one) for one in values] if whole else values
    known = {float(one.strip().replace(decimal, ".")): one for one in labels}
    return [known.get(one) or _text(one, decimal) for one in values]


def _text(number: float, decimal: str) -> str:
    """Return the shortest text of a number, whole numbers without a point."""
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(number).replace(".", decimal)
