"""Text that a spreadsheet would take for a formula, guarded by an apostrophe.

A spreadsheet that opens a CSV file runs what begins with one of ``= + - @``, blanks in
front or not, and takes tabs and line ends for the ends of cells. A number or a lone
sign is no formula. The apostrophe can be taken off again without doubt: text that
already has one or more before such a beginning gets another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from riskcore.files.arrow import import_pyarrow

# Patterns of RE2 and of Python alike. The last four signs are the full-width ones.
_BEGINS = r"^[' ]*[=+\-@\t\r\n\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}]"
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
    """Refuse column names that a spreadsheet would take for formulas.

    Raises
    ------
    ValueError
        With the first of them.
    """
    begins = re.compile(re.sub(r"\\x\{(\w{4})\}", r"\\u\1", _BEGINS))
    for name in names:
        if begins.match(name):
            raise ValueError(
                f"guard_formulas: the column name {name!r} begins like a formula, and "
                "a name is not changed; rename the column in the input, or drop it"
            )
