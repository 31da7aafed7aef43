"""Treat the columns of a file, and give them back as columns like the original."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats, Integers
from riskcore.common.progress import Lines, silent
from riskcore.common.text_numbers import with_point
from riskcore.comparison.comparison import Moments
from riskcore.comparison.measures import mean_and_variance
from riskcore.comparison.statistics import correlation
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import (
    CodedColumn,
    Records,
    code_column,
    exact_numbers,
    household_codes,
    is_text_column,
    plain_value,
)
from riskcore.data.dates import Dates
from riskcore.data.likely_codes import refuse_codes
from riskcore.data.recode import column_like
from riskcore.data.source import Source
from riskcore.data.unsigned import Codes
from riskcore.protection.secret import check_secret, treatment_numbers
from riskcore.protection.settings.settings import Settings
from riskcore.protection.treatments.rules import (
    Given,
    Names,
    Treatment,
    joined,
)
from riskcore.protection.treatments.strata import combined

Rules = Mapping[Names, Sequence[Treatment]]


@dataclass(frozen=True, eq=False)
class Treated:
    """Columns before and after treatment."""

    file: _File  # the columns to treat
    # The columns as numbers, nan for missing; categories as codes.
    before: dict[Any, Floats]
    after: dict[Any, Floats]
    categorical: frozenset[Hashable]  # the columns whose numbers are codes
    told: dict[str, dict[str, Any]]  # the effects that treatments tell, by rule
    weights: Floats | None  # the original weights
    weight: Hashable | None  # their column

    @cached_property
    def numbers_before(self) -> Records:
        """The columns before treatment as numbers, each coded once."""
        return Records.of(self.before)

    @cached_property
    def columns(self) -> dict[Any, Any]:
        """The treated columns, of the type of the original ones."""
        return {name: self.file.like(name, *self._values(name)) for name in self.after}

    def _values(self, name: Hashable) -> tuple[list[Any], Codes]:
        """Return the distinct values of a treated column, and the code of each."""
        numbers, codes = table_of(self.after[name])
        values = self.file.values(name, numbers.tolist())
        if int(codes.max()) == len(values):  # without it, integers stay integers
            values.append(None)
        return values, codes.view(np.uint64)

    def check(self) -> None:
        """Refuse values that a column cannot hold; text holds all, and takes long."""
        if not all(map(self.file.is_text, self.after)):
            _ = self.columns

    def _coded(self, name: Hashable) -> CodedColumn:
        """Return a treated column as codes."""
        if not self.file.is_text(name):
            return code_column(Records.of({name: self.columns[name]}), name)
        values, codes = self._values(name)
        return code_column(Records.of({name: values}), name).some(codes)

    def altered(self, name: Hashable) -> NDArray[np.bool_]:
        """Return the mask of the values of a column that are others now, shape (n,)."""
        old, new = self.before[name], self.after[name]
        mask: NDArray[np.bool_] = (old != new) & ~(np.isnan(old) & np.isnan(new))
        return mask

    def new_values(self) -> dict[Any, Floats]:
        """Return the values that treatments gave to records, by column of numbers."""
        numeric = [name for name in self.after if name not in self.categorical]
        return {name: self.after[name][self.altered(name)] for name in numeric}

    def effects(self) -> dict[str, Any]:
        """Return what became of the columns of numbers, as plain data."""
        before = {str(name): values for name, values in self.before.items()}
        after = {
            str(name): values
            for name, values in self.after.items()
            if name not in self.categorical and not self.file.dates.get(name)
        }
        outcome = effects(before, after, self.weights)
        if self.weight in self.after:  # weights are not weighted by themselves
            name = str(self.weight)
            outcome["columns"] |= effects(before, {name: after[name]})["columns"]
        return outcome

    def recoded(self, coded: CodedRecords) -> CodedRecords:
        """Return coded records with the treated keys and weights."""
        keys = [name for name in self.after if name in coded.columns]
        coded = coded.with_columns({name: self._coded(name) for name in keys})
        if self.weight in self.after:
            weights = self.after[self.weight]
            zero = (weights == 0) & (self.before[self.weight] == 0)
            bad = int(np.count_nonzero(~(weights > 0) & ~zero))
            if bad:
                raise ValueError(
                    f"treat {self.weight}: {bad:,} weights would be 0, negative or "
                    "missing; use round-weights, share-weights or a smaller base"
                )
            return replace(coded, weights=weights)
        return coded


def numbers_of(
    source: Source, rows: Records, name: Hashable, rules: Rules | None = None
) -> Floats:
    """Return a column of the rows as numbers, nan for missing; dates by their rule."""
    if (dates := _dates_of(rows, name, rules or {})) is not None:
        return np.append(dates.numbers, np.nan)[code_column(rows, name).codes]
    numbers = source.numbers(name)
    return exact_numbers(rows if numbers is None else Records.of({name: numbers}), name)


def treat_records(
    source: Source,
    rows: Records,
    coded: CodedRecords,
    settings: Settings,
    risk: Floats | None = None,
    secret: str | None = None,
    say: Lines = silent,
) -> Treated:
    """Return the treated columns of recoded rows.

    Rules for columns in which the members of each household agree apply once for each
    household: a mean of three values is one of three households, however large.
    """
    if settings.weight in settings.treated and (source.scale or 1.0) != 1.0:
        raise ValueError(
            f"treat: {settings.weight!r} is multiplied by {source.scale:g} only as it "
            "is read; to treat it, write the weights of people into the data first"
        )
    weights, household = coded.weights, coded.households
    if weights is not None:  # a mean without some of its records tells the others
        weights = np.where(weights > 0, weights, weights[weights > 0].min())
    file = _File.of(source, rows, settings.treat)
    file.refuse_codes(source, settings)
    told: dict[str, dict[str, Any]] = {}
    after: dict[Any, Floats] = {}
    for rules, at, members in file.by_unit(settings, household):
        new = treated_columns(
            file.columns_of(rules, at),
            rules,
            weights=None if weights is None else weights[at],
            strata=file.strata_of(rules, at),
            secret=secret,
            household=household if members is None else None,
            risk=risk,
            tell=told.__setitem__,
            column=lambda name, now: file.as_now(name, {**after, **now}),
            say=say,
        )
        of_all = slice(None) if members is None else members
        after.update({name: values[of_all] for name, values in new.items()})
    after = {name: after[name] for name in file.before}
    treated = Treated(
        file, file.before, after, file.categorical, told, coded.weights, settings.weight
    )
    treated.check()
    return treated


@dataclass(frozen=True, slots=True, eq=False)
class _File:
    """The columns to treat, as codes and as numbers."""

    records: Records
    coded: dict[Hashable, CodedColumn]
    before: dict[Any, Floats]
    categorical: frozenset[Hashable]
    decimal: str
    dates: dict[Hashable, Dates | None]  # of columns with a rule for dates

    @classmethod
    def of(cls, source: Source, records: Records, rules: Rules) -> _File:
        """Return the columns that some rules treat."""
        # A rule for numbers needs the numbers, which are categories to the others, too.
        numeric = {
            name
            for names, treatments in rules.items()
            for name in names
            if not all(rule.is_categorical(name) for rule in treatments)
        }
        categorical = frozenset(
            name for names in rules for name in names if name not in numeric
        )
        coded: dict[Hashable, CodedColumn] = {
            name: code_column(records, name) for names in rules for name in names
        }
        before = {
            name: np.where(column.signed < 0, np.nan, column.signed)
            if name in categorical
            else numbers_of(source, records, name, rules)
            for name, column in coded.items()
        }
        dates = {name: _dates_of(records, name, rules) for name in coded}
        return cls(records, coded, before, categorical, source.reading.decimal, dates)

    def refuse_codes(self, source: Source, settings: Settings) -> None:
        """Refuse columns of numbers that may be codes, unless a rule says otherwise."""
        recoded = settings.recodings
        for names, rules in settings.treat.items():
            rule = f"{joined(names)}={rules[0]}:numbers"
            keep = f"say so in the rule: --treat {shlex.quote(rule)}"
            for name in () if any(rule.numbers for rule in rules) else names:
                if name not in self.categorical and name != settings.weight:
                    labels = {} if name in recoded else source.value_labels
                    own = labels.get(str(name))
                    refuse_codes(self.coded[name], own, keep, decimal=self.decimal)

    def by_unit(
        self, settings: Settings, household: Integers | None
    ) -> Iterator[tuple[Rules, Any, Integers | None]]:
        """Yield rules, the rows that they treat, and the row of each record or None."""
        rules = settings.treat
        if household is None:
            yield rules, slice(None), None
            return
        first = np.unique(household, return_index=True)[1]
        shared = {
            names: treatments
            for names, treatments in rules.items()
            if not any(rule.by_risk or rule.last for rule in treatments)
            and (settings.weight not in names or any(x.alters for x in treatments))
            and all(
                np.array_equal(values, values[first][household], equal_nan=True)
                for values in (
                    *self.columns_of({names: treatments}).values(),
                    *self.strata_of({names: treatments}).values(),
                )
            )
        }
        yield shared, first, household
        # Of persons, as shared weights are.
        others = {names: rules[names] for names in rules if names not in shared}
        yield others, slice(None), None

    def columns_of(self, rules: Rules, rows: Any = slice(None)) -> dict[str, Floats]:
        """Return the columns of some rules as numbers, or some rows of them."""
        return {name: self.before[name][rows] for names in rules for name in names}

    def strata_of(self, rules: Rules, rows: Any = slice(None)) -> dict[str, Any]:
        """Return the codes of the strata of some rules, or some rows of them."""
        return {
            name: code_column(self.records, name).codes[rows]
            if rule.order is None
            else household_codes(self.records, name, "within")[rows]
            for treatments in rules.values()
            for rule in treatments
            for name in rule.strata
        }

    def as_now(self, name: str, now: Mapping[str, Floats]) -> tuple[Any, Any]:
        """Return the codes and labels of a column after the treatments so far."""
        if name not in now:
            column = code_column(self.records, name)
            return column.codes, column.labels
        values, codes = table_of(now[name])
        return codes, np.array(self.values(name, values.tolist()), object)

    def values(self, name: Hashable, numbers: list[float]) -> list[Any]:
        """Return numbers, or codes of categories, as the values of a column."""
        if name in self.categorical:
            labels = self.coded[name].labels[np.array(numbers, np.int64)]
            return list(labels.tolist())
        if (dates := self.dates[name]) is not None:
            return dates.values(numbers)
        return _numbers(numbers, self.coded[name], self.decimal)

    def like(self, name: Hashable, values: list[Any], codes: Codes) -> Any:
        """Return values by their codes as a column like the original one."""
        data = self.records.data
        own = data[name] if isinstance(data, Mapping) else None
        new = replace(self.coded[name], codes=codes)
        return column_like(self.records, name, values, new, own)

    def is_text(self, name: Hashable) -> bool:
        """Return whether a column is text."""
        return is_text_column(self.records.column(name))


def _dates_of(records: Records, name: Hashable, rules: Rules) -> Dates | None:
    """Return the dates of a column with a rule for dates; refuse other values."""
    rule = next((steps[0] for names, steps in rules.items() if name in names), None)
    if rule is None or rule.order is None:
        return None
    try:
        return Dates.of([*code_column(records, name).labels], rule.order)
    except (TypeError, ValueError) as error:
        raise type(error)(f"treat {name}={rule}: {error}") from None


def table_of(numbers: Floats) -> tuple[Floats, Integers]:
    """Return the distinct numbers, and the code of each; missing comes after them."""
    values, codes = np.unique(numbers, return_inverse=True)  # which puts nan last
    return values[~np.isnan(values)], codes


def _numbers(values: list[float], column: CodedColumn, decimal: str) -> list[Any]:
    """Return numbers as the values of a column: text as text, whole as whole."""
    # A number that the column has already is written as there, unless it has marks of
    # thousands.
    labels = [plain_value(value) for value in column.labels]
    if not any(isinstance(value, str) for value in labels):
        if any(isinstance(value, Decimal) for value in labels):
            return [Decimal(repr(value)) for value in values]
        whole = all(isinstance(value, int) for value in labels)
        whole = whole and all(value.is_integer() for value in values)
        return [int(value) for value in values] if whole else values
    pairs = [(with_point(value, decimal), value) for value in labels]
    label_of = {float(x): y for x, y in pairs if x == y.strip().replace(decimal, ".")}
    return [label_of.get(value) or _text(value, decimal) for value in values]


def _text(number: float, decimal: str) -> str:
    """Return the shortest text of a number, whole numbers without a point."""
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(number).replace(".", decimal)


def effects(
    before: Mapping[str, Floats],
    after: Mapping[str, Floats],
    weights: Floats | None = None,
) -> dict[str, Any]:
    """Return what treatments did to columns of numbers, as plain data."""
    files = {"before": before, "after": after}
    weight = (
        np.ones(len(next(iter(after.values()), ()))) if weights is None else weights
    )
    return {
        "columns": {
            name: {when: _distribution(of[name], weight) for when, of in files.items()}
            for name in after
        },
        "correlations": [
            {
                "columns": [*pair],
                **{
                    when: correlation(of[pair[0]], of[pair[1]], weight)
                    for when, of in files.items()
                },
            }
            for pair in combinations(after, 2)
        ],
    }


def _distribution(values: Floats, weight: Floats) -> dict[str, Any] | None:
    """Return weighted figures of values; zeros are a share."""
    present = ~np.isnan(values)
    values, weight = values[present], weight[present]
    if not (weight > 0.0).any():
        return None
    moments = Moments.of(values, weight)
    zeros, _ = mean_and_variance((values == 0.0).astype(np.float64), weight)
    return {
        "mean": moments.mean,
        "variance": moments.variance,
        "quantiles": moments.quantiles,
        "zeros": zeros,
    }


def treated_columns(
    columns: Mapping[str, Floats],
    treat: Mapping[Names, Sequence[Treatment]],
    *,
    weights: Floats | None = None,
    strata: Mapping[str, NDArray[np.integer[Any]]] | None = None,
    secret: str | None = None,
    household: Integers | None = None,
    risk: Floats | None = None,
    tell: Callable[[str, dict[str, Any]], object] = lambda label, effects: None,
    column: Callable[[str, Mapping[str, Floats]], Any] = lambda name, now: None,
    say: Lines = silent,
) -> dict[str, Floats]:
    """Return the treated columns; the input is not changed."""
    # nan is missing and stays; a secret gives the same values on every machine.
    plan = [(names, rule) for names, rules in treat.items() for rule in rules]
    plan.sort(key=lambda step: step[1].last)
    treated = {name: columns[name] for names, _ in plan for name in names}
    for names, rule in plan:
        if rule.random and secret is None:
            raise ValueError(
                f"treat {joined(names)}={rule}: a random treatment needs a secret"
            )
    if secret is not None:
        check_secret(secret)
    for step, (names, rule) in enumerate(plan):
        values = [treated[name] for name in names]
        label = f"treat {joined(names)}={rule}"
        codes = [strata[name] for name in rule.strata] if strata else []
        stream = json.dumps([*map(str, names), str(rule), step])
        context = Given(
            weights,
            combined(codes, len(values[0])) if codes else None,
            label,
            names,
            partial(treatment_numbers, secret or "", stream),
            household,
            risk,
            partial(tell, label),
            lambda name: column(name, treated),
            say,
        )
        say(label)
        treated.update(zip(names, rule.treated(values, context), strict=True))
    return treated
