"""Guard text that a spreadsheet would take for a formula by an apostrophe.

A spreadsheet that opens a CSV file runs text that begins with one of ``= + - @``, also
after blanks, and takes tabs and line ends for the ends of cells. Numbers and lone signs
are harmless. Removing one apostrophe gives the text back: text that already has
apostrophes before such a beginning gets one more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from riskcore.data.files.arrow import import_pyarrow

# Patterns for both RE2 and Python. The last four signs are the full-width ones.
_BEGINS = "^[' ]*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
_HARMLESS = r"^[' ]*[+\-]?(([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+\-]?[0-9]+)?)?[' ]*$"


def guard_formulas(text: Any) -> Any:
    """Return an Arrow column of text with an apostrophe before each formula."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    begins = compute.match_substring_regex(text, _BEGINS)
    if not compute.any(begins).as_py():
        return text
    harmless = compute.match_substring_regex(text, _HARMLESS)
    none = pyarrow.scalar("", text.type)
    mark = pyarrow.scalar("'", text.type)
    guarded = compute.binary_join_element_wise(mark, text, none)
    return compute.if_else(compute.and_not(begins, harmless), guarded, text)


def refuse_names(names: Iterable[str]) -> None:
    """Refuse column names that a spreadsheet would take for formulas."""
    for name in names:
        if re.match(_BEGINS, name):
            raise ValueError(
                f"guard_formulas: the column name {name!r} begins like a formula, and "
                "names are not changed; rename the column in the input, or drop it"
            )
