"""The protected file, and the risks before and after."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess import Assessment
from riskcore.assessment.figures import table
from riskcore.common import arguments, html
from riskcore.common.progress import Lines, silent
from riskcore.common.results import Summary, reports
from riskcore.common.words import counted, printable
from riskcore.comparison.compare import Comparison
from riskcore.core.risk.histogram import class_counts, log_edges
from riskcore.data.coded import count_records
from riskcore.data.columns import Records
from riskcore.data.files.labels import Labels
from riskcore.data.source import Source
from riskcore.protection.leaks.disclosure import Shown
from riskcore.protection.leaks.showing import (
    SuppressedValueShows,
    shown_by,
    shown_on_engine,
    shown_plain,
)
from riskcore.protection.on_engine import OnEngine, unchecked
from riskcore.protection.release import writing
from riskcore.protection.release.writing import (
    InputCannotBeChecked,
    OrderCanBeFound,
    UnsafeError,
)
from riskcore.protection.settings import Settings
from riskcore.protection.suppression.by_household import Units
from riskcore.protection.suppression.certificate import Certificate
from riskcore.protection.suppression.key_sets import KeySet, present
from riskcore.protection.suppression.rounds import Aim, Mask, Masks
from riskcore.protection.verdict import verdict_of
from riskcore.protection.with_original import comparison_of

__all__ = [
    "InputCannotBeChecked",
    "OrderCanBeFound",
    "Protected",
    "Round",
    "SuppressedValueShows",
    "UnsafeError",
    "finite",
]

# What columns tell is counted in 32 bits.
_MOST_SHOWN = 1 << 31


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
    secret : str or None
        What decided between keys of equal cost, with ``ties="secret"``: the private
        record keeps it.

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
    secret: str | None = None

    @property
    def data(self) -> Any:
        """The protected records, of the type of the input; of a path all its columns.

        They are in the order of the input. Of data on an engine they are as lazy as
        these, in an order of the engine's choice if it has none.
        """
        return self.rows if self.on_engine is None else self.on_engine.given

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

    @property
    def household_of(self) -> NDArray[np.int64] | None:
        """The household of each record by numbers from 0, None without households."""
        if self.units is not None:
            return self.units.of
        groups = self.sets[0].protected.households
        return None if groups is None else groups.inverse

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

        By key and column, the most values first: see
        `riskcore.protection.leaks.disclosure`.
        Of data on an engine only keys, and columns related to them, have been looked
        at; see `not_checked` and `shown_in`.
        """
        if self.n >= _MOST_SHOWN and self.on_engine is not None:
            return ()
        return shown_by(self, Records.of(self.rows).columns)

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
                found += shown_on_engine(self, name)
        return tuple(found)

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

        Of more than three sets of keys those are said together of which the same holds.
        It names what safety has cost: keys blanked in more than half of the records
        that had a value, and how many records have lost all keys.
        """
        said = [verdict_of(self)]
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
        return verdict_of(self, public=True)

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
        guard_formulas: bool = False,
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
        read the input: see `riskcore.data.files.replace`, also for what is left if the
        process is killed. Before they do, the safe file is read again, compared cell by
        cell with what should be there and assessed once more: the verdict is that of
        what was written.

        Parameters
        ----------
        path : str or pathlib.Path
            The safe file, in the format of the input: delimiter and encoding of a
            CSV, columns and codes as they were but for what was recoded or
            suppressed; of a mu-Argus file with new metadata (``.rds``) beside it, see
            `riskcore.data.files.argus.writer`. CSV, Parquet and Arrow may change into
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
        guard_formulas : bool, optional
            Write an apostrophe before text in a CSV file that a spreadsheet would take
            for a formula: what begins with one of ``= + - @``, a tab or a line end,
            blanks in front or not, and is neither a number nor a lone sign. Text that
            already has apostrophes there gets one more, so that taking one off gives
            the values back.
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
            input (see `riskcore.protection.release.secret`) and the versions of all
            that computed. From it `riskcore protect --replay` makes the same file
            again. Under "shown", which is not in the record, what the file tells of
            suppressed and recoded values and of its order.

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
        riskcore.protection.release.readback.ReadBackError
            If what was written is not what should be there.
        ValueError
            If the input has changed since it was first opened, the file cannot be
            written in this format, one of the files is read from, a column cannot be
            renumbered, others can read the user's key, or formulas are to be guarded
            in a file that is not CSV, or in the name of a column.
        """
        return writing.write(
            self, path, overwrite=overwrite, allow_unsafe=allow_unsafe, drop=drop,
            shuffle=shuffle, renumber=renumber, guard_formulas=guard_formulas,
            secret=secret, verify=verify,
            record=record, public_record=public_record, also=also, public=public,
            progress=progress, steps=steps,
        )  # fmt: skip

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
        Safe: by sex x age, no record has a risk of 0.05 or more (missing keys match any value).
        """  # noqa: E501
        return reports().summary_of_protection(self)  # type: ignore[no-any-return]

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        top: int = 0,
        overwrite: bool = False,
        progress: Lines | None = None,
    ) -> None:
        """Write the report for internal use, as ``riskcore protect --report``.

        It says what protection has cost, too, as `compare` does, unless an engine holds
        the records or there are more than 5 million.

        Parameters
        ----------
        path : path
            Of the HTML file to write; only its owner can read it. Of several sets of
            keys the others are in files beside it: name-2.html, and so on. Of more than
            ten sets it is of the worst, and those of the next nine are beside it; each
            has a table of all sets.
        title : str, optional
            Title of the page.
        top : int, optional
            How many of the riskiest combinations of the protected file to list.
        overwrite : bool
            Replace existing files.
        progress : callable, optional
            Called with a line of text at each step of the comparison.

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
            self,
            path,
            title=title,
            top=top,
            overwrite=overwrite,
            progress=progress or silent,
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


def finite(threshold: float) -> float | None:
    """Return a threshold, None if there is none."""
    return threshold if threshold < np.inf else None
