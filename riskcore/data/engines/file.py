"""A file that is larger than memory should hold: counted batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from riskcore.data.engines.batches import Batches
from riskcore.data.engines.counting import Question, Weighed
from riskcore.data.engines.runs import Runs
from riskcore.data.engines.sums import WholeSums
from riskcore.data.files.arrow import import_pyarrow
from riskcore.data.files.base_format import RecordBatches


class BatchedFile(Batches):
    """A file of which the cells are kept, and never all records.

    Parameters
    ----------
    file : RecordBatches
    check : callable
        Called before and after the file is read; refuses one that has changed.
    """

    name = "a file read in batches"

    def __init__(self, file: RecordBatches, check: Callable[[], None]) -> None:
        super().__init__()
        self.file = file
        self.intake = file.intake
        self._check = check
        self._counted: tuple[Question, Runs] | None = None
        self._weighed: dict[Hashable, tuple[Sequence[Hashable], Weighed]] = {}

    @property
    def arrow_schema(self) -> Any:
        """The names and types of the columns."""
        return self.file.schema

    def read_batches(self, names: Sequence[Hashable] | None = None) -> Iterator[Any]:
        """Yield the records in batches, with some columns or all."""
        self._check()
        some = self.file.schema.names if names is None else names
        yield from self.file.read([str(name) for name in some])
        self._check()

    def count_rows(self) -> int:
        """Return the number of records."""
        return self.file.intake.records

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weighed:
        """Return what is to be known of the weights, and how many lack which key.

        The file is read once for all of the keys of the first call.
        """
        known, found = self._weighed.get(weight, ((), None))
        if found is None or not set(keys) <= set(known):
            found = super().weigh(weight, keys)
            self._weighed[weight] = known, found = tuple(keys), found
        missing = dict(zip(known, found.missing_keys, strict=True))
        return replace(found, missing_keys=tuple(missing[key] for key in keys))

    def runs(self, question: Question, labels: Sequence[Any]) -> Runs:
        """Return the cells; those counted last are kept for the next question."""
        if self._counted is None or self._counted[0] != question:
            self._counted = None  # let go before others are counted
            found = super().runs(question, labels)
            found.kept = True
            self._counted = question, found
        return self._counted[1]

    def counts_exactly(
        self, key_sets: Sequence[Sequence[Hashable]], weight: Hashable | None
    ) -> bool:
        """Tell whether cells by each set of keys get the bits that memory gives.

        Their combinations must have numbers of 64 bits, and weights whole sums. A file
        with weights that are refused can be counted: it is refused then.
        """
        if not all(
            map(self._has_plain_type, {key for keys in key_sets for key in keys})
        ):
            return False
        types = import_pyarrow().types
        if weight is not None:
            kind = self.file.schema.field(weight).type
            if not (
                types.is_integer(kind)
                or types.is_float32(kind)
                or types.is_float64(kind)
            ):
                return False
        weighed = self.weigh(
            weight, list(dict.fromkeys(key for keys in key_sets for key in keys))
        )
        if weight is not None and not any(weighed.faults.values()):
            whole = not weighed.broken
            if WholeSums.of(weighed.n, weighed.low, weighed.high, whole) is None:
                return False
        return all(Runs.fits(map(len, self._labels_of(keys))) for keys in key_sets)

    def _has_plain_type(self, key: Hashable) -> bool:
        """Tell whether values of a key are the same in batches and in memory."""
        types = import_pyarrow().types
        kind = self.file.schema.field(key).type
        if types.is_dictionary(kind):
            kind = kind.value_type
        return any(
            test(kind)
            for test in (
                types.is_integer,
                types.is_boolean,
                types.is_string,
                types.is_large_string,
                types.is_float32,
                types.is_float64,
                types.is_date32,
            )
        )
