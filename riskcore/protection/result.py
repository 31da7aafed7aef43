"""The protected file: its risks before and after, what it tells, its writing."""

from __future__ import annotations

import json
import operator
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment import (
    Assessment,
    PopulationBelowSample,
)
from riskcore.common import arguments, html
from riskcore.common.progress import Lines, silent
from riskcore.common.results import Summary, reports
from riskcore.common.warn import warn
from riskcore.common.words import counted, printable
from riskcore.figures import table
from riskcore.files import formats
from riskcore.files.labels import Labels
from riskcore.files.reading import DoubtfulCodes
from riskcore.files.replace import refuse_sources, replacing_all
from riskcore.microdata.coded import count_records
from riskcore.microdata.columns import Records, code_column
from riskcore.microdata.household_rows import in_order
from riskcore.microdata.recode import recode
from riskcore.microdata.source import Source
from riskcore.protection import readback
from riskcore.protection import record as records
from riskcore.protection.by_household import Units, assess_again
from riskcore.protection.certificate import Certificate
from riskcore.protection.digests import digest, versions
from riskcore.protection.disclosure import (
    RecodedColumn,
    Shown,
    SuppressedColumn,
    what_shows,
)
from riskcore.protection.key_sets import (
    KeySet,
    assess_key_sets,
    coded_records,
    present,
)
from riskcore.protection.layout import Layout
from riskcore.protection.on_engine import OnEngine, unchecked
from riskcore.protection.rounds import Aim, Mask, Masks
from riskcore.protection.secret import (
    check_secret,
    new_secret,
    random_ids,
    random_order,
    secret_of_seed,
    user_key,
)
from riskcore.protection.settings import Settings
from riskcore.risk.histogram import class_counts, log_edges
from riskcore.utility.comparison import Comparison

# A key blanked in more than this share of the records is named with the verdict.
_MUCH = 0.5
# What columns tell is counted in 32 bits.
_MOST_SHOWN = 1 << 31


class SuppressedValueShows(UserWarning):
    """Suppressed or recoded values, or the order, can be told from what is left."""


class OrderCanBeFound(UserWarning):
    """The order of the records comes from a seed, which can be tried out."""


class InputCannotBeChecked(UserWarning):
    """A private record has no digest of its input."""


class UnsafeError(ValueError):
    """A file is not written, for records in it are not safe."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of suppression.

    Attributes
    ----------
    unsafe : int
        Records unsafe before it, or households, from any set of keys.
    suppressed : dict of column name to int
        The values blanked.
    """

    unsafe: int
    suppressed: dict[Any, int]

    @classmethod
    def of(
        cls,
        assessments: Sequence[Assessment],
        aims: Sequence[Aim],
        masks: Masks,
        sizes: NDArray[np.int64] | None = None,
    ) -> Round:
        """Count what was unsafe, and what is blanked for it.

        ``sizes``: the members of each row that is a household.
        """
        pairs = zip(aims, assessments, strict=True)
        unsafe = np.logical_or.reduce([aim.unsafe(each) for aim, each in pairs])
        count_of = assessments[0].cells.count_of
        counts = {
            name: count_of(mask) if sizes is None else count_records(mask, sizes)
            for name, mask in masks.items()
        }
        return cls(count_of(unsafe), counts)


@dataclass(frozen=True, eq=False, repr=False)
class Protected:
    """A protected file, and the risks before and after.

    It holds the original data too: pickled, it is as confidential as they are.

    Attributes
    ----------
    source : Source
        What was protected.
    settings : Settings
        How, with everything filled in.
    rows : frame or mapping
        What was made safe: the protected records, or of data on an engine the cells of
        all keys, each standing for many records.
    sets : tuple of KeySet
        The risks by set of keys.
    masks : dict of column name to bool ndarray, each shape (n,)
        The values that were suppressed, by row.
    rounds : tuple of Round
    rule_files : tuple of pathlib.Path
        The recode files that were read, which `write` leaves alone as the source.
    on_engine : OnEngine or None
        Of data on an engine, what was counted there.
    units : Units or None
        The households, if each of them is a row of the assessments.
    certificate : Certificate
        How good the plan is, and how many records count on others' blanks.

    Examples
    --------
    >>> import tempfile, riskcore
    >>> data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
    >>> result = riskcore.protect(data, ["sex", "age"], "w", threshold=0.05)
    >>> result
    <Protected: 5 records, safe; suppressed: sex 1>
    >>> result.suppressed, result.safe
    ({'sex': 1, 'age': 0}, True)
    >>> result.shown_in(["w"])
    ()
    >>> result.to_dict()["rounds"]
    [{'unsafe_records': 1, 'suppressed': {'sex': 1, 'age': 0}}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = result.write(f"{folder}/safe.csv")
    ...
    >>> record["output"]["file"]
    'safe.csv'
    """

    source: Source
    settings: Settings
    rows: Any
    sets: tuple[KeySet, ...]
    masks: Masks
    rounds: tuple[Round, ...]
    rule_files: tuple[Path, ...] = ()
    on_engine: OnEngine | None = None
    units: Units | None = None
    certificate: Certificate | None = None

    @property
    def data(self) -> Any:
        """The protected records, of the type of the input; of a path all its columns.

        They are in the order of the input. Of data on an engine they are as lazy as
        these, in an order of the engine's choice if it has none; of a dataset of
        pyarrow they are a reader of its batches, a new one each time.
        """
        if self.on_engine is None:
            return self.rows
        assert self.on_engine.give is not None
        return self.on_engine.give()

    @property
    def before(self) -> Any:
        """The rows as they were."""
        return self.source.data if self.on_engine is None else self.on_engine.rows

    @property
    def n(self) -> int:
        """Number of records."""
        return (
            self.sets[0].protected.cells.n if self.units is None else len(self.units.of)
        )

    @property
    def suppressed(self) -> dict[Any, int]:
        """The number of values suppressed, by column."""
        count_of = self.sets[0].protected.cells.count_of
        return {name: count_of(mask) for name, mask in self.masks.items()}

    @property
    def suppressed_rows(self) -> dict[Any, int]:
        """The same of what the assessments count: of records, or of households."""
        if self.units is None:
            return self.suppressed
        # A household counts if a member has lost a value.
        masks = self.masks.items()
        of = self.units.of
        return {name: len(np.unique(of[mask])) for name, mask in masks}

    @cached_property
    def unsafe(self) -> Mask:
        """Mask of the records still unsafe from any set of keys, shape (n,).

        Raises
        ------
        TypeError
            If an engine holds the records.
        """
        counted = self.sets[0].protected.cells.counted
        if counted is not None:
            raise counted.refuse_single("which records are unsafe")
        either: Mask = np.logical_or.reduce([one.unsafe for one in self.sets])
        return either if self.units is None else either[self.units.of]

    @property
    def safe(self) -> bool:
        """Whether no risk reaches its threshold, from any set of keys."""
        return all(one.safe for one in self.sets)

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """What the columns and the order of the data tell that they do not show.

        By key and column, the most values first: see `riskcore.protection.disclosure`.
        Of data on an engine only keys, and columns related to them, have been looked
        at; see `not_checked` and `shown_in`.
        """
        if self.n >= _MOST_SHOWN and self.on_engine is not None:
            return ()
        return _what_shows(self, Records.of(self.rows).columns)

    @property
    def hidden(self) -> bool:
        """Whether anything was suppressed or recoded."""
        return bool(self.settings.recodings) or any(self.suppressed.values())

    @property
    def not_checked(self) -> tuple[Hashable, ...]:
        """The columns of which nobody knows whether they tell what is hidden.

        Of data on an engine those that have no part in the protection, but all if a
        column is recoded that is no key; nor is it known of the order of the records.
        """
        if self.on_engine is None or not self.hidden:
            return ()
        if self.n >= _MOST_SHOWN or self._recoded_apart:
            return tuple(self.source.names)
        known = self.settings.suppressible
        return tuple(name for name in self.source.names if name not in known)

    @property
    def _recoded_apart(self) -> list[Hashable]:
        """Recoded columns that are not among the rows on an engine."""
        known = self.settings.suppressible
        return [name for name in self.settings.recodings if name not in known]

    def _not_checked_plain(self) -> dict[str, Any]:
        if self.on_engine is None:
            return {}
        return {"not_checked": list(self.not_checked)}

    def shown_in(self, columns: Iterable[Hashable]) -> tuple[Shown, ...]:
        """Return what some columns tell of suppressed and recoded values.

        Parameters
        ----------
        columns : iterable of column names
            Of data on an engine it groups by each of them and all keys; what comes here
            has a row for each combination, as many as records for a column of ids. What
            they tell of recoded columns that are no keys is told as if nothing of them
            had been suppressed.

        Returns
        -------
        tuple of Shown
            By column and key, the most values first.

        Raises
        ------
        KeyError
            If there is no such column.
        ValueError
            If the data have changed, or an engine holds 2**31 records or more.
        """
        names = arguments.names("columns", columns)
        self.source.check(names)
        if self.on_engine is not None and self.n >= _MOST_SHOWN:
            raise ValueError(
                f"{self.n:,} records: what a column tells is counted of fewer than "
                f"{_MOST_SHOWN:,}"
            )
        found = [one for one in self.shown if one.column in names]
        for name in names:
            if name in self.not_checked:
                found += self._shown_on_engine(name)
        return tuple(found)

    def _shown_on_engine(self, name: Hashable) -> Iterator[Shown]:
        """Yield what a column on an engine tells, if the rows do not have it yet."""
        held = self.on_engine
        assert held is not None
        if name not in self.settings.suppressible:
            values, row, records = held.rows_with(name)
            columns = Records.of({name: held.recoded(name, values)}).columns
            yield from _what_shows(self, columns, at=row, stands_for=records)
        for other in self._recoded_apart:
            if other != name:
                values, fine, coarse, records = held.recoded_with(other, name)
                recoded = {other: RecodedColumn(fine, coarse)}
                columns = Records.of({name: values}).columns
                yield from what_shows(columns, {}, None, recoded, stands_for=records)

    @property
    def labels(self) -> Labels | None:
        """The labels of a file of SPSS, Stata or SAS, of the codes not recoded."""
        form = self.source.format
        if form is None or form.labels is None:
            return None
        return form.labels.without_codes_of([str(n) for n in self.settings.recodings])

    @property
    def original(self) -> Assessment:
        """The assessment before protection, if there is one set of keys."""
        return self._only().original

    @property
    def recoded(self) -> Assessment:
        """The assessment after recoding, if there is one set of keys."""
        return self._only().recoded

    @property
    def protected(self) -> Assessment:
        """The assessment of the protected file, if there is one set of keys."""
        return self._only().protected

    def _only(self) -> KeySet:
        if len(self.sets) > 1:
            raise ValueError(f"{len(self.sets)} sets of keys: see .sets")
        return self.sets[0]

    @property
    def verdict(self) -> str:
        """What the risks computed from the protected file say, in words.

        It names what safety has cost: keys blanked in more than half of the records
        that had a value, and how many records have lost all keys.
        """
        said = [_verdict(self, one) for one in self.sets]
        if self.certificate is not None and self.certificate.leaning:
            count, unsafe = self.certificate.leaning, self.certificate.unsafe
            said.append(
                f"{count:,} of {counted(unsafe, 'unsafe record')} "
                f"{'counts' if count == 1 else 'count'} on values blanked in others."
            )
        if self.on_engine is not None and self.hidden:
            said.append(f"But {unchecked(self.not_checked)}.")
        return " ".join(said)

    @property
    def _public_verdict(self) -> str:
        """The verdict without figures that the original or the recoded file gave."""
        return " ".join(_verdict(self, one, public=True) for one in self.sets)

    @cached_property
    def blanked_share(self) -> dict[Any, float]:
        """The share of the records with a value of which it was suppressed, by column.

        0 where there was none.
        """
        shares = {}
        for name, count in self.suppressed.items():
            left = self._with_a_value(name) if count else 0
            shares[name] = count / (count + left) if count else 0.0
        return shares

    def _with_a_value(self, name: Hashable) -> int:
        """Return the number of records that have a value of a column still."""
        for one in self.sets:
            if name in one.keys and self.units is None:
                cells = one.protected.cells
                return int(cells.records[cells.present(one.keys.index(name))].sum())
        return self.sets[0].protected.cells.count_of(present(self.rows, name))

    def compare(
        self,
        *,
        columns: Iterable[Hashable] = (),
        strata: Iterable[Hashable] = (),
        interactions: bool = False,
        progress: Lines | None = None,
    ) -> Comparison:
        """Compare the file before and after: what protection has cost in utility.

        Recodings are known, and so is which record is which: see `riskcore.compare`,
        which two files that come without them are given to.

        Parameters
        ----------
        columns, strata, interactions, progress
            As for `riskcore.compare`. Of data on an engine strata are keys, or related
            to them, and there are no columns of numbers.

        Returns
        -------
        Comparison
            For the office: it holds figures of the original.

        Raises
        ------
        KeyError, TypeError, ValueError
            As `riskcore.compare`.

        Examples
        --------
        >>> import riskcore
        >>> data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
        >>> result = riskcore.protect(data, ["sex", "age"], "w", threshold=0.05)
        >>> sex = result.compare().key("sex")
        >>> sex.suppressed, sex.total_variation, sex.changed
        (1, 0.2, 0)
        """
        from riskcore.protection.utility import comparison_of

        return comparison_of(
            self, columns, strata, interactions=interactions, progress=progress
        )

    def to_dict(self, shown: Iterable[Shown] | None = None) -> dict[str, Any]:
        """Return settings, what was done and the risks, as plain data for JSON.

        Parameters
        ----------
        shown : iterable of Shown, optional
            What the file tells that it does not show; by default ``self.shown``.

        Returns
        -------
        dict
            Of text, finite numbers, None, dicts and lists.

        Raises
        ------
        TypeError
            If a column's name is no text.
        """
        intake = self.source.intake
        return {
            "settings": self.settings.to_dict(),
            "records": self.n,
            "intake": None if intake is None else intake.to_dict(),
            "missing_values": {
                str(key): count
                for one in self.sets
                for key, count in zip(
                    one.keys, one.original.cells.missing_values, strict=True
                )
            },
            "safe": self.safe,
            "verdict": self.verdict,
            "sets": [
                {
                    "keys": list(one.keys),
                    "k": one.aim.k,
                    "threshold": finite(one.aim.threshold),
                    "household_threshold": finite(one.aim.household_threshold),
                    "records_without_keys": one.without_keys,
                    "risk": one.comparison(),
                }
                for one in self.sets
            ],
            "suppressed": self.suppressed,
            "plan": None if self.certificate is None else self.certificate.to_dict(),
            "blanked_share": self.blanked_share,
            "shown": shown_plain(self, self.shown if shown is None else shown),
            **self._not_checked_plain(),
            "rounds": [
                {"unsafe_records": each.unsafe, "suppressed": each.suppressed}
                for each in self.rounds
            ],
        }

    def write(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        allow_unsafe: bool = False,
        drop: Iterable[str] = (),
        shuffle: bool | int = False,
        renumber: Iterable[str] | None = None,
        secret: str | None = None,
        verify: bool = True,
        record: str | Path | None = None,
        public_record: str | Path | None = None,
        also: Mapping[Any, str | Callable[[Any], str]] | None = None,
        public: Mapping[Any, str] | None = None,
        progress: Callable[[int, int], None] | None = None,
        steps: Lines | None = None,
    ) -> dict[str, Any]:
        """Write the protected file and the private record of its protection.

        All files appear together, or none does, and only those may read them who may
        read the input: see `riskcore.files.replace`, also for what is left if the
        process is killed. Before they do, the safe file is read again, compared cell by
        cell with what should be there and assessed once more: the verdict is that of
        what was written.

        Parameters
        ----------
        path : str or pathlib.Path
            The safe file, in the format of the input: delimiter and encoding of a
            CSV, columns and codes as they were but for what was recoded or
            suppressed; of a mu-Argus file with new metadata (``.rds``) beside it, see
            `riskcore.files.argus.writer`. CSV, Parquet and Arrow may change into
            each other.
        overwrite : bool, optional
            Whether existing files may be replaced; the input never is.
        allow_unsafe : bool, optional
            Whether to write the file although it is not safe.
        drop : iterable of str, optional
            Columns to leave out.
        shuffle : bool or int, optional
            Write the records in random order, the members of a household together and
            in random order too. True: an order from 256 random bits, which only the
            private record holds. A number gives the order of that seed, for tests:
            whoever tries seeds finds it.
        renumber : iterable of str, optional
            Columns that get new ids, 1, 2, ... in random order; missing ones stay
            missing. By default the household column, given or declared by mu-Argus
            metadata, unless it is dropped, recoded or blanked; ``()``: none. In
            ``data`` nothing is renumbered.
        secret : str, optional
            The secret of an earlier record, for the same order and ids again.
        verify : bool, optional
            Whether the file is read back. For a CSV of a million records and ten
            columns that takes about 7 s beside 3 s for writing it, for Parquet 2 s
            beside 3 s (``bench/bench_readback.py``).
        record : str or pathlib.Path, optional
            The private record, readable by its owner only; by default ``path`` with
            ``.private.json`` added.
        public_record : str or pathlib.Path, optional
            A record of methods and counts that may be published; by default none.
        also : mapping of paths to str, optional
            Further texts to write, such as a report, that only their owner can read;
            a callable is given "shown" of what is returned, and returns its text.
        public : mapping of paths to str, optional
            Further texts for everybody, such as a report to hand out.
        progress : callable, optional
            Called with the part done and the whole while text is written.
        steps : callable, optional
            Called with a line of text at each step.

        Returns
        -------
        dict
            The private record: the settings, what was done, a keyed digest of the
            input (see `riskcore.protection.secret`) and the versions of all that
            computed. From it `riskcore protect --replay` makes the same file again.
            Under "shown", which is not in the record, what the file tells of suppressed
            and recoded values and of its order.

        Warns
        -----
        SuppressedValueShows
            If suppressed or recoded values can be told from a column of the file or
            from the order of its records, as they are written, or if a column puts
            shuffled records back in their order: one warning for each.
        OrderCanBeFound
            If the order is that of a seed.
        InputCannotBeChecked
            If there is no place for the key with which the record tells its input from
            other files.

        Raises
        ------
        FileExistsError, OSError
            If a file exists and ``overwrite`` is not set, or cannot be written.
        KeyError
            If a column to be left out or renumbered does not exist.
        TypeError
            If a column's name or a path is no text, or an engine holds the records.
        UnsafeError
            If the file is not safe, as planned or as read back.
        riskcore.protection.readback.ReadBackError
            If what was written is not what should be there.
        ValueError
            If the input has changed since it was first opened, the file cannot be
            written in this format, one of the files is read from, a column cannot be
            renumbered, or others can read the user's key.
        """
        self._refuse_write(allow_unsafe=allow_unsafe)
        self.source.refuse_changed()
        figures = self.to_dict(())
        path = self.source.check_writable(
            arguments.file_path("path", path), overwrite=overwrite
        )
        dropped = tuple(arguments.names("drop", drop))
        self.source.check(dropped)
        if set(dropped) >= set(self.source.names):
            raise ValueError("drop: no column would be left")
        renumbered = columns_renumbered(self.source, self.settings, renumber, dropped)
        record = f"{path}.private.json" if record is None else record
        record = arguments.file_path("record", record)
        told = (
            None
            if public_record is None
            else arguments.file_path("public_record", public_record)
        )
        private = {Path(target): text for target, text in (also or {}).items()}
        common = {Path(target): text for target, text in (public or {}).items()}
        beside = [record, *([] if told is None else [told]), *private, *common]
        written = formats.files_written(path, self.source.format)
        refuse_sources([*written, *beside], [*self.source.paths, *self.rule_files])
        shuffle = _plain_shuffle(shuffle)
        keyed = _keyed_digest(self.source)
        if self.source.path is not None and keyed["hmac_sha256"] is None:
            message = f"a replay will not be able to check the input: {keyed['why']}"
            warn(message, InputCannotBeChecked)
        source = {**self.source.to_dict(), "digest": keyed}
        shuffled = shuffle is not False
        secret = _secret(shuffle, secret, needed=shuffled or bool(renumbered))
        order = self._random_order(secret) if shuffled else None
        layout = Layout.of(
            self.source,
            self.data,
            path,
            drop=dropped,
            ids={name: self._ids(name, secret) for name in renumbered},
            order=order,
        )
        say = steps or silent
        say("looking for what the columns tell of suppressed values")
        shown = _what_shows(self, layout.columns, layout.order)
        warn_of_what_shows(self, shown, shuffled=shuffled)
        told_by = shown_plain(self, shown, shuffled=shuffled)
        with replacing_all(overwrite, self.source.paths) as create:
            say(f"writing {path}")
            parts = layout.write(create, self.settings.recodings, progress)
            again = self._read_back(layout, parts, say) if verify else self
            if not (again.safe or allow_unsafe):
                raise UnsafeError(
                    f"As read back: {again.verdict} Nothing is written; "
                    "allow_unsafe=True would do so"
                )
            self.source.refuse_changed()  # else the digest is that of another file
            figures |= {"safe": again.safe, "verdict": again.verdict}
            output = {
                "file": path.name,
                "sha256": digest(parts[0]),
                "read_back": verify,
                "dropped": list(layout.dropped),
                "shuffled": shuffled,
                "renumbered": list(renumbered),
                "secret": secret,
            }
            plain = records.private(
                figures,
                self.settings,
                verdict=again._public_verdict,
                versions=versions(),
                source=source,
                output=output,
            )
            create(record, private=True).write(_json(plain))
            if told is not None:
                create(told).write(_json(self._public_record(again, output)))
            for target, content in common.items():
                create(target).write(content.encode())
            for target, made in private.items():
                text = made if isinstance(made, str) else made(told_by)
                create(target, private=True).write(text.encode())
        return {**plain, "shown": told_by}

    def _refuse_write(self, *, allow_unsafe: bool) -> None:
        if self.on_engine is not None:
            raise self.on_engine.refuse_write()
        if not (self.safe or allow_unsafe):
            raise UnsafeError(
                f"{self.verdict} Nothing is written; allow_unsafe=True would do so"
            )

    def _public_record(
        self, again: Protected, output: Mapping[str, Any]
    ) -> dict[str, Any]:
        return records.public(
            {**self.to_dict(()), "safe": again.safe},
            self.settings,
            verdict=again._public_verdict,
            shuffled=output["shuffled"],
            renumbered=output["renumbered"],
        )

    @property
    def _units(self) -> NDArray[np.int64] | None:
        """The household of each record, if there are any."""
        if self.units is not None:
            return self.units.of
        groups = self.sets[0].protected.households
        return None if groups is None else groups.inverse

    def _random_order(self, secret: str | None) -> NDArray[np.int64]:
        """Return the positions of the records in the order to write them."""
        assert secret is not None
        return random_order(secret, self._units, self.n)

    def _ids(self, name: str, secret: str | None) -> NDArray[np.int64]:
        """Return new ids of a column, 0 where missing."""
        assert secret is not None
        units = self._units
        if name == self.settings.household and units is not None:
            codes = units.astype(np.int64)
        else:
            column = code_column(Records.of(self.data), name)
            codes = column.codes.astype(np.int64)
            codes[codes == len(column.labels)] = -1
        declared = self.source.variables.get(name)
        missing = () if declared is None else declared.missing
        taken = [int(code) for code in missing if code.isdecimal()]
        return random_ids(secret, name, codes, taken)

    def _read_back(self, layout: Layout, parts: list[Path], say: Lines) -> Protected:
        """Return what was written, read and assessed again."""
        say("reading back what was written")
        settings, order = self.settings, layout.order
        roles = [*settings.variables, settings.household]
        codes = [str(name) for name in roles if name in layout.columns]
        weight = settings.weight if settings.weight in layout.columns else None
        # What was not touched is as in the source itself.
        touched = {*settings.suppressible, *settings.recodings, *layout.renumbered}
        original = Records.of(self.source.data).columns
        found = readback.read_back(
            layout.path,
            parts,
            self.source.format,
            readback.Expected(
                {
                    name: column if name in touched else original[name]
                    for name, column in layout.columns.items()
                },
                order,
                {n: m for n, m in self.masks.items() if n in layout.columns},
            ),
            codes,
            None if weight is None else str(weight),
            self.source.reading.decimal,
        )
        columns = dict(found)
        if any(one.recoded.model is not None for one in self.sets):
            # A model knows values, and what was read are codes of equal ones.
            for key in filter(codes.__contains__, map(str, settings.variables)):
                columns[key] = self._as_values(key, found[key], order)
        for name in settings.columns:
            if name not in columns and name in [*roles, settings.weight]:
                columns[str(name)] = self._in_order(name, order)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PopulationBelowSample)
            warnings.simplefilter("ignore", DoubtfulCodes)
            before = [one.recoded for one in self.sets]
            if self.units is None:
                coded = coded_records(columns, settings)
                assessments = assess_key_sets(columns, coded, settings, before)
            else:
                assessments = assess_again(columns, settings, before)
        pairs = zip(self.sets, assessments, strict=True)
        sets = tuple(replace(one, protected=after) for one, after in pairs)
        return replace(self, sets=sets)

    def _as_values(self, name: str, codes: Any, order: NDArray[np.int64] | None) -> Any:
        """Return values in place of codes that were read, each compared already."""
        column = code_column(Records.of(self.data), name)
        if not len(column.labels):  # all are blanked
            return codes
        mine = column.codes if order is None else column.codes[order]
        hidden = np.ma.getmaskarray(codes)
        plain = np.where(hidden, 0, np.ma.getdata(codes))
        value = np.zeros(int(plain.max()) + 1, np.int64)
        value[plain[~hidden]] = mine[~hidden]
        return np.ma.MaskedArray(column.labels[value[plain]], hidden)

    def _in_order(self, name: Hashable, order: NDArray[np.int64] | None) -> Any:
        """Return a column that was left out, in the order of the file written."""
        column = Records.of(self.data).column(name)
        if name == self.settings.weight:
            numbers = self.source.numbers(name)
            if numbers is not None:
                column = Records.of({name: numbers}).column(name)
        return column if order is None else in_order(column, order)

    def summary(self) -> Summary:
        """Return what ``riskcore protect`` prints: it is for the office.

        Returns
        -------
        str
            Which a prompt shows as it is, line by line.

        Raises
        ------
        TypeError
            If a column's name is no text.

        Examples
        --------
        >>> import riskcore
        >>> data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
        >>> result = riskcore.protect(data, ["sex", "age"], "w", threshold=0.05)
        >>> print(result.summary().splitlines()[-1].strip())
        Safe: by sex x age, the risk of no record reaches 0.05 (missing keys match any value).
        """  # noqa: E501
        return reports().summary_of_protection(self)  # type: ignore[no-any-return]

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        top: int = 0,
        overwrite: bool = False,
    ) -> None:
        """Write the report for internal use, as ``riskcore protect --report``.

        It says what protection has cost, too, as `compare` does, unless an engine holds
        the records or there are more than 5 million.

        Parameters
        ----------
        path : path
            Of the HTML file to write; only its owner can read it. Of several sets of
            keys the others are in files beside it: name-2.html, and so on.
        title : str, optional
            Title of the page.
        top : int, optional
            How many of the riskiest combinations of the protected file to list.
        overwrite : bool
            Replace existing files.

        Raises
        ------
        ImportError
            If Jinja2 is not installed (``pip install jinja2``).
        OSError
            If a file exists and is not to be overwritten, or cannot be written.
        ValueError
            If a file is the one that was protected, or ``top`` is negative.

        See Also
        --------
        riskcore.page.public_protection_page : the report to hand out.

        Examples
        --------
        >>> import tempfile, riskcore
        >>> data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
        >>> result = riskcore.protect(data, ["sex", "age"], "w", threshold=0.05)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.report(f"{folder}/report.html")
        ...
        """
        reports().report_of_protection(
            self, path, title=title, top=top, overwrite=overwrite
        )

    def _repr_html_(self) -> str:
        parts = [
            self._shown_set(one, "" if k else self.verdict)
            for k, one in enumerate(self.sets)
        ]
        suppressed = html.figures(
            "Suppressed values", "",
            [(str(name), f"{count:,}") for name, count in self.suppressed.items()],
        )  # fmt: skip
        return "".join([*parts, suppressed])

    def _shown_set(self, one: KeySet, verdict: str) -> str:
        """Return the figures and the risks of one set of keys at each stage."""
        figures_of = one.comparison()
        rows: list[tuple[str, ...]] = [("records", *[f"{self.n:,}"] * len(figures_of))]
        rows += [
            (row.label, *row.values)
            for row in table(list(figures_of.values()), "notebook of stages")
        ]
        files = [stage.distribution for stage in one.stages.values()]
        edges = log_edges(
            min(float(each.risk[0]) for each in files),
            max(each.max_risk for each in files),
        )
        counts = [class_counts(each, edges).tolist() for each in files]
        drawings = (
            html.bars(
                each,
                f"{name}: records by risk, {edges[0]:g} to {edges[-1]:g}, log scale",
                max(map(max, counts)),
            )
            for name, each in zip(one.stages, counts, strict=True)
        )
        keys = " x ".join(map(str, one.keys))
        title = "Protected, for internal use"
        if len(self.sets) > 1:
            title = f"{title}: {keys}"
        note = html.escape(printable(verdict))
        return html.figures(title, note, rows, "".join(drawings), ["", *figures_of])

    def __repr__(self) -> str:
        values = ", ".join(
            f"{printable(str(name))} {k}" for name, k in self.suppressed.items() if k
        )
        word = "safe" if self.safe else "NOT SAFE"
        return (
            f"<Protected: {counted(self.n, 'record')}, {word}; "
            f"suppressed: {values or 'nothing'}>"
        )


def columns_renumbered(
    source: Source,
    settings: Settings,
    renumber: Iterable[str] | None = None,
    drop: Iterable[str] = (),
) -> tuple[str, ...]:
    """Return the columns that `Protected.write` gives new ids.

    Raises
    ------
    KeyError
        If there is no such column.
    TypeError
        If a name is given in place of a list of names.
    ValueError
        If a column is left out, or has another part in the protection.
    """
    parts: dict[str, set[Any]] = {
        "left out": set(map(str, drop)), "the weight": {settings.weight},
        "a key or related to one": set(settings.suppressible),
        "recoded": set(settings.recodings),
    }  # fmt: skip
    if renumber is None:
        # Numbers that are declared tell as much where households have no part.
        ids = dict.fromkeys([settings.household, source.household])
        others = {None}.union(*parts.values())
        return tuple(str(name) for name in ids if name not in others)
    given = arguments.names("renumber", renumber)
    names = tuple(dict.fromkeys(str(name) for name in given))
    source.check(names)
    for name in names:
        for what, columns in parts.items():
            if name in columns:
                raise ValueError(f"renumber: {name!r} is {what}, and has no new ids")
    return names


def _plain_shuffle(shuffle: Any) -> bool | int:
    """Return how to shuffle as a bool, or the number of a seed."""
    if isinstance(shuffle, bool | np.bool_):
        return bool(shuffle)
    try:
        return operator.index(shuffle)
    except TypeError:
        raise TypeError(
            f"shuffle={arguments.shown(shuffle)}: need True, False or a whole number"
        ) from None


def _secret(shuffle: bool | int, secret: str | None, *, needed: bool) -> str | None:
    """Return the secret of the order: given, of a seed, or new."""
    if secret is not None:
        return check_secret(secret) if needed else None
    if isinstance(shuffle, bool):
        return new_secret() if needed else None
    if shuffle < 0:
        raise ValueError(f"shuffle={shuffle}: a seed is a whole number >= 0")
    message = f"the order is that of seed {shuffle}: whoever tries seeds finds it"
    warn(message, OrderCanBeFound)
    return secret_of_seed(shuffle)


def _keyed_digest(source: Source) -> dict[str, str | None]:
    """Return what tells the input from other files to whoever has the user's key."""
    if source.path is None:
        return {"hmac_sha256": None, "key": None, "why": "the input is no file"}
    key = user_key()
    if key is None:
        why = "no place was found to write the key of records"
        return {"hmac_sha256": None, "key": None, "why": why}
    return {"hmac_sha256": key.digest_of(source.files), "key": key.id}


def _json(plain: Mapping[str, Any]) -> bytes:
    text = json.dumps(plain, indent=2, allow_nan=False, ensure_ascii=False)
    return f"{text}\n".encode()


def _verdict(result: Protected, one: KeySet, *, public: bool = False) -> str:
    """Say in words whether the file is safe from one set of keys, and why not.

    ``public``: without figures that the original or the recoded file gave.
    """
    keys = " x ".join(map(str, one.keys))
    rule = _RULES[result.settings.missing]
    if one.safe:
        goal = ", ".join(_goals(result, one, public=public))
        price = ", ".join(_price(result, one, public=public))
        but = f"; but {price}" if price else ""
        return f"Safe: by {keys}, {goal or 'no threshold was needed'} ({rule}){but}."
    if public:
        rows = "records" if result.units is None else "households"
        return f"NOT SAFE: by {keys}, {rows} still {_fault(one)} ({rule})."
    unsafe = one.unsafe
    cells = one.protected.cells
    count = cells.count_of(unsafe)
    open_keys = np.zeros(len(cells.rows), bool)
    for i, key in enumerate(cells.keys):
        if result.settings.cost_of(key) < np.inf:
            open_keys |= cells.present(i)[cells.rows]
    stuck = cells.count_of(unsafe & ~open_keys)
    why = []
    if stuck:
        why.append(f"{stuck:,} with no key left that may be blanked")
    if count > stuck and len(result.rounds) == result.settings.rounds:
        why.append(f"{count - stuck:,} as rounds were limited to {len(result.rounds)}")
    elif count > stuck:
        why.append(
            f"{count - stuck:,} would even with all keys blanked, so "
            f"{_easier(one)} or recode"
        )
    households = one.aim.unsafe_households(one.protected)
    units = "household" if households == 1 else "households"
    rows = "records" if result.units is None else "households"
    of_households = f" and {households:,} {units}" if households else ""
    return (
        f"NOT SAFE: by {keys}, {count:,} of {cells.n:,} {rows}{of_households} still "
        f"{_fault(one)} ({rule}): {', '.join(why)}."
    )


def _fault(one: KeySet) -> str:
    """Say what unsafe records do."""
    short = "" if one.aim.k is None else f"have f below {one.aim.k}"
    reach = "reach their threshold" if one.aim.has_threshold or not short else ""
    return " or ".join(filter(None, (reach, short)))


def _easier(one: KeySet) -> str:
    """Say what could be asked for instead."""
    lower = "" if one.aim.k is None else "lower k"
    rise = "raise the threshold" if one.aim.has_threshold or not lower else ""
    return ", ".join(filter(None, (rise, lower)))


def _goals(result: Protected, one: KeySet, *, public: bool) -> Iterator[str]:
    """Say what no record and no household does."""
    settings, aim = result.settings, one.aim
    unit = "record" if result.units is None else "household"
    if aim.k is not None:
        yield f"no {unit} has f below {aim.k}"
    for what, threshold, rate in (
        (f"the risk of no {unit} reaches", aim.threshold, settings.rate),
        (
            "that of no household reaches",
            aim.household_threshold,
            settings.household_rate,
        ),
    ):
        if public and rate is not None:
            # The threshold itself is a figure of the recoded file.
            yield f"{what} the threshold for a rate of {100 * rate:.8g} %"
        elif threshold < np.inf:
            yield f"{what} {threshold:.8g}"


def _price(result: Protected, one: KeySet, *, public: bool) -> Iterator[str]:
    """Say what safety has cost, if that is much."""
    for key in one.keys:
        share = result.blanked_share[key]
        if share > _MUCH:
            amount = "more than half" if public else f"{100 * share:.3g} %"
            yield f"{key} is blanked in {amount} of the records"
    if lost := one.without_keys:
        count = records.about(lost) if public else f"{lost:,}"
        unit = "record" if result.units is None else "household"
        units = f"{unit} has" if count == "1" else f"{unit}s have"
        yield f"{count} {units} lost all keys"


_RULES = {
    "wildcard": "missing keys match any value",
    "argus": "missing keys match any value, as in mu-Argus",
    "category": "missing keys are a category of their own",
}


def codes_before(
    result: Protected, name: Hashable, *, recoded: bool = True
) -> NDArray[np.signedinteger[Any]]:
    """Return the codes of a column before suppression, -1 for missing.

    ``recoded=False``: those before recoding, too.
    """
    for one in result.sets:
        if name in one.keys:
            i = one.keys.index(name)
            cells = (one.recoded if recoded else one.original).cells
            codes = _signed(cells.codes[i])
            codes[~cells.present(i)] = -1
            of_rows = codes[cells.rows]
            return of_rows if result.units is None else of_rows[result.units.of]
    # A related column that is no key.
    data = {name: Records.of(result.before).column(name)}
    if recoded and name in result.settings.recodings:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said already
            data = recode(data, {name: result.settings.recodings[name]})
    column = code_column(Records.of(data), name)
    codes = _signed(column.codes)
    codes[codes == len(column.labels)] = -1
    return codes


def _signed(codes: NDArray[Any]) -> NDArray[np.signedinteger[Any]]:
    """Return codes in the smallest type that has -1 and all of them."""
    return codes.astype(np.promote_types(np.min_scalar_type(codes.max()), np.int8))


def shown_plain(
    result: Protected, shown: Iterable[Shown], *, shuffled: bool = False
) -> list[dict[str, Any]]:
    """Return what is told, each with its text and what can be done, as plain data."""
    return [
        {**one.to_dict(), "text": str(one), "advice": _advice(result, one, shuffled)}
        for one in shown
    ]


def _what_shows(
    result: Protected,
    columns: Mapping[Any, Any],
    order: NDArray[np.int64] | None = None,
    *,
    at: NDArray[np.int64] | None = None,
    stands_for: NDArray[np.int64] | None = None,
) -> tuple[Shown, ...]:
    """Return what columns, in the order they are written, tell of what is not.

    ``at``: the row of each element of the columns, and how many records it stands for;
    by default the rows themselves.
    """
    written = result.source.names if at is not None else columns
    suppressed = {
        name: SuppressedColumn(codes_before(result, name), mask)
        for name, mask in result.masks.items()
        if mask.any() and name in written
    }
    recoded = {}
    for name in result.settings.recodings:
        if name in (result.masks if at is not None else columns):
            coarse = codes_before(result, name)
            coarse[result.masks.get(name, np.zeros(len(coarse), bool))] = -1
            recoded[name] = RecodedColumn(
                codes_before(result, name, recoded=False), coarse
            )
    if at is not None:
        suppressed = {
            name: SuppressedColumn(one.codes[at], one.blanked[at])
            for name, one in suppressed.items()
        }
        recoded = {
            name: RecodedColumn(one.fine[at], one.coarse[at])
            for name, one in recoded.items()
        }
    elif result.on_engine is not None:
        stands_for = result.on_engine.records
    return what_shows(columns, suppressed, order, recoded, stands_for=stands_for)


def warn_of_what_shows(
    result: Protected, shown: Iterable[Shown], *, shuffled: bool = False
) -> None:
    """Warn of every column from which something can be told that is not shown."""
    for one in shown:
        message = f"{one}; {_advice(result, one, shuffled)}"
        warn(message, SuppressedValueShows)


def _advice(result: Protected, shown: Shown, shuffled: bool) -> str:
    """Return what can be done, so that it does not show."""
    settings, column, key = result.settings, shown.column, shown.key
    of_household = None
    if shown.rule in ("equal", "between") and settings.household is not None:
        of_household = _for_all_members(settings, key)
    if column is None:
        steps = [] if shuffled else ["shuffle the records"]
        if of_household is not None:
            steps.append(f"{of_household}, for members stand together")
        return ", and ".join(steps) or f"recode or drop {key!r}"
    if column == settings.weight:
        return "make the weights coarser or equal where they tell it"
    if shown.rule in ("finer", "order"):
        fixed = {*settings.suppressible, *settings.recodings}
        return "recode or drop it" if column in fixed else "give it new ids or drop it"
    others = f"name it as related to {key!r}, recode or drop it"
    if column == settings.household:
        others = "or drop the column"
        if shown.rule == "equal" and of_household is not None:
            return f"{of_household}, {others}"
    if shown.rule == "between":
        return f"give new numbers if it holds numbers of units, {others}"
    return others.removeprefix("or ")


def _for_all_members(settings: Settings, name: Hashable) -> str | None:
    """Return how a column is blanked for all members of a household; None if it is."""
    with_it = [key for key, others in settings.related.items() if name in others]
    keys = [name] if name in settings.variables else with_it
    left = [repr(key) for key in keys if key not in settings.household_keys]
    if not left:
        return None
    return f"name {' and '.join(left)} among the household keys"


def finite(threshold: float) -> float | None:
    """Return a threshold, None if there is none."""
    return threshold if threshold < np.inf else None
