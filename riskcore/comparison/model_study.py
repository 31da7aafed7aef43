"""Fit a user's model to the original and to the safe file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.comparison.analyses import Coefficient, ModelComparison, category_of, some
from riskcore.comparison.formula import Formula
from riskcore.comparison.measures import Floats, Ints, sums_by
from riskcore.comparison.propensity import certain_records, occurring
from riskcore.comparison.regression import Estimates, Predictors, Rows, Term, fit
from riskcore.comparison.study_columns import Columns, Mask, Studied, studied
from riskcore.comparison.tables import parts
from riskcore.data.count import count

MOST_PARAMETERS = 300
_INTERCEPT = "(intercept)"
_WHEN = "before", "after"


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The distinct complete records of one file."""

    values: list[NDArray[Any]]  # of the response and each predictor, shape (K,)
    rows: Rows
    incomplete: int

    @property
    def n(self) -> int:
        """The number of complete records."""
        return int(self.rows.records.sum())

    def take(self, mask: Mask) -> _Side:
        """Return some of the records."""
        rows = self.rows
        weights = (
            None if one is None else one[mask] for one in (rows.weight, rows.squares)
        )
        taken = Rows(rows.y[mask], rows.records[mask], *weights)
        return _Side([one[mask] for one in self.values], taken, self.incomplete)


def compare_model(formula: Formula, columns: Columns) -> ModelComparison:
    """Fit a model to both files and compare what it concludes."""
    response = studied(formula.response, columns, response=True)
    predictors = [studied(one, columns, response=False) for one in formula.predictors]
    model = _Model(formula, response, predictors, _success(formula, response))
    sides = [model.side(i, one.weight) for i, one in enumerate(columns.files)]
    found = ModelComparison(
        formula.text,
        "linear" if model.success is None else "logistic",
        model.modeled,
        tuple(one.name for one in formula.variables),
        columns.files[0].weight is not None,
        {},
        sides[0].n,
        sides[1].n,
        sides[0].incomplete,
        sides[1].incomplete,
        (),
        (),
        "",
    )
    apart = [
        f"{one.name}: {one.reason}" for one in (response, *predictors) if one.reason
    ]
    if apart:
        return replace(found, reason="; ".join(apart))
    return model.compared(found, sides)


def _success(formula: Formula, response: Studied) -> int | None:
    """Return the category whose probability is modeled; None for numbers."""
    if response.categories is None:
        return None
    occurring = response.occurring()
    if len(occurring) == 2 or response.reason:
        return int(occurring[-1])
    raise ValueError(
        f"model {formula.text!r}: {response.name!r} has {len(occurring)} "
        f"{'category' if len(occurring) == 1 else 'categories'}, and a response needs "
        f"two, or numbers; write number({response.name}) if it is a number"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Parameters:
    """The parameters of a model, which are the same in both files."""

    names: list[str]
    terms: list[list[Term]]  # of each file
    scales: Floats  # by which estimates are multiplied
    lacking: list[list[str]]  # categories that no record of the file has


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    formula: Formula
    response: Studied
    predictors: list[Studied]
    success: int | None  # of a logistic model, the category whose probability it is

    @property
    def modeled(self) -> str:
        """What the model explains."""
        if self.success is None:
            return self.response.name
        return _named(self.response, self.success)

    def side(self, i: int, weight: Floats | None) -> _Side:
        """Return the distinct complete records of a file."""
        variables = [self.response, *self.predictors]
        complete = np.logical_and.reduce([one.present(i) for one in variables])
        columns = [one.values[i][complete] for one in variables]
        codes, values = [], []
        for column in columns:
            own, inverse = np.unique(column, return_inverse=True)
            codes.append(inverse.astype(np.min_scalar_type(max(len(own), 1))))
            values.append(own)
        incomplete = int(np.count_nonzero(~complete))
        if not complete.any():
            nothing = Rows(np.zeros(0), np.zeros(0, np.int64))
            return _Side(columns, nothing, incomplete)
        found = count(codes, [len(own) for own in values])
        distinct = [own[code] for own, code in zip(values, found.codes, strict=True)]
        y = distinct[0].astype(np.float64)
        if self.success is not None:
            y = (distinct[0] == self.success).astype(np.float64)
        sums = []
        if weight is not None:
            w = weight[complete]
            sums = [_sums(found.inverse, one, len(y)) for one in (w, w * w)]
        return _Side(distinct, Rows(y, found.frequency, *sums), incomplete)

    def compared(
        self, found: ModelComparison, sides: Sequence[_Side]
    ) -> ModelComparison:
        """Fit the model to both files, unless a file leaves nothing to fit."""
        dropped: list[list[str]] = [[], []]
        kept = list(sides)
        for i, when in enumerate(_WHEN):
            if not sides[i].n:
                reason = f"{when} protection no record has a value of every variable"
                return replace(found, reason=reason)
            if self.success is not None:
                kept[i], dropped[i] = self._without_certain(sides[i])
            if len(np.unique(kept[i].rows.y)) < 2:
                reason = f"{when} protection {self._constant(dropped[i])}"
                return replace(found, reason=reason)
        found = replace(found, notes=_of_both(dropped))
        bases = [
            None if one.categories is None else _first_common(kept, j)
            for j, one in enumerate(self.predictors, 1)
        ]
        if -1 in bases:
            name = self.predictors[bases.index(-1)].name
            reason = f"no category of {name} is left in both files"
            return replace(found, reason=reason)
        return self._fitted(found, sides, kept, bases)

    def _fitted(
        self,
        found: ModelComparison,
        sides: Sequence[_Side],
        kept: Sequence[_Side],
        bases: Sequence[int | None],
    ) -> ModelComparison:
        """Fit the model to the records kept of both files."""
        parameters = self._parameters(kept, sides, bases)
        if len(parameters.names) > MOST_PARAMETERS:
            raise ValueError(
                f"model {self.formula.text!r}: {len(parameters.names):,} parameters, "
                f"at most {MOST_PARAMETERS}; recode variables of many categories, or "
                "write number(...) around those that are numbers"
            )
        fits = [
            fit(Predictors(terms), one.rows, logistic=self.success is not None)
            for terms, one in zip(parameters.terms, kept, strict=True)
        ]
        shown = {
            one.name: one.categories[base]
            for one, base in zip(self.predictors, bases, strict=True)
            if one.categories is not None and base is not None
        }
        reason, more = _doubts(fits, parameters)
        return replace(
            found,
            base=shown,
            coefficients=_coefficients(parameters, fits),
            notes=(*found.notes, *more),
            reason=reason,
        )

    def _constant(self, notes: Sequence[str]) -> str:
        """Return why nothing is left to explain."""
        if notes:
            return "the predictors separate the two responses completely"
        return f"{self.response.name} has one value in all records of the model"

    def _factors(self, side: _Side) -> list[tuple[Studied, Ints]]:
        """Return each categorical predictor with its codes."""
        return [
            (one, side.values[j].astype(np.int64))
            for j, one in enumerate(self.predictors, 1)
            if one.categories is not None
        ]

    def _without_certain(self, side: _Side) -> tuple[_Side, list[str]]:
        """Leave out records of categories in which all responses are equal.

        Their parameters have no finite estimate; the estimates of the others are those
        without these records.
        """
        factors = self._factors(side)
        terms = [occurring(codes) for _, codes in factors]
        for i, j in self.formula.pairs:
            a, b = side.values[i + 1], side.values[j + 1]
            if self.predictors[i].categories and self.predictors[j].categories:
                terms.append(occurring(a.astype(np.int64) * (int(b.max()) + 1) + b))
        if not terms:
            return side, []
        weight, y = side.rows.sums, side.rows.y
        _, certain = certain_records(terms, weight * (1 - y), weight * y)
        if not certain.any():
            return side, []
        gone = [
            _named(one, code)
            for one, codes in factors
            for code in np.setdiff1d(codes, codes[~certain]).tolist()
        ]
        n = int(side.rows.records[certain].sum())
        where = some(gone) or "combinations of categories"
        note = (
            f"all {n:,} records of {where} have the same response "
            "(quasi-separation), so their coefficients have no finite estimate; the "
            "others are estimated without these records"
        )
        return side.take(~certain), [note]

    def _parameters(
        self, kept: Sequence[_Side], sides: Sequence[_Side], bases: Sequence[int | None]
    ) -> _Parameters:
        """Return the columns of both files, with the same parameters."""
        ones = [np.ones(len(one.rows.y), np.int64) for one in kept]
        names, scales = [_INTERCEPT], [0]
        terms = [[Term(one, 1)] for one in ones]
        mains = [self._main(j, kept, sides, base) for j, base in enumerate(bases)]
        crossed = [_crossed(mains[i], mains[j]) for i, j in self.formula.pairs]
        for one in (*mains, *crossed):
            names += one.names
            scales += [-one.exponent] * len(one.names)
            for i in (0, 1):
                term = Term(one.codes[i], len(one.names), one.values[i])
                terms[i].append(term)
        lacking = [[n for one in mains for n in one.lacking[i]] for i in (0, 1)]
        return _Parameters(names, terms, np.ldexp(1.0, np.array(scales)), lacking)

    def _main(
        self,
        j: int,
        kept: Sequence[_Side],
        sides: Sequence[_Side],
        base: int | None,
    ) -> _Block:
        """Return the columns of a predictor."""
        one = self.predictors[j]
        values = [side.values[j + 1] for side in kept]
        if one.categories is None:
            exponent = _exponent(sides, j + 1)
            codes = [np.ones(len(each), np.int64) for each in values]
            scaled: list[Floats | None] = [np.ldexp(each, -exponent) for each in values]
            return _Block([one.name], codes, scaled, exponent)
        occurring = np.unique(np.concatenate([side.values[j + 1] for side in sides]))
        own = occurring[occurring != base]
        place = np.zeros(len(one.categories), np.int64)
        place[own] = np.arange(1, len(own) + 1)
        names = [_named(one, code) for code in own.tolist()]
        codes = [place[each] for each in values]
        lacking = [
            [_named(one, c) for c in np.setdiff1d(own, each.values[j + 1]).tolist()]
            for each in sides
        ]
        return _Block(names, codes, [None, None], 0, lacking)


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """The columns of a predictor or a pair in both files."""

    names: list[str]
    codes: list[Ints]
    values: list[Floats | None]
    exponent: int  # values are divided by this power of 2
    # The categories that no record of a file has.
    lacking: Sequence[list[str]] = ([], [])


def _crossed(a: _Block, b: _Block) -> _Block:
    """Return the columns of the interaction of two predictors."""
    codes, values = [], []
    for i in (0, 1):
        both = (a.codes[i] > 0) & (b.codes[i] > 0)
        codes.append(np.where(both, a.codes[i] * (len(b.names) + 1) + b.codes[i], 0))
        factors = [one for one in (a.values[i], b.values[i]) if one is not None]
        values.append(np.multiply.reduce(factors) if factors else None)
    occurring = np.unique(np.append(np.concatenate(codes), 0))
    codes = [np.searchsorted(occurring, one) for one in codes]
    pairs = [divmod(number, len(b.names) + 1) for number in occurring[1:].tolist()]
    names = [f"{a.names[i - 1]} : {b.names[j - 1]}" for i, j in pairs]
    return _Block(names, codes, values, a.exponent + b.exponent)


def _named(variable: Studied, code: int) -> str:
    """Return a category with the name of its variable."""
    assert variable.categories is not None
    return category_of(variable.name, variable.categories[code])


def _sums(cell: NDArray[Any], values: Floats, size: int) -> Floats:
    """Return the sum of the values of each cell, whatever the order of the records."""
    high, low = (sums_by(cell, part, size) for part in parts(values))
    return high + low


def _exponent(sides: Sequence[_Side], j: int) -> int:
    """Return the power of 2 above the numbers of a variable."""
    most = max(float(np.abs(one.values[j]).max(initial=0)) for one in sides)
    return int(np.frexp(most)[1])


def _first_common(kept: Sequence[_Side], j: int) -> int:
    """Return the first category that both files have; -1 if there is none."""
    common = np.intersect1d(kept[0].values[j], kept[1].values[j])
    return int(common[0]) if len(common) else -1


def _of_both(notes: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return notes on the two files, one on both said once."""
    before, after = notes
    both = [one for one in before if one in after]
    return (
        *(f"before and after: {one}" for one in both),
        *(f"before: {one}" for one in before if one not in both),
        *(f"after: {one}" for one in after if one not in both),
    )


def _failure(fits: Sequence[Estimates]) -> str:
    """Return why a fit failed, empty if none did."""
    before, after = (one.reason for one in fits)
    if before and before == after:
        return f"before and after protection {before}"
    said = [
        f"{when} protection {reason}"
        for when, reason in zip(_WHEN, (before, after), strict=True)
        if reason
    ]
    return "; ".join(said)


def _doubts(
    fits: Sequence[Estimates], parameters: _Parameters
) -> tuple[str, tuple[str, ...]]:
    """Return why two fits cannot be compared, and what they leave out."""
    if reason := _failure(fits):
        return reason, ()
    names = parameters.names
    aliased = [
        [name for name, left in zip(names, one.aliased, strict=True) if left]
        for one in fits
    ]
    if aliased[0] != aliased[1]:
        named = some(sorted({*aliased[0]} ^ {*aliased[1]}))
        return f"the files differ in which predictors depend on others: {named}", ()
    notes = []
    for one, lacking, left in zip(fits, parameters.lacking, aliased, strict=True):
        bare = np.isnan(one.errors) & ~np.isnan(one.parameters)
        exact = [name for name, mark in zip(names, bare, strict=True) if mark]
        said = (
            ("no record has", lacking),
            ("no standard error, because the residuals are all 0, of", exact),
            ("left out, because they depend on other predictors:", left),
        )
        notes.append([f"{why} {some(which)}" for why, which in said if which])
    return "", _of_both(notes)


def _coefficients(
    parameters: _Parameters, fits: Sequence[Estimates]
) -> tuple[Coefficient, ...]:
    """Return the estimates of both files side by side."""
    columns = [
        [None if np.isnan(value) else value for value in (one * scales).tolist()]
        for each in fits
        for one, scales in (
            (each.parameters, parameters.scales),
            (each.errors, parameters.scales),
        )
    ]
    rows = zip(parameters.names, *columns, strict=True)
    return tuple(Coefficient(*row) for row in rows)
