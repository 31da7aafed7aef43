"""Repeat a user's own models and tables on the original and on the safe file."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace

from riskcore.comparison.comparison import Comparison
from riskcore.comparison.formula import Formula
from riskcore.comparison.model_study import compare_model
from riskcore.comparison.study_columns import Columns
from riskcore.comparison.table_study import compare_table


def columns_of_studies(
    models: Sequence[Formula],
    tables: Sequence[Sequence[Hashable]],
    numbers: Collection[Hashable],
) -> list[Hashable]:
    """Return the columns to code for models and tables."""
    of_models = [
        one.name
        for formula in models
        for one in formula.variables
        if one.name not in numbers or one.use == "category"
    ]
    return list(dict.fromkeys([*of_models, *(one for each in tables for one in each)]))


def with_studies(
    found: Comparison,
    columns: Columns,
    models: Sequence[Formula],
    tables: Sequence[Sequence[Hashable]],
) -> Comparison:
    """Return a comparison with the models and tables of both files."""
    known = columns.labels
    variables = {} if known is None else known.variables
    names = [one.key for one in found.keys] + [one.column for one in found.numbers]
    names += columns_of_studies(models, tables, ())
    return replace(
        found,
        models=tuple(compare_model(one, columns) for one in models),
        tables=tuple(compare_table(one, columns) for one in tables),
        labels={
            name: variables[str(name)]
            for name in names
            if variables.get(str(name), str(name)) != str(name)
        },
    )
