"""Records that are alone with their numbers, which an intruder may know exactly."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riskcore.assessment.assess_settings import Method
from riskcore.assessment.cell_risk import Risks, risk_in
from riskcore.assessment.reported_figures import label
from riskcore.common.sheet import Part
from riskcore.common.words import counted, printable
from riskcore.core.risk.file_risk import sum_of_products
from riskcore.data.cells import Cells, cells_of
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import CodedColumn, Records, code_column, exact_numbers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExactMatches:
    """The risk of a file if some of its columns are the key variables.

    Attributes
    ----------
    columns : tuple of hashable
        Names of the columns that the intruder knows.
    cells : int
        Number of combinations of their values.
    sample_uniques : int
        Number of records that are alone in their combination.
    expected_reidentifications : float
        Sum of the risks of the records, correctly rounded.
    individual_risk : float64 ndarray, shape (n,)
        Individual risk of each record, E[1/F | f] as in `riskcore.assess`.
    """

    columns: tuple[Hashable, ...]
    cells: int
    sample_uniques: int
    expected_reidentifications: float
    individual_risk: Risks

    @property
    def reidentification_rate(self) -> float:
        """Expected re-identifications over the number of records."""
        return self.expected_reidentifications / len(self.individual_risk)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        return {
            "columns": [str(name) for name in self.columns],
            "cells": self.cells,
            "sample_uniques": self.sample_uniques,
            "expected_reidentifications": self.expected_reidentifications,
            "reidentification_rate": self.reidentification_rate,
        }

    def __repr__(self) -> str:
        names = " x ".join(printable(str(name)) for name in self.columns)
        return (
            f"<ExactMatches: {names}, {self.sample_uniques:,} sample uniques, "
            f"{self.expected_reidentifications:.6g} expected re-identifications>"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NumericRisk:
    """What an intruder finds who knows numbers of the persons of a file.

    Attributes
    ----------
    columns : tuple of hashable
        Names of the columns of numbers.
    matches : tuple of ExactMatches
        The risk if numbers are known exactly: each one alone, all, and all with the
        keys.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": ["f", "m", "f"], "income": [310, 310, 240], "w": [9.0, 5.0, 8.0]}
    >>> found = riskcore.assess(data, ["sex"], "w", numeric=["income"]).numeric
    >>> found
    <NumericRisk: income; 1 of 3 records unique, 0.52229 expected re-identifications>
    >>> [one.sample_uniques for one in found.matches]
    [1, 3]
    >>> list(found.to_dict())
    ['columns', 'records', 'matches']
    """

    columns: tuple[Hashable, ...]
    matches: tuple[ExactMatches, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON.

        Returns
        -------
        dict
        """
        return {
            "columns": [str(name) for name in self.columns],
            "records": len(self.matches[0].individual_risk),
            "matches": [match.to_dict() for match in self.matches],
        }

    def __repr__(self) -> str:
        match = self.matches[len(self.columns) if len(self.columns) > 1 else 0]
        names = ", ".join(printable(str(name)) for name in self.columns)
        return (
            f"<NumericRisk: {names}; {match.sample_uniques:,} of "
            f"{counted(len(match.individual_risk), 'record')} unique, "
            f"{match.expected_reidentifications:.6g} expected re-identifications>"
        )


def numeric_risk(
    coded: CodedRecords, numbers: Sequence[CodedColumn], cells: Cells, method: Method
) -> NumericRisk:
    """Return the risk by each number alone, by all of them, and with the keys."""
    names = tuple(column.name for column in numbers)
    # A single number is all of them.
    sets = dict.fromkeys([*((x,) for x in names), names, (*cells.keys, *names)])
    coded = coded.with_columns({column.name: column for column in numbers})
    return NumericRisk(names, tuple(_matches(coded, x, cells, method) for x in sets))


def part_of_numbers(figures: dict[str, Any]) -> Part:
    """Return the table of the figures of `NumericRisk.to_dict`."""
    rows = [["known exactly", "sample uniques", "expected re-identifications", "rate"]]
    for match in figures["matches"]:
        names = ", ".join(map(label, match["columns"]))
        expected = f"{match['expected_reidentifications']:,.6g}"
        rate = f"{100 * match['reidentification_rate']:.4g} %"
        rows.append([names, f"{match['sample_uniques']:,}", expected, rate])
    return Part("Risk if numbers are known", rows=rows, sides="<>")


def code_numbers(records: Records, names: Sequence[Hashable]) -> list[CodedColumn]:
    """Code columns of numbers; missing is a value of its own, the last one."""
    numbers = Records({name: exact_numbers(records, name) for name in names}, records.n)
    coded = [code_column(numbers, name) for name in names]
    return [
        replace(column, labels=np.append(column.labels, np.nan), missing=0)
        if column.missing
        else column
        for column in coded
    ]


def _matches(
    coded: CodedRecords,
    columns: tuple[Hashable, ...],
    like: Cells,
    method: Method,
) -> ExactMatches:
    """Return the risk of records by some columns, counted like other cells."""
    cells = cells_of(coded, columns, like.missing, like.alpha)
    risk = risk_in(cells, method)
    alone = cells.sample_frequency == 1
    unique = int(cells.records[alone].sum())
    expected = sum_of_products(risk, cells.records)
    return ExactMatches(columns, len(cells), unique, expected, risk[cells.inverse])
