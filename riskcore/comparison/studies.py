"""Repeat a user's own models and tables on the original and on the safe file."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace

import numpy as np

from riskcore.comparison.analyses import TableCell, TableComparison, Z
from riskcore.comparison.comparison import Comparison
from riskcore.comparison.formula import Formula
from riskcore.comparison.measures import Floats, Ints, fsum, total_variation
from riskcore.comparison.model_study import compare_model
from riskcore.comparison.study_columns import Columns
from riskcore.comparison.tables import Table


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
    for codes, file in zip(
        ([column.before for column in shared], [column.after for column in shared]),
        columns.files,
        strict=True,
    ):
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
