"""Files of SAS, which are read only.

pyreadstat writes no ``.sas7bdat`` that SAS opens, and in ``.xpt`` numbers beyond 7e75
become infinite and those below 5e-79 zero without a word.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from riskcore.files.base_format import Format, suffix_of
from riskcore.files.labelled import LabelledFile


class SasFile(LabelledFile):
    """A file of SAS, its own or for transport."""

    kind = "sas"
    title = "SAS"
    suffixes = (".sas7bdat", ".xpt")
    epoch = -3653  # 1960-01-01
    ticks, day = 1, 1
    dates = frozenset(
        (
            "DATE", "DDMMYY", "MMDDYY", "YYMMDD", "E8601DA", "B8601DA", "WEEKDATE",
            "WEEKDATX", "WORDDATE", "WORDDATX", "JULIAN",
        )
    )  # fmt: skip
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

    def code(self, code: Any) -> str:
        """Return a labelled code as text; those of missing values have a dot."""
        return f".{code.lower()}" if isinstance(code, str) else super().code(code)

    @classmethod
    def is_target(cls, path: Path, like: Format | None) -> bool:
        """Refuse files of SAS: what can be written is said.

        Raises
        ------
        ValueError
            For a file of SAS.
        """
        if cls.is_named(path):
            raise ValueError(
                f"{path}: files of SAS are read, not written; write .dta or .sav, "
                "which SAS imports with their labels, or .csv"
            )
        return False
