"""The protected file: what it tells of itself, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from riskcore.assessment.figures import table
from riskcore.common import arguments, html
from riskcore.common.progress import Lines
from riskcore.common.results import Summary, reports
from riskcore.common.words import counted, printable
from riskcore.comparison.result import Comparison
from riskcore.core.risk.histogram import class_counts, log_edges
from riskcore.data.columns import Records
from riskcore.protection.facts import facts_of
from riskcore.protection.leaks.disclosure import Shown
from riskcore.protection.leaks.showing import (
    SuppressedValueShows,
    shown_by,
    shown_on_engine,
)
from riskcore.protection.protected_records import MOST_SHOWN, ProtectedRecords, Round
from riskcore.protection.release import writing
from riskcore.protection.release.writing import (
    InputCannotBeChecked,
    OrderCanBeFound,
    UnsafeError,
)
from riskcore.protection.suppression.key_sets import KeySet
from riskcore.protection.verdict import verdict_of
from riskcore.protection.with_original import comparison_of

__all__ = [
    "InputCannotBeChecked",
    "OrderCanBeFound",
    "Protected",
    "Round",
    "SuppressedValueShows",
    "UnsafeError",
]


@dataclass(frozen=True, eq=False, repr=False)
class Protected(ProtectedRecords):
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

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """What the columns and the order of the data tell that they do not show.

        By key and column, the most values first: see
        `riskcore.protection.leaks.disclosure`.
        Of data on an engine only keys, and columns related to them, have been looked
        at; see `not_checked` and `shown_in`.
        """
        if self.n >= MOST_SHOWN and self.on_engine is not None:
            return ()
        return shown_by(self, Records.of(self.rows).columns)

    def shown_in(self, columns: Iterable[Hashable]) -> tuple[Shown, ...]:
        """Return what some columns tell of suppressed and recoded values.

        Parameters
        ----------
        columns : iterable of column names
            Of data on an engine it groups by each of them and all keys; what comes here
            has a row for each combination, as many as records for a column of ids. What
            they tell of recoded columns that are not keys is told as if nothing of them
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
        if self.on_engine is not None and self.n >= MOST_SHOWN:
            raise ValueError(
                f"{self.n:,} records: what a column tells is counted of fewer than "
                f"{MOST_SHOWN:,}"
            )
        found = [one for one in self.shown if one.column in names]
        for name in names:
            if name in self.not_checked:
                found += shown_on_engine(self, name)
        return tuple(found)

    @property
    def verdict(self) -> str:
        """What the risks computed from the protected file say, in words.

        Of more than three sets of keys those are said together of which the same holds.
        It names what safety has cost: keys blanked in more than half of the records
        that had a value, and how many records have lost all keys.
        """
        return verdict_of(self)

    @property
    def _public_verdict(self) -> str:
        """The verdict without figures that the original or the recoded file gave."""
        return verdict_of(self, public=True)

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
            If a column's name is not text.
        """
        return facts_of(self, self.shown if shown is None else shown)

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
            If a column's name or a path is not text, or an engine holds the records.
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
            self,
            path,
            overwrite=overwrite,
            allow_unsafe=allow_unsafe,
            drop=drop,
            shuffle=shuffle,
            renumber=renumber,
            guard_formulas=guard_formulas,
            secret=secret,
            verify=verify,
            record=record,
            public_record=public_record,
            also=also,
            public=public,
            progress=progress,
            steps=steps,
        )

    def summary(self) -> Summary:
        """Return what ``riskcore protect`` prints: it is for the office.

        Returns
        -------
        str
            Which a prompt shows as it is, line by line.

        Raises
        ------
        TypeError
            If a column's name is not text.

        Examples
        --------
        >>> import riskcore
        >>> data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
        >>> result = riskcore.protect(data, ["sex", "age"], "w", threshold=0.05)
        >>> print(result.summary().splitlines()[-1].strip())
        Safe: by sex x age, no record has a risk of 0.05 or more (missing keys match any value).
        """  # noqa: E501
        return reports().summary_of(self)

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
        reports().report_of(
            self, path, title=title, top=top, overwrite=overwrite, progress=progress
        )

    def _repr_html_(self) -> str:
        parts = [
            self._shown_set(one, "" if k else self.verdict)
            for k, one in enumerate(self.sets)
        ]
        suppressed = html.figures(
            "Suppressed values",
            "",
            [(str(name), f"{count:,}") for name, count in self.suppressed.items()],
        )
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
