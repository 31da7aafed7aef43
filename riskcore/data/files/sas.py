"""Files of SAS, which are only read.

pyreadstat writes no ``.sas7bdat`` that SAS opens, and in ``.xpt`` it silently turns
numbers beyond 7e75 into infinity and numbers below 5e-79 into zero.

The labels of codes are not in a ``.sas7bdat`` but in a catalog of formats: a file with
the suffix ``.sas7bcat`` and the name of the data, or ``formats.sas7bcat``, which SAS
makes in the folder of the data by default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from riskcore.data.files.base_format import Format, suffix_of
from riskcore.data.files.record_count import (
    RecordCount,
    count_sas,
    count_transport,
)
from riskcore.data.files.spss_stata_sas import LabelledFile, parser_errors

_CATALOG = ".sas7bcat"
# The width in ``SEX8.`` or ``AMOUNT8.2``; no name of a format ends in a digit.
_WIDTH = re.compile(r"\d*\.?\d*$")


class SasFile(LabelledFile):
    """A file of SAS, in its own format or for transport."""

    kind = "sas"
    title = "SAS"
    suffixes = (".sas7bdat", ".xpt")
    epoch = -3653  # 1960-01-01
    ticks, day = 1, 1
    dates = frozenset((
        "DATE", "DDMMYY", "MMDDYY", "YYMMDD", "E8601DA", "B8601DA",
        "WEEKDATE", "WEEKDATX", "WORDDATE", "WORDDATX", "JULIAN",
    ))  # fmt: skip
    times = frozenset(["DATETIME", "E8601DT", "B8601DT"])

    @property
    def is_transport(self) -> bool:
        """Whether the file is one for transport."""
        return suffix_of(self.path)[0] == ".xpt"

    @property
    def options(self) -> dict[str, Any]:
        """Options to read special missing values, which transport files cannot have."""
        return {} if self.is_transport else super().options

    @property
    def reader(self) -> str:
        """Name of the function of pyreadstat that reads such files."""
        return "read_xport" if self.is_transport else "read_sas7bdat"

    def count(self) -> RecordCount:
        """Return the number of records by the layout of the file."""
        return (count_transport if self.is_transport else count_sas)(self.path)

    @cached_property
    def catalog(self) -> Path | None:
        """The catalog of formats next to the file."""
        if self.is_transport:
            return None
        own = self.path.with_suffix(_CATALOG)
        paths = (own, own.with_name(f"formats{_CATALOG}"))
        return next((path for path in paths if path.is_file()), None)

    def format(self) -> Format:
        """Return how the file is written; the catalog is one of its files."""
        files = () if self.catalog is None else (self.path, self.catalog)
        return replace(super().format(), files=files)

    def value_labels(self, about: Any) -> Mapping[str, Mapping[Any, str]]:
        """Return the labels of the codes of each column, from the catalog."""
        if self.catalog is None:
            return super().value_labels(about)
        from pyreadstat import read_sas7bcat

        try:
            _, catalog = read_sas7bcat(str(self.catalog), output_format="dict")
        except parser_errors() as error:
            raise ValueError(f"{self.catalog}: {error}") from None
        labels_by_column = {}
        for name, form in about.original_variable_types.items():
            labels = catalog.value_labels.get(_WIDTH.sub("", form or "").upper())
            if labels:
                labels_by_column[name] = labels
        return labels_by_column

    @classmethod
    def is_target(cls, path: Path, like: Format | None) -> bool:
        """Refuse files of SAS, and name the formats that can be written."""
        if cls.is_named(path):
            raise ValueError(
                f"{path}: SAS files can be read, not written; write .dta or .sav, "
                "which SAS imports with their labels, or .csv"
            )
        return False
