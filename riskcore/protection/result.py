"""The protected file: what it tells of itself, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from riskcore.assessment.reported_figures import table
from riskcore.common import arguments, html
from riskcore.common.progress import Lines, silent
from riskcore.common.results import Summary, reports
from riskcore.common.settings import complete, takes
from riskcore.common.words import counted, printable
from riskcore.comparison.compare import check_columns, numbers_of, refuse_single
from riskcore.comparison.comparison import Comparison
from riskcore.comparison.formula import formulas, table_columns
from riskcore.comparison.measures import Floats
from riskcore.comparison.model_study import Columns, columns_of_studies, with_studies
from riskcore.comparison.statistics import File, compare_files
from riskcore.core.risk.histogram import class_counts, log_edges
from riskcore.data.coded import CodedRecords
from riskcore.data.engines.groups import Groups
from riskcore.data.frame_types import DataT_co
from riskcore.disclosure.leaks import Shown
from riskcore.disclosure.verdict import Verdict
from riskcore.protection.leaks.examination import Examination, examine
from riskcore.protection.records.in_memory import columns_with_ids
from riskcore.protection.records.numbers import numbers_of as numbers_in
from riskcore.protection.records.protected_records import MOST_SHOWN, ProtectedRecords
from riskcore.protection.records.showing import SuppressedValueShows, shown_by
from riskcore.protection.release import writing
from riskcore.protection.release.evidence import by_model, on_goals, verdict_of
from riskcore.protection.release.facts import facts_of
from riskcore.protection.release.writing import UnsafeError
from riskcore.protection.settings.settings import Settings
from riskcore.protection.settings.settings_table import WriteSettings
from riskcore.protection.suppression.key_sets import KeySet

__all__ = ["Protected", "SuppressedValueShows", "UnsafeError"]


@dataclass(frozen=True, eq=False, repr=False)
class Protected(ProtectedRecords[DataT_co]):
    """A protected file, and the risks before and after.

    It also holds the original data: a pickle of it is as confidential as they are.

    Attributes
    ----------
    source : Source
        The data or file that was protected.
    settings : Settings
        All settings, with settings from metadata filled in.
    prepared : Prepared
        The records before suppression, recoded and treated.
    rows : frame or mapping
        The protected records or, for data on an engine, the cells of all keys as
        codes, each standing for many records.
    sets : tuple of KeySet
        The risks by set of keys.
    masks : dict of column name to bool ndarray, each shape (n,)
        The values that were suppressed, by row.
    on_engine : OnEngine or None
        For data on an engine, the counts.
    units : HouseholdRows or None
        The households, with ``level="household"``.
    secret : str or None
        With ``ties="secret"`` or random treatments, their random bits; the private
        record keeps them.

    Examples
    --------
    >>> import tempfile, riskcore
    >>> from dataclasses import replace
    >>> data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
    >>> result = riskcore.protect(data, ["sex", "age"], "w", threshold=0.05)
    >>> result
    <Protected: 5 records, safe; suppressed: sex 1>
    >>> result.suppressed, result.safe
    ({'sex': 1, 'age': 0}, True)
    >>> result.to_dict()["sets"][0]["risk"]["original"]["unsafe_records"]
    1
    >>> result.summary().splitlines()[2][:24]
    '  Safe: no leak is open.'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = result.write(f"{folder}/safe.csv")
    ...     result.report(f"{folder}/report.html")
    ...     result.public_report(f"{folder}/about.html", title="Survey")
    ...     result.form(f"{folder}/form.html")
    ...
    >>> record["output"]["file"]
    'safe.csv'

    What it has cost, also in a table that was asked for later:

    >>> comparison = result.compare()
    >>> sex = comparison.key("sex")
    >>> sex.suppressed, sex.total_variation, sex.changed
    (1, 0.2, 0)
    >>> result.study(comparison, tables=["sex"]).tables[0].columns
    ('sex',)

    The verdict on its goals alone, on another layout, and with other settings:

    >>> result.judge().state
    'safe'
    >>> [leak.column for leak in result.preview(drop=["w"]).leaks]
    []
    >>> settings = replace(result.settings, accept={"w": "it is public"})
    >>> result.under(settings).safe
    True
    """

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """The suppressed or recoded values that columns and the order reveal.

        By key and column, the most values first, see
        `riskcore.disclosure.hidden_values`. For data on an engine only the keys and
        their related columns were checked; see `not_checked` and `preview`.
        """
        if self.n >= MOST_SHOWN and self.on_engine is not None:
            return ()
        # New ids tell only who belongs together.
        new_ids = columns_with_ids(self.source, self.settings)
        rows = self.rows
        if self.on_engine is None:
            rows = rows.seen_as(self.data, new_ids)
        return shown_by(self, rows, drawn=new_ids)

    @cached_property
    def examination(self) -> Examination:
        """The leaks of the file, and the columns without a role.

        `write` examines what it writes; this is the file that it makes by default,
        with new household ids and the records in their order.
        """
        new_ids = writing.columns_renumbered(self.source, self.settings)
        return examine(self, self.shown, renumbered=new_ids)

    @cached_property
    def judgment(self) -> Verdict:
        """The verdict on the file that `write` makes by default."""
        return verdict_of(self, self.examination)

    @property
    def on_goals(self) -> str:
        """With which keys the goals are met and at what price, or why not, in words."""
        return on_goals(self)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What the model beside the weights calls unsafe, by set of keys, in words."""
        return tuple(by_model(self))

    def under(self, settings: Settings) -> Protected[DataT_co]:
        """Return the same file with the roles and accepted leaks of other settings.

        Parameters
        ----------
        settings : Settings
            They are those of this file otherwise: no value is changed.

        Returns
        -------
        Protected
        """
        protected = replace(self, settings=settings)
        _ = protected.numbers  # refuses columns that are not numbers
        return protected

    def judge(self, examined: Examination | None = None) -> Verdict:
        """Return the verdict with what was found in the file, or on its goals alone.

        Parameters
        ----------
        examined : Examination, optional
            Its leaks count as accepted or open by the settings of this file.

        Returns
        -------
        Verdict
        """
        return verdict_of(self, (examined or Examination()).under(self.settings))

    @takes(WriteSettings)
    def preview(
        self, *, steps: Lines | None = None, **options: Unpack[WriteSettings]
    ) -> Examination:
        """Return what `write` with these options would find in its file.

        Parameters
        ----------
        steps, **options
            As for `write`.

        Returns
        -------
        Examination
        """
        return writing.preview(self, steps or silent, **options)

    @property
    def state(self) -> str:
        """The state of the file, see `riskcore.disclosure.verdict.Verdict.state`."""
        return self.judgment.state

    @property
    def safe(self) -> bool:
        """Whether the file may leave: safe, or safe except for accepted leaks."""
        return self.judgment.safe

    @property
    def verdict(self) -> str:
        """The state of the file in words, from risks computed after protection.

        With more than three sets of keys, sets with the same verdict share a sentence.
        The verdict names the price of safety: keys blanked in more than half of the
        records that had a value, and the number of records that lost all keys.
        """
        return self.judgment.sentence

    def compare(
        self,
        *,
        columns: Iterable[Hashable] = (),
        strata: Iterable[Hashable] = (),
        interactions: bool = False,
        models: Iterable[str] = (),
        tables: Iterable[str | Sequence[Hashable]] = (),
        progress: Lines | None = None,
    ) -> Comparison:
        """Compare the file before and after protection: what it has cost in utility.

        The recodings and the matching of records are known here; to compare two files
        without that knowledge, use `riskcore.compare`.

        Parameters
        ----------
        columns, strata, interactions, models, tables, progress
            As for `riskcore.compare`. For data on an engine, strata must be keys or
            related to keys, and ``columns``, ``models`` and ``tables`` must be empty.

        Returns
        -------
        Comparison
            For internal use: it holds figures of the original.

        Raises
        ------
        KeyError, TypeError, ValueError
            As `riskcore.compare`.
        """
        settings, source = self.settings, self.source
        numbers = arguments.names("columns", columns)
        by = arguments.names("strata", strata)
        studied = formulas(models), table_columns(tables)
        also = columns_of_studies(*studied, numbers)
        source.check([*numbers, *by, *also])
        keys, weight = settings.variables, settings.weight
        check_columns(keys, weight, numbers, by)
        if self.on_engine is not None:
            engine = self.on_engine.engine
            refuse_single(engine, models=studied[0], tables=studied[1])
            _refuse_what_is_not_held(self, numbers, by)
        files = _compared_files(self, [*keys, *by, *also], numbers)
        comparison = compare_files(
            *files,
            keys,
            weight,
            recodings=settings.recodings,
            strata=by,
            aligned=True,
            interactions=interactions,
            labels=source.labels,
            progress=progress or silent,
        )
        used = Columns(files, keys, settings.recodings, source.labels)
        return with_studies(comparison, used, *studied)

    def study(
        self,
        comparison: Comparison,
        *,
        models: Iterable[str] = (),
        tables: Iterable[str | Sequence[Hashable]] = (),
    ) -> Comparison:
        """Return a comparison with other models and tables, of records in memory.

        Parameters
        ----------
        comparison : Comparison
            What `compare` returned.
        models, tables
            As for `compare`.

        Returns
        -------
        Comparison
        """
        settings, labels = self.settings, self.source.labels
        studied = formulas(models), table_columns(tables)
        also = columns_of_studies(*studied, ())
        self.source.check(also)
        files = _compared_files(self, also, ())
        used = Columns(files, settings.variables, settings.recodings, labels)
        return with_studies(comparison, used, *studied)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, the suppressions and the risks as plain data for JSON.

        Returns
        -------
        dict
            With text, finite numbers, None, dicts and lists.

        Raises
        ------
        TypeError
            If the name of a column is not text.
        """
        return facts_of(self, self.examination)

    @takes(WriteSettings)
    def write(
        self,
        path: str | Path,
        *,
        progress: Callable[[int, int], None] | None = None,
        steps: Lines | None = None,
        **options: Unpack[WriteSettings],
    ) -> dict[str, Any]:
        """Write the protected file and the private record of its protection.

        Either all files appear or none, and only those who can read the input can read
        them: see `riskcore.data.files.replace`, also for what remains if the process is
        killed. Before the files appear, the safe file is read back, compared cell by
        cell with the protected data and assessed again: the verdict is about the file
        as written. Of data on an engine, who may read them is not known, and cells and
        columns are counted again instead of compared.

        Parameters
        ----------
        path : str or pathlib.Path
            The safe file, in the format of the input: a CSV keeps its delimiter and
            encoding, and all columns keep their codes except where they were recoded
            or suppressed. A mu-Argus file gets new metadata (``.rds``) beside it, see
            `riskcore.data.files.argus.writer`. CSV, Parquet and Arrow can be converted
            into each other.
        overwrite : bool, optional
            Replace existing files; the input is never replaced, nor any file by data
            on an engine, which may be reading it.
        allow_unsafe : bool, optional
            Write the file even if it is not safe.
        drop : iterable of str, optional
            Columns to leave out.
        shuffle : bool, optional
            Write the records in random order, with the members of each household
            together, also in random order; apart if the household column is dropped.
            The order is from 256 random bits, which only the private record holds.
        renumber : iterable of str, optional
            Columns that get new ids, 1, 2, ... in random order; missing ids stay
            missing. By default the household column, given or declared by mu-Argus
            metadata, unless it is dropped, recoded or blanked; ``()`` for no column.
        guard_formulas : bool, optional
            In a CSV file, write an apostrophe before text that a spreadsheet would
            read as a formula: text that begins with ``= + - @``, a tab or a line end,
            possibly after blanks, and is neither a number nor a lone sign. Text that
            already begins with apostrophes there gets one more, so that removing one
            restores all values.
        secret : str, optional
            The secret of an earlier record, for the same order and ids again; not for
            data on an engine, whose order is drawn anew.
        record : str or pathlib.Path, optional
            The private record, which only its owner can read; by default ``path`` with
            ``.private.json`` added.
        public_record : str or pathlib.Path, optional
            A record for publication: methods and counts only. By default none.
        report : str or pathlib.Path, optional
            The report for internal use on the file as written; see `report`.
        report_public : str or pathlib.Path, optional
            The report for publication; see `public_report`.
        form : str or pathlib.Path, optional
            The form to sign, with the digests of the files; see `form`.
        progress : callable, optional
            Called with the part done and the whole while text is written.
        steps : callable, optional
            Called with a line of text at each step.

        Returns
        -------
        dict
            The private record: the settings, the suppressions, the secret and the
            versions of all libraries. `riskcore run --secret` makes the same file again
            by its rules and this secret.
            ``"examined"``, which is not in the record, holds the verdict on the file
            for internal use, its leaks, and the columns that were not examined.

        Warns
        -----
        SuppressedValueShows
            If a column of the written file or the order of its records reveals
            suppressed or recoded values, or if a column reveals the original order of
            shuffled records: one warning for each.

        Raises
        ------
        FileExistsError, OSError
            If a file exists and ``overwrite`` is False, or if it cannot be written.
        KeyError
            If a column to drop or renumber does not exist.
        TypeError
            If the name of a column or a path is not text; for data on an engine, if
            the path does not end in ``.parquet`` or new ids are asked for.
        UnsafeError
            If the file is not safe, as planned or as read back.
        riskcore.protection.release.readback.ReadBackError
            If the written file is not the protected file.
        ValueError
            If the input has changed since it was first opened, the file cannot be
            written in this format, an output is also an input, a column cannot be
            renumbered, others can read the user's key, or formulas are to be guarded
            in a file that is not CSV or in the name of a column.
        """
        asked = complete(WriteSettings, options)
        pages = reports().reports_with(self, asked, steps)
        return writing.write(self, path, asked, progress, steps, pages)

    def summary(self) -> Summary:
        """Return the summary that ``riskcore protect`` prints, for internal use.

        Returns
        -------
        str
            A string that a prompt shows line by line.

        Raises
        ------
        TypeError
            If the name of a column is not text.
        """
        return reports().summary_of(self)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        overwrite: bool = False,
        progress: Lines | None = None,
    ) -> None:
        """Write the report for internal use, as ``riskcore protect --report`` does.

        It also shows the cost of protection, as `compare` does, except for data on an
        engine and for more than 5 million records.

        Parameters
        ----------
        path : path
            HTML file to write; only its owner can read it. With several sets of keys
            there is one file for each: name.html, name-2.html and so on. With more than
            ten sets, the worst ten get a file, with a table of all sets.
        title : str, optional
            Title of the page.
        overwrite : bool
            Replace existing files.
        progress : callable, optional
            Called with a line of text at each step of the comparison.

        Raises
        ------
        ImportError
            If Jinja2 is not installed (``pip install jinja2``).
        OSError
            If a file exists and ``overwrite`` is False, or if it cannot be written.
        ValueError
            If an output is the input.

        See Also
        --------
        public_report : the report for publication.
        """
        reports().report_of(
            self, path, title=title, overwrite=overwrite, progress=progress
        )

    def public_report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        drop: Iterable[Hashable] = (),
        overwrite: bool = False,
    ) -> None:
        """Write the report for publication on the protected data in memory.

        ``write(..., report_public=)`` writes that on a safe file. The page has classes
        of records by risk, rounded figures, how the file was protected and about how
        many values were suppressed, for all sets of keys: two pages together would
        reveal what neither says.

        Parameters
        ----------
        path : path
            HTML file to write; everybody can read it.
        title : str, optional
            Title of the page, such as the name of the survey.
        drop : iterable of column names, optional
            The columns that `write` leaves out: the page does not name them, unless
            they are keys.
        overwrite : bool
            Replace an existing file.

        Raises
        ------
        ImportError, OSError
            As `report`.
        """
        reports().public_report_of(
            self, path, title=title, drop=drop, overwrite=overwrite
        )

    def form(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the form to sign on data in memory; `write` has that on a safe file.

        Parameters
        ----------
        path, overwrite
            As for `report`.

        Raises
        ------
        ImportError, OSError, ValueError
            As `report`.
        """
        reports().form_of(self, path, overwrite=overwrite)

    def _repr_html_(self) -> str:
        parts = [
            self._shown_set(key_set, "" if k else self.verdict)
            for k, key_set in enumerate(self.sets)
        ]
        rows = [(str(name), f"{count:,}") for name, count in self.suppressed.items()]
        suppressed = html.figures("Suppressed values", "", rows)
        return "".join([*parts, suppressed])

    def _shown_set(self, key_set: KeySet, verdict: str) -> str:
        """Return the figures and the risks of one set of keys at each stage."""
        figures_of = key_set.comparison()
        rows: list[tuple[str, ...]] = [("records", *[f"{self.n:,}"] * len(figures_of))]
        rows += [
            (row.label, *row.values)
            for row in table(list(figures_of.values()), "notebook of stages")
        ]
        files = [stage.distribution for stage in key_set.stages.values()]
        edges = log_edges(
            min(float(distribution.risk[0]) for distribution in files),
            max(distribution.max_risk for distribution in files),
        )
        counts = [class_counts(distribution, edges).tolist() for distribution in files]
        drawings = (
            html.bars(
                distribution,
                f"{name}: records by risk, {edges[0]:g} to {edges[-1]:g}, log scale",
                max(map(max, counts)),
            )
            for name, distribution in zip(key_set.stages, counts, strict=True)
        )
        keys = " x ".join(map(str, key_set.keys))
        title = "Protected, for internal use"
        if len(self.sets) > 1:
            title = f"{title}: {keys}"
        note = html.escape(printable(verdict))
        return html.figures(title, note, rows, "".join(drawings), ["", *figures_of])

    def __repr__(self) -> str:
        values = ", ".join(
            f"{printable(str(name))} {k}" for name, k in self.suppressed.items() if k
        )
        return (
            f"<Protected: {counted(self.n, 'record')}, {self.state}; "
            f"suppressed: {values or 'nothing'}>"
        )


def _compared_files(
    result: ProtectedRecords, names: Sequence[Hashable], numbers: Sequence[Hashable]
) -> tuple[File, File]:
    """Return the columns before and after, those of numbers apart."""
    names = list(dict.fromkeys(names))
    before = _coded_before(result, names)
    treated = {} if result.treated is None else result.treated.after
    after = replace(
        CodedRecords.of(result.rows, names),
        weights=treated.get(result.settings.weight, before.weights),
        counted=before.counted,
        n=before.n,
    )
    columns_before = {name: _numbers_of_file(result, name) for name in numbers}
    columns_after = {
        name: _numbers_of_file(result, name, after=True) for name in numbers
    }
    return File(before, columns_before), File(after, columns_after)


def _coded_before(result: ProtectedRecords, names: Sequence[Hashable]) -> CodedRecords:
    """Return the rows before protection as codes, with their weights."""
    coded = CodedRecords.of(result.before, names)
    if result.on_engine is not None:
        held = result.on_engine.coded
        groups = held.counted
        assert isinstance(groups, Groups)
        rows = len(groups.records)
        sums = groups.weight_sum(np.arange(rows), rows)
        return replace(coded, weights=sums, counted=groups, n=held.n)
    weight = result.settings.weight
    if weight is None:
        return coded
    return replace(coded, weights=numbers_in(result, weight))


def _refuse_what_is_not_held(
    result: ProtectedRecords, numbers: Sequence[Hashable], strata: Sequence[Hashable]
) -> None:
    """Refuse columns and strata that data on an engine do not offer."""
    assert result.on_engine is not None
    if numbers:
        raise result.on_engine.engine.refuse_single("columns")
    for name in strata:
        if name not in result.settings.suppressible:
            raise ValueError(
                f"strata: {name!r} is neither a key nor related to a key; for data on "
                "an engine only these are known. Collect the data first"
            )


def _numbers_of_file(
    result: ProtectedRecords, name: Hashable, *, after: bool = False
) -> Floats:
    """Return a numeric column; of a file, the input's column without blanked values."""
    source = result.source
    if after and result.treated is not None and name in result.treated.after:
        return result.treated.after[name]
    if source.path is None:
        rows = result.rows if after else result.before
        return numbers_of(rows.data, name)
    if name in result.settings.recodings:
        raise ValueError(
            f"columns: {name!r} is recoded and therefore text; name a numeric column"
        )
    values = numbers_of({name: source.numbers(name)}, name)
    if after and name in result.masks:
        values = np.where(result.masks[name], np.nan, values)
    return values
