"""Compare a safe file with its original."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.comparison.analyses import (
    Coefficient,
    ModelComparison,
    TableCell,
    TableComparison,
)
from riskcore.comparison.comparison import (
    Comparison,
    Correlation,
    KeyComparison,
    Moments,
    NumberComparison,
    PairComparison,
    Stage,
    Stratum,
)
from riskcore.comparison.formula import formulas, table_columns
from riskcore.comparison.losses import Category
from riskcore.comparison.measures import Floats
from riskcore.comparison.model_study import (
    LARGEST,
    Columns,
    columns_of_studies,
    with_studies,
)
from riskcore.comparison.statistics import File, compare_files
from riskcore.data.cells import check_names
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import (
    CodedColumn,
    Records,
    code_column,
    key_names,
    real_numbers,
)
from riskcore.data.engines.registry import engine_of
from riskcore.data.files.reading import Reading
from riskcore.data.recode import Recoding, with_bounds
from riskcore.data.recoding_words import recodings_of
from riskcore.data.source import Source

__all__ = [
    "Category",
    "Coefficient",
    "Comparison",
    "Correlation",
    "KeyComparison",
    "ModelComparison",
    "Moments",
    "NumberComparison",
    "PairComparison",
    "Stage",
    "Stratum",
    "TableCell",
    "TableComparison",
    "compare",
]


def compare(
    original: Any,
    safe: Any,
    keys: Iterable[Hashable],
    weight: Hashable | None = None,
    *,
    recodings: Mapping[Any, Recoding | str | os.PathLike[str]] | None = None,
    columns: Iterable[Hashable] = (),
    strata: Iterable[Hashable] = (),
    id: Hashable | None = None,
    interactions: bool = False,
    models: Iterable[str] = (),
    tables: Iterable[str | Sequence[Hashable]] = (),
    reading: Reading | None = None,
    safe_reading: Reading | None = None,
    progress: Lines | None = None,
) -> Comparison:
    """Compare a safe file with its original: what protection has changed, and how much.

    The order of the records and their ids do not matter. The figures are of the
    original, too, and are for internal use.

    Parameters
    ----------
    original, safe : frame, mapping or path
        The files, as for `assess`.
    keys : iterable of column names
        The key variables, in both files.
    weight : column name, optional
        Sampling weights, in both files; by default the weights that the metadata of
        a mu-Argus original declare, otherwise every weight is 1.
    recodings : mapping of column names to Recoding, rule or path, optional
        How the original was recoded, as for `protect`, to compare tables in the
        categories of the safe file. `Protected.compare` knows it.
    columns : iterable of column names, optional
        Numeric columns, for means, quantiles and correlations.
    strata : iterable of column names, optional
        Columns by which to count suppressed values.
    id : column name, optional
        Ids of the records, distinct and the same in both files: they match the records,
        so that changed values can be counted.
    interactions : bool, optional
        Whether the propensity score has terms for pairs of keys, too.
    models : iterable of str, optional
        Your own regressions, such as ``"employed ~ sex + age"``; ``a*b`` is a, b and
        their interaction. A response of two categories gives a logistic model of the
        second category, numbers a linear model. Keys, text, columns whose values have
        labels, and numbers with at most 10 values are categories; ``number(age)`` and
        ``category(age)`` override that. With weights, standard errors are robust.
    tables : iterable of str or of sequences of column names, optional
        Your own tables of weighted shares, such as ``"region x sex"``.
    reading, safe_reading : Reading, optional
        How to read the files, if they are paths; by default the safe file is read like
        the original.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Comparison

    Raises
    ------
    KeyError, OSError
        As `assess`.
    TypeError
        As `assess`; also if ``columns``, ``id``, ``models`` or ``tables`` are given,
        which need single records, and an engine holds one of the files.
    ValueError
        As `assess`; also if a column has two roles, the strata have other categories in
        the safe file, the ids are not the same, a formula cannot be read, or a response
        has three or more categories.

    Notes
    -----
    `notes/utility.md` has the measures and their sources.

    Examples
    --------
    >>> import riskcore
    >>> original = {"age": [15, 16, 31, 32], "w": [10.0, 10.0, 20.0, 20.0]}
    >>> safe = {"age": ["< 30", None, ">= 30", ">= 30"], "w": original["w"]}
    >>> groups = {"age": riskcore.Recoding.intervals([30], closed="left")}
    >>> found = riskcore.compare(original, safe, ["age"], "w", recodings=groups)
    >>> age = found.key("age")
    >>> age.original.categories, age.safe.categories, age.suppressed
    (4, 2, 1)
    >>> round(age.total_variation, 6)
    0.166667
    >>> riskcore.compare(original, safe, ["age"], recodings=groups, tables=["age"]
    ... ).tables[0].status
    'unchanged'
    """
    say = progress or silent
    names = key_names(keys)
    numbers = arguments.names("columns", columns)
    strata_names = arguments.names("strata", strata)
    studied = formulas(models), table_columns(tables)
    also = columns_of_studies(*studied, numbers)
    arguments.column_name("weight", weight)
    arguments.column_name("id", id)
    if safe_reading is not None:
        safe = Source.of(safe, safe_reading)
    inputs = {"original": original, "safe file": safe}
    sources = tuple(Source.several(inputs, reading).values())
    rules = recodings_of(recodings or {}, sources[0].variables)
    weight = sources[0].weight if weight is None else weight
    check_columns(names, weight, numbers, strata_names, id)
    needed = [*names, *numbers, *strata_names, *also, weight, id]
    files: list[File] = []
    ids = []
    for source, what in zip(sources, ("original", "safe file"), strict=True):
        source.check([column for column in needed if column is not None])
        say(f"reading the {what}")
        data, _ = source.read(needed, weight, numbers)
        engine = engine_of(data)
        if engine is not None:
            refuse_single(
                engine,
                columns=tuple(numbers),
                id=id,
                models=studied[0],
                tables=studied[1],
            )
        if not files:
            rules = with_bounds(data, {n: rules[n] for n in rules if n in needed})
        columns = list(dict.fromkeys([*names, *strata_names, *also]))
        coded = CodedRecords.of(data, columns, weight, scale=source.scale)
        files.append(File(coded, {name: numbers_of(data, name) for name in numbers}))
        if id is not None:
            ids.append(code_column(Records.of(data), id))
    if id is not None:
        files[1] = files[1].take(_matching(*ids))
    comparison = compare_files(
        files[0],
        files[1],
        names,
        weight,
        recodings=rules,
        strata=strata_names,
        aligned=id is not None,
        interactions=interactions,
        labels=sources[0].labels,
        safe_labels=sources[1].labels,
        progress=say,
    )
    say("repeating models and tables")
    used = Columns((files[0], files[1]), names, rules, sources[0].labels)
    return with_studies(comparison, used, *studied)


def refuse_single(engine: Any, **needs: Any) -> None:
    """Refuse arguments that need single records, of data on an engine."""
    for what, value in needs.items():
        if value is not None and value != ():
            raise engine.refuse_single(what)


def check_columns(
    keys: Sequence[Hashable],
    weight: Hashable | None,
    numbers: Sequence[Hashable],
    strata: Sequence[Hashable],
    id: Hashable | None = None,
) -> None:
    """Refuse columns with two roles."""
    check_names(keys, {"weight": weight}, ())
    for what, names in (("columns", numbers), ("strata", strata)):
        twice = [column for i, column in enumerate(names) if column in names[:i]]
        if twice:
            raise ValueError(f"{what}: {twice[0]!r} appears twice")
    for name in numbers:
        if name in keys or name in strata or name in (weight, id):
            raise ValueError(
                f"columns: {name!r} is a key, a stratum, the weight or the id; give "
                "columns of numbers without another role"
            )
    if weight is not None and weight in strata:
        raise ValueError(f"strata: {weight!r} is the weight")
    if id is not None and (id in keys or id in strata or id == weight):
        raise ValueError(f"id: {id!r} is a key, a stratum or the weight")


def numbers_of(data: Any, name: Hashable) -> Floats:
    """Return a column of numbers with a finite variance, nan for missing."""
    values = real_numbers(Records.of(data), name)
    large = int(np.count_nonzero(np.abs(values) > LARGEST))
    if large:
        raise ValueError(
            f"column {name!r}: beyond {LARGEST:g} in {large:,} records, so the "
            "variance overflows; give the column in another unit"
        )
    return values


def _matching(original: CodedColumn, safe: CodedColumn) -> NDArray[np.int64]:
    """Return the row in the safe file of each record; refuse ids that do not match."""
    for column, what in ((original, "original"), (safe, "safe file")):
        n = len(column.codes)
        if column.missing:
            raise ValueError(
                f"id {column.name!r}: missing in {column.missing:,} of {n:,} records "
                f"of the {what}"
            )
        if len(column.labels) < n:
            raise ValueError(
                f"id {column.name!r}: {n - len(column.labels):,} of {n:,} records of "
                f"the {what} have the id of another record"
            )
    if not np.array_equal(original.labels, safe.labels):
        raise ValueError(
            f"id {original.name!r}: the ids of the files differ; if the safe file has "
            "new ids, leave id out"
        )
    row = np.empty(len(safe.codes), np.int64)
    row[safe.codes] = np.arange(len(safe.codes))
    return row[original.codes]
