"""Repeat a user's own models and tables on the original and on the safe file."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import compress
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Mask
from riskcore.common.text_numbers import is_number
from riskcore.comparison.analyses import (
    Coefficient,
    ModelComparison,
    TableCell,
    TableComparison,
    Z,
    category_of,
    some,
)
from riskcore.comparison.comparison import Comparison
from riskcore.comparison.formula import Formula, Variable
from riskcore.comparison.measures import Floats, Ints, fsum, sums_by, total_variation
from riskcore.comparison.propensity import certain_records, occurring
from riskcore.comparison.regression import Estimates, Predictors, Rows, Term, fit
from riskcore.comparison.statistics import File
from riskcore.comparison.tables import SharedColumn, Table, parts
from riskcore.data.columns import CodedColumn
from riskcore.data.count import count
from riskcore.data.files.labels import Labels, code_text
from riskcore.data.recode import Recoding

# Numbers of at most so many values are codes of categories, unless a formula says
# otherwise.
MOST_CODES = 10
LARGEST = 1e150  # its square, times any weight, is a double


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of both files that models and tables use."""

    files: tuple[File, File]
    keys: Collection[Hashable]
    recodings: Mapping[Any, Recoding]
    labels: Labels | None

    def shared(self, name: Hashable) -> SharedColumn:
        """Return a column of both files as codes of the same categories."""
        before, after = (file.coded.columns[name] for file in self.files)
        return SharedColumn.of(before, after, self.recodings.get(name), self.labels)

    def is_coded(self, name: Hashable) -> bool:
        """Return whether the values of a column are known to be codes."""
        if name in self.keys or name in self.recodings:
            return True
        codes = self.files[0].coded.columns[name].labels.tolist()
        labels = {} if self.labels is None else self.labels.occurring(str(name), codes)
        return 0 < len(codes) <= 2 * len(labels)


@dataclass(frozen=True, slots=True, eq=False)
class Studied:
    """A variable of a model in both files: numbers, or codes of the same categories."""

    name: str
    categories: tuple[str, ...] | None  # as text; None for numbers
    values: tuple[NDArray[Any], NDArray[Any]]
    reason: str = ""  # why the files have no categories in common

    def present(self, side: int) -> Mask:
        """Return the mask of the records with a value in one of the files."""
        if self.categories is None:
            return np.asarray(~np.isnan(self.values[side]))
        return np.asarray(self.values[side] != len(self.categories))

    def occurring(self) -> Ints:
        """Return the categories that occur in a file."""
        assert self.categories is not None
        sizes = len(self.categories) + 1
        counts = sum(np.bincount(codes, minlength=sizes) for codes in self.values)
        return np.flatnonzero(np.asarray(counts)[:-1])


def studied(variable: Variable, columns: Columns, *, response: bool) -> Studied:
    """Return a variable as the formula uses it, or as its values suggest."""
    name = variable.name
    numbers = [side.numbers.get(name) for side in columns.files]
    if variable.use != "category" and numbers[0] is not None and numbers[1] is not None:
        return Studied(name, None, (numbers[0], numbers[1]))
    coded = [side.coded.columns[name] for side in columns.files]
    values = [_numbers(side.labels) for side in coded]
    use = variable.use or _usual_use(values, columns.is_coded(name), response=response)
    if use == "number":
        before, after = (
            _spread(side, labels, name)
            for side, labels in zip(coded, values, strict=True)
        )
        return Studied(name, None, (before, after))
    shared = columns.shared(name)
    shown = tuple(map(code_text, shared.shown))
    return Studied(name, shown, (shared.before, shared.after), shared.reason)


def _numbers(labels: NDArray[Any]) -> Floats | None:
    """Return the values of a column as numbers, None if one is not a number."""
    if labels.dtype.kind in "iuf":
        return labels.astype(np.float64)
    numbers = [_number(label) for label in labels.tolist()]
    return None if None in numbers else np.array(numbers, np.float64)


def _number(label: Any) -> float | None:
    """Return a value as a number, None if it is not one."""
    if isinstance(label, str):
        return float(label) if is_number(label.strip(" ")) else None
    real = isinstance(label, Real | Decimal) and not isinstance(label, bool)
    return float(label) if real else None


def _usual_use(values: Sequence[Floats | None], coded: bool, *, response: bool) -> str:
    """Return whether a variable is a number or a category if no formula says so."""
    if coded or values[0] is None or values[1] is None:
        return "category"
    distinct = len(np.union1d(values[0], values[1]))
    return "number" if distinct > (2 if response else MOST_CODES) else "category"


def _spread(column: CodedColumn, labels: Floats | None, name: str) -> Floats:
    """Return the numbers of all records, nan for missing."""
    if labels is None:
        raise ValueError(
            f"number({name}): some values of {name!r} are not numbers, or no longer; "
            f"write category({name})"
        )
    if np.abs(labels).max(initial=0) > LARGEST:
        raise ValueError(f"column {name!r}: beyond {LARGEST:g}; give another unit")
    return np.append(labels, np.nan)[column.codes]


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
        weights = (None if x is None else x[mask] for x in (rows.weight, rows.squares))
        taken = Rows(rows.y[mask], rows.records[mask], *weights)
        return _Side([column[mask] for column in self.values], taken, self.incomplete)


def compare_model(formula: Formula, columns: Columns) -> ModelComparison:
    """Fit a model to both files and compare what it concludes."""
    response = studied(formula.response, columns, response=True)
    predictors = [studied(x, columns, response=False) for x in formula.predictors]
    model = _Model(formula, response, predictors, _success(formula, response))
    sides = [model.side(i, entry.weight) for i, entry in enumerate(columns.files)]
    comparison = ModelComparison(
        formula.text,
        "linear" if model.success is None else "logistic",
        model.modeled,
        tuple(entry.name for entry in formula.variables),
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
    apart = [f"{x.name}: {x.reason}" for x in (response, *predictors) if x.reason]
    if apart:
        return replace(comparison, reason="; ".join(apart))
    return model.compared(comparison, sides)


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
    scales: Floats  # by which estimates are multiplied
    predictors: list[Predictors]  # of each file


class _Block(NamedTuple):
    """The parameters of a predictor or of a pair, for the rows of both files."""

    names: list[str]
    term: Term
    exponent: int = 0  # numbers are divided by this power of 2


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
        complete = np.logical_and.reduce([x.present(i) for x in variables])
        columns = [variable.values[i][complete] for variable in variables]
        codes, values = [], []
        for column in columns:
            own, inverse = np.unique(column, return_inverse=True)
            codes.append(inverse.astype(np.min_scalar_type(max(len(own), 1))))
            values.append(own)
        incomplete = int(np.count_nonzero(~complete))
        if not complete.any():
            nothing = Rows(np.zeros(0), np.zeros(0, np.int64))
            return _Side(columns, nothing, incomplete)
        counts = count(codes, [len(own) for own in values])
        distinct = [own[code] for own, code in zip(values, counts.codes, strict=True)]
        y = distinct[0].astype(np.float64)
        if self.success is not None:
            y = (distinct[0] == self.success).astype(np.float64)
        sums = []
        if weight is not None:
            w = weight[complete]
            sums = [_sums(counts.inverse, variable, len(y)) for variable in (w, w * w)]
        return _Side(distinct, Rows(y, counts.frequency, *sums), incomplete)

    def compared(
        self, comparison: ModelComparison, sides: Sequence[_Side]
    ) -> ModelComparison:
        """Fit the model to both files, unless a file leaves nothing to fit."""
        dropped: list[list[str]] = [[], []]
        kept = list(sides)
        for i, when in enumerate(_WHEN):
            if not sides[i].n:
                reason = f"{when} protection no record has a value of every variable"
                return replace(comparison, reason=reason)
            if self.success is not None:
                kept[i], dropped[i] = self._without_certain(sides[i])
            if len(np.unique(kept[i].rows.y)) < 2:
                why = f"{self.response.name} has one value in all records of the model"
                if dropped[i]:
                    why = "the predictors separate the two responses completely"
                return replace(comparison, reason=f"{when} protection {why}")
        comparison = replace(comparison, notes=_of_both(dropped))
        bases = [
            None if predictor.categories is None else _first_common(kept, j)
            for j, predictor in enumerate(self.predictors, 1)
        ]
        if -1 in bases:
            name = self.predictors[bases.index(-1)].name
            reason = f"no category of {name} is left in both files"
            return replace(comparison, reason=reason)
        return self._fitted(comparison, sides, kept, bases)

    def _fitted(
        self,
        comparison: ModelComparison,
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
            fit(X, side.rows, logistic=self.success is not None)
            for X, side in zip(parameters.predictors, kept, strict=True)
        ]
        shown = {
            predictor.name: predictor.categories[base]
            for predictor, base in zip(self.predictors, bases, strict=True)
            if predictor.categories is not None and base is not None
        }
        reason, more = _doubts(fits, parameters.names, self._lacking(sides, bases))
        return replace(
            comparison,
            base=shown,
            coefficients=_coefficients(parameters, fits),
            notes=(*comparison.notes, *more),
            reason=reason,
        )

    def _without_certain(self, side: _Side) -> tuple[_Side, list[str]]:
        """Leave out categories with equal responses, which have no finite estimate."""
        factors = [
            (predictor, side.values[j].astype(np.int64))
            for j, predictor in enumerate(self.predictors, 1)
            if predictor.categories is not None
        ]
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
            _named(factor, code)
            for factor, codes in factors
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
        """Return the columns of the records kept of both files."""
        mains = []
        for j, base in enumerate(bases):
            values = np.concatenate([side.values[j + 1] for side in kept])
            if base is None:
                exponent = _exponent(sides, j + 1)
                ones = np.ones(len(values), np.int64)
                term = Term(ones, 1, np.ldexp(values, -exponent))
                mains.append(_Block([self.predictors[j].name], term, exponent))
                continue
            own = _others(sides, j, base)
            codes = np.searchsorted(own, values) + 1
            term = Term(np.where(values == base, 0, codes), len(own))
            names = [_named(self.predictors[j], code) for code in own.tolist()]
            mains.append(_Block(names, term))
        rows = sum(len(side.rows.y) for side in kept)
        blocks = [_Block([_INTERCEPT], Term(np.ones(rows, np.int64), 1)), *mains]
        blocks += [_crossed(mains[i], mains[j]) for i, j in self.formula.pairs]
        exponents = [-block.exponent for block in blocks for _ in block.names]
        cut = len(kept[0].rows.y)
        return _Parameters(
            [name for block in blocks for name in block.names],
            np.ldexp(1.0, np.array(exponents)),
            [
                Predictors([_some(block.term, part) for block in blocks])
                for part in (slice(cut), slice(cut, None))
            ],
        )

    def _lacking(
        self, sides: Sequence[_Side], bases: Sequence[int | None]
    ) -> list[list[str]]:
        """Return the categories that no record of each file has."""
        return [
            [
                _named(self.predictors[j], code)
                for j, base in enumerate(bases)
                if base is not None
                for code in np.setdiff1d(
                    _others(sides, j, base), side.values[j + 1]
                ).tolist()
            ]
            for side in sides
        ]


def _others(sides: Sequence[_Side], j: int, base: int) -> Ints:
    """Return the categories of a predictor in either file, without the base."""
    categories = np.unique(np.concatenate([side.values[j + 1] for side in sides]))
    return np.asarray(categories[categories != base], np.int64)


def _some(term: Term, rows: slice) -> Term:
    """Return a term for some of the rows."""
    value = None if term.value is None else term.value[rows]
    return Term(term.codes[rows], term.size, value)


def _crossed(a: _Block, b: _Block) -> _Block:
    """Return the interaction of two predictors."""
    width = b.term.size + 1
    both = (a.term.codes > 0) & (b.term.codes > 0)
    cells = np.where(both, a.term.codes * width + b.term.codes, 0)
    occurring = np.unique(np.append(cells, 0))
    factors = [block.term.value for block in (a, b) if block.term.value is not None]
    value = np.multiply.reduce(factors) if factors else None
    pairs = [divmod(cell, width) for cell in occurring[1:].tolist()]
    names = [f"{a.names[i - 1]} : {b.names[j - 1]}" for i, j in pairs]
    term = Term(np.searchsorted(occurring, cells), len(names), value)
    return _Block(names, term, a.exponent + b.exponent)


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
    most = max(float(np.abs(side.values[j]).max(initial=0)) for side in sides)
    return int(np.frexp(most)[1])


def _first_common(kept: Sequence[_Side], j: int) -> int:
    """Return the first category that both files have; -1 if there is none."""
    common = np.intersect1d(kept[0].values[j], kept[1].values[j])
    return int(common[0]) if len(common) else -1


def _of_both(notes: Sequence[Sequence[str]], end: str = ":") -> tuple[str, ...]:
    """Return notes on the two files, one on both said once."""
    before, after = notes
    both = [note for note in before if note in after]
    return (
        *(f"before and after{end} {note}" for note in both),
        *(f"before{end} {note}" for note in before if note not in both),
        *(f"after{end} {note}" for note in after if note not in both),
    )


def _doubts(
    fits: Sequence[Estimates], names: Sequence[str], lacking: Sequence[Sequence[str]]
) -> tuple[str, tuple[str, ...]]:
    """Return why two fits cannot be compared, and what they leave out."""
    failures = [[estimates.reason] if estimates.reason else [] for estimates in fits]
    if any(failures):
        return "; ".join(_of_both(failures, " protection")), ()
    aliased = [list(compress(names, estimates.aliased)) for estimates in fits]
    if aliased[0] != aliased[1]:
        named = some(sorted({*aliased[0]} ^ {*aliased[1]}))
        return f"the files differ in which predictors depend on others: {named}", ()
    notes = []
    for estimates, without, left in zip(fits, lacking, aliased, strict=True):
        bare = np.isnan(estimates.errors) & ~np.isnan(estimates.parameters)
        said = (
            ("no record has", without),
            (
                "no standard error, because the residuals are all 0, of",
                list(compress(names, bare)),
            ),
            ("left out, because they depend on other predictors:", left),
        )
        notes.append([f"{why} {some(which)}" for why, which in said if which])
    return "", _of_both(notes)


def _coefficients(
    parameters: _Parameters, fits: Sequence[Estimates]
) -> tuple[Coefficient, ...]:
    """Return the estimates of both files side by side."""
    columns = [
        [None if np.isnan(x) else x for x in (values * parameters.scales).tolist()]
        for estimates in fits
        for values in (estimates.parameters, estimates.errors)
    ]
    rows = zip(parameters.names, *columns, strict=True)
    return tuple(Coefficient(*row) for row in rows)


def columns_of_studies(
    models: Sequence[Formula],
    tables: Sequence[Sequence[Hashable]],
    numbers: Collection[Hashable],
) -> list[Hashable]:
    """Return the columns to code for models and tables."""
    of_models = [
        column.name
        for formula in models
        for column in formula.variables
        if column.name not in numbers or column.use == "category"
    ]
    return list(
        dict.fromkeys([*of_models, *(column for table in tables for column in table)])
    )


def with_studies(
    comparison: Comparison,
    columns: Columns,
    models: Sequence[Formula],
    tables: Sequence[Sequence[Hashable]],
) -> Comparison:
    """Return a comparison with the models and tables of both files."""
    labels = columns.labels
    variables = {} if labels is None else labels.variables
    names = [x.key for x in comparison.keys] + [x.column for x in comparison.numbers]
    names += columns_of_studies(models, tables, ())
    return replace(
        comparison,
        models=tuple(compare_model(entry, columns) for entry in models),
        tables=tuple(compare_table(entry, columns) for entry in tables),
        labels={
            name: variables[str(name)]
            for name in names
            if variables.get(str(name), str(name)) != str(name)
        },
    )


def compare_table(names: Sequence[Hashable], columns: Columns) -> TableComparison:
    """Compare the weighted shares of a table of complete records."""
    shared = [columns.shared(name) for name in names]
    levels = [column.levels for column in shared]
    tables, squares, incomplete = [], [], []
    codes_of_both = [x.before for x in shared], [x.after for x in shared]
    for codes, file in zip(codes_of_both, columns.files, strict=True):
        w = np.ones(file.coded.n) if file.weight is None else file.weight
        present = Table.of(codes, levels, file.weight).present()
        tables.append(present)
        squares.append(Table.of(codes, levels, w * w).present())
        incomplete.append(file.coded.n - present.n)
    n = [table.n for table in tables]
    counts = n[0], n[1], incomplete[0], incomplete[1]
    comparison = TableComparison(tuple(names), *counts, None, (), "")
    reason = "; ".join(f"{x.name!r}: {x.reason}" for x in shared if x.reason)
    for when, table in zip(("before", "after"), tables, strict=True):
        if not table.weight.any():
            reason = reason or f"{when} protection no record has a value in each column"
            reason += " and a weight" * (table.n > 0)
    if reason:
        return replace(comparison, reason=reason)
    cells = np.union1d(tables[0].numbers, tables[1].numbers)
    p, q = (table.shares(cells) for table in tables)
    margins = Z * _share_errors(tables[0], squares[0], cells)
    codes_of_cells = zip(
        *(column.tolist() for column in np.unravel_index(cells, levels)), strict=True
    )
    rows = zip(codes_of_cells, p.tolist(), q.tolist(), margins.tolist(), strict=True)
    return replace(
        comparison,
        total_variation=total_variation(p, q),
        weight_before=fsum(tables[0].weight),
        weight_after=fsum(tables[1].weight),
        cells=tuple(
            TableCell(
                tuple(column.shown[i] for column, i in zip(shared, codes, strict=True)),
                *row,
            )
            for codes, *row in rows
        ),
    )


def _share_errors(table: Table, squares: Table, cells: Ints) -> Floats:
    """Return the standard errors of weighted shares, of a sample with replacement."""
    p, own = table.shares(cells), squares.spread(squares.weight, cells)
    total, n = fsum(table.weight), table.n
    # The sum of w^2 (d - p)^2, d being 1 in the cell.
    spread = own * (1 - 2 * p) + p * p * fsum(squares.weight)
    variance = spread / total**2 * (n / (n - 1) if n > 1 else 1.0)
    return np.sqrt(np.maximum(variance, 0))
