"""Files too large for memory, which polars counts as they are read."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riskcore.common.sums import exact_parts
from riskcore.data.engines.counting import LARGEST_SQUARED, Question, Weights
from riskcore.data.engines.polars.engine import Polars
from riskcore.data.engines.polars.scan import scan
from riskcore.data.engines.protecting import Lookup
from riskcore.data.files.arrow import import_pyarrow
from riskcore.data.files.base_format import RecordBatches

# Types whose values are the same to polars and in memory.
_WEIGHTS = ("integer", "float32", "float64")
_KEYS = (*_WEIGHTS, "boolean", "string", "large_string", "date32")


class LargeFile(Polars):
    """A file that is read in batches, as a lazy frame of polars."""

    name = "a file read in batches"

    def __init__(self, file: RecordBatches) -> None:
        import narwhals.stable.v2 as nw

        def tables(schema: Any) -> Iterator[Any]:
            for batch in file.read(schema.names):
                yield import_pyarrow().Table.from_batches([batch]).cast(schema)

        super().__init__(nw.from_native(scan(file.schema, tables)))
        self.file = file
        self.intake = file.intake

    @classmethod
    def of(
        cls, file: RecordBatches, keys: Sequence[Hashable], weight: Hashable | None
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
        weighed = Polars.weigh(engine, Question((), weight))
        exact = any(weighed.faults.values()) or weighed.whole_sums is not None
        return engine if exact else None

    def weigh(self, question: Question) -> Weights:
        """Return the facts about the weights, and how many records lack each key."""
        weights = super().weigh(question)
        if question.weight is None or any(weights.faults.values()):
            return weights
        squares: list[float] = []
        for batch in self.file.read([str(question.weight)]):
            w = batch.column(0).to_numpy(zero_copy_only=False).astype(np.float64)
            w = np.minimum(w, LARGEST_SQUARED)
            squares += exact_parts(w * w)
        return replace(weights, squares=math.fsum(squares))

    def join(self, data: Any, lookup: Lookup) -> Any:
        """Return a reader of the records with results, in their order and types."""
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
        return import_pyarrow().RecordBatchReader.from_batches(schema, batches)


def _decoded(kind: Any) -> Any:
    """Return the type of the values of a dictionary; other types as given."""
    return kind.value_type if import_pyarrow().types.is_dictionary(kind) else kind


def _is_one_of(kind: Any, names: Sequence[str]) -> bool:
    """Tell whether a type of Arrow is one of those named."""
    types = import_pyarrow().types
    return any(getattr(types, f"is_{name}")(kind) for name in names)
