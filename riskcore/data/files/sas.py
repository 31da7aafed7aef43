"""Files of SAS, which are read only.

pyreadstat writes no ``.sas7bdat`` that SAS opens, and in ``.xpt`` numbers beyond 7e75
become infinite and those below 5e-79 zero without a word.

The labels of codes are not in a ``.sas7bdat`` but in a catalog of formats: a file with
the suffix ``.sas7bcat`` and the name of the data, or ``formats.sas7bcat``, which SAS
makes in the folder of the data unless told otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from riskcore.data.files.base_format import Format, suffix_of
from riskcore.data.files.labelled import LabelledFile, parser_errors
from riskcore.data.files.record_count import (
    RecordCount,
    count_sas,
    count_transport,
)

_CATALOG = ".sas7bcat"
# Of ``SEX8.`` or ``AMOUNT8.2``, how wide it shows; no name of a format ends in a digit.
_WIDTH = re.compile(r"\d*\.?\d*$")


class SasFile(LabelledFile):
    """A file of SAS, its own or for transport."""

    kind = "sas"
    title = "SAS"
    suffixes = (".sas7bdat", ".xpt")
    epoch = -3653  # 1960-01-01
    ticks, day = 1, 1
    dates = frozenset(
        (
            "DATE",
            "DDMMYY",
            "MMDDYY",
            "YYMMDD",
            "E8601DA",
            "B8601DA",
            "WEEKDATE",
            "WEEKDATX",
            "WORDDATE",
            "WORDDATX",
            "JULIAN",
        )
    )
    times = frozenset(["DATETIME", "E8601DT", "B8601DT"])

    @property
    def how(self) -> dict[str, Any]:
        """How the function reads special missing values; in transport it cannot."""
        return {} if suffix_of(self.path)[0] == ".xpt" else super().how

    def reader(self) -> Callable[..., Any]:
        """Return the function of pyreadstat that reads such files."""
        import pyreadstat

        if suffix_of(self.path)[0] == ".xpt":
            return pyreadstat.read_xport
        return pyreadstat.read_sas7bdat

    def count(self) -> RecordCount:
        """Return the number of records by the layout of the file."""
        if suffix_of(self.path)[0] == ".xpt":
            return count_transport(self.path)
        return count_sas(self.path)

    @cached_property
    def catalog(self) -> Path | None:
        """The catalog of formats beside the file."""
        if suffix_of(self.path)[0] == ".xpt":
            return None
        own = self.path.with_suffix(_CATALOG)
        beside = (own, own.with_name(f"formats{_CATALOG}"))
        return next((path for path in beside if path.is_file()), None)

    def format(self) -> Format:
        """Return how the file is written; the catalog is read, too."""
        files = () if self.catalog is None else (self.path, self.catalog)
        return replace(super().format(), files=files)

    def value_labels(self, about: Any) -> Mapping[str, Mapping[Any, str]]:
        """Return the labels of the codes of each column, by the catalog."""
        if self.catalog is None:
            return super().value_labels(about)
        from pyreadstat import read_sas7bcat

        try:
            _, catalog = read_sas7bcat(str(self.catalog), output_format="dict")
        except parser_errors() as error:
            raise ValueError(f"{self.catalog}: {error}") from None
        found = {}
        for name, form in about.original_variable_types.items():
            labels = catalog.value_labels.get(_WIDTH.sub("", form or "").upper())
            if labels:
                found[name] = labels
        return found

    def code(self, code: Any) -> str:
        """Return a labelled code as text; those of missing values have a dot."""
        return f".{code.lower()}" if isinstance(code, str) else super().code(code)

    @classmethod
    def is_target(cls, path: Path, like: Format | None) -> bool:
        """Refuse files of SAS: what can be written is said."""
        if cls.is_named(path):
            raise ValueError(
                f"{path}: files of SAS are read, not written; write .dta or .sav, "
                "which SAS imports with their labels, or .csv"
            )
        return False
