"""The error for columns that there are not: what there is, and what comes close."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from pathlib import Path

# Names in a message, and letters of each.
_LISTED = 20
_LONGEST = 80
# Names of which the closest are looked for.
_COMPARED = 5


def no_such_column(
    lacking: Sequence[Hashable], names: Iterable[Hashable], path: Path | None = None
) -> KeyError:
    """Make the error for columns that the data lack.

    Parameters
    ----------
    lacking : sequence of hashable
        The columns asked for that there are not, at least one.
    names : iterable of hashable
        The columns that there are.
    path : pathlib.Path, optional
        The file that should have them.

    Returns
    -------
    KeyError
        It names the columns asked for, those that come close, whatever their case, and
        those that there are.

    Examples
    --------
    >>> print(no_such_column(["Age"], ["sex", "age"]).args[0])
    no column 'Age'; did you mean 'age'? The columns are 'sex', 'age'
    """
    names = list(names)
    where = "" if path is None else f"{path}: "
    columns = f"the columns are {_listed(names)}" if names else "there are no columns"
    hint = _hint(lacking, names)
    if hint.endswith("?"):
        columns = f"{columns[0].upper()}{columns[1:]}"
    return KeyError(f"{where}no column {_listed(lacking)};{hint} {columns}")


def _hint(lacking: Sequence[Hashable], names: Sequence[Hashable]) -> str:
    """Return what was perhaps meant."""
    parts = [part.strip() for part in str(lacking[0]).split(",")]
    if len(parts) > 1 and all(part in names for part in parts):
        apart = f"{' '.join(parts)} (in Python: {parts})"
        return f" give each name by itself, with blanks between: {apart};"
    folded: dict[str, list[Hashable]] = {}
    for name in names:
        folded.setdefault(str(name).casefold(), []).append(name)
    close = dict.fromkeys(
        name
        for one in lacking[:_COMPARED]
        for found in difflib.get_close_matches(str(one).casefold(), folded)
        for name in folded[found]
    )
    meant = " or ".join(map(_shown, islice(close, _LISTED)))
    return f" did you mean {meant}?" if meant else ""


def _listed(names: Sequence[Hashable]) -> str:
    more = len(names) - _LISTED
    listed = ", ".join(map(_shown, names[:_LISTED]))
    return f"{listed} and {more:,} more" if more > 0 else listed


def _shown(name: Hashable) -> str:
    """Return a name as Python writes it; of a long one the begin and the end."""
    text = repr(str(name)) if isinstance(name, str) else repr(name)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"
