"""The settings of `Reading`: how a file is read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypedDict

from riskcore.common.settings import CODES, DELIMITER, PATH, Setting


class ReadSettings(TypedDict, total=False):
    """How to read a file, as the command and a file of rules say it."""

    metadata: Annotated[
        str | Path | None,
        Setting(
            kind=PATH,
            metavar="RDA",
            help="mu-Argus metadata of the survey file (default: the .rda file beside "
            "it)",
        ),
    ]
    delimiter: Annotated[
        str | None,
        Setting(
            kind=DELIMITER,
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
        Setting(
            default=".",
            choices=(".", ","),
            help="decimal mark of the weights in a CSV file (default .)",
        ),
    ]
    missing_codes: Annotated[
        Sequence[str] | Mapping[str, Sequence[str]],
        Setting(
            default=(),
            kind=CODES,
            option="na",
            metavar="[COLUMN=]CODE",
            help="codes that mean missing: NA in every column, MAR=9 in the column MAR "
            "(write =A=B for the code A=B in every column). Empty fields of a CSV file "
            "are always missing",
        ),
    ]
    user_missing: Annotated[
        str,
        Setting(
            default="missing",
            choices=("missing", "codes"),
            help="how to read codes that an SPSS, Stata or SAS file declares missing: "
            "as missing (default), or as ordinary codes",
        ),
    ]
    sheet: Annotated[
        str | None,
        Setting(
            metavar="NAME", help="sheet of an Excel file to read (default: the first)"
        ),
    ]
