"""How columns are recoded and blanked where the data are.

Changes come as lookups: tables of key values and what belongs to them, such as which
keys of a cell are blanked, or the new value of an old one. Each engine joins them to
the records in its own words, null to null, and gives back its own type, with the
columns and, if it has one, the order of its input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riskcore.data.engines.counting import Question

# Sets values of a frame in memory to missing, by a mask for each column.
Blank = Callable[[Any, Mapping[Any, Any]], Any]


@dataclass(frozen=True, slots=True)
class Lookup:
    """Columns to look up by the values of keys."""

    keys: Sequence[Any]
    # The keys, named as in a table of cells, and the columns: a narwhals DataFrame, or
    # a table of the engine.
    table: Any
    added: Sequence[str]  # names of the columns that are added to the records
    whole: bool = False  # whether it has the keys of every record

    @property
    def key_columns(self) -> list[str]:
        """Names of the keys in the table."""
        return Question(self.keys).key_columns


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to a column."""

    recoded: str | None = None  # the column of a lookup that replaces it
    blanked: str | None = None  # the column of a lookup that flags what is blanked
    left: list[Any] | None = None  # the categories that remain, if it lists them


Changes = Mapping[Any, Change]


def table_of(columns: Mapping[str, Any]) -> Any:
    """Return the table of a lookup, given narwhals series of one library by name."""
    import narwhals.stable.v2 as nw

    series = [column.alias(name) for name, column in columns.items()]
    return nw.concat([column.to_frame() for column in series], how="horizontal")
