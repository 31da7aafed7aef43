"""Files of Arrow's IPC format; Feather is the same from version 2 on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from riskcore.common.progress import Parts
from riskcore.data.files.arrow import (
    ArrowFormat,
    import_pyarrow,
    in_plain_layouts,
    refused_as_value_error,
    with_sorted_dictionaries,
)
from riskcore.data.files.base_format import Header, Writing, distinct
from riskcore.data.files.intake import Accounted, Intake

_FIRST_FEATHER = b"FEA1"
# Records written as one batch.
_ROWS = 1 << 16


class ArrowFile(ArrowFormat):
    """An Arrow file."""

    kind = "arrow"
    title = "Arrow"
    suffixes = (".feather", ".arrow")
    targets = (".feather", ".arrow")
    typed = True

    @contextmanager
    def open(self, fields: list[int] | None = None) -> Iterator[Any]:
        """Open the file, to read some of its fields or all."""
        pyarrow, ipc = import_pyarrow(), import_pyarrow("ipc")
        with self.path.open("rb") as file:
            if file.read(4) == _FIRST_FEATHER:
                raise ValueError(
                    f"{self.path}: Feather version 1, which Arrow no longer writes; "
                    "write the file again as version 2"
                )
        with (
            refused_as_value_error(self.path),
            pyarrow.OSFile(str(self.path)) as source,
        ):
            options = ipc.IpcReadOptions(included_fields=fields)
            yield ipc.open_file(source, options=options)

    def read_header(self) -> Header:
        """Read the names of the columns."""
        with self.open() as file:
            return Header(distinct(self.path, file.schema.names))

    def read_table(self, columns: list[str], progress: Parts | None) -> Accounted:
        """Return columns as a table, and the account of the batches."""
        pyarrow = import_pyarrow()
        names = self.header.names
        some = columns or list(names[:1])  # to Arrow, no fields means all of them
        fields = sorted(names.index(name) for name in some)
        batches = []
        with self.open(fields) as file:
            count = file.num_record_batches
            for i in range(count):
                batch = file.get_batch(i)
                # In a damaged file the offsets of buffers may point anywhere.
                batch.validate(full=True)
                batches.append(batch)
                if progress is not None:
                    progress(i + 1, count)
            schema = batches[0].schema if batches else file.schema
        table = pyarrow.Table.from_batches(batches, schema)
        intake = Intake(records=sum(batch.num_rows for batch in batches), batches=count)
        intake.check(self.path, table.num_rows)
        return in_plain_layouts(table.select(columns)), intake

    @classmethod
    def streams(cls, schema: Any) -> bool:
        """Tell whether a table of this schema can be written a part at a time."""
        return not any(hasattr(field.type, "index_type") for field in schema)

    @classmethod
    def write_tables(
        cls, tables: Iterator[Any], file: IO[bytes], path: Path, how: Writing
    ) -> None:
        """Write a table, without the memory that missing values hide."""
        ipc = import_pyarrow("ipc")
        writer = None
        for table in map(with_sorted_dictionaries, tables):
            for i, field in enumerate(table.schema):
                column = _without_hidden(table.column(i))
                table = table.set_column(i, field.name, column)
            table = table.unify_dictionaries()
            if writer is None:
                writer = ipc.new_file(file, table.schema)
            writer.write_table(table, max_chunksize=_ROWS)
        if writer is not None:
            writer.close()


def _without_hidden(column: Any) -> Any:
    """Return a column whose memory holds no blanked values."""
    if not column.null_count:
        return column
    pyarrow = import_pyarrow()
    chunks = []
    for chunk in column.chunks:
        valid = chunk.is_valid().to_numpy(zero_copy_only=False)
        rows = np.where(valid, np.cumsum(valid) - 1, 0)
        left = chunk.drop_null()
        chunks.append(
            left.take(pyarrow.array(rows, mask=~valid))
            if len(left)
            else pyarrow.nulls(len(chunk), chunk.type)
        )
    return pyarrow.chunked_array(chunks, column.type)
