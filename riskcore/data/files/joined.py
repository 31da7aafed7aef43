"""A file of persons and the file of their households: one table, two files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.progress import Parts
from riskcore.common.warn import warn
from riskcore.common.words import counted, listed
from riskcore.data.files.arrow import ArrowFormat, decoded, import_pyarrow, table_of
from riskcore.data.files.base_format import FileFormat, Format, Header, Households
from riskcore.data.files.intake import Intake
from riskcore.data.files.labels import Labels, code_text
from riskcore.data.files.reading import Reading, beside_persons

_NAMED = 3


class HouseholdsWithoutPersons(UserWarning):
    """The household file has households without persons, which are left out."""


class JoinedFile(ArrowFormat):
    """A file of persons, each with the columns of its household in another file."""

    def __init__(
        self, persons: FileFormat, households: FileFormat, ids: Sequence[str]
    ) -> None:
        decimal = min(persons.reading.decimal, households.reading.decimal)
        super().__init__(persons.path, Reading(decimal=decimal, missing_codes={}))
        self.persons, self.households, self.asked = persons, households, ids
        if "argus" in (persons.kind, households.kind):
            raise ValueError(f"{self.path}: household_file is not for mu-Argus files")

    def fitting(self) -> Reading:
        """Return how both files are read."""
        words = ":".join([str(self.households.path), "=".join(self.asked)])
        return replace(self.persons.fitting(), household_file=words.rstrip(":"))

    def check_reading(self) -> None:
        """Leave the options to the two files."""

    @cached_property
    def ids(self) -> tuple[str, str]:
        """The household id in the file of persons, and in that of households."""
        files = self.persons, self.households
        persons, households = (file.header.names for file in files)
        both = [name for name in persons if name in households]
        ids = self.asked or both
        if len(ids) > 1 + (ids is self.asked) or not (
            ids and ids[0] in persons and ids[-1] in households
        ):
            raise ValueError(
                f"household_file: {self.path} and {self.households.path} have "
                f"{', '.join(both) or 'no column'} in common; name the household id as "
                f"in {self.households.path}:HID, or that of persons and of households "
                f"as in {self.households.path}:RX030=DB030"
            )
        return ids[0], ids[-1]

    def read_header(self) -> Header:
        """Return the columns of both files."""
        own, other = self.ids
        of_households = [x for x in self.households.header.names if x != other]
        names = tuple(dict.fromkeys([*self.persons.header.names, *of_households]))
        return Header(names, household_id=own, of_households=tuple(of_households))

    def format(self) -> Format:
        """Return how both files are written."""
        persons, beside = self.persons.format(), self.households.format()
        labels = (persons.labels or Labels()).beside(beside.labels or Labels())
        return replace(
            persons,
            files=(*persons.paths, *beside.paths),
            labels=labels if persons.labels or beside.labels else None,
            households=Households(
                beside, self.persons.header.names, self.header.of_households, self.ids
            ),
        )

    def read_table(
        self, columns: list[str], progress: Parts | None
    ) -> tuple[Any, Intake]:
        """Return columns of both files, with an element for each person."""
        own, other = self.ids
        of_persons = {*columns, own} & {*self.persons.header.names}
        table, intake = self.persons.read(list(of_persons), progress=progress)
        beside = [name for name in columns if name in self.header.of_households]
        if beside:
            households, more = self.households.read([*beside, other])
            labels = (intake.labels or Labels()).beside(more.labels or Labels())
            intake = replace(intake, labels=labels)
            at = self._rows(table.column(own), households.column(other))
            households = households.select(beside).take(at)
            for name, column in zip(beside, households.columns, strict=True):
                if name not in of_persons:
                    table = table.append_column(name, column)
                elif not _equal(table.column(name), column):
                    raise ValueError(
                        f"{self.path} and {self.households.path} have other values in "
                        f"{name!r}: rename or remove it in one of the files"
                    )
        return table.select(columns), intake

    def _rows(self, persons: Any, households: Any) -> NDArray[np.int64]:
        """Return the row of each person's household, or refuse ids that do not fit."""
        files = self.persons.path, self.households.path
        texts, codes = _coded(persons)
        rows, of_row = _coded(households)
        place: dict[str | None, int] = {t: i for i, t in enumerate(rows) if t}
        twice = [rows[i] for i in np.flatnonzero(np.bincount(of_row) > 1)]
        alone = [text for text in texts if text not in place]
        if odd := twice or alone:
            what = "in several records of {1}, but a household is one"
            if not twice:
                what = "of {0} not in {1}; leave these persons out"
            named = listed(map(repr, odd[:_NAMED]))
            raise ValueError(
                f"household_file: {counted(len(odd), 'household id')}, such as {named},"
                f" {what.format(*files)}"
            )
        if absent := len(rows) - len(texts):
            warn(
                f"{files[1]}: {absent:,} of {counted(len(rows), 'household')} without "
                "persons; they are left out",
                HouseholdsWithoutPersons,
            )
        return np.array([place[text] for text in texts], np.int64)[codes]


def split(path: Path, columns: Any, like: Format) -> Iterator[tuple[Path, Any, Format]]:
    """Yield the files of persons and of households: path, table, and how written.

    The households are in the order in which the persons first name them.
    """
    assert like.households is not None
    beside, of_persons, of_households, (own, other) = like.households
    table = table_of(columns, plain=False)
    if own not in table.column_names:
        raise ValueError(
            f"drop: {own!r} joins the persons and households of {path}: keep it, or "
            "protect the file of persons alone"
        )
    codes = _coded(table.column(own))[1]
    first = np.unique(codes, return_index=True)[1]
    held = [name for name in of_households if name in table.column_names]
    households = table.select(held).take(first)
    members = households.take(codes)
    if differ := [x for x in held if not _equal(table.column(x), members.column(x))]:
        raise ValueError(
            f"members of a household would have different values in "
            f"{', '.join(map(repr, differ))}, which the household file has once; "
            "blank, recode or treat it with columns of households only"
        )
    ids = table.column(own).take(first)
    households = households.add_column(0, other, ids)
    how = replace(beside, labels=like.labels, guard_formulas=like.guard_formulas)
    mine = [name for name in table.column_names if name in of_persons]
    yield path, table.select(mine), replace(like, households=None)
    yield beside_persons(path), households, how


def _coded(column: Any) -> tuple[list[str | None], NDArray[np.int64]]:
    """Return the distinct values of a column as texts, and the code of each value."""
    column = decoded(column)
    values = column.unique()
    codes = import_pyarrow("compute").index_in(column, value_set=values)
    texts = [None if v is None else code_text(v) for v in values.to_pylist()]
    return texts, codes.to_numpy()


def _equal(column: Any, other: Any) -> bool:
    """Return whether two columns have the same values."""
    (texts, codes), (other_texts, other_codes) = _coded(column), _coded(other)
    return texts == other_texts and bool(np.array_equal(codes, other_codes))
