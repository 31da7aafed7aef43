"""Tables of ibis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from typing import Any

from riskcore.data.engines import base
from riskcore.data.engines.counting import Question
from riskcore.data.engines.protecting import Blank, Change, Changes, Lookup

# Texts that some collations take for one another.
_ALIKE = [("A", "a"), ("\u00e9", "e")]


class Ibis(base.Engine):
    """A table of ibis."""

    name = "ibis"
    packages = ("ibis",)
    case_blind = True

    def __init__(self, frame: Any) -> None:
        super().__init__(frame)
        self._backend = str(self.native.get_backend().name)
        self.in_passes = self._backend == "duckdb"

    def check(self, names: Sequence[Any]) -> None:
        """Refuse columns as other engines do, and columns that mix values up."""
        super().check(names)
        kinds = self.native.schema()
        for name in names:
            if kinds[name].is_interval():
                raise TypeError(
                    f"column {name!r}: values of type {kinds[name]}, which backends "
                    "compare in their own ways; give it as text or a number"
                )
        texts = [name for name in names if kinds[name].is_string()]
        if texts:
            self._check_collations(texts)

    def _check_collations(self, names: Sequence[Any]) -> None:
        """Refuse columns of text whose collation takes two texts for one."""
        # A choice between a text and the column has the collation of the column.
        ibis = import_module("ibis")
        record = self.native.limit(1)
        asked = {}
        for i, name in enumerate(names):
            column = record[name]
            always = column.isnull() | column.notnull()
            for j, (text, other) in enumerate(_ALIKE):
                chosen = ibis.ifelse(always, ibis.literal(text), column)
                asked[f"c{i}_{j}"] = chosen == other
        for row in record.select(**asked).to_pyarrow().to_pylist():
            for key in (key for key, same in row.items() if same):
                i, j = map(int, key[1:].split("_"))
                text, other = _ALIKE[j]
                raise TypeError(
                    f"column {names[i]!r}: the database compares its texts by a "
                    f"collation for which {text!r} equals {other!r}; give the column "
                    "with a collation that keeps all texts apart"
                )

    def collect(self, asked: Any) -> Iterator[Any]:
        """Yield the rows of a lazy frame in eager frames."""
        with self._explained():
            if self._backend == "polars":  # which holds all of it first, anyway
                yield from super().collect(asked)
                return
            native = asked.to_native()
            # ibis 12 asks duckdb 2 for batches by a name that it no longer has.
            relation = getattr(native.get_backend(), "_to_duckdb_relation", None)
            if relation is None:
                batches = native.to_pyarrow_batches(chunk_size=base.BATCH)
                yield from base.frames_of(batches)
                return
            with closing(relation(native).to_arrow_reader(base.BATCH)) as reader:
                yield from base.frames_of(reader)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what to do if a backend lacks an operation."""
        missing = import_module("ibis.common.exceptions").OperationNotDefinedError
        try:
            yield
        except missing as error:
            raise TypeError(
                f"ibis on {self._backend}: {error}, but weights and floating-point "
                "keys need this; give keys as whole numbers or text, or read the data, "
                "those with weights too, by another backend, such as duckdb"
            ) from None

    def hashes(self, question: Question) -> bool:
        """Return whether the backend has a hash of several columns."""
        data = self.select(question.keys)
        try:
            self.native.get_backend().compile(self.hashed(data, data.columns))
        except import_module("ibis.common.exceptions").IbisError:
            return False
        return True

    def hashed(self, data: Any, keys: Sequence[Any]) -> Any:
        """Return rows with a number of their keys added."""
        mixed = import_module("ibis").struct({key: data[key] for key in keys}).hash()
        return data.mutate(**{base.HASH: (mixed % base.PRIME).abs()})

    def select(self, names: Sequence[Any]) -> Any:
        """Return columns under the names c0, c1, ..."""
        columns = {f"c{i}": self.native[name] for i, name in enumerate(names)}
        return self.native.select(**columns)

    def send(self, table: Any) -> Any:
        """Return a frame as a table in memory, whose rows ibis does not print."""
        memtable = import_module("ibis").memtable(table.to_arrow())
        node = memtable.op()
        kind = type(node.data)
        silent = type(kind.__name__, (kind,), {"__repr__": lambda _: "cells"})
        return node.copy(data=silent(node.data.obj)).to_expr()

    def shuffled(self, data: Any) -> Any:
        """Return records in an order that is random, and new each time."""
        return data.order_by(import_module("ibis").random())

    def join(self, data: Any, lookup: Lookup) -> Any:
        """Return records with the columns added to them, in the engine's order."""
        if self._backend == "polars":
            raise TypeError(
                "ibis on polars cannot join a table in memory on null, so the records "
                "cannot be returned: give the lazy frame of polars itself"
            )
        ibis = import_module("ibis")
        ours = {f"{self.prefix}{name}": name for name in lookup.key_columns}
        table = lookup.table.rename(ours)
        on = []
        for key, name in zip(lookup.keys, ours, strict=True):
            column = data[key]
            if self.is_float(key):
                # By exp, as `counting` does.
                column = ibis.ifelse(column.exp().isnan(), ibis.null(), column)
            on.append(column.identical_to(table[name]))
        return data.left_join(table, on).select(
            *(data[name] for name in data.columns),
            *(table[name] for name in lookup.added),
        )

    def rewrite(self, data: Any, changes: Changes, blank: Blank) -> Any:
        """Return data with columns recoded and blanked; the lookups are dropped."""
        ibis = import_module("ibis")
        columns = {}
        for name in self.schema:
            change = changes.get(name, Change())
            column = data[change.recoded or name]
            if change.blanked is not None:
                column = ibis.ifelse(data[change.blanked], ibis.null(), column)
            columns[name] = column
        return data.select(**columns)
