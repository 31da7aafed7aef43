"""Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from riskcore.common.progress import Parts
from riskcore.files.arrow import (
    ArrowFormat,
    import_pyarrow,
    in_plain_layouts,
    with_sorted_dictionaries,
)
from riskcore.files.base_format import Format, Header, distinct
from riskcore.files.intake import Intake

# Records read at a time, if row groups are smaller.
_ROWS = 1 << 18


class ParquetFile(ArrowFormat):
    """A Parquet file."""

    kind = "parquet"
    title = "Parquet"
    suffixes = (".parquet", ".pq")
    targets = (".parquet",)
    typed = True

    def open(self) -> Any:
        """Open the file."""
        pyarrow, parquet = import_pyarrow(), import_pyarrow("parquet")
        try:
            return parquet.ParquetFile(self.path)
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"{self.path}: {error}") from None

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

    def read_table(
        self, columns: list[str], progress: Parts | None
    ) -> tuple[Any, Intake]:
        """Return columns as a table, and the account of the row groups."""
        pyarrow = import_pyarrow()
        with self.open() as file:
            try:
                table = self._read_groups(file, columns, progress).select(columns)
            except (pyarrow.ArrowException, OSError) as error:
                raise ValueError(f"{self.path}: {error}") from None
            about = file.metadata
            groups = about.num_row_groups
            rows = sum(about.row_group(i).num_rows for i in range(groups))
        intake = Intake(records=about.num_rows, row_groups=groups)
        intake.check(self.path, rows)
        intake.check(self.path, table.num_rows)
        return in_plain_layouts(table), intake

    def _read_groups(
        self, file: Any, columns: list[str], progress: Parts | None
    ) -> Any:
        """Read the row groups, so many at a time that Ctrl-C is heard in between."""
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
    def write_table(
        cls,
        table: Any,
        file: IO[bytes],
        path: Path,
        like: Format | None,
        progress: Parts | None,
    ) -> None:
        """Write a table."""
        parquet = import_pyarrow("parquet")
        parquet.write_table(with_sorted_dictionaries(table), file)
