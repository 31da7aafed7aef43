"""The error for names that are not columns: the columns, and close matches."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from riskcore.common.words import sentence

# Names in a message: existing, requested, and close ones.
_LISTED = 20
_ASKED = 10
_CLOSE = 5
# Characters of each name.
_LONGEST = 80
# Delimiters between names that were read as one.
_BETWEEN = re.compile(r"[,;:|\t ]")


class NoSuchNameError(KeyError):
    """A name that does not exist: our own `KeyError`, so any other is a defect."""


# Errors of settings or data; any other error is a defect.
FAILURES = (
    NoSuchNameError,
    NotImplementedError,
    OSError,
    OverflowError,
    TypeError,
    ValueError,
)


def no_such_column(
    lacking: Sequence[Hashable],
    names: Iterable[Hashable],
    path: Path | None = None,
    use: str = "",
) -> NoSuchNameError:
    """Make the error for names that are not columns of the data."""
    names = list(names)
    where = "" if path is None else f"{path}: "
    columns = (
        f"the columns are {_listed(names, _LISTED)}"
        if names
        else "there are no columns"
    )
    hint = _hint(lacking, names)
    if hint.endswith("?"):
        columns = f"{columns[0].upper()}{columns[1:]}"
    asked = f"{where}{use}no column {_listed(lacking, _ASKED)}"
    return NoSuchNameError(sentence("{asked};{hint} {columns}", asked, hint, columns))


def _hint(lacking: Sequence[Hashable], names: Sequence[Hashable]) -> str:
    """Return the names that were probably meant."""
    parts = [part.strip() for part in str(lacking[0]).split(",")]
    if 1 < len(parts) <= _LISTED and all(part in names for part in parts):
        apart = f"{' '.join(parts)} (in Python: {parts})"
        return f" give each name by itself, with blanks between: {apart};"
    if len(names) == 1 and str(lacking[0]) in _BETWEEN.split(str(names[0])):
        return sentence(
            " the first line was read as one name: is the delimiter another, to be "
            "given by riskcore.Reading(delimiter=...)?"
        )
    folded: dict[str, list[Hashable]] = {}
    for name in names:
        folded.setdefault(_folded(name), []).append(name)
    close = dict.fromkeys(
        name
        for missing_name in lacking[:_CLOSE]
        for match in difflib.get_close_matches(_folded(missing_name), folded)
        for name in folded[match]
    )
    meant = " or ".join(map(_shown, islice(close, _CLOSE)))
    return f" did you mean {meant}?" if meant else ""


def _folded(name: Hashable) -> str:
    """Return the start of a name without case and blanks, for fast comparison."""
    return str(name).strip()[:_LONGEST].casefold()


def _listed(names: Sequence[Hashable], most: int) -> str:
    more = len(names) - most
    listed = ", ".join(map(_shown, names[:most]))
    return f"{listed} and {more:,} more" if more > 0 else listed


def _shown(name: Hashable) -> str:
    """Return a name as Python writes it; a long name without its middle."""
    text = repr(str(name)) if isinstance(name, str) else repr(name)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"
