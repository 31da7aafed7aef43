"""Relations of duckdb."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from inspect import Parameter, Signature
from typing import Any

from riskcore.data.engines import base
from riskcore.data.engines.base import Compute, changed_meanwhile
from riskcore.data.engines.counting import RECORDS, Question, frequencies
from riskcore.data.engines.protecting import Blank, Change, Changes, Lookup
from riskcore.data.files.arrow import import_pyarrow

# Types whose values are equal by one rule to duckdb and by another in Arrow.
_MIXED_UP = {
    "TIME WITH TIME ZONE": "which differ to duckdb by an offset that Arrow leaves out",
    "INTERVAL": "whose months equal 30 days to duckdb, and nowhere else",
    "UHUGEINT": "whose largest come as other numbers",
    "BIGNUM": "which come as bytes",
}


def _refuse_mixed_up(types: Mapping[Any, Any]) -> None:
    """Refuse columns whose values are others in Arrow."""
    for name, kind in types.items():
        if (why := _MIXED_UP.get(str(kind))) is not None:
            raise TypeError(
                f"column {name!r}: values of type {kind}, {why}; give it as text, cast "
                "to VARCHAR"
            )


class DuckDB(base.Engine):
    """A relation of duckdb."""

    name = "duckdb"
    packages = ("duckdb", "_duckdb")
    case_blind = True

    def __init__(self, frame: Any) -> None:
        super().__init__(frame)
        types = zip(self.native.columns, self.native.types, strict=True)
        self.types: dict[Any, Any] = dict(types)

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse columns as other engines do, and types that mix values up."""
        super().check(names)
        _refuse_mixed_up({name: self.types[name] for name in names})

    def collect(self, asked: Any) -> Iterator[Any]:
        """Yield the rows in batches, which duckdb does not keep."""
        # An open reader keeps the connection from other queries.
        with closing(asked.to_native().to_arrow_reader(base.BATCH)) as reader:
            yield from base.frames_of(reader)

    def records(self, data: Any) -> Iterator[Any]:
        """Yield records in eager frames; refuse types that Arrow changes."""
        _refuse_mixed_up(dict(zip(data.columns, data.types, strict=True)))
        return super().records(data)

    def select(self, names: Sequence[Any]) -> Any:
        """Return columns under the names c0, c1, ..."""
        columns = (f"{self.column(name)} AS c{i}" for i, name in enumerate(names))
        return self.native.project(", ".join(columns))

    def hashed(self, data: Any, keys: Sequence[Any]) -> Any:
        """Return rows with a number of their keys added."""
        number = f"hash({', '.join(keys)}) % {base.PRIME}"
        return data.project(f"*, CAST({number} AS BIGINT) AS {base.HASH}")

    def column(self, name: Any, table: str = "") -> str:
        """Return a column in SQL; text is compared by its bytes, not its collation."""
        column = table + _quoted(name)
        return f"{column} COLLATE C" if str(self.types[name]) == "VARCHAR" else column

    def send(self, table: Any) -> Any:
        """Return an eager narwhals frame as a relation of the same connection."""
        return self.native._con.from_arrow(table.to_arrow())

    def shuffled(self, data: Any) -> Any:
        """Return records in an order that is random, and new each time."""
        return data.order("random()")

    def join(self, data: Any, lookup: Lookup) -> Any:
        """Return records with the columns added, in an order of duckdb's."""
        # No table is called by a name, since users may have given it to one of theirs.
        on = []
        for key, name in zip(lookup.keys, lookup.key_columns, strict=True):
            column = self.column(key, "riskcore_data.")
            if self.is_float(key):
                # By exp, as `counting` does.
                column = f"CASE WHEN NOT isnan(exp({column})) THEN {column} END"
            on.append(f"{column} IS NOT DISTINCT FROM riskcore_cells.{_quoted(name)}")
        table, template = lookup.table, "riskcore_cells.{0}"
        if lookup.whole:
            table = table.project("*, TRUE AS riskcore_known")
            template = (
                "CASE WHEN riskcore_cells.riskcore_known IS NULL "
                f"THEN error('{changed_meanwhile()}') "
                "ELSE riskcore_cells.{0} END AS {0}"
            )
        joined = data.set_alias("riskcore_data").join(
            table.set_alias("riskcore_cells"), " AND ".join(on), how="left"
        )
        columns = [f"riskcore_data.{_quoted(name)}" for name in data.columns]
        columns += [template.format(_quoted(name)) for name in lookup.added]
        return joined.project(", ".join(columns))

    def fold_case(self, name: str) -> str:
        """Return a name with its ASCII letters in lower case, as duckdb compares it."""
        return name.encode().lower().decode()

    def categories(self, name: Hashable) -> list[Any] | None:
        """Return the values of an ENUM, in their order."""
        kind = self.types[name]
        return list(dict(kind.children)["values"]) if kind.id == "enum" else None

    def compute_results(self, question: Question, compute: Compute) -> Any:
        """Return the data with results of a function, within the memory limit."""
        added = base.result_types(compute, {"i": "BIGINT", "f": "DOUBLE"})
        keys = ", ".join(question.key_columns)
        counted = ", ".join([RECORDS, *question.sum_columns])
        cells = self.lazy_cells(question).to_native()
        # One column of structs: for several columns the function is called for each.
        function = _function(self.native._con, question, compute, added)
        call = f"{function}({counted}) AS riskcore_results"
        cells = cells.project(f"{keys}, {call}")
        fields = (f"riskcore_results.{name} AS {name}" for name in added)
        cells = cells.project(", ".join([keys, *fields]))
        lookup = Lookup(question.keys, cells, list(added), whole=True)
        return self.join(self.native, lookup)

    def rewrite(self, data: Any, changes: Changes, blank: Blank) -> Any:
        """Return data with columns recoded and blanked; the lookups are dropped."""
        columns = {name: _quoted(name) for name in self.schema}
        for name, change in changes.items():
            columns[name] = f"{_rewritten(name, change)} AS {_quoted(name)}"
        return data.project(", ".join(columns.values()))


def _rewritten(name: Any, change: Change) -> str:
    """Return the SQL of a column that is recoded, blanked or both."""
    sql = _quoted(change.recoded or name)
    if change.blanked is None:
        return sql
    sql = f"CASE WHEN {_quoted(change.blanked)} THEN NULL ELSE {sql} END"
    if change.left is None:
        return sql
    # A type of its own: the list of categories must not tell what was blanked.
    texts = ", ".join(
        "'" + str(category).replace("'", "''") + "'" for category in change.left
    )
    sql = f"CAST({sql} AS VARCHAR)"
    return f"CAST({sql} AS ENUM ({texts}))" if texts else sql


def _quoted(name: Any) -> str:
    """Return a name as SQL writes it."""
    return '"' + str(name).replace('"', '""') + '"'


def _function(
    connection: Any, question: Question, compute: Compute, added: Mapping[str, str]
) -> str:
    """Return the name of a function of the counts, which a connection is given."""
    pyarrow = import_pyarrow()
    counted = [RECORDS, *question.sum_columns]

    def results(*columns: Any) -> Any:
        import narwhals.stable.v2 as nw

        table = pyarrow.table(dict(zip(counted, columns, strict=True)))
        outputs = compute(
            *frequencies(nw.from_native(table, eager_only=True), question)
        )
        arrays = [pyarrow.array(values) for values in outputs.values()]
        return pyarrow.StructArray.from_arrays(arrays, names=list(outputs))

    # duckdb counts the parameters by the signature.
    results.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(column, Parameter.POSITIONAL_ONLY) for column in counted]
    )
    fields = ", ".join(f"{field} {kind}" for field, kind in added.items())
    types = ["BIGINT"] * len(counted), f"STRUCT({fields})"
    # All connections of a database share the names.
    name = f"riskcore_results_{secrets.token_hex(8)}"
    connection.create_function(name, results, *types, type="arrow")
    return name
