"""Files too large for memory, which polars counts as they are read."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.sums import exact_parts
from riskcore.data.engines.counting import LARGEST_SQUARED, Question, Weights
from riskcore.data.engines.polars.engine import Polars
from riskcore.data.engines.polars.scan import scan_stored
from riskcore.data.engines.protecting import Lookup
from riskcore.data.files.arrow import import_pyarrow
from riskcore.data.files.base_format import StoredRecords

# Types whose values are the same to polars and in memory.
_WEIGHTS = ("integer", "float32", "float64")
_KEYS = (*_WEIGHTS, "boolean", "string", "large_string", "date32")


class LargeFile(Polars):
    """A file that is read in batches, as a lazy frame of polars."""

    name = "a file read in batches"
    single = True

    def __init__(self, file: StoredRecords) -> None:
        import narwhals.stable.v2 as nw

        super().__init__(nw.from_native(scan_stored(file)))
        self.file = file
        self.intake = file.intake
        self.as_table = True  # whether `join` returns a table, not a reader
        self._weighed: dict[Question, Weights] = {}

    @classmethod
    def of(
        cls,
        file: StoredRecords,
        keys: Sequence[Hashable],
        weight: Hashable | None,
        scale: float | None,
    ) -> LargeFile | None:
        """Return a file as an engine; None if its cells might differ from memory."""
        kinds = [file.schema.field(key).type for key in keys]
        if not all(_is_one_of(_decoded(kind), _KEYS) for kind in kinds):
            return None
        weights = [] if weight is None else [file.schema.field(weight).type]
        if not all(_is_one_of(kind, _WEIGHTS) for kind in weights):
            return None
        try:
            engine = cls(file)
        except TypeError:  # of a column that polars does not read
            return None
        if weight is None:
            return engine
        weighed = engine.weigh(Question(tuple(keys), weight, scale=scale))
        exact = any(weighed.faults.values()) or weighed.whole_sums is not None
        return engine if exact else None

    def collect(self, asked: Any, *, in_order: bool = False) -> Iterator[Any]:
        """Yield the rows of a lazy frame; refuse a file that has changed."""
        self.file.refuse_changed()
        try:
            yield from super().collect(asked, in_order=in_order)
        except import_module("polars").exceptions.ComputeError as error:
            self.file.refuse_changed()
            raise ValueError(f"{self.file.path}: {error}") from None
        self.file.refuse_changed()

    def weigh(self, question: Question) -> Weights:
        """Return the facts about the weights, and how many records lack each key."""
        if question not in self._weighed:
            weights = super().weigh(question)
            self.file.intake.check(self.file.path, weights.n)
            if question.weight is not None and not any(weights.faults.values()):
                weights = replace(weights, squares=self._squares(question.weight))
            self._weighed[question] = weights
        return self._weighed[question]

    def _squares(self, weight: Hashable) -> float:
        """Return the sum of the squares of the weights, correctly rounded."""
        import narwhals.stable.v2 as nw

        squares: list[float] = []
        column = nw.from_native(self.select([weight])).select(
            nw.col("c0").cast(nw.Float64)
        )
        for batch in self.collect(column):
            w = np.minimum(batch["c0"].to_numpy(), LARGEST_SQUARED)
            squares += exact_parts(w * w)
        return math.fsum(squares)

    def row_of_records(self, question: Question, cells: Any) -> NDArray[np.int32]:
        """Return the row of each record in a frame of cells."""
        import narwhals.stable.v2 as nw

        table = cells.select(*question.key_columns).to_native().with_row_index("row")
        lookup = Lookup(question.keys, table.lazy(), ["row"], whole=True)
        frame = nw.from_native(super().join(self.native, lookup)).select("row")
        rows = [x["row"].to_numpy() for x in self.collect(frame, in_order=True)]
        return np.concatenate(rows).astype(np.int32)

    def join(self, data: Any, lookup: Lookup) -> Any:
        """Return the records with results, in their order and types."""
        import narwhals.stable.v2 as nw

        frame = nw.from_native(super().join(data, lookup))
        results = frame.select(*lookup.added).head(0).collect().to_arrow().schema
        schema = self.file.schema
        for field in results:
            schema = schema.append(field)
        batches = (
            batch
            for part in self.collect(frame, in_order=True)
            for batch in part.to_arrow().cast(schema).to_batches()
        )
        reader = import_pyarrow().RecordBatchReader.from_batches(schema, batches)
        return reader.read_all() if self.as_table else reader


def _decoded(kind: Any) -> Any:
    """Return the type of the values of a dictionary; other types as given."""
    return kind.value_type if import_pyarrow().types.is_dictionary(kind) else kind


def _is_one_of(kind: Any, names: Sequence[str]) -> bool:
    """Tell whether a type of Arrow is one of those named."""
    types = import_pyarrow().types
    return any(getattr(types, f"is_{name}")(kind) for name in names)
