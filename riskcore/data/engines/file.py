"""A file too large for memory, counted batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from riskcore.data.engines.batches import Batches
from riskcore.data.engines.counting import Question, Weights
from riskcore.data.engines.runs import Runs
from riskcore.data.engines.sums import WholeSums
from riskcore.data.files.arrow import import_pyarrow
from riskcore.data.files.base_format import RecordBatches

# Types whose values are the same in batches and in memory.
_WEIGHTS = ("integer", "float32", "float64")
_KEYS = (*_WEIGHTS, "boolean", "string", "large_string", "date32")


class BatchedFile(Batches):
    """A file whose cells are kept in memory, but never all records."""

    name = "a file read in batches"

    def __init__(self, file: RecordBatches, check: Callable[[], None]) -> None:
        """Take a file, and a check that refuses it if it has changed."""
        super().__init__()
        self.file = file
        self.intake = file.intake
        self._check = check
        self._counted: tuple[Question, Runs] | None = None
        self._weighed: dict[Hashable, tuple[Sequence[Hashable], Weights]] = {}

    @property
    def arrow_schema(self) -> Any:
        """The schema of Arrow with all columns."""
        return self.file.schema

    def read_batches(self, names: Sequence[Hashable] | None = None) -> Iterator[Any]:
        """Yield the records in batches with the columns named, or all."""
        self._check()
        some = self.file.schema.names if names is None else names
        yield from self.file.read([str(name) for name in some])
        self._check()

    def count_rows(self) -> int:
        """Return the number of records."""
        return self.file.intake.records

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weights:
        """Return the facts about the weights, and how many records lack each key.

        The file is read once for all keys of the first call.
        """
        known, found = self._weighed.get(weight, ((), None))
        if found is None or not set(keys) <= set(known):
            found = super().weigh(weight, keys)
            self._weighed[weight] = known, found = tuple(keys), found
        missing = dict(zip(known, found.missing_keys, strict=True))
        return replace(found, missing_keys=tuple(missing[key] for key in keys))

    def runs(self, question: Question, labels: Sequence[Any]) -> Runs:
        """Return the cells; the last result is kept for the next question."""
        if self._counted is None or self._counted[0] != question:
            self._counted = None  # let go before others are counted
            found = super().runs(question, labels)
            found.kept = True
            self._counted = question, found
        return self._counted[1]

    def counts_exactly(
        self, key_sets: Sequence[Sequence[Hashable]], weight: Hashable | None
    ) -> bool:
        """Tell whether the cells of each set of keys have the bits they have in memory.

        Their combinations must have codes of 64 bits, and the weights whole sums. A
        file with faulty weights can be counted: it is refused then.
        """
        keys = list(dict.fromkeys(key for keys in key_sets for key in keys))
        schema = self.file.schema
        if not all(_is_one_of(_decoded(schema.field(key).type), _KEYS) for key in keys):
            return False
        if weight is not None and not _is_one_of(schema.field(weight).type, _WEIGHTS):
            return False
        weighed = self.weigh(weight, keys)
        if weight is not None and not any(weighed.faults.values()):
            whole = not weighed.broken
            if WholeSums.of(weighed.n, weighed.low, weighed.high, whole) is None:
                return False
        return all(Runs.fits(map(len, self._labels_of(keys))) for keys in key_sets)


def _decoded(kind: Any) -> Any:
    """Return the type of the values of a dictionary; other types as given."""
    return kind.value_type if import_pyarrow().types.is_dictionary(kind) else kind


def _is_one_of(kind: Any, names: Sequence[str]) -> bool:
    """Tell whether a type of Arrow is one of those named."""
    types = import_pyarrow().types
    return any(getattr(types, f"is_{name}")(kind) for name in names)
