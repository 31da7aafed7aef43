"""Engine: data that stay where they are; Counted: the cells that it counts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from riskcore.common.missing_column import no_such_column
from riskcore.common.sums import exact_parts
from riskcore.data.engines.counting import (
    Numbers,
    Question,
    Weights,
    count_cells,
    frequencies,
    weigh,
)
from riskcore.data.engines.doubtful_weights import refuse_doubtful
from riskcore.data.engines.protecting import Blank, Changes, Lookup
from riskcore.data.engines.sums import Squares
from riskcore.data.files.arrow import import_pyarrow
from riskcore.data.files.intake import Intake

Results = Mapping[str, NDArray[Any]]
Compute = Callable[[NDArray[np.int64], NDArray[np.float64]], Results]

# Cells in a batch of Arrow.
BATCH = 1 << 18
# Records whose cells are all counted in one pass, by engines without a memory limit.
# Of more records, each pass counts the cells whose hash leaves one remainder.
PART = 25_000_000
PRIME = 2**31 - 1
HASH = "riskcore_hash"
ROUNDING = 2.0**-52  # relative error of a sum of doubles in any order, by record
# Types other than integers whose equal values have equal hashes.
_HASHED = {"Boolean", "String", "Date"}


class Engine(ABC):
    """Data that an engine holds: a lazy frame, as narwhals wraps it.

    The join of narwhals loses records without a key, since null is unequal to null
    there; so each engine joins in its own words.
    """

    name: ClassVar[str]  # in messages
    packages: ClassVar[tuple[str, ...]]  # that such frames come from
    case_blind = False  # whether names that differ only in case are one name to it
    in_passes = False  # whether it lacks a limit of memory, and counts in passes
    single = False  # whether single records come here if they are needed
    intake: Intake | None = None  # of a file, the account of its records

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.native = frame.to_native()
        self.schema: Mapping[Any, Any] = dict(frame.collect_schema())  # of narwhals
        self._n = 0

    @cached_property
    def prefix(self) -> str:
        """Prefix for our own columns: no column of the data starts with it."""
        taken = tuple(str(name).casefold() for name in self.schema)
        prefix, i = "riskcore_", 0
        while any(name.startswith(prefix) for name in taken):
            i += 1
            prefix = f"riskcore{i}_"
        return prefix

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
    def shuffled(self, data: Any) -> Any:
        """Return records in an order that is random, and new each time."""

    @abstractmethod
    def join(self, data: Any, lookup: Lookup) -> Any:
        """Return records with the columns of a lookup, a table of the engine, added."""
        # A whole table has the keys of every record: if one lacks, the data changed.

    @abstractmethod
    def rewrite(self, data: Any, changes: Changes, blank: Blank) -> Any:
        """Return data with columns recoded and blanked; drop those of the lookups."""

    def change(self, lookups: Sequence[Lookup], changes: Changes, blank: Blank) -> Any:
        """Return the data with columns recoded and blanked."""
        data = self.native
        for lookup in lookups:
            data = self.join(data, replace(lookup, table=self.send(lookup.table)))
        return self.rewrite(data, changes, blank) if changes else data

    def weigh(self, question: Question) -> Weights:
        """Return the facts about the weights, and how many records lack each key."""
        import narwhals.stable.v2 as nw

        data = self.frame
        if question.columns:
            data = nw.from_native(self.select(question.columns))
        weights = weigh(data, _renamed(question), self.collect)
        self._n = weights.n
        return weights

    def cells(self, question: Question) -> Any:
        """Return the cells, collected."""
        import narwhals.stable.v2 as nw

        return nw.concat([*self.collect(self.lazy_cells(question))])

    def lazy_cells(self, question: Question, part: int = 0, parts: int = 1) -> Any:
        """Return a lazy frame of the cells, or of the cells of one part."""
        import narwhals.stable.v2 as nw

        renamed = _renamed(question)
        data = self.select(question.columns)
        if parts > 1:
            rows = nw.from_native(self.hashed(data, renamed.keys))
            data = rows.filter(nw.col(HASH) % parts == part).to_native()
        return count_cells(nw.from_native(data), renamed)

    @abstractmethod
    def hashed(self, data: Any, keys: Sequence[Any]) -> Any:
        """Return rows with the column ``HASH``: a number of the keys below PRIME."""

    def hashes(self, question: Question) -> bool:
        """Return whether `hashed` works."""
        return True

    def passes(self, question: Question) -> int:
        """Return one pass for each PART records if equal keys have equal hashes."""
        kinds = [self.schema[key] for key in question.keys]
        alike = all(kind.is_integer() or str(kind) in _HASHED for kind in kinds)
        return -(-self._n // PART) or 1 if self.in_passes and alike else 1

    def collect(self, asked: Any) -> Iterator[Any]:
        """Yield the rows of a lazy narwhals frame in eager frames."""
        yield asked.collect()

    def records(self, data: Any) -> Iterator[Any]:
        """Yield records in eager frames, in their order if they have one."""
        import narwhals.stable.v2 as nw

        return self.collect(nw.from_native(data))

    def batches(self, question: Question, *, hashed: bool = False) -> Iterator[Any]:
        """Yield the cells in eager frames; ``hashed``: with HASH if it is known."""
        import narwhals.stable.v2 as nw

        names, parts = question.key_columns, self.passes(question)
        hashed = hashed and self.hashes(question)
        for part in range(parts):
            cells = self.lazy_cells(question, part, parts)
            if hashed:
                cells = nw.from_native(self.hashed(cells.to_native(), names))
            yield from self.collect(cells)

    def join_results(self, question: Question, cells: Any, results: Results) -> Any:
        """Return the data with the results of the cells added to their records."""
        import narwhals.stable.v2 as nw

        table = cells.with_columns(
            nw.new_series(name, values, backend=cells.implementation)
            for name, values in results.items()
        )
        lookup = Lookup(question.keys, self.send(table), list(results), whole=True)
        return self.join(self.native, lookup)

    def row_of_records(self, question: Question, cells: Any) -> NDArray[np.int32]:
        """Return the row of each record in a frame of cells, if records come here."""
        raise self.refuse_single("the cell of each record")

    def is_float(self, key: Any) -> bool:
        """Tell whether a key is a float: its NaN is missing."""
        answer: bool = self.schema[key].is_float()
        return answer

    def compute_results(self, question: Question, compute: Compute) -> Any:
        """Return the data with results that the engine computes; None if it cannot."""
        return None

    def refuse_single(self, what: str) -> TypeError:
        """Return the error for a task that needs single records."""
        return TypeError(
            f"{what}: single records are needed here, but {self.name} holds them and "
            "gives only the cells: collect the columns first. The result of assess has "
            ".records, which stays with the engine"
        )

    def fold_case(self, name: str) -> str:
        """Return a name as the engine compares it, whatever its case."""
        return name.lower()

    def categories(self, name: Hashable) -> list[Any] | None:
        """Return a column's categories in their order; None if it has none."""
        return None

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse names that are not columns, or that the engine cannot tell apart."""
        columns = list(self.schema)
        for name in names:
            if name not in columns:
                raise no_such_column([name], columns)
            kind = self.schema[name]
            if kind.is_nested():
                raise TypeError(
                    f"column {name!r}: values of type {kind} have no order; a key "
                    "needs text, numbers, times or other values that have an order"
                )
        if self.case_blind:
            spellings: dict[str, str] = {}
            for column in columns:
                other = spellings.setdefault(self.fold_case(column), column)
                if other != column:
                    raise ValueError(
                        f"columns {other!r}, {column!r} differ only in case, which "
                        f"{self.name} ignores: rename one of them"
                    )

    def count(
        self,
        keys: Sequence[Hashable],
        weight: Hashable | None,
        scale: float | None = None,
    ) -> Counted:
        """Return the cells of the data, which the engine counts when asked for them."""
        question = Question(tuple(keys), weight, scale=scale)
        self.check(question.columns)
        if weight is not None:
            kind = self.schema[weight]
            if not kind.is_numeric():
                raise TypeError(
                    f"weight {weight!r}: values of type {kind}, not real numbers"
                )
        weighed = self.weigh(question)
        if not weighed.n:
            raise ValueError("the data hold no records")
        if weight is None:
            return Counted(self, question, weighed)
        decades = weighed.decades
        assert decades is not None
        refuse_doubtful(weighed, lambda: decades, weight, scale)
        if (sums := weighed.whole_sums) is not None:
            facts = weighed.n, weighed.low, weighed.high, not weighed.broken
            question = replace(question, sums=sums, squares=Squares.of(*facts))
        return Counted(self, question, weighed)


class Sums:
    """What all cells add up to in one pass over the records."""

    def __init__(self) -> None:
        self.records = self.cells = self.squares = 0
        self._parts: list[float] = []

    def add(self, records: NDArray[np.int64], weight_sum: NDArray[np.float64]) -> None:
        """Add some cells; their order does not matter."""
        self.records += int(records.sum())
        self.cells += len(records)
        self.squares += int((records * records).sum())
        self._parts += exact_parts(weight_sum)

    @cached_property
    def weight(self) -> float:
        """The sum of the weights, correctly rounded."""
        return math.fsum(self._parts)


@dataclass(frozen=True, eq=False)
class Counted:
    """The cells of an engine, counted on first use, in no particular order.

    Each pass over the records must find what the ones before it found.
    """

    engine: Engine
    question: Question
    weighed: Weights  # the facts about all records
    passes: list[Sums] = field(default_factory=list)  # over all cells, so far

    @property
    def n(self) -> int:
        """Number of records."""
        return self.weighed.n

    @cached_property
    def cells(self) -> Any:
        """The keys of each cell and its counts: a narwhals DataFrame."""
        return self.engine.cells(self.question)

    @cached_property
    def _numbers(self) -> Numbers:
        numbers, sums = frequencies(self.cells, self.question), Sums()
        sums.add(*numbers)
        self._check(sums)
        return numbers

    @property
    def records(self) -> NDArray[np.int64]:
        """Number of records of each cell, shape (K,)."""
        return self._numbers[0]

    @property
    def weight_sum(self) -> NDArray[np.float64]:
        """Sum of the weights of each cell, shape (K,); without weights, its records."""
        return self._numbers[1]

    @cached_property
    def squares(self) -> Squares | None:
        """The squares of the weights of each cell, shape (K,); None if not known."""
        return self.question.squares_in(self.cells)

    @property
    def keys(self) -> dict[Hashable, Any]:
        """The column of each key, with a row for each cell."""
        return self.keys_in(self.cells)

    def keys_in(self, cells: Any) -> dict[Hashable, Any]:
        """Return the column of each key in a frame of cells."""
        columns = zip(self.question.keys, self.question.key_columns, strict=True)
        return {key: cells.get_column(name) for key, name in columns}

    def batches(self, *, hashed: bool = False) -> Iterator[tuple[Any, Numbers]]:
        """Yield all cells as frames, see `Engine.batches`, and their numbers."""
        sums = Sums()
        for cells in self.engine.batches(self.question, hashed=hashed):
            numbers = frequencies(cells, self.question)
            sums.add(*numbers)
            yield cells, numbers
        self._check(sums)

    @cached_property
    def row_of_records(self) -> NDArray[np.int32]:
        """The row of each record in the cells, shape (n,)."""
        return self.engine.row_of_records(self.question, self.cells)

    def records_with(
        self, compute: Compute, results: Callable[[], Results] | None = None
    ) -> Any:
        """Return the data, with results of the cells added to their records."""
        question = self.question
        # Sums of doubles would be others when the engine adds them again.
        repeats = question.weight is None or question.sums is not None
        if results is None and repeats:
            data = self.engine.compute_results(question, compute)
            if data is not None:
                return data
        rows = compute(self.records, self.weight_sum) if results is None else results()
        cells = self.cells.select(*question.key_columns)
        return self.engine.join_results(question, cells, rows)

    def refuse_single(self, what: str) -> TypeError:
        """Return the error for a task that needs single records."""
        return self.engine.refuse_single(what)

    def with_rough_squares(self) -> Counted:
        """Return this with squares of weights rounded down, which cost half."""
        if (squares := self.question.squares) is None:
            return self
        squares = replace(squares, whole=replace(squares.whole, pieces=1))
        return replace(self, question=replace(self.question, squares=squares))

    def of_some(self, cells: Any) -> Counted:
        """Return this as if it had some of its cells only."""
        some = replace(self)
        some.__dict__.update(cells=cells, _numbers=frequencies(cells, self.question))
        return some

    def _check(self, sums: Sums) -> None:
        """Refuse data that have changed since the first pass, as far as sums tell."""
        if sums.records != self.n:
            raise ValueError(
                f"the cells have {sums.records:,} records, the data {self.n:,}: they "
                "changed while they were counted"
            )
        weight, near = self.weighed.total, self.n * ROUNDING
        alike = self.question.weight is None or not math.isfinite(weight)
        alike = alike or math.isclose(sums.weight, weight, rel_tol=near)
        for first in self.passes[:1]:
            same = (sums.cells, sums.squares) == (first.cells, first.squares)
            exact = self.question.weight is None or self.question.sums is not None
            near = 0.0 if exact else near
            alike &= same and math.isclose(sums.weight, first.weight, rel_tol=near)
        if not alike:
            raise changed_meanwhile()
        self.passes.append(sums)


def refuse_twice(names: Iterable[Hashable]) -> None:
    """Refuse columns that share a name."""
    twice = {name: k for name, k in Counter(names).items() if k > 1}
    if twice:
        listed = ", ".join(f"{name!r} {k} times" for name, k in twice.items())
        raise ValueError(f"columns share a name: {listed}; rename or drop them")


def changed_meanwhile() -> ValueError:
    """Return the error for records or cells that differ from those counted before."""
    return ValueError("the data have changed since they were counted: write them first")


def _renamed(question: Question) -> Question:
    """Return a question about the columns that `Lazy.select` returns."""
    keys = tuple(f"c{i}" for i in range(len(question.keys)))
    weight = None if question.weight is None else f"c{len(keys)}"
    return replace(question, keys=keys, weight=weight)


def result_types(compute: Compute, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type of each result, given the engine's for kinds "i" and "f"."""
    no_cells = np.zeros(0, np.int64), np.zeros(0)
    return {
        name: kinds[values.dtype.kind] for name, values in compute(*no_cells).items()
    }


def frames_of(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield Arrow batches as narwhals frames."""
    import narwhals.stable.v2 as nw

    pyarrow = import_pyarrow()
    for batch in batches:
        yield nw.from_native(pyarrow.Table.from_batches([batch]), eager_only=True)
