"""Datasets of pyarrow: files, or tables in memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

from riskcore.data.engines import batches
from riskcore.data.engines.door import refuse_twice


class ArrowDataset(batches.Batches):
    """A dataset of pyarrow: files, or tables in memory."""

    name = "a dataset of pyarrow"

    def __init__(self, data: Any) -> None:
        super().__init__()
        refuse_twice(data.schema.names)
        self.data = data

    @property
    def arrow_schema(self) -> Any:
        """The names and types of the columns."""
        return self.data.schema

    def read_batches(self, names: Sequence[Hashable] | None = None) -> Iterator[Any]:
        """Yield the records in batches, with some columns or all."""
        columns = None if names is None else list(names)
        scanner = self.data.scanner(columns=columns, **self._scanning)
        yield from scanner.to_batches()

    def count_rows(self) -> int:
        """Return the number of records."""
        return int(self.data.count_rows())

    def categories(self, name: Hashable) -> list[Any] | None:
        """Return the list of a column's categories; each batch may have its own."""
        if not hasattr(self.data.schema.field(name).type, "index_type"):
            return None
        found: dict[Any, None] = {}
        for batch in self.read_batches([name]):
            found |= dict.fromkeys(batch.column(0).dictionary.to_pylist())
        return list(found)

    @cached_property
    def _scanning(self) -> dict[str, Any]:
        """Settings by which little is read ahead: by default more than cells take."""
        dataset = import_module("pyarrow.dataset")
        found: dict[str, Any] = {
            "batch_size": batches.BATCH,
            "batch_readahead": 2,
            "fragment_readahead": 1,
        }
        of_parquet = getattr(dataset, "ParquetFileFormat", None)
        if of_parquet and isinstance(getattr(self.data, "format", None), of_parquet):
            # Otherwise a file is kept until the last of it has been read.
            found["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
                pre_buffer=False
            )
        return found
