"""The data: how the file is read, its first rows, and tables of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from riskcore.app.forms import Form
from riskcore.app.pages.page import Page
from riskcore.app.pages.reading import fields_of, values
from riskcore.app.pages.values import code_of, label_of, labels_of
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.workbench import Workbench
from riskcore.data.columns import plain_value
from riskcore.data.files import formats

if TYPE_CHECKING:
    from riskcore.data.columns import CodedColumn

ROWS = 20
# Rows and columns of a table of one column, and of one of two; cells of any.
_MOST = {1: (200, 1), 2: (60, 15)}
_LARGEST = 1 << 24


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the first rows, the form of reading, and the tables asked for."""
    source, is_read, error = bench.source, False, ""
    try:
        is_read = bench.is_read()
        _ = bench.description()  # for the page after this one
    except RefusedError as refused:  # perhaps it is to be read in another way
        error = str(refused)
    sheets = formats.opened(source.path, source.reading).sheets() if source.path else ()
    columns = [form.text(name) for name in ("column", "by")]
    crossed = [bench.column(position) for position in columns if position]
    return {
        "names": bench.names,
        "error": error,
        "labels": [label_of(bench, name) for name in bench.names],
        "rows": _first_rows(bench) if is_read else None,
        "records": source.records.n if is_read else None,
        "columns": columns,
        "table": _table(bench, crossed) if is_read and crossed else None,
        **values(fields_of(source.reading), sheets),
    }


def _first_rows(bench: Workbench) -> list[list[str]]:
    """Return the first rows as they are read; missing is empty."""
    records = bench.source.records
    n = min(ROWS, records.n)
    columns = [[*records.column(name)[:n]] for name in bench.source.names]
    return [
        ["" if x is None or x != x else str(plain_value(x)) for x in row]
        for row in zip(*columns, strict=True)
    ]


def _table(bench: Workbench, names: list[str]) -> dict[str, Any]:
    """Return the records by the categories of one column, or of two."""
    if len({*names}) < len(names):
        raise RefusedError(said("compare", "twice"))
    coded = [bench.coded_column(name) for name in names]
    levels = [len(column.labels) + 1 for column in coded]  # missing comes last
    if np.prod(levels, dtype=float) > _LARGEST:
        raise RefusedError(said("data", "too_large"))
    cells = np.ravel_multi_index([column.codes for column in coded], levels)
    counts = np.bincount(cells, minlength=np.prod(levels)).reshape(levels[0], -1)
    rows, columns = (
        _shown(counts.sum(1 - at), most) for at, most in enumerate(_MOST[len(names)])
    )
    heads = [_heads(bench, column) for column in coded]
    return {
        "names": names,
        "heads": [heads[1][at] for at in columns] if len(names) > 1 else [],
        "rows": [
            (heads[0][at], counts[at, columns].tolist(), int(counts[at].sum()))
            for at in rows
        ],
        "totals": counts[:, columns].sum(0).tolist(),
        "of": int(counts.sum()),
        "most": int(counts.sum(1).max()),
        "more": int((counts.sum(1) > 0).sum()) - len(rows),
        "more_columns": int((counts.sum(0) > 0).sum()) - len(columns),
    }


def _shown(totals: NDArray[np.int64], most: int) -> list[int]:
    """Return the categories that occur; of too many those with most records."""
    at = np.flatnonzero(totals)
    if len(at) > most:
        at = at[np.argsort(-totals[at], kind="stable")][:most]
    return [*map(int, at)]


def _heads(bench: Workbench, column: CodedColumn) -> list[tuple[str | None, str]]:
    """Return the categories of a column with their labels; None is missing."""
    texts = labels_of(bench, str(column.name))
    codes = map(code_of, column.labels)
    return [*((code, texts.get(code, "")) for code in codes), (None, "")]


PAGE = Page("data", view)
