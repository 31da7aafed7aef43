"""Columns recoded and blanked where the data are.

What is changed comes as lookups: tables of key values and of what goes with them, such
as which keys of a cell are blanked, or the new value of an old one. Each engine joins
them to the records in its own words, null to null, and gives back its own type, with
the columns and, where it has one, the order of before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from riskcore.data.engines import lazy
from riskcore.data.engines.base import Engine
from riskcore.data.engines.counting import Question, key_column
from riskcore.data.engines.lazy import quoted, ticked

# Sets values of a frame in memory to missing, by a mask for each column.
Blank = Callable[[Any, Mapping[Any, Any]], Any]


@dataclass(frozen=True, slots=True)
class Lookup:
    """What goes with values of keys.

    Attributes
    ----------
    keys : tuple of column names
    table : narwhals DataFrame
        The keys, called as in a table of cells, and columns that the data do not have.
    whole : bool
        Whether it has the keys of every record.
    """

    keys: tuple[Any, ...]
    table: Any
    whole: bool = False

    @property
    def question(self) -> Question:
        """The keys, and what they are called."""
        return Question(self.keys)

    @property
    def added(self) -> list[str]:
        """Names of the columns that are added to the records."""
        added: list[str] = self.table.columns[len(self.keys) :]
        return added


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a column.

    Attributes
    ----------
    recoded : str or None
        The column of a lookup that takes its place.
    blanked : str or None
        The column of a lookup that tells where it is blanked.
    left : list or None
        The categories that are left, in their order, if it has a list of them.
    """

    recoded: str | None = None
    blanked: str | None = None
    left: list[Any] | None = None


Changes = Mapping[Any, Change]


def changed(
    engine: Engine, lookups: Sequence[Lookup], changes: Changes, blank: Blank
) -> Any:
    """Return the data with columns recoded and blanked.

    Parameters
    ----------
    engine : Engine
        What holds the data.
    lookups : sequence of Lookup
    changes : mapping of column names to Change
    blank : callable
        As `riskcore.data.blank.blank`; for polars, which works in pieces.

    Returns
    -------
    lazy frame, relation or table
    """
    assert isinstance(engine, lazy.Lazy)
    found = engine.native
    for lookup in lookups:
        table = engine.sent(lookup.table)
        found = engine.beside(
            found, lookup.question, table, lookup.added, whole=lookup.whole
        )
    if not changes:
        return found
    if isinstance(engine, lazy.Polars):
        return _polars(engine, found, changes, blank)
    kinds: dict[type[Engine], Callable[..., Any]] = {
        lazy.DuckDB: _duckdb,
        lazy.Ibis: _ibis,
        lazy.Spark: _spark,
    }
    return kinds[type(engine)](engine, found, changes)


# --- polars ---


def _polars(engine: lazy.Polars, frame: Any, changes: Changes, blank: Blank) -> Any:
    import polars

    schema = frame.collect_schema()
    columns = []
    for name in engine.schema:
        change = changes.get(name, Change())
        source = change.recoded or name
        column = lazy.exact(source)
        dtype = schema[source]
        if change.blanked is not None:
            if change.left is not None and isinstance(dtype, polars.Enum):
                dtype = polars.Enum(change.left)
            # Under null, too, the value must be gone; so not polars.when().
            both = column.alias("value"), lazy.exact(change.blanked).alias("flag")
            column = polars.struct(*both).map_batches(
                _Blanking(dtype, blank), return_dtype=dtype, is_elementwise=True
            )
        columns.append(column.alias(name))
    return frame.select(columns)


@dataclass(frozen=True, slots=True)
class _Blanking:
    """Blanks a column of polars where a flag says so; both come as a struct."""

    dtype: Any
    blank: Blank

    def __call__(self, both: Any) -> Any:
        frame = both.struct.unnest()
        if not len(frame):
            return frame["value"].cast(self.dtype)
        mask = frame["flag"].fill_null(value=False).to_numpy()
        blanked = self.blank(frame.select("value"), {"value": mask})
        return blanked["value"].cast(self.dtype)


# --- duckdb ---


def _duckdb(engine: lazy.DuckDB, relation: Any, changes: Changes) -> Any:
    columns = (
        f"{_sql(name, changes[name])} AS {quoted(name)}"
        if name in changes
        else quoted(name)
        for name in engine.schema
    )
    return relation.project(", ".join(columns))


def _sql(name: Any, change: Change) -> str:
    """Return what becomes of a column, in SQL."""
    found = quoted(change.recoded or name)
    if change.blanked is None:
        return found
    found = f"CASE WHEN {quoted(change.blanked)} THEN NULL ELSE {found} END"
    if change.left is None:
        return found
    # A type of its own: the list of categories must not tell what was blanked.
    texts = ", ".join("'" + str(one).replace("'", "''") + "'" for one in change.left)
    found = f"CAST({found} AS VARCHAR)"
    return f"CAST({found} AS ENUM ({texts}))" if texts else found


# --- ibis ---


def _ibis(engine: lazy.Ibis, data: Any, changes: Changes) -> Any:
    ibis = import_module("ibis")
    columns = {}
    for name in engine.schema:
        change = changes.get(name, Change())
        column = data[change.recoded or name]
        if change.blanked is not None:
            column = ibis.ifelse(data[change.blanked], ibis.null(), column)
        columns[name] = column
    return data.select(**columns)


# --- Spark ---


def _spark(engine: lazy.Spark, data: Any, changes: Changes) -> Any:
    functions = import_module("pyspark.sql.functions")
    columns = []
    for name in engine.schema:
        change = changes.get(name, Change())
        column = data[ticked(change.recoded or name)]
        if change.blanked is not None:
            flag = functions.coalesce(data[change.blanked], functions.lit(False))
            column = functions.when(~flag, column)
        columns.append(column.alias(name))
    return data.select(*columns)


def table_of(columns: Mapping[str, Any]) -> Any:
    """Return the table of a lookup from narwhals series of one holder.

    Parameters
    ----------
    columns : mapping of str to narwhals Series
        The keys, then what goes with them.
    """
    import narwhals.stable.v2 as nw

    series = [one.alias(name) for name, one in columns.items()]
    return nw.concat([one.to_frame() for one in series], how="horizontal")


__all__ = ["Change", "Lookup", "changed", "key_column", "table_of"]
