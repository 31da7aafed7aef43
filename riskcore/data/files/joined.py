"""A file of persons and the file of their households: one table, two files."""

from __future__ import annotations

from collections.abc import Iterator
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
from riskcore.data.files.base_format import FileFormat, Format, Header
from riskcore.data.files.intake import Accounted
from riskcore.data.files.labels import Labels, code_text, look_alike
from riskcore.data.files.reading import Reading, beside_persons, file_and_ids


class HouseholdsWithoutPersons(UserWarning):
    """The household file has households without persons, which are left out."""


class JoinedFile(ArrowFormat):
    """A file of persons, each with the columns of its household in another file."""

    def __init__(
        self, persons: FileFormat, households: FileFormat, asked: Reading
    ) -> None:
        decimal = min(persons.reading.decimal, households.reading.decimal)
        super().__init__(persons.path, Reading(decimal=decimal, missing_codes={}))
        self.persons, self.households, self.asked = persons, households, asked
        if "argus" in (persons.kind, households.kind):
            raise ValueError(f"{self.path}: household_file is not for mu-Argus files")

    def fitting(self) -> Reading:
        """Return how both files are read, without codes of columns that they lack."""
        names = ("", *self.header.names)
        codes = {x: self.asked.codes(x) for x in names}
        return replace(self.asked, missing_codes=codes)

    def check_reading(self) -> None:
        """Leave the options to the two files."""

    @cached_property
    def ids(self) -> tuple[str, str]:
        """The household id in the file of persons, and in that of households."""
        persons, households = self.persons.header.names, self.households.header.names
        both = [name for name in persons if name in households]
        ids = file_and_ids(self.asked.household_file or "")[1]
        own, _, other = (ids or (both[0] if len(both) == 1 else "")).partition("=")
        if own not in persons or (other or own) not in households:
            file = self.households.path
            raise ValueError(
                f"household_file: {self.path} and {file} have "
                f"{', '.join(both) or 'no column'} in common; name the household id as "
                f"in {file}:HID, or those of persons and of households as in "
                f"{file}:RX030=DB030; if the id has several columns, join them first"
            )
        return own, other or own

    def read_header(self) -> Header:
        """Return the columns of both files."""
        own, other = self.ids
        of_households = [x for x in self.households.header.names if x != other]
        names = tuple(dict.fromkeys([*self.persons.header.names, *of_households]))
        return Header(names, household_id=own, of_households=tuple(of_households))

    def format(self) -> Format:
        """Return how both files are written."""
        persons, households = self.persons.format(), self.households.format()
        files, labels = (*persons.paths, *households.paths), persons.labels
        if households.labels is not None:
            labels = (labels or Labels()).beside(households.labels)
        return replace(persons, files=files, labels=labels, joined=self)

    def read_table(self, columns: list[str], progress: Parts | None) -> Accounted:
        """Return columns of both files, with an element for each person."""
        own, other = self.ids
        of_persons = {*columns, own} & {*self.persons.header.names}
        table, intake = self.persons.read(list(of_persons), progress=progress)
        beside = [name for name in columns if name in self.header.of_households]
        if beside:
            households, _ = self.households.read([*beside, other])
            intake = replace(intake, labels=self.format().labels)
            at = self._rows(table.column(own), households.column(other))
            households = households.select(beside).combine_chunks().take(at)
            for name, column in zip(beside, households.columns, strict=True):
                if name not in of_persons:
                    table = table.append_column(name, column)
                elif not _equal(table.column(name), column):
                    raise ValueError(
                        f"{self.path}, {self.households.path}: {name!r} differs; "
                        "rename or remove it in one of the files"
                    )
        return table.select(columns), intake

    def _rows(self, persons: Any, households: Any) -> NDArray[np.int64]:
        """Return the row of each person's household, or refuse ids that do not fit."""
        texts, codes = _coded(persons)
        rows, of_row = _coded(households)
        place: dict[str | None, int] = {t: i for i, t in enumerate(rows) if t}
        twice = [rows[i] for i in np.flatnonzero(np.bincount(of_row) > 1)]
        alone = [text for text in texts if text not in place]
        file = self.households.path
        if odd := twice or alone:
            what = f"of {self.path} not in {file}; leave these persons out"
            alike = [x for x in rows if look_alike(x) == look_alike(odd[0])]
            if alike:
                what = f"of {self.path}: {file} has {alike[0]!r}; write both alike"
            if twice:
                what = f"in several records of {file}, but a household is one"
            raise ValueError(
                f"household_file: {counted(len(odd), 'household id')}, such as "
                f"{listed(map(repr, odd[:3]))}, {what}"
            )
        if absent := len(rows) - len(texts):
            warn(
                f"{file}: {absent:,} of {counted(len(rows), 'household')} without "
                "persons; they are left out",
                HouseholdsWithoutPersons,
            )
        return np.array([place[text] for text in texts], np.int64)[codes]

    def split(
        self, path: Path, columns: Any, like: Format
    ) -> Iterator[tuple[Path, Any, Format]]:
        """Yield the files made of this one: path, table, and how it is written."""
        table, (own, other) = table_of(columns, plain=False), self.ids
        if own not in table.column_names:
            raise ValueError(
                f"drop: {own!r} joins the persons and households of {path}: keep it, or"
                " protect the file of persons alone"
            )
        codes = _coded(table.column(own))[1]
        first = np.unique(codes, return_index=True)[1]  # as the persons name them
        held = [x for x in self.header.of_households if x in table.column_names]
        households = table.select([own, *held]).take(first)
        for name in held:
            if not _equal(table.column(name), households.column(name).take(codes)):
                raise ValueError(
                    f"{name!r} would differ among members of a household, but the "
                    "household file has it once; blank, recode or treat it with other "
                    "columns of that file only"
                )
        households = households.rename_columns([other, *held])
        mine = [x for x in table.column_names if x in self.persons.header.names]
        yield path, table.select(mine), replace(like, joined=None)
        how, guarded = self.households.format(), like.guard_formulas
        how = replace(how, labels=like.labels, guard_formulas=guarded)
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
