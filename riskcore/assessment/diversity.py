"""Sensitive variables: l-diversity and t-closeness of the cells of a file.

Anyone who finds the cell of a person, without finding the record, still learns what the
records of the cell have in common. l-diversity measures how many values of a sensitive
variable a cell has; t-closeness measures how far the distribution of the values is from
their distribution in the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.distributions import distributions
from riskcore.assessment.diversity_of_cells import (
    diverse,
    equal_distance,
    ordered_distance,
)
from riskcore.assessment.goals import l_parts
from riskcore.common import arguments
from riskcore.common.missing_column import NoSuchNameError
from riskcore.common.sheet import OnASheet, Part, Sheet
from riskcore.common.warn import warn
from riskcore.common.words import counted, printable, shortened
from riskcore.data.cells import (
    Cells,
    check_missing,
    check_names,
    tabulate_coded,
    with_results,
)
from riskcore.data.coded import CodedRecords, doubtful_codes
from riskcore.data.columns import CodedColumn, plain_value
from riskcore.data.files.intake import Intake
from riskcore.data.files.reading import DoubtfulCodes, Reading
from riskcore.data.frame_types import DataT, DataT_co, OfData, frame
from riskcore.data.source import Source

MISSING_SENSITIVE = ("refuse", "category", "ignore")
# Columns of each record and sensitive variable, after the name of the variable.
RECORD_COLUMNS = ("distinct_l", "entropy_l", "recursive_l", "closeness")
# Of numerator and denominator of c: whole numbers up to here are doubles.
_MOST = 2**53
_LONGEST = 24
_ROWS = 5  # largest number of distinct values with a row in the summary

Mask = NDArray[np.bool_]


def diversity(
    data: DataT,
    keys: Iterable[Hashable],
    sensitive: Hashable | Sequence[Hashable],
    *,
    missing: str = "wildcard",
    alpha: float = 1.0,
    missing_sensitive: str = "refuse",
    c: Any = 3,
    ordered: Sequence[Hashable] = (),
    reading: Reading | None = None,
) -> Diversity[DataT]:
    r"""Measure l-diversity and t-closeness of the cells of a file.

    Parameters
    ----------
    data : frame, mapping or path
        Records, as for `riskcore.tabulate`, or data that an engine holds.
    keys : iterable of hashable
        Names of the key variables.
    sensitive : hashable, or list of hashable
        Names of the sensitive variables; each is measured separately. For cells of the
        keys and the other sensitive variables (Machanavajjhala et al. 2007), name the
        others as keys.
    missing : {"wildcard", "argus", "category", "refuse"}
        How to treat missing key values, see `riskcore.tabulate`. If missing matches
        any value, the distribution of a cell is over all records that are compatible
        with it, each counted as in the sample frequency.
    alpha : float
        With ``missing="wildcard"``, how much a record with missing keys counts in
        cells to which it may not belong, in [0, 1].
    missing_sensitive : {"refuse", "category", "ignore"}
        How to treat missing values of sensitive variables: refuse the file; take
        missing as one more value, which makes cells more diverse; or leave these
        records out of all distributions, which is the careful choice. A cell that has
        no value left then fails every goal.
    c : int, float, Decimal or Fraction
        The constant c of recursive (c, l)-diversity, > 0. A float means the decimal as
        written: 0.1 is 1/10.
    ordered : sequence of hashable
        Sensitive variables whose closeness is measured by the ordered distance; other
        variables have the equal distance, see Notes. Their values are times or numbers,
        which a file may hold as text.
    reading : Reading, optional
        How to read the file, if ``data`` is a path.

    Returns
    -------
    Diversity
        All records count the same; weights are not used.

    Warns
    -----
    DoubtfulCodes
        If categories look like missing values, or look alike.

    Raises
    ------
    KeyError, OSError, TypeError, ValueError
        As `riskcore.tabulate`; or if a sensitive variable is a key, is named twice, or
        has missing values that are refused; if ``c`` is not positive or has more than
        15 digits; or if an ordered variable does not hold numbers or times.

    Notes
    -----
    For a cell of n records, with m values that r_1 >= ... >= r_m records have, and
    p = r/n:

    - distinct l-diversity is m; entropy l-diversity is exp(-sum p log p) (to 1e-13, and
      exact if it is a whole number);
    - recursive (c, l)-diversity is, exactly, the largest l with r_1 < c (r_l + ... +
      r_m), or 0 if no l satisfies this;
    - closeness t is the earth mover's distance of the cell from the file: with the
      equal distance, half the sum of \|p - q\|; with the ordered distance, the sum
      over the values, in order, of the differences of the cumulated shares, divided by
      the number of values less one.

    Sources: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007); Li, Li and
    Venkatasubramanian (2007).

    Examples
    --------
    >>> data = {
    ...     "age": [2, 2, 2, 4, 4, 4, 3, 3, 3],
    ...     "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
    ... }
    >>> found = diversity(data, ["age"], "salary", ordered=["salary"])
    >>> salary = found["salary"]
    >>> salary.distinct_l, salary.entropy_l
    (array([3, 3, 3]), array([3., 3., 3.]))
    >>> [round(float(t), 3) for t in salary.closeness]
    [0.375, 0.236, 0.167]
    >>> found.fails(t=0.3)
    array([ True, False, False])
    """
    check_missing(missing, alpha)
    keys = arguments.names("keys", keys)
    rules = SensitiveRules.of(keys, sensitive, missing_sensitive, c, ordered)
    data, intake = Source.of(data, reading).read([*keys, *rules.names])
    coded = CodedRecords.of(data, [*keys, *rules.names])
    return diversity_of(data, coded, keys, rules, missing, alpha, intake)


@dataclass(frozen=True, slots=True)
class SensitiveRules:
    """How sensitive variables are measured: the arguments of `diversity`, checked."""

    names: list[Hashable]
    missing: str
    c: Fraction
    ordered: list[Hashable]

    @classmethod
    def of(
        cls,
        keys: Sequence[Hashable],
        sensitive: Hashable | Sequence[Hashable],
        missing: str,
        c: Any = 3,
        ordered: Sequence[Hashable] = (),
    ) -> SensitiveRules:
        """Check the arguments, which have the same names as in `diversity`."""
        arguments.one_of("missing_sensitive", missing, MISSING_SENSITIVE)
        constant = _constant(c)
        names = _sensitive_names(sensitive)
        in_order = arguments.names("ordered", ordered)
        for name in names:
            check_names(keys, {"sensitive variable": name}, ())
        for name in in_order:
            if name not in names:
                raise ValueError(f"ordered: {name!r} is not a sensitive variable")
        return cls(names, missing, constant, in_order)


def diversity_of(
    data: Any,
    coded: CodedRecords,
    keys: Sequence[Hashable],
    rules: SensitiveRules,
    missing: str,
    alpha: float,
    intake: Intake | None = None,
) -> Diversity:
    """Measure l-diversity and t-closeness of records whose columns are coded."""
    columns = [
        in_order(column) if column.name in rules.ordered else column
        for column in coded.keys(rules.names)
    ]
    for line in doubtful_codes(columns, coded.stands_for):
        warn(line, DoubtfulCodes)
    if rules.missing == "refuse":
        _refuse_missing(columns, coded.n)
    cells = tabulate_coded(coded, keys, missing, alpha, intake)
    variables = tuple(_measured(cells, column, rules) for column in columns)
    return Diversity(data, cells, variables, float(rules.c), rules.missing)


def _sensitive_names(sensitive: Any) -> list[Hashable]:
    """Return the names of the sensitive variables; a single name needs no list."""
    single = isinstance(sensitive, str) or not isinstance(sensitive, Sequence)
    names = arguments.names("sensitive", [sensitive] if single else sensitive)
    if not names:
        raise ValueError("sensitive is empty: name at least one sensitive variable")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"sensitive names {twice[0]!r} more than once")
    return names


def _constant(c: Any) -> Fraction:
    """Return c as an exact fraction of its decimal form."""
    exact: Any = c.item() if isinstance(c, np.generic) else c
    number = arguments.number_in("c", exact, "(0, inf)")
    written = isinstance(exact, Rational | Decimal)
    constant = Fraction(exact if written else repr(number))
    if max(constant.numerator, constant.denominator) >= _MOST:
        raise ValueError(
            f"c={c}: need a number of at most 15 digits, or a Fraction of smaller ones"
        )
    return constant


def _refuse_missing(columns: Sequence[CodedColumn], n: int) -> None:
    faults = [
        f"{column.name!r} in {column.missing}" for column in columns if column.missing
    ]
    if faults:
        raise ValueError(
            f"missing values of sensitive variables: {', '.join(faults)} of {n} "
            "records; missing_sensitive='ignore' leaves them out, 'category' "
            "counts missing as one more value"
        )


def _measured(
    cells: Cells, column: CodedColumn, rules: SensitiveRules
) -> SensitiveVariable:
    """Measure one sensitive variable."""
    as_value = rules.missing == "category" and column.missing > 0
    distance = "ordered" if column.name in rules.ordered else "equal"
    levels = len(column.labels) + as_value
    if levels == 0:
        raise ValueError(f"sensitive variable {column.name!r}: all values are missing")
    if distance == "ordered" and as_value:
        raise ValueError(
            f"ordered: {column.name!r} has missing values, which have no place in the "
            "order; missing_sensitive='ignore' leaves them out"
        )
    cell_distributions = distributions(cells, column.codes, levels)
    l = diverse(cell_distributions, rules.c)  # noqa: E741
    measure = ordered_distance if distance == "ordered" else equal_distance
    return SensitiveVariable(
        column.name,
        cells,
        l.distinct,
        l.entropy,
        l.recursive,
        measure(cell_distributions),
        distance,
        levels,
        column.missing,
    )


def in_order(column: CodedColumn) -> CodedColumn:
    """Return a column in numeric order; text of numbers is read as numbers."""
    values = [plain_value(label) for label in column.labels]
    if not any(isinstance(value, str) for value in values):
        if any(isinstance(value, bool | bytes) for value in values):
            raise _no_order(column)
        return column
    numbers = [_number(value) for value in values]
    if None in numbers:
        raise _no_order(column)
    labels, rank = np.unique(np.array(numbers, object), return_inverse=True)
    codes = np.append(rank, len(labels)).astype(np.uint32)[column.codes]
    return CodedColumn(column.name, codes, labels, column.missing)


def _number(text: Any) -> Decimal | None:
    try:
        number = Decimal(text.strip()) if isinstance(text, str) else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() else None


def _no_order(column: CodedColumn) -> ValueError:
    return ValueError(
        f"ordered: {column.name!r} has values that are not numbers, which have no "
        "distance; give numbers or times"
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SensitiveVariable:
    """The l-diversity and t-closeness of one sensitive variable.

    Attributes
    ----------
    name : hashable
    cells : Cells
        The cells of the keys.
    distinct_l : int64 ndarray, shape (K,)
        Number of values in each cell; 0 if all are missing and not counted.
    entropy_l : float64 ndarray, shape (K,)
        exp of the entropy of the values; nan if there are no values.
    recursive_l : int64 ndarray, shape (K,)
        The largest l of recursive (c, l)-diversity; 0 if no l satisfies it.
    closeness : float64 ndarray, shape (K,)
        t, the distance from the distribution in the file, in [0, 1]; nan if there are
        no values.
    distance : {"equal", "ordered"}
    values : int
        Number of values in the file, including missing if it is a category.
    missing : int
        Number of records whose value is missing.
    """

    name: Hashable
    cells: Cells
    distinct_l: NDArray[np.int64]
    entropy_l: NDArray[np.float64]
    recursive_l: NDArray[np.int64]
    closeness: NDArray[np.float64]
    distance: str
    values: int
    missing: int

    @property
    def empty(self) -> Mask:
        """Mask of the cells without any counted value."""
        return np.equal(self.distinct_l, 0)

    def fails(
        self,
        *,
        l: float | str | None = None,  # noqa: E741
        t: float | None = None,
    ) -> Mask:
        """Return a mask of the cells that fail l-diversity or t-closeness.

        A cell without any counted value fails.

        Parameters
        ----------
        l : float or str, optional
            A cell fails if it is not l-diverse: has fewer distinct values, or less by
            another definition, as in "entropy:3" or "recursive:2".
        t : float, optional
            A cell fails if it is farther than t from the file.

        Returns
        -------
        ndarray of bool, shape (K,)

        Raises
        ------
        TypeError, ValueError
            If neither is given, ``l`` is not a number of at least 1, or ``t`` is not in
            [0, 1].
        """
        if l is None and t is None:
            raise ValueError("give l, t or both")
        holds = np.ones(len(self.distinct_l), bool)
        if l is not None:
            definition, least = l_parts(l)
            holds[~(getattr(self, f"{definition}_l") >= least)] = False
        if t is not None:
            near = self.closeness <= arguments.number_in("t", t, "[0, 1]")
            holds[~near] = False
        return ~holds

    def summary(self) -> dict[str, Any]:
        """Return the figures of the variable as plain data for JSON.

        The smallest l and the largest t are taken over the cells with values; they are
        None if there are no such cells. ``by_distinct_l`` has the numbers of cells and
        records with few values.
        """
        filled, records = ~self.empty, self.cells.records
        few = ((values, self.distinct_l == values) for values in range(_ROWS + 1))
        rows = [
            {
                "distinct_l": values,
                "cells": int(np.count_nonzero(at)),
                "records": int(records[at].sum()),
            }
            for values, at in few
            if at.any()
        ]
        return {
            "name": str(self.name),
            "values": self.values,
            "missing": self.missing,
            "distance": self.distance,
            "cells": len(self.cells),
            "cells_without_values": int(np.count_nonzero(~filled)),
            "distinct_l": _extreme(np.min, self.distinct_l[filled]),
            "entropy_l": _extreme(np.min, self.entropy_l[filled]),
            "recursive_l": _extreme(np.min, self.recursive_l[filled]),
            "closeness": _extreme(np.max, self.closeness[filled]),
            "by_distinct_l": rows,
        }

    def __repr__(self) -> str:
        of = self.summary()
        name = printable(str(of["name"]))
        return (
            f"<SensitiveVariable: {name}, distinct l {of['distinct_l']}, "
            f"closeness {of['closeness']:.4g} ({self.distance})>"
        )


def _extreme(of: Callable[[NDArray[Any]], Any], numbers: NDArray[Any]) -> Any:
    return of(numbers).item() if len(numbers) else None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diversity(OnASheet, OfData[DataT_co]):
    """The l-diversity and t-closeness of a file.

    Attributes
    ----------
    data : frame or mapping
        The data as given; for a file, the columns that were read.
    cells : Cells
        The cells of the keys.
    variables : tuple of SensitiveVariable
    c : float
        The constant c of recursive diversity.
    missing_sensitive : str
        The rule for missing values of sensitive variables.

    Examples
    --------
    >>> data = {"zip": [1, 1, 2, 2], "disease": ["flu", "flu", "flu", "cancer"]}
    >>> found = diversity(data, ["zip"], "disease")
    >>> found
    <Diversity: 4 records in 2 cells of zip; disease: distinct l 1, closeness 0.25>
    >>> found.records["disease_distinct_l"]
    array([1, 1, 2, 2])
    >>> found.failing(l=2)
    [{'zip': 1, 'sample_frequency': 2, 'disease_distinct_l': 1, ...
    """

    data: Any
    cells: Cells
    variables: tuple[SensitiveVariable, ...]
    c: float
    missing_sensitive: str

    def __getitem__(self, name: Hashable) -> SensitiveVariable:
        """Return one sensitive variable."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        names = ", ".join(repr(variable.name) for variable in self.variables)
        raise NoSuchNameError(f"{name!r} is not a sensitive variable; they are {names}")

    def fails(
        self,
        *,
        l: float | str | None = None,  # noqa: E741
        t: float | None = None,
    ) -> Mask:
        """Return a mask of the cells of the keys that fail for any variable.

        Parameters
        ----------
        l, t
            As `SensitiveVariable.fails`.

        Returns
        -------
        ndarray of bool, shape (K,)
        """
        failing = np.zeros(len(self.cells), bool)
        for variable in self.variables:
            failing |= variable.fails(l=l, t=t)
        return failing

    def failing_records(
        self,
        *,
        l: float | str | None = None,  # noqa: E741
        t: float | None = None,
    ) -> int:
        """Return the number of records in cells that fail for any variable.

        Parameters
        ----------
        l, t
            As `SensitiveVariable.fails`.
        """
        failing = self.fails(l=l, t=t)
        return self.cells.count_of(failing[self.cells.rows])

    def failing(
        self,
        count: int = 10,
        *,
        l: float | str | None = None,  # noqa: E741
        t: float | None = None,
    ) -> list[dict[Hashable, Any]]:
        """Return cells that fail, the cells with the most records first.

        Parameters
        ----------
        count : int
            Largest number of cells to return.
        l, t
            As `SensitiveVariable.fails`.

        Returns
        -------
        list of dict
            Key values, ``sample_frequency``, and the measures of each variable.
        """
        at = np.flatnonzero(self.fails(l=l, t=t))
        order = at[np.argsort(-self.cells.records[at], kind="stable")][:count]
        rows = []
        for k in order.tolist():
            row = self.cells.row(k)
            del row["population_frequency"], row["sampling_fraction"]
            for variable in self.variables:
                measures = _columns(variable).items()
                row |= {name: values[k].item() for name, values in measures}
            rows.append(row)
        return rows

    @frame
    def records(self) -> Any:
        """The data with four more columns for each sensitive variable.

        Type and order are kept. The columns have the name of the variable with
        ``_distinct_l``, ``_entropy_l``, ``_recursive_l`` or ``_closeness`` added, and
        hold the measures of the record's cell.

        Raises
        ------
        TypeError
            If an engine counted the records.
        ValueError
            If the data already have a column of one of these names, ignoring case.
        """
        results = {
            name: values[variable.cells.inverse]
            for variable in self.variables
            for name, values in _columns(variable).items()
        }
        return with_results(self.data, results)

    def summary(self) -> dict[str, Any]:
        """Return the figures of the file as plain data for JSON."""
        return {
            "records": self.cells.n,
            "cells": len(self.cells),
            "keys": [str(key) for key in self.cells.keys],
            "missing": self.cells.missing,
            "alpha": self.cells.alpha,
            "missing_values": list(self.cells.missing_values),
            "missing_sensitive": self.missing_sensitive,
            "c": self.c,
            "variables": [variable.summary() for variable in self.variables],
        }

    def _sheet(self) -> Sheet:
        """Return the figures of the file as facts and tables."""
        facts = [("records", f"{self.cells.n:,}"), ("cells", f"{len(self.cells):,}")]
        absent = sum(self.cells.missing_values)
        if absent:
            rule, alpha = self.cells.missing, self.cells.alpha
            rule += f", alpha {alpha:g}" if alpha != 1 else ""
            said = f"match any value ({rule})"
            said = "a category of their own" if rule == "category" else said
            facts.append(("missing key values", f"{absent:,}, {said}"))
        return Sheet("Diversity", facts, [*map(self._part_of, self.variables)])

    def _part_of(self, variable: SensitiveVariable) -> Part:
        of = variable.summary()
        facts = [
            ("values in the file", f"{of['values']:,}"),
            ("smallest distinct l", _shown(of["distinct_l"])),
            ("smallest entropy l", _shown(of["entropy_l"])),
            (f"smallest recursive l, c = {self.c:g}", _shown(of["recursive_l"])),
            (f"largest closeness t, {of['distance']}", _shown(of["closeness"])),
        ]
        if of["missing"]:
            said = {"category": "one more value", "ignore": "not counted"}
            rule = said[self.missing_sensitive]
            facts.append(("missing values", f"{of['missing']:,}, {rule}"))
        if of["cells_without_values"]:
            facts.append(("cells without values", f"{of['cells_without_values']:,}"))
        rows = [("distinct l", "cells", "records")]
        rows += [
            (str(row["distinct_l"]), f"{row['cells']:,}", f"{row['records']:,}")
            for row in of["by_distinct_l"]
        ]
        return Part(shortened(variable.name, 4 * _LONGEST), facts, rows, ">")

    def __repr__(self) -> str:
        parts = (
            f"{printable(str(v['name']))}: distinct l {v['distinct_l']}, closeness "
            f"{math.nan if v['closeness'] is None else v['closeness']:.4g}"
            for v in (variable.summary() for variable in self.variables)
        )
        keys = printable(" x ".join(map(str, self.cells.keys)))
        records = counted(self.cells.n, "record")
        cells = f"{counted(len(self.cells), 'cell')} of {keys}"
        return f"<Diversity: {records} in {cells}; {'; '.join(parts)}>"


def _columns(variable: SensitiveVariable) -> dict[str, NDArray[Any]]:
    return {f"{variable.name}_{x}": getattr(variable, x) for x in RECORD_COLUMNS}


def _shown(number: Any) -> str:
    return "-" if number is None else f"{number:.6g}"
