"""What engines share: what they are asked, what they count, what they give back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.missing_column import no_such_column
from riskcore.data.engines.counting import (
    Question,
    Weighed,
    frequencies,
    weight_type,
)
from riskcore.data.engines.sums import WholeSums
from riskcore.data.files.intake import Intake

Results = Mapping[str, NDArray[Any]]
# Number of records, and sum of the weights, of some cells.
Numbers = tuple[NDArray[np.int64], NDArray[np.float64]]
Compute = Callable[[NDArray[np.int64], NDArray[np.float64]], Results]

# Cells whose numbers are looked at together.
MOST = 1 << 20


class Engine(ABC):
    """Data that an engine holds.

    Attributes
    ----------
    name : str
        What messages call the engine.
    case_blind : bool
        Whether names of columns that differ by case are one name to it.
    intake : Intake or None
        Of a file, what became of its records.
    """

    name: str
    case_blind = False
    intake: Intake | None = None

    @property
    @abstractmethod
    def schema(self) -> Mapping[str, Any]:
        """The types of the columns, those of narwhals, by name."""

    @cached_property
    def prefix(self) -> str:
        """What no column's name begins with, in any case: so ours begin."""
        taken = tuple(str(name).casefold() for name in self.schema)
        prefix, i = "riskcore_", 0
        while any(name.startswith(prefix) for name in taken):
            i += 1
            prefix = f"riskcore{i}_"
        return prefix

    @abstractmethod
    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weighed:
        """Return what is to be known of the weights, and how many lack which key."""

    @abstractmethod
    def cells(self, question: Question) -> Any:
        """Return the cells as an eager narwhals frame."""

    def batches(self, question: Question) -> Iterator[Any]:
        """Yield the cells in eager narwhals frames, a few at a time if it can be."""
        yield self.cells(question)

    def numbers(self, question: Question) -> Iterator[Numbers]:
        """Yield records and sums of weights of the cells, which have no order.

        The keys stay with the engine.
        """
        for batch in self.batches(question):
            yield frequencies(batch, question)

    @abstractmethod
    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return the data with results of the cells added to their records."""

    def computed(self, question: Question, compute: Compute) -> Any:
        """Return the same, computed where the data are; None if in one place."""
        return None

    def refuse_single(self, what: str) -> TypeError:
        """Make the error for what needs single records."""
        return TypeError(
            f"{what}: single records are needed here, but {self.name} holds them and "
            "gives the cells alone: collect the columns first. What assess returns has "
            ".records, which stays with the engine"
        )

    def folded(self, name: str) -> str:
        """Return what is the same of names that differ by case alone."""
        return name.lower()

    def categories(self, name: Hashable) -> list[Any] | None:
        """Return a column's categories in their order; None if it has none."""
        return None

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse columns that there are not, or that the engine cannot tell apart."""
        columns = list(self.schema)
        for name in names:
            if name not in columns:
                raise no_such_column([name], columns)
            kind = self.schema[name]
            if kind.is_nested():
                raise TypeError(
                    f"column {name!r}: values of type {kind} have no order; a key has "
                    "text, numbers, times or other values that have one"
                )
        if self.case_blind:
            known: dict[str, str] = {}
            for one in columns:
                other = known.setdefault(self.folded(one), one)
                if other != one:
                    raise ValueError(
                        f"columns {other!r}, {one!r} differ by case alone, which "
                        f"{self.name} ignores: rename one of them"
                    )

    def count(self, keys: Sequence[Hashable], weight: Hashable | None) -> Counted:
        """Return the cells of the data, which the engine counts when asked for them."""
        self.check([*keys, *([] if weight is None else [weight])])
        if weight is not None:
            wrong = weight_type(self.schema, weight)
            if wrong is not None:
                raise TypeError(
                    f"weight {weight!r}: values of type {wrong}, not real numbers"
                )
        weighed = self.weigh(weight, keys)
        if not weighed.n:
            raise ValueError("the data hold no records")
        faults = [f"{k:,} {fault}" for fault, k in weighed.faults.items() if k]
        if faults:
            raise ValueError(
                f"weight {weight!r}: {', '.join(faults)} in {weighed.n:,} records; a "
                "weight is positive and finite"
            )
        sums = None
        if weight is not None:
            whole = not weighed.broken
            sums = WholeSums.of(weighed.n, weighed.low, weighed.high, whole)
        return Counted(self, Question(tuple(keys), weight, sums), weighed)


@dataclass(frozen=True, eq=False)
class Counted:
    """What an engine counts: one row for each cell, in no particular order.

    Nothing is counted before it is asked for.

    Attributes
    ----------
    engine : Engine
    question : Question
    weighed : Weighed
        What is known of all records.
    """

    engine: Engine
    question: Question
    weighed: Weighed

    @property
    def n(self) -> int:
        """Number of records."""
        return self.weighed.n

    @cached_property
    def cells(self) -> Any:
        """The keys of each row, and what was counted: a narwhals DataFrame."""
        return self.engine.cells(self.question)

    @cached_property
    def _numbers(self) -> Numbers:
        found = frequencies(self.cells, self.question)
        self._check(int(found[0].sum()))
        return found

    @property
    def records(self) -> NDArray[np.int64]:
        """Number of records of each row, shape (K,)."""
        return self._numbers[0]

    @property
    def weight_sum(self) -> NDArray[np.float64]:
        """Sum of their weights, shape (K,); their number if there are none."""
        return self._numbers[1]

    @property
    def keys(self) -> dict[Hashable, Any]:
        """The column of each key, a row for each cell."""
        return self.keys_in(self.cells)

    def keys_in(self, cells: Any) -> dict[Hashable, Any]:
        """Return the column of each key in a frame of cells."""
        columns = zip(self.question.keys, self.question.key_columns, strict=True)
        return {key: cells.get_column(name) for key, name in columns}

    def numbers(self) -> Iterator[Numbers]:
        """Yield records and weight sums of all cells, at most ``MOST`` at a time."""
        found = 0
        for records, weight_sum in self.engine.numbers(self.question):
            found += int(records.sum())
            for start in range(0, len(records), MOST):
                part = slice(start, start + MOST)
                yield records[part], weight_sum[part]
        self._check(found)

    def batches(self) -> Iterator[tuple[Any, Numbers]]:
        """Yield all cells as frames with their keys, and their numbers."""
        found = 0
        for cells in self.engine.batches(self.question):
            numbers = frequencies(cells, self.question)
            found += int(numbers[0].sum())
            yield cells, numbers
        self._check(found)

    def labels(self, key: Hashable) -> tuple[Any, NDArray[np.int64]]:
        """Return the values of a key, a narwhals Series, and the records of each."""
        question = Question((key,))
        cells = self.engine.cells(question)
        return cells.get_column(question.key_columns[0]), frequencies(cells, question)[
            0
        ]

    def records_with(
        self, compute: Compute, results: Callable[[], Results] | None = None
    ) -> Any:
        """Return the data, with results of the cells added to their records."""
        question = self.question
        # Sums of doubles would be others when the engine adds them again.
        repeats = question.weight is None or question.sums is not None
        if results is None and repeats:
            found = self.engine.computed(question, compute)
            if found is not None:
                return found
        rows = compute(self.records, self.weight_sum) if results is None else results()
        return self.engine.joined(
            question, self.cells.select(*question.key_columns), rows
        )

    def refuse_single(self, what: str) -> TypeError:
        """Make the error for what needs single records."""
        return self.engine.refuse_single(what)

    def _check(self, found: int) -> None:
        if found != self.n:
            raise ValueError(
                f"the cells have {found:,} records, the data {self.n:,}: they changed "
                "while they were counted"
            )


def refuse_twice(names: Iterable[Hashable]) -> None:
    """Refuse columns of one name: nobody could tell them apart."""
    twice = {name: k for name, k in Counter(names).items() if k > 1}
    if twice:
        listed = ", ".join(f"{name!r} {k} times" for name, k in twice.items())
        raise ValueError(f"columns share a name: {listed}; rename or drop them")


def changed_meanwhile() -> ValueError:
    """Make the error for records with keys that were not counted."""
    return ValueError("the data have changed since they were counted")
