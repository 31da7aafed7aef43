"""The layout of a safe file whose records an engine holds, and how it is written.

The records come in batches and go into one hidden file of Parquet. It is read back by
another engine, and gets its name only if its cells are the cells that were verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from riskcore.data.columns import without_columns
from riskcore.data.engines.registry import engine_of
from riskcore.data.files.replace import Create
from riskcore.data.profile import ColumnProfile, profile_on_engine
from riskcore.protection.records.on_engine import OnEngine, not_verified


@dataclass(frozen=True, slots=True, eq=False)
class EngineLayout:
    """The columns and the order of a safe file from an engine."""

    held: OnEngine
    path: Path
    dropped: tuple[str, ...]
    order: bool | None  # True for a random order, None for the engine's
    renumbered: tuple[str, ...] = ()

    def write(
        self, create: Create, recodings: Mapping[str, Any], progress: Any = None
    ) -> list[Path]:
        """Write the file; return its place, which is hidden."""
        engine, target = self.held.engine, Path(create(self.path).name)
        data = without_columns(self.held.given, self.dropped)
        data = engine.shuffled(data) if self.order else data
        writer: Any = None
        try:
            for part in engine.records(data):
                table = part.to_arrow()
                if writer is None:
                    parquet = import_module("pyarrow.parquet")
                    writer = parquet.ParquetWriter(target, table.schema)
                writer.write_table(table.cast(writer.schema))
        finally:
            if writer is not None:
                writer.close()
        return [target]

    def read_back(self, target: Path, profiles: Iterable[ColumnProfile]) -> None:
        """Refuse a file whose cells, or other columns, are not those examined."""
        data = import_module("pyarrow.dataset").dataset(target, format="parquet")
        self.held.verify(data, self.dropped)
        engine = engine_of(data)
        assert engine is not None
        for expected in profiles:
            if str(expected.name) in self.dropped:
                continue
            (found,) = profile_on_engine(engine, [expected.name])
            facts = ("records", "missing", "distinct", "single")
            if any(getattr(found, x) != getattr(expected, x) for x in facts):
                raise not_verified(self.held.engine)
