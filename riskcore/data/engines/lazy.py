"""What engines that take expressions share: narwhals puts the question to each of them.

The join of narwhals loses records without a key, since null is unequal to null there;
so each engine joins in its own words.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from riskcore.data.engines.base import Compute, Engine, Numbers, Results
from riskcore.data.engines.counting import (
    RECORDS,
    Question,
    Weights,
    count_cells,
    frequencies,
    weigh,
)
from riskcore.data.engines.protecting import Blank, Changes, Lookup
from riskcore.data.files.arrow import import_pyarrow

# Cells in a batch of Arrow.
BATCH = 1 << 18
# Records whose cells are all counted in one pass, by engines without a memory limit.
# Of more records, each pass counts the cells whose hash leaves one remainder.
PART = 1 << 25
PRIME = 65521
# Types other than integers whose equal values have equal hashes.
_HASHED = {"Boolean", "String", "Date"}


class Lazy(Engine):
    """A lazy frame, as narwhals wraps it.

    ``packages`` are the packages that such frames come from.
    """

    packages: ClassVar[tuple[str, ...]]

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.native = frame.to_native()
        self._schema = dict(frame.collect_schema())
        self._n = 0

    @property
    def schema(self) -> Mapping[str, Any]:
        """The types of the columns."""
        return self._schema

    @abstractmethod
    def select(self, names: Sequence[Any]) -> Any:
        """Return columns under the names c0, c1, ...; each is taken by its exact name.

        Asked for by its name, polars reads ``^a$`` as a pattern, duckdb ``*`` as all
        columns and Spark ``a.b`` as a path. Texts are equal only if they are the same
        letter by letter, whatever the engine compares them by.
        """

    @abstractmethod
    def send(self, table: Any) -> Any:
        """Return an eager narwhals frame as a table of the engine."""

    @abstractmethod
    def join(
        self,
        data: Any,
        question: Question,
        table: Any,
        added: Sequence[str],
        whole: bool = False,
    ) -> Any:
        """Return records with the columns ``added`` of a table, looked up by the keys.

        A whole table has the keys of every record: if one is absent, the data changed.
        """

    @abstractmethod
    def rewrite(self, data: Any, changes: Changes, blank: Blank) -> Any:
        """Return data, to which lookups were joined, with columns recoded and blanked.

        The columns of the lookups are dropped.
        """

    def change(self, lookups: Sequence[Lookup], changes: Changes, blank: Blank) -> Any:
        """Return the data with columns recoded and blanked."""
        data = self.native
        for lookup in lookups:
            table = self.send(lookup.table)
            data = self.join(
                data, lookup.question, table, lookup.added, whole=lookup.whole
            )
        return self.rewrite(data, changes, blank) if changes else data

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weights:
        """Return the facts about the weights, and how many records lack each key."""
        import narwhals.stable.v2 as nw

        question = Question(tuple(keys), weight)
        if question.columns:
            renamed = _renamed(question)
            data = nw.from_native(self.select(question.columns))
            found = weigh(data, renamed.weight, renamed.keys)
        else:
            found = weigh(self.frame, None)
        self._n = found.n
        return found

    def cells(self, question: Question) -> Any:
        """Return the cells, collected."""
        return self.lazy_cells(question).collect()

    def lazy_cells(self, question: Question, part: int = 0, parts: int = 1) -> Any:
        """Return a lazy frame of the cells, or of the cells of one part."""
        import narwhals.stable.v2 as nw

        renamed = _renamed(question)
        data = self.select(question.columns)
        if parts > 1:
            data = self.remainder(data, renamed.keys, part, parts)
        return count_cells(nw.from_native(data), renamed)

    def passes(self, question: Question) -> int:
        """Return the number of passes in which the cells are counted."""
        return 1

    def remainder(self, data: Any, keys: Sequence[Any], part: int, parts: int) -> Any:
        """Return the records of one part, chosen by a hash of their keys."""
        raise NotImplementedError

    def passes_by_hash(self, question: Question) -> int:
        """Return one pass for each PART records if equal keys have equal hashes."""
        kinds = [self._schema[key] for key in question.keys]
        if all(kind.is_integer() or str(kind) in _HASHED for kind in kinds):
            return -(-self._n // PART) or 1
        return 1

    def collect(self, asked: Any) -> Iterator[Any]:
        """Yield the rows of a lazy narwhals frame in eager frames."""
        yield asked.collect()

    def batches(self, question: Question) -> Iterator[Any]:
        """Yield the cells in eager frames."""
        for cells in self._parts(question):
            yield from self.collect(cells)

    def numbers(self, question: Question) -> Iterator[Numbers]:
        """Yield the record counts and the weight sums of the cells, without keys."""
        for cells in self._parts(question):
            for batch in self.collect(cells.select(RECORDS, *question.sum_columns)):
                yield frequencies(batch, question)

    def _parts(self, question: Question) -> Iterator[Any]:
        """Yield lazy frames of the cells, one for each pass over the records."""
        parts = self.passes(question)
        return (self.lazy_cells(question, part, parts) for part in range(parts))

    def join_results(self, question: Question, cells: Any, results: Results) -> Any:
        """Return the data with the results of the cells added to their records."""
        import narwhals.stable.v2 as nw

        table = cells.with_columns(
            nw.new_series(name, values, backend=cells.implementation)
            for name, values in results.items()
        )
        return self.join(
            self.native, question, self.send(table), list(results), whole=True
        )

    def is_float(self, key: Any) -> bool:
        """Tell whether a key is a float: its NaN is missing."""
        found: bool = self._schema[key].is_float()
        return found


def _renamed(question: Question) -> Question:
    """Return a question about the columns that `Lazy.select` returns."""
    keys = tuple(f"c{i}" for i in range(len(question.keys)))
    weight = None if question.weight is None else f"c{len(keys)}"
    return replace(question, keys=keys, weight=weight)


def result_types(compute: Compute, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type of each result, given the engine's for kinds "i" and "f"."""
    no_cells = np.zeros(0, np.int64), np.zeros(0)
    return {name: kinds[one.dtype.kind] for name, one in compute(*no_cells).items()}


def frames_of(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield Arrow batches as narwhals frames."""
    import narwhals.stable.v2 as nw

    pyarrow = import_pyarrow()
    for batch in batches:
        yield nw.from_native(pyarrow.Table.from_batches([batch]), eager_only=True)
