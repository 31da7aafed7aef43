"""Hierarchies of categories: values, their groups, groups of these groups.

A file has a line for each value: the value and its group on each level above,
separated by semicolons, as ARX and sdcMicro write it.
"""

from __future__ import annotations

import csv
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from riskcore.common import arguments
from riskcore.data.recode import Recoding

DELIMITER = ";"


@dataclass(frozen=True)
class Hierarchy:
    """A tree of categories.

    Parameters
    ----------
    levels : sequence of mapping
        For each level above the values, from the bottom up, the group of every value.
        None is the missing value.
    source : str, optional
        The file that it was read from.

    Raises
    ------
    TypeError
        If a level is not a mapping.
    ValueError
        If no level is given, a level lacks a group for a value of another level, or
        separates values that share a group on the level below.

    Examples
    --------
    >>> towns = {"Lyon": "F", "Nice": "F", "Bonn": "D"}
    >>> europe = dict.fromkeys(towns, "EU")
    >>> areas = Hierarchy([towns, europe])
    >>> areas.recoding(1).apply(["Bonn", "Lyon"]).codes
    ('D', 'F')
    """

    levels: Sequence[Mapping[Any, Hashable]]
    source: str | None = None

    def __post_init__(self) -> None:
        levels: Any = self.levels
        for level in levels:
            if not isinstance(level, Mapping):
                shown = arguments.shown(level)
                raise TypeError(f"levels: need a mapping for each level, not {shown}")
        if not self.levels:
            raise ValueError("levels: need at least one, a mapping of values to groups")
        below: dict[Any, Any] = {value: value for value in self.levels[0]}
        for number, level in enumerate(self.levels, 1):
            for value in [*below, *level]:
                if value not in level or value not in below:
                    raise ValueError(
                        f"{self._place(number)}: no group for {self._shown(value)}"
                    )
            groups: dict[Any, Any] = {}
            for value, group in level.items():
                if groups.setdefault(below[value], group) != group:
                    raise ValueError(
                        f"{self._place(number)}: it separates values that share the "
                        f"group {self._shown(below[value])} on the level below"
                    )
            below = dict(level)

    def _shown(self, value: Any) -> str:
        """Return a value for a message; what a file holds is not shown."""
        return arguments.shown(value) if self.source is None else "of a line"

    def _place(self, number: int) -> str:
        """Return the name of a level for a message."""
        source = "" if self.source is None else f" of {self.source}"
        return f"level {number} of the hierarchy{source}"

    @classmethod
    def read(cls, path: str | Path, encoding: str = "utf-8") -> Hierarchy:
        r"""Read a hierarchy from a file.

        Each line is ``value;group;group;...`` from the bottom up, without a header;
        fields with semicolons or line breaks are in double quotes. An empty value is
        missing. Lines may be in any order; blank ones are skipped.

        Parameters
        ----------
        path : str or pathlib.Path
        encoding : str, optional
            A byte order mark is skipped.

        Returns
        -------
        Hierarchy
            Its values are text, its source is the path.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the file is empty, a line has an empty group or not as many levels as the
            first, a value appears twice, or the levels are not a tree. The message
            names file and line.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "area.csv"
        ...     _ = path.write_text("Lyon;F;EU\nNice;F;EU\nBonn;D;EU\n")
        ...     Hierarchy.read(path).values
        ('Lyon', 'Nice', 'Bonn')
        """
        path = arguments.file_path("path", path)
        levels: list[dict[Any, Hashable]] = []
        for line, (value, *groups) in _lines(path, encoding):
            if not levels:
                levels = [{} for _ in groups]
            if not groups:
                raise ValueError(
                    f"{path}, line {line}: one field; need the value and its groups, "
                    f"separated by {DELIMITER!r}, as in value;group;all"
                )
            if len(groups) != len(levels):
                raise ValueError(
                    f"{path}, line {line}: {1 + len(groups)} fields, the first line "
                    f"has {1 + len(levels)}"
                )
            if "" in groups:
                raise ValueError(
                    f"{path}, line {line}: level {1 + groups.index('')} is empty; "
                    "repeat the group of the level below"
                )
            key = value or None
            if key in levels[0]:
                raise ValueError(
                    f"{path}, line {line}: its value stands in another line, too"
                )
            for level, group in zip(levels, groups, strict=True):
                level[key] = group
        if not levels:
            raise ValueError(f"{path}: empty; need value;group;all for each value")
        return cls(tuple(levels), str(path))

    @property
    def values(self) -> tuple[Any, ...]:
        """The values at the bottom."""
        return tuple(self.levels[0])

    def recoding(self, level: int) -> Recoding:
        """Return the recoding of values to their groups on a level.

        Parameters
        ----------
        level : int
            From 1 up.

        Returns
        -------
        Recoding
            It refuses codes that the hierarchy does not have.

        Raises
        ------
        TypeError, ValueError
            If the hierarchy does not have the level.

        Examples
        --------
        >>> sizes = Hierarchy([{"1": "low", "2": "low", "3": "high"}])
        >>> sizes.recoding(1).apply(["3"]).codes
        ('high',)
        """
        arguments.whole_from("level", level, 1, len(self.levels), "a level")
        recoding = Recoding.mapping(self.levels[level - 1], others="refuse")
        return replace(recoding, source=self.source)


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a file with their numbers, without blank ones."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a directory, not a file")
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    with path.open(encoding=encoding, newline="") as file:
        reader = csv.reader(file, delimiter=DELIMITER, strict=True)
        try:
            for fields in reader:
                if fields:
                    yield reader.line_num, fields
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}: byte {error.start} is not {error.encoding}; give its "
                "encoding, or save it in UTF-8"
            ) from None
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
