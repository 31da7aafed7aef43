"""The files of a release: safe file, records and reports, as ``[output]`` wants them.

``wanted`` are the names of the table ``[output]`` of a file of rules with their values,
as `Release.output` returns them. No name is needed: without ``file`` the file that
would be written is judged, and only reports are written.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riskcore.common.progress import Lines, silent
from riskcore.common.settings import complete, settings_of
from riskcore.data.files import formats
from riskcore.data.files.base_format import suffix_of
from riskcore.data.files.replace import refuse_existing, refuse_sources, replacing_all
from riskcore.data.source import Source
from riskcore.protection.leaks.examination import Examination
from riskcore.protection.records.showing import SuppressedValueShows
from riskcore.protection.release.facts import facts_of
from riskcore.protection.release.layout import refuse_unguardable
from riskcore.protection.release.record import Record
from riskcore.protection.release.writing import (
    Reports,
    UnsafeError,
    columns_dropped,
    columns_renumbered,
    write,
)
from riskcore.protection.result import Protected
from riskcore.protection.settings.settings import Settings
from riskcore.protection.settings.settings_table import LAYOUT, WriteSettings
from riskcore.report.provenance import Provenance

Wanted = Mapping[str, Any]

# Suffixes of the formats written for input formats that are not written.
_WRITTEN = {"sas": ".sav", "parquet set": ".parquet", "argus": ".saf"}

# Names that have no effect without a safe file.
_OF_FILE = ("record", "public_record", "guard_formulas", "allow_unsafe")
# What a record tells of the safe file to everybody who reads a log.
_TOLD = ("dropped", "shuffled", "renumbered", "formulas_guarded")


@dataclass(frozen=True, slots=True)
class ReleaseFiles:
    """The files of a release that were written, and what was found in them.

    ``figures`` are the facts of the protection and the verdict on the file as written,
    ready for JSON. Without a safe file no record is written, and ``refused`` says why
    if one was wanted. ``reports`` for internal use are one for each set of keys.
    """

    figures: dict[str, Any]
    record: dict[str, Any] | None = None
    file: Path | None = None
    private_record: Path | None = None
    public_record: Path | None = None
    public_report: Path | None = None
    form: Path | None = None
    reports: tuple[Path, ...] = ()
    refused: str = ""

    @property
    def record_with_secret(self) -> Path | None:
        """The private record, if only its secret makes the same file again."""
        needed = self.record is not None and self.record["output"]["secret"] is not None
        return self.private_record if needed else None


def idle(wanted: Wanted) -> str | None:
    """Return the first name without an effect, because no safe file is wanted."""
    if wanted.get("file") is not None:
        return None
    usual = {name: settings_of(WriteSettings)[name].default for name in _OF_FILE}
    given = (name for name in usual if wanted.get(name, usual[name]) != usual[name])
    return next(given, None)


def safe_name(source: Source) -> str:
    """Return a name for the safe file, in the format of the input if it is written.

    >>> safe_name(Source.of({"sex": ["f", "m"]}))
    'safe.csv'
    """
    if source.path is None:
        return "safe.csv"
    suffix, gzipped = suffix_of(source.path)
    kind = "" if source.format is None else source.format.kind
    for ending in (suffix + ".gz" * gzipped, _WRITTEN.get(kind, "")):
        with suppress(ValueError):
            formats.written_as(f"safe{ending}", source.format)
            return f"safe{ending}"
    return "safe.csv"


def private_record_of(wanted: Wanted) -> Path | None:
    """Return the path of the private record; None if no safe file is wanted."""
    if wanted.get("file") is None:
        return None
    record = wanted.get("record")
    return Path(f"{wanted['file']}.private.json" if record is None else record)


def check_columns(
    source: Source, settings: Settings, wanted: Wanted
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns to leave out, and those that get new ids, or refuse them."""
    dropped = columns_dropped(source, settings, wanted.get("drop", ()))
    given = wanted.get("renumber")
    renumbered = columns_renumbered(source, settings, given, dropped)
    return dropped, renumbered


def check_release_files(
    source: Source,
    settings: Settings,
    wanted: Wanted,
    *,
    overwrite: bool = False,
    read: Iterable[Path] = (),
    before: Record | None = None,
) -> None:
    """Refuse files that cannot be written, before any work is done."""
    report, public_report = wanted.get("report"), wanted.get("report_public")
    form, reports = wanted.get("form"), list[Path]()
    if any(page is not None for page in (report, public_report, form)):
        from riskcore.report.page import report_paths
        from riskcore.report.templating import need_reports

        need_reports(report, public_report, form)
        reports = [] if report is None else report_paths(report, len(settings.keys))
    dropped, _ = check_columns(source, settings, wanted)
    safe = wanted.get("file")
    record = private_record_of(wanted)
    texts = [record, wanted.get("public_record"), *reports, public_report, form]
    made = [path for path in texts if path is not None]
    safe_files = [] if safe is None else formats.files_written(safe, source.format)
    if safe_files or made:
        kept = [] if before is None or _replaces(record, before) else [before.path]
        targets = [*safe_files, *made]
        refuse_sources(targets, [*source.paths, *settings.rule_files, *read, *kept])
        if source.path is not None:
            formats.refuse_within(targets, source.path)
    if safe is not None:
        source.check_writable(safe, overwrite=overwrite)
        if wanted.get("guard_formulas", False):
            left = [name for name in map(str, source.names) if name not in dropped]
            refuse_unguardable(safe, left, source.format)
    for path in made:
        refuse_existing(path, overwrite)


def write_release(
    result: Protected,
    wanted: Wanted,
    *,
    overwrite: bool = False,
    secret: str | None = None,
    before: Record | None = None,
    provenance: Provenance | None = None,
    progress: Lines | None = None,
    seen: Examination | None = None,
) -> ReleaseFiles:
    """Write the files of a release, all or none; return what was written and found.

    ``seen`` is what `Protected.preview` found with the same secret.
    """
    # If the result is not safe and ``allow_unsafe`` is not wanted, only the reports are
    # written, and they say so.
    say = progress or silent
    how = {name: wanted[name] for name in LAYOUT if name in wanted}
    how["secret"] = secret
    writes = wanted.get("file") is not None and (
        result.goals_met or wanted.get("allow_unsafe", False)
    )
    # If a file is written, its writer examines it.
    examined = Examination() if writes else result.preview(steps=say, **how)
    figures = facts_of(result, examined)
    reports = reports_with(result, wanted, say, provenance)
    if not writes:
        write_texts(result, reports, figures, overwrite=overwrite)
        return _without_file(figures, wanted, reports)
    try:
        record = _write(result, wanted, how, reports, overwrite, before, say, seen)
    except UnsafeError as error:
        figures |= error.figures
        if not figures["goals_met"]:
            # Only found on reading back: the reports tell of another file.
            return _without_file(figures, wanted, Reports())
        # There is nothing to publish.
        reports = Reports(_private(reports), form=reports.form)
        write_texts(result, reports, error.figures, overwrite=overwrite)
        return _without_file(figures, wanted, reports)
    figures |= record["examined"]
    public = wanted.get("public_record")
    # Without secrets: logs get read.
    figures["output"] = {
        "file": str(wanted["file"]),
        "record": str(private_record_of(wanted)),
        "public_record": None if public is None else str(public),
        **{name: record["output"][name] for name in _TOLD},
    }
    return ReleaseFiles(
        figures,
        record,
        file=Path(wanted["file"]),
        private_record=private_record_of(wanted),
        public_record=public,
        public_report=reports.public,
        form=reports.form,
        reports=reports.office,
    )


def _write(
    result: Protected,
    wanted: Wanted,
    how: Mapping[str, Any],
    reports: Reports,
    overwrite: bool,
    before: Record | None,
    say: Lines,
    seen: Examination | None,
) -> dict[str, Any]:
    """Write the safe file with its records and reports; return the private record."""
    named = ("allow_unsafe", "record", "public_record")
    settings: Any = {
        **how,
        **{name: wanted[name] for name in named if name in wanted},
        "overwrite": overwrite,
    }
    options = complete(WriteSettings, settings)
    safe = wanted["file"]

    def part(done: int, total: int) -> None:
        say(f"writing {safe}, {done / max(total, 1):.0%}")

    with warnings.catch_warnings():
        # The figures have them all.
        warnings.simplefilter("ignore", SuppressedValueShows)
        return write(result, safe, options, part, say, reports, before, seen)


def _replaces(record: Path | None, before: Record) -> bool:
    """Return whether a record is written in the place of the record before."""
    return record is not None and record.exists() and record.samefile(before.path)


def _without_file(
    figures: dict[str, Any], wanted: Wanted, reports: Reports
) -> ReleaseFiles:
    """Return the outcome if there is no safe file."""
    return ReleaseFiles(
        figures,
        public_report=reports.public,
        form=reports.form,
        reports=reports.office,
        refused="" if wanted.get("file") is None else figures["verdict"],
    )


def write_texts(
    result: Protected, reports: Reports, examined: Any, *, overwrite: bool
) -> None:
    """Write the reports of a file that is not written."""
    read = [*result.source.paths, *result.settings.rule_files]
    with replacing_all(overwrite, read) as create:
        for path, text_of in reports.texts.items():
            private = path != reports.public
            create(path, private=private).write(text_of(examined).encode())


def _private(reports: Reports) -> dict[Path, Callable[[Any], str]]:
    """Return the reports for internal use."""
    texts = reports.texts.items()
    return {path: text_of for path, text_of in texts if path != reports.public}


def reports_with(
    result: Protected,
    wanted: Wanted,
    progress: Lines | None = None,
    provenance: Provenance | None = None,
) -> Reports:
    """Return the reports of a release, whose texts are made from an examination."""
    report, public = wanted.get("report"), wanted.get("report_public")
    form, texts = wanted.get("form"), dict[Path, Callable[[Any], str]]()
    if report is None and public is None and form is None:
        return Reports()
    # They load Jinja.
    from riskcore.report.page import form_page, protection_pages
    from riskcore.report.public_page import public_protection_page

    if report is not None:
        texts |= protection_pages(
            result, report, provenance=provenance, progress=progress or silent
        )
    drop = wanted.get("drop", ())
    if public is not None:
        texts[Path(public)] = lambda examined: public_protection_page(
            result, drop=drop, examined=examined
        )
    if form is not None:
        texts[Path(form)] = lambda examined: form_page(result, examined, provenance)
    paths = [None if page is None else Path(page) for page in (public, form)]
    return Reports(texts, *paths)
