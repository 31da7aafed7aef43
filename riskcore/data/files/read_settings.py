"""The settings of `Reading`: how a file is read."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from riskcore.common.settings import (
    ANY,
    TEXT,
    ByColumn,
    Choice,
    File,
    Number,
    Setting,
    array,
    either,
    table,
    text,
)

_CODES = array(TEXT, "a list of codes")


class Delimiter(Setting):
    """A character; a tab, which is hard to type, may be given by name."""

    form = text("a character")

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return the character."""
        return "\t" if plain in ("tab", "\\t") else plain


class Codes(ByColumn):
    """Codes of all columns, or by column."""

    form = either(_CODES, table(_CODES, "a table of lists by column"))

    def read(self, word: str) -> Any:
        """Return the word: CODE, COLUMN=CODE, or =CODE with an equals sign in it."""
        return word

    def value(self, option: str, words: Any, columns: Iterable[Any]) -> Any:
        """Return the codes by column, "" for all columns."""
        codes: dict[str, list[str]] = {}
        for word in words:
            column, code = word.split("=", 1) if "=" in word else ("", word)
            codes.setdefault(column, []).append(code)
        return codes

    def argument(self, plain: Any, folder: Path) -> Any:
        """Return the codes by column, "" for all columns."""
        by_column = plain if isinstance(plain, dict) else {ANY: plain}
        return {"" if name == ANY else name: one for name, one in by_column.items()}

    def rule(self, value: Any) -> Any:
        """Return the codes of all columns as a list, if no column has its own."""
        codes = {name or ANY: list(codes) for name, codes in value.items() if codes}
        return codes.get(ANY, ()) if set(codes) <= {ANY} else codes


class ReadSettings(TypedDict, total=False):
    """How to read a file, as the command and a file of rules say it."""

    metadata: Annotated[
        str | Path | None,
        File(
            metavar="RDA",
            help="mu-Argus metadata of the survey file (default: the .rda file beside "
            "it)",
        ),
    ]
    delimiter: Annotated[
        str | None,
        Delimiter(
            metavar="C",
            help="character between the fields of a CSV file; tab or \\t for a tab. By "
            "default comma, semicolon, tab or bar: the most frequent in the first line",
        ),
    ]
    encoding: Annotated[
        str,
        Setting(
            default="utf-8",
            metavar="NAME",
            help="character encoding of a CSV file (default utf-8)",
        ),
    ]
    decimal: Annotated[
        str,
        Choice(
            default=".",
            choices=(".", ","),
            help="decimal mark of weights in a CSV or Excel file (default .)",
        ),
    ]
    missing_codes: Annotated[
        Sequence[str] | Mapping[str, Sequence[str]],
        Codes(
            default=(),
            option="na",
            metavar="[COLUMN=]CODE",
            help="codes that mean missing: NA in every column, MAR=9 in the column MAR "
            "(write =A=B for the code A=B in every column). Empty fields of a CSV file "
            "are always missing",
        ),
    ]
    user_missing: Annotated[
        str,
        Choice(
            default="missing",
            choices=("missing", "codes"),
            help="how to read codes that an SPSS, Stata or SAS file declares missing: "
            "as missing (default), or as ordinary codes",
        ),
    ]
    sheet: Annotated[
        str | None,
        Setting(metavar="NAME", help="sheet of an Excel file (default: the first)"),
    ]
    weight_scale: Annotated[
        float | None,
        Number(
            within="(0, inf)",
            unit="a factor",
            metavar="FACTOR",
            help="what the weights are multiplied by: 1e-6 for six implied decimals. "
            "Weights that look so are refused without it; 1 says that they are right",
        ),
    ]
    household_file: Annotated[
        str | Path | None,
        File(
            metavar="FILE[:ID[=ID]]",
            help="file of the households of the persons in the survey file, joined by "
            "the column that both have, by d.csv:HID or, if the ids of persons and of "
            "households differ, by d.csv:RX030=DB030; the safe file is two files then",
        ),
    ]
