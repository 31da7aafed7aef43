"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from riskcore.common.progress import Parts
from riskcore.data.files.arrow import (
    ArrowFormat,
    import_pyarrow,
    in_plain_layouts,
    refused_as_value_error,
    with_sorted_dictionaries,
)
from riskcore.data.files.base_format import Header, StoredRecords, Writing, distinct
from riskcore.data.files.intake import Accounted, Intake

# Records read at a time, if row groups are smaller.
_ROWS = 1 << 18


class ParquetFile(ArrowFormat):
    """A Parquet file."""

    kind = "parquet"
    title = "Parquet"
    suffixes = (".parquet", ".pq")
    targets = (".parquet",)
    typed = True
    streamed = True

    def open(self, **how: Any) -> Any:
        """Open the file."""
        parquet = import_pyarrow("parquet")
        with refused_as_value_error(self.path):
            return parquet.ParquetFile(self.path, **how)

    def read_header(self) -> Header:
        """Read the names of the columns."""
        with self.open() as file:
            try:
                names = file.schema_arrow.names
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{self.path}: the name of a column: {error}"
                ) from None
            return Header(distinct(self.path, names))

    def read_table(self, columns: list[str], progress: Parts | None) -> Accounted:
        """Return columns as a table, and the account of the row groups."""
        with self.open() as file:
            with refused_as_value_error(self.path):
                table = self._read_groups(file, columns, progress).select(columns)
            intake = self._intake(file.metadata)
        intake.check(self.path, table.num_rows)
        return in_plain_layouts(table), intake

    def _intake(self, about: Any) -> Intake:
        """Return the account of the row groups, which must add up."""
        groups = about.num_row_groups
        rows = sum(about.row_group(i).num_rows for i in range(groups))
        intake = Intake(records=about.num_rows, row_groups=groups)
        intake.check(self.path, rows)
        return intake

    def stored(self) -> StoredRecords:
        """Return the records as stored."""
        with self.open() as file:
            schema = in_plain_layouts(file.schema_arrow.empty_table()).schema
            intake = self._intake(file.metadata)
        distinct(self.path, schema.names)
        return StoredRecords(self.path, schema, intake, [(self.path, {})])

    def _read_groups(
        self, file: Any, columns: list[str], progress: Parts | None
    ) -> Any:
        """Read the row groups, few at a time, so that Ctrl-C is heard in between."""
        about = file.metadata
        tables, some, rows = [], [], 0
        for i in range(about.num_row_groups):
            some.append(i)
            rows += about.row_group(i).num_rows
            last = i + 1 == about.num_row_groups
            if rows >= _ROWS or last:
                tables.append(file.read_row_groups(some, columns=columns))
                some, rows = [], 0
                if progress is not None:
                    progress(i + 1, about.num_row_groups)
        if not (tables and columns):
            return file.read(columns=columns)
        return import_pyarrow().concat_tables(tables)

    @classmethod
    def write_tables(
        cls, tables: Iterator[Any], file: IO[bytes], path: Path, how: Writing
    ) -> None:
        """Write the parts of a table."""
        parquet = import_pyarrow("parquet")
        writer = None
        for table in map(with_sorted_dictionaries, tables):
            if writer is None:
                writer = parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
