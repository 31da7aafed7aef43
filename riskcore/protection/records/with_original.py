"""Compare the protected file with its original: records match, recodings are known."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.comparison.compare import check_columns, numbers_of, refuse_single
from riskcore.comparison.comparison import Comparison
from riskcore.comparison.formula import formulas, table_columns
from riskcore.comparison.measures import Floats
from riskcore.comparison.model_study import Columns, columns_of_studies, with_studies
from riskcore.comparison.statistics import File, compare_files
from riskcore.data.coded import CodedRecords
from riskcore.data.engines.groups import Groups
from riskcore.protection.records.numbers import numbers_of as numbers_in
from riskcore.protection.records.protected_records import ProtectedRecords


def comparison_of(
    result: ProtectedRecords,
    columns: Iterable[Hashable] = (),
    strata: Iterable[Hashable] = (),
    *,
    models: Iterable[str] = (),
    tables: Iterable[str | Sequence[Hashable]] = (),
    interactions: bool = False,
    progress: Lines | None = None,
) -> Comparison:
    """Compare the file before and after protection, see `Protected.compare`."""
    settings, source = result.settings, result.source
    numbers = arguments.names("columns", columns)
    by = arguments.names("strata", strata)
    studied = formulas(models), table_columns(tables)
    also = columns_of_studies(*studied, numbers)
    source.check([*numbers, *by, *also])
    keys, weight = settings.variables, settings.weight
    check_columns(keys, weight, numbers, by)
    if result.on_engine is not None:
        engine = result.on_engine.engine
        refuse_single(engine, models=studied[0], tables=studied[1])
        _refuse_single(result, numbers, by)
    files = _files(result, [*keys, *by, *also], numbers)
    comparison = compare_files(
        *files,
        keys,
        weight,
        recodings=settings.recodings,
        strata=by,
        aligned=True,
        interactions=interactions,
        labels=source.labels,
        progress=progress or silent,
    )
    used = Columns(files, keys, settings.recodings, source.labels)
    return with_studies(comparison, used, *studied)


def studies_of(
    result: ProtectedRecords,
    comparison: Comparison,
    *,
    models: Iterable[str] = (),
    tables: Iterable[str | Sequence[Hashable]] = (),
) -> Comparison:
    """Return a comparison of a file in memory with other models and tables."""
    studied = formulas(models), table_columns(tables)
    also = columns_of_studies(*studied, ())
    result.source.check(also)
    settings = result.settings
    files = _files(result, also, ())
    used = Columns(files, settings.variables, settings.recodings, result.source.labels)
    return with_studies(comparison, used, *studied)


def _files(
    result: ProtectedRecords, names: Sequence[Hashable], numbers: Sequence[Hashable]
) -> tuple[File, File]:
    """Return the columns before and after, those of numbers apart."""
    names = list(dict.fromkeys(names))
    before = _coded(result, names)
    treated = {} if result.treated is None else result.treated.after
    after = replace(
        CodedRecords.of(result.rows, names),
        weights=treated.get(result.settings.weight, before.weights),
        counted=before.counted,
        n=before.n,
    )
    columns_before = {name: _numbers(result, name) for name in numbers}
    columns_after = {name: _numbers(result, name, after=True) for name in numbers}
    return File(before, columns_before), File(after, columns_after)


def _coded(result: ProtectedRecords, names: Sequence[Hashable]) -> CodedRecords:
    """Return the rows before protection as codes, with their weights."""
    coded = CodedRecords.of(result.before, names)
    if result.on_engine is not None:
        held = result.on_engine.coded
        groups = held.counted
        assert isinstance(groups, Groups)
        rows = len(groups.records)
        sums = groups.weight_sum(np.arange(rows), rows)
        return replace(coded, weights=sums, counted=groups, n=held.n)
    weight = result.settings.weight
    if weight is None:
        return coded
    return replace(coded, weights=numbers_in(result, weight))


def _refuse_single(
    result: ProtectedRecords, numbers: Sequence[Hashable], strata: Sequence[Hashable]
) -> None:
    """Refuse columns and strata that data on an engine do not offer."""
    assert result.on_engine is not None
    if numbers:
        raise result.on_engine.engine.refuse_single("columns")
    for name in strata:
        if name not in result.settings.suppressible:
            raise ValueError(
                f"strata: {name!r} is neither a key nor related to a key; for data on "
                "an engine only these are known. Collect the data first"
            )


def _numbers(
    result: ProtectedRecords, name: Hashable, *, after: bool = False
) -> Floats:
    """Return a numeric column; of a file, the input's column without blanked values."""
    source = result.source
    if after and result.treated is not None and name in result.treated.after:
        return result.treated.after[name]
    if source.path is None:
        rows = result.rows if after else result.before
        return numbers_of(rows.data, name)
    if name in result.settings.recodings:
        raise ValueError(
            f"columns: {name!r} is recoded and therefore text; name a numeric column"
        )
    values = numbers_of({name: source.numbers(name)}, name)
    if after and name in result.masks:
        values = np.where(result.masks[name], np.nan, values)
    return values
