"""Data frames of dask: each partition is counted by itself.

The cells of the partitions are put together. Sums are whole numbers, so that neither
the number nor the order of the partitions shows in them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from riskcore.data.engines.counting import (
    Question,
    Weighed,
    count_cells,
    doubles,
    frequencies,
    keys_of,
    merge_cells,
    weigh,
)
from riskcore.data.engines.door import (
    Compute,
    Engine,
    Numbers,
    Results,
    changed_meanwhile,
    refuse_twice,
)

# Tables of cells that are put together at once.
_FAN_IN = 8


class Dask(Engine):
    """A data frame of dask."""

    name = "dask"

    def __init__(self, data: Any) -> None:
        refuse_twice(data.columns)
        self.data = data

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The types of the columns."""
        import narwhals.stable.v2 as nw

        return dict(nw.from_native(self.data._meta, eager_only=True).schema)

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weighed:
        """Return what is to be known of the weights, and how many lack which key."""
        names = [*keys, *([] if weight is None else [weight])]
        parts = [
            _dask().delayed(_weigh_pandas)(part, weight, keys)
            for part in self._columns(names)
        ]
        return Weighed.joined(_dask().compute(*parts))

    def cells(self, question: Question) -> Any:
        """Return the cells, counted where the partitions are."""
        import narwhals.stable.v2 as nw

        (table,) = _dask().compute(self._table(question))
        return nw.from_native(table, eager_only=True)

    def numbers(self, question: Question) -> Iterator[Numbers]:
        """Yield records and sums of weights of the cells; the keys stay."""
        found = _dask().delayed(_numbers_of_pandas)(self._table(question), question)
        yield _dask().compute(found)[0]

    def computed(self, question: Question, compute: Compute) -> Any:
        """Return the same, of which workers count the cells and compute the results."""
        none = compute(np.zeros(0, np.int64), np.zeros(0))
        results = _dask().delayed(_results_of_pandas)(
            self._table(question), question, compute
        )
        empty = _count_pandas(self.data._meta, question)
        meta = _join_pandas(self.data._meta, question, empty.assign(**none), list(none))
        return self.data.map_partitions(
            _join_pandas, question, results, list(none), meta=meta
        )

    def _table(self, question: Question) -> Any:
        """Return the cells as workers will put them together, delayed."""
        tables = [
            _dask().delayed(_count_pandas)(part, question)
            for part in self._columns(question.columns)
        ]
        while len(tables) > 1:
            tables = [
                _dask().delayed(_merge_pandas)(tables[i : i + _FAN_IN], question)
                for i in range(0, len(tables), _FAN_IN)
            ]
        return tables[0]

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a data frame with results added, in its own order."""
        table = cells.to_native().assign(**results)
        meta = _join_pandas(self.data._meta, question, table.iloc[:0], list(results))
        return self.data.map_partitions(
            _join_pandas, question, _Quiet(table), list(results), meta=meta
        )

    def categories(self, name: Hashable) -> list[Any] | None:
        """Return the list of a column's categories; each partition may have its own."""
        column = self.data[name]
        if column.dtype.name != "category":
            return None
        if column.cat.known:
            return list(column.cat.categories)
        parts = [
            _dask().delayed(_categories_of_pandas)(part, name)
            for part in self._columns([name])
        ]
        return list(dict.fromkeys(chain.from_iterable(_dask().compute(*parts))))

    def _columns(self, names: Sequence[Hashable]) -> list[Any]:
        """Return the partitions with some columns alone; with any one for none."""
        names = list(dict.fromkeys(names)) or list(self.schema)[:1]
        parts: list[Any] = self.data[names].to_delayed()
        return parts


@dataclass(frozen=True, slots=True)
class _Quiet:
    """A table of cells that no printed query shows."""

    table: Any = field(repr=False)


def _dask() -> Any:
    return import_module("dask")


def _weigh_pandas(
    part: Any, weight: Hashable | None, keys: Sequence[Hashable]
) -> Weighed:
    import narwhals.stable.v2 as nw

    plain = with_doubles(plain_pandas(part), weight)
    return weigh(nw.from_native(plain, eager_only=True), weight, keys)


def _count_pandas(part: Any, question: Question) -> Any:
    import narwhals.stable.v2 as nw

    plain = with_doubles(plain_pandas(part), question.weight)
    frame = nw.from_native(plain, eager_only=True)
    with np.errstate(over="ignore"):  # found out when all are added
        return count_cells(frame, question).to_native()


def _merge_pandas(tables: Sequence[Any], question: Question) -> Any:
    import narwhals.stable.v2 as nw

    filled = [table for table in tables if len(table)] or list(tables[:1])
    frames = [nw.from_native(table, eager_only=True) for table in filled]
    with np.errstate(over="ignore"):
        return merge_cells(frames, question).to_native()


def _numbers_of_pandas(table: Any, question: Question) -> Numbers:
    import narwhals.stable.v2 as nw

    return frequencies(nw.from_native(table, eager_only=True), question)


def _results_of_pandas(table: Any, question: Question, compute: Compute) -> Any:
    """Return the keys of cells and their results."""
    results = compute(*_numbers_of_pandas(table, question))
    return table[question.key_columns].assign(**results)


def _join_pandas(
    part: Any, question: Question, table: Any, results: Sequence[str]
) -> Any:
    """Add results to a partition: pandas lets null match null."""
    import narwhals.stable.v2 as nw

    if isinstance(table, _Quiet):
        table = table.table
    frame = nw.from_native(plain_pandas(part[list(question.keys)]), eager_only=True)
    keys = frame.select(*keys_of(frame, question.keys)).to_native()
    found = keys.merge(table, how="left", on=question.key_columns)
    # In the order of the partition: in its index values may occur twice.
    if found[results[0]].isna().any():
        raise changed_meanwhile()
    added = found[list(results)].set_index(part.index)
    return import_module("pandas").concat([part, added], axis=1)


def _categories_of_pandas(part: Any, name: Hashable) -> list[Any]:
    found: list[Any] = part[name].cat.categories.tolist()
    return found


def plain_pandas(part: Any) -> Any:
    """Return a partition with categories as the values they stand for.

    Those of another partition may be others, or in another order. Whole numbers are of
    the type that has room for a missing one.
    """
    categories = {}
    for name, kind in part.dtypes.items():
        if kind.name == "category":
            plain = kind.categories.dtype
            whole = plain.kind in "iu" and not hasattr(plain, "na_value")
            nullable = plain.name.replace("i", "I", 1).replace("uI", "UI", 1)
            categories[name] = nullable if whole else plain
            if plain.kind == "b":
                categories[name] = "boolean"
    return part.astype(categories) if categories else part


def with_doubles(part: Any, weight: Hashable | None) -> Any:
    """Return a partition with its weights as the doubles next to them."""
    import narwhals.stable.v2 as nw

    if weight is None:
        return part
    part = part.copy(deep=False)
    part[weight] = doubles(nw.from_native(part[weight], series_only=True))
    return part
