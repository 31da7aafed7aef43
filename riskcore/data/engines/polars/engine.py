"""Lazy frames of polars."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from operator import add
from typing import Any

from riskcore.data.engines import base
from riskcore.data.engines.base import Compute, changed_meanwhile
from riskcore.data.engines.counting import RECORDS, Question, frequencies
from riskcore.data.engines.protecting import Blank, Change, Changes, Lookup


class Polars(base.Engine):
    """A lazy frame of polars."""

    name = "polars"
    packages = ("polars",)
    in_passes = True

    def hashed(self, data: Any, keys: Sequence[Any]) -> Any:
        """Return rows with a number of their keys added."""
        import polars

        hashes = (polars.col(key).hash(seed) for seed, key in enumerate(keys))
        number = reduce(add, hashes) % base.PRIME  # sums of 64 bits wrap around
        return data.with_columns(number.cast(polars.Int64).alias(base.HASH))

    def collect(self, asked: Any, *, in_order: bool = False) -> Iterator[Any]:
        """Yield the rows as the streaming engine computes them: few cells wait here."""
        import narwhals.stable.v2 as nw

        frame = asked.to_native()
        size = base.BATCH
        if not hasattr(frame, "collect_batches"):  # polars before 1.34
            whole = asked.collect(engine="streaming")
            for start in range(0, max(len(whole), 1), size):
                yield whole[start : start + size]
            return
        for batch in frame.collect_batches(
            chunk_size=size, maintain_order=in_order, engine="streaming"
        ):
            yield nw.from_native(batch, eager_only=True)

    def records(self, data: Any) -> Iterator[Any]:
        """Yield records in eager frames, in their order."""
        import narwhals.stable.v2 as nw

        return self.collect(nw.from_native(data), in_order=True)

    def select(self, names: Sequence[Any]) -> Any:
        """Return columns under the names c0, c1, ..."""
        return self.native.select(
            _exact(name).alias(f"c{i}") for i, name in enumerate(names)
        )

    def send(self, table: Any) -> Any:
        """Return an eager narwhals frame as a lazy frame of polars."""
        return table.to_native().lazy()

    def shuffled(self, data: Any) -> Any:
        """Return records in an order that is random, and new each time."""
        import polars

        place = polars.int_range(polars.len()).shuffle(secrets.randbits(64))
        return data.sort(place)

    def join(self, data: Any, lookup: Lookup) -> Any:
        """Return records with the columns added to them, in their order."""
        import polars

        ours = {name: f"{self.prefix}{name}" for name in lookup.key_columns}
        keys = [
            (_exact(key).fill_nan(None) if self.is_float(key) else _exact(key)).alias(
                name
            )
            for key, name in zip(lookup.keys, ours.values(), strict=True)
        ]
        marker = f"{self.prefix}known"
        table = lookup.table.rename(ours)
        joined = data.with_columns(keys).join(
            table.with_columns(polars.lit(value=True).alias(marker))
            if lookup.whole
            else table,
            on=list(ours.values()),
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        if lookup.whole:
            types = table.collect_schema()
            joined = joined.with_columns(
                polars.struct(_exact(name), marker)
                .map_batches(_known, return_dtype=types[name], is_elementwise=True)
                .alias(name)
                for name in lookup.added
            ).drop(marker)
        return joined.drop(list(ours.values()))

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse columns as other engines do, and objects of Python."""
        super().check(names)
        import narwhals.stable.v2 as nw

        for name in names:
            if self.schema[name] == nw.Object:
                raise TypeError(
                    f"column {name!r}: a lazy frame of polars cannot join values of "
                    "type Object; cast them to text or numbers, or collect the columns"
                )

    def categories(self, name: Any) -> list[Any] | None:
        """Return the categories of an Enum; a Categorical has no order."""
        categories = getattr(self.schema[name], "categories", None)
        return None if categories is None else list(categories)

    def compute_results(self, question: Question, compute: Compute) -> Any:
        """Return the data with results, lazily: the cells are counted once more."""
        import polars

        added = base.result_types(compute, {"i": polars.Int64, "f": polars.Float64})
        table = self.lazy_cells(question).to_native()
        results = polars.struct([RECORDS, *question.sum_columns]).map_batches(
            partial(_results, question, compute), return_dtype=polars.Struct(added)
        )
        table = table.select(*question.key_columns, results.alias("results"))
        table = table.unnest("results")
        lookup = Lookup(question.keys, table, list(added), whole=True)
        return self.join(self.native, lookup)

    def rewrite(self, data: Any, changes: Changes, blank: Blank) -> Any:
        """Return data with columns recoded and blanked; the lookups are dropped."""
        import polars

        schema = data.collect_schema()
        columns = []
        for name in self.schema:
            change = changes.get(name, Change())
            source = change.recoded or name
            column = _exact(source)
            dtype = schema[source]
            if change.blanked is not None:
                if change.left is not None and isinstance(dtype, polars.Enum):
                    dtype = polars.Enum(change.left)
                # polars.when() would leave the blanked value under the null.
                both = column.alias("value"), _exact(change.blanked).alias("flag")
                column = polars.struct(*both).map_batches(
                    _Blanking(dtype, blank), return_dtype=dtype, is_elementwise=True
                )
            columns.append(column.alias(name))
        return data.select(columns)


@dataclass(frozen=True, slots=True)
class _Blanking:
    """Blanks a column where a flag says so; both come as a struct."""

    dtype: Any
    blank: Blank

    def __call__(self, both: Any) -> Any:
        frame = both.struct.unnest()
        if not len(frame):
            return frame["value"].cast(self.dtype)
        mask = frame["flag"].fill_null(value=False).to_numpy()
        blanked = self.blank(frame.select("value"), {"value": mask})
        return blanked["value"].cast(self.dtype)


def _known(both: Any) -> Any:
    """Return the first field of structs, whose second field is true or null."""
    values, marker = both.struct.unnest().get_columns()
    if marker.null_count():
        raise changed_meanwhile()
    return values


def _exact(name: Any) -> Any:
    """Return a column by its exact name; ``polars.col`` reads patterns."""
    return import_module("polars.selectors").by_name(name).as_expr()


def _results(question: Question, compute: Compute, counted: Any) -> Any:
    """Return the results of cells as structs, given structs of their counts."""
    import narwhals.stable.v2 as nw
    import polars

    cells = nw.from_native(counted.struct.unnest(), eager_only=True)
    results = compute(*frequencies(cells, question))
    return polars.DataFrame(dict(results)).to_struct(counted.name)
