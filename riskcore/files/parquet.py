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
            return Header(distinct(self.path, file.schema_arrow.names))

    def read_table(
        self, columns: list[str], progress: Parts | None
    ) -> tuple[Any, Intake]:
        """Return columns as a table, and the account of the row groups."""
        pyarrow = import_pyarrow()
        with self.open() as file:
            try:
                table = file.read(columns=columns).select(columns)
            except (pyarrow.ArrowException, OSError) as error:
                raise ValueError(f"{self.path}: {error}") from None
            about = file.metadata
            groups = about.num_row_groups
            rows = sum(about.row_group(i).num_rows for i in range(groups))
        intake = Intake(records=about.num_rows, row_groups=groups)
        intake.check(self.path, rows)
        intake.check(self.path, table.num_rows)
        return in_plain_layouts(table), intake

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
