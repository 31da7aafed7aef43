"""The protected records in memory as they may be released.

They have no identifiers, no index and no notes of their holder, and new household ids.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from riskcore.common.warn import warn
from riskcore.data.blank import without_notes
from riskcore.data.columns import (
    Records,
    code_column,
    is_dataset,
    plain_value,
    with_columns,
    without_columns,
)
from riskcore.data.ranks import by_appearance
from riskcore.data.recode import column_like
from riskcore.data.source import Source
from riskcore.data.unsigned import Codes
from riskcore.protection.settings.settings import Settings


class IndexIsNew(UserWarning):
    """The protected frame does not keep the index of the input."""


def columns_with_ids(
    source: Source, settings: Settings, left_out: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the columns that get new ids: of households, given or declared."""
    others = {
        None,
        settings.weight,
        *settings.suppressible,
        *settings.recodings,
        *settings.with_role("identifier"),
        *left_out,
    }
    ids = dict.fromkeys([settings.household, source.household])
    return tuple(name for name in ids if name not in others)  # type: ignore[misc]


def released_records(rows: Any, source: Source, settings: Settings) -> Any:
    """Return protected records without what only their holder may see.

    New ids are numbered by the first record that has them: they tell who belongs
    together, and nothing that the order of the records does not tell.
    """
    data = without_columns(rows, settings.with_role("identifier"))
    records = Records.of(data)
    columns = {}
    for name in columns_with_ids(source, settings):
        own = data[name] if isinstance(data, Mapping) else None
        columns[name] = _new_ids(records, name, own)
    of_pandas = getattr(data, "ndim", 0) == 2 and hasattr(data, "reset_index")
    if of_pandas and not np.array_equal(np.asarray(data.index), np.arange(len(data))):
        message = (
            "data: the index of the frame is new, 0, 1, ..., because an index may name "
            "persons; to keep it, make it a column (reset_index) and give it a role"
        )
        warn(message, IndexIsNew)
    return _without_index(with_columns(data, columns) if columns else data)


def _new_ids(records: Records, name: Hashable, template: Any) -> Any:
    """Return new ids as a column like the old one; missing ids stay missing."""
    coded = code_column(records, name)
    labels = [plain_value(label) for label in coded.labels]
    kinds = {type(label) for label in labels}
    kind: Any = kinds.pop() if kinds in ({int}, {float}) else str
    present = coded.codes < len(labels)
    place = by_appearance(coded.codes[present].astype(np.int64))
    codes: Codes = np.full(records.n, len(labels), np.uint64)
    codes[present] = place
    table = [kind(number) for number in range(1, len(labels) + 1)]
    return column_like(
        records, name, [*table, *[None] * (coded.missing > 0)],
        type(coded)(name, codes, coded.labels, coded.missing), template,
    )  # fmt: skip


def _without_index(data: Any) -> Any:
    """Return data without an index, notes, masked values and unused categories."""
    if is_dataset(data):
        return without_notes(data.copy())
    if isinstance(data, Mapping):
        return {name: _without_index(column) for name, column in data.items()}
    if isinstance(data, np.ma.MaskedArray):
        shown = np.ma.filled(data, data.dtype.type())
        return np.ma.MaskedArray(shown, np.ma.getmaskarray(data))
    if not hasattr(data, "reset_index"):
        return without_notes(data)
    data = data.reset_index(drop=True)  # of pandas and its like
    if data.ndim == 1:
        return without_notes(_used_categories(data))
    for place, kind in enumerate(data.dtypes):
        if kind == "category":
            data.isetitem(place, _used_categories(data.iloc[:, place]))
    return without_notes(data)


def _used_categories(series: Any) -> Any:
    """Return a series of pandas without unused categories."""
    category = series.dtype == "category"
    return series.cat.remove_unused_categories() if category else series
