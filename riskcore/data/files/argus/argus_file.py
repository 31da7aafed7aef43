"""The file format of mu-Argus: data and their metadata, in fixed or free format."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from riskcore.common.progress import Parts
from riskcore.data.files.argus import reader, writer
from riskcore.data.files.argus.metadata import Metadata, metadata_beside, metadata_of
from riskcore.data.files.base_format import (
    FileFormat,
    Format,
    Header,
    Writing,
    suffix_of,
)
from riskcore.data.files.intake import Accounted
from riskcore.data.files.reading import Reading, numbers_among, warn_of_idle_codes
from riskcore.data.files.replace import Create


class ArgusFile(FileFormat):
    """A data file of mu-Argus, whose metadata are given or next to it."""

    kind = "argus"
    title = "mu-Argus"
    suffixes = (".asc", ".dat", ".saf")
    own_targets = f", and {', '.join(suffixes)} with metadata beside"
    beside_source = True

    @classmethod
    def is_meant(cls, reading: Reading) -> bool:
        """Tell whether metadata are given: they make any file a mu-Argus file."""
        return reading.metadata is not None

    @classmethod
    def is_named(cls, path: Path) -> bool:
        """Tell whether the suffix is a suffix of mu-Argus."""
        return suffix_of(path)[0] in cls.suffixes

    @classmethod
    def is_likely(cls, path: Path) -> bool:
        """Tell whether metadata lie next to the file and it is not a file of R."""
        return suffix_of(path)[0] != ".rda" and metadata_beside(path) is not None

    @classmethod
    def is_target(cls, path: Path, like: Format | None) -> bool:
        """Tell whether a file is to be written as mu-Argus."""
        suffix, gzipped = suffix_of(path)
        if suffix not in cls.suffixes or gzipped:
            return False
        if like is None or like.kind != cls.kind:
            raise ValueError(f"{path}: only a mu-Argus file can be written as mu-Argus")
        return True

    @cached_property
    def metadata(self) -> Metadata:
        """The metadata given, else the metadata next to the file."""
        return metadata_of(self.path, self.reading.metadata)

    def read_header(self) -> Header:
        """Read the variables that the metadata declare."""
        metadata = self.metadata
        return Header(metadata.names, metadata.weight, metadata.household_id)

    def format(self) -> Format:
        """Return the metadata and the missing codes."""
        return replace(super().format(), metadata=self.metadata)

    def read_columns(
        self,
        columns: list[str],
        numeric: Collection[str],
        *,
        text: bool,
        progress: Parts | None,
    ) -> Accounted:
        """Read columns that the metadata declare; see `FileFormat.read`."""
        data, intake = reader.read_counted(
            self.path, self.metadata, columns, numeric, text=text, progress=progress
        )
        return {name: self._without_codes(name, data[name]) for name in data}, intake

    def _without_codes(self, name: str, values: Any) -> Any:
        """Return a column with the missing codes of the reading masked."""
        own = self.reading.codes(name)
        codes = (*self.reading.codes(), *own)
        numbers = values.dtype.kind == "f"
        wanted = numbers_among(codes) if numbers else list(codes)
        mask = np.isin(np.ma.getdata(values), wanted) if wanted else np.False_
        if not np.any(mask):
            if own:
                warn_of_idle_codes(self.path, name, own)
            return values
        if numbers:
            return np.where(mask, np.nan, values)
        return np.ma.MaskedArray(values.data, np.ma.getmaskarray(values) | mask)

    @classmethod
    def files_written(cls, path: Path) -> tuple[Path, ...]:
        """Return the data file and its metadata."""
        return path, path.with_suffix(".rds")

    @classmethod
    def check_target(cls, path: Path) -> None:
        """Refuse a path where the data would be read by the metadata of other data."""
        metadata_path = metadata_beside(path)
        if (
            path.suffix.lower() != ".saf"
            and metadata_path
            and metadata_path.suffix.lower() != ".rds"
        ):
            raise ValueError(
                f"{metadata_path}: would be taken for the metadata of {path.name}; "
                "choose another name, or the suffix .saf"
            )

    @classmethod
    def write(cls, path: Path, columns: Any, create: Create, how: Writing) -> None:
        """Write data in the format of their source, and their metadata."""
        like, recodings, progress, renumbered = how
        if like is None or like.path is None or like.metadata is None:
            raise ValueError(f"{path}: mu-Argus data need a source and its metadata")
        data, metadata = (create(target) for target in cls.files_written(path))
        written = writer.write_data(
            data, columns, like.path, like.metadata, recodings, progress, renumbered
        )
        writer.write_metadata(metadata, written)
        data.flush()
        metadata.flush()
