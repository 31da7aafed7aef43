"""Options and output shared by the commands whose results are facts and tables."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from riskcore.cli.options import (
    add_output,
    add_overwrite,
    add_quiet,
    add_reading,
    add_top,
    provenance,
    reading,
)
from riskcore.cli.terminal import Progress
from riskcore.common.sheet import Part
from riskcore.common.version import __version__
from riskcore.common.words import printable

if TYPE_CHECKING:
    from riskcore.data.source import Source


_PRINTED = "report for internal use: the printed result as one page for any browser"
# Options that name files to write.
WRITTEN = frozenset((
    "output", "report", "report_public", "form", "record", "record_public", "socket",
))  # fmt: skip


def sources_of(
    options: argparse.Namespace, source: Source | None = None
) -> list[Source]:
    """Return the microdata files that a command reads; ``source`` is the first."""
    from riskcore.data.files import formats
    from riskcore.data.source import Source

    sources = [] if source is None else [source]
    if source is None and getattr(options, "file", None) is not None:
        sources.append(Source.of(options.file, reading(options)))
    for other in ("safe", "released", "original", "holdout", "earlier", "reference"):
        path = getattr(options, other, None)
        if path is not None:
            # Another file is read with the metadata and the households beside it.
            how = replace(reading(options), metadata=None, sheet=None)
            how = how if other == "original" else formats.beside(how, path)
            sources.append(Source.of(path, how))
    register = getattr(options, "population", None)
    if isinstance(register, Path):
        sources.append(Source.of(register))
    return sources


def inputs(options: argparse.Namespace, source: Source | None = None) -> list[Path]:
    """Return every file that a command reads, without private records."""
    from riskcore.data.recoding_words import rule_file

    sources = sources_of(options, source)
    rules = (rule_file(rule) for _, rule in getattr(options, "recode", ()))
    return [*(path for x in sources for path in x.paths), *filter(None, rules)]


def refuse_inputs(options: argparse.Namespace, source: Source | None) -> None:
    """Refuse outputs that are inputs, lie in an input folder, or are the same file."""
    from riskcore.data.files import formats
    from riskcore.data.files.replace import refuse_sources

    outputs = (getattr(options, name, None) for name in sorted(WRITTEN))
    targets = [Path(path) for path in outputs if path is not None]
    if not targets:
        return
    read = inputs(options, source)
    private = [getattr(options, name, None) for name in ("of_record", "rules")]
    read += [Path(path) for path in private if path is not None]
    refuse_sources(targets, read)
    for source_file in sources_of(options, source):
        if source_file.path is not None:
            formats.refuse_within(targets, source_file.path)


def add_page(parser: argparse.ArgumentParser, what: str = _PRINTED) -> None:
    """Add the report for internal use, and --overwrite."""
    said = f"{what}; only you can read the file"
    parser.add_argument("--report", type=Path, metavar="HTML", help=said)
    add_overwrite(parser)


def add_results(parser: argparse.ArgumentParser, what: str, top: str) -> None:
    """Add the output files, the reading options and --quiet."""
    add_output(parser, f"all columns and {what}")
    add_page(parser)
    add_top(parser, "--report-top", 0, f"list {top} in --report")
    add_last(parser)


def add_last(parser: argparse.ArgumentParser) -> None:
    """Add --json, the reading options and --quiet."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_reading(parser)
    add_quiet(parser)


def check_results(
    options: argparse.Namespace,
    source: Any,
    others: Mapping[str, Path | None] = MappingProxyType({}),
) -> None:
    """Refuse files that cannot be written, before any work is done."""
    from riskcore.data.files import formats

    if options.report_top and options.report is None:
        raise ValueError("--report-top needs --report")
    if options.output is not None:
        formats.check_writable(options.output, overwrite=options.overwrite)
    check_files(options, source, {"--output": options.output, **others})


def check_files(
    options: argparse.Namespace,
    source: Any,
    others: Mapping[str, Path | None] = MappingProxyType({}),
) -> None:
    """Refuse reports that cannot be made, and files not to be written."""
    from riskcore.data.files.replace import refuse_existing
    from riskcore.report.templating import need_reports

    files = {**others, "--report": options.report}
    reports = [option for option in files if option.startswith("--report")]
    if any(files[option] for option in reports):
        need_reports(*(files[option] for option in reports))
    targets = {option: path for option, path in files.items() if path is not None}
    if options.overwrite and not targets:
        raise ValueError(f"--overwrite needs {' or '.join(files)}")
    for option, path in targets.items():
        if option != "--output":  # checked by its format
            refuse_existing(path, options.overwrite)
    refuse_inputs(options, source)


def write_files(
    options: argparse.Namespace,
    source: Any,
    made: Mapping[Path | None, Callable[[], Any]],
    public: Collection[Path | None] = (),
) -> None:
    """Write tables and pages by path, all or none; tables and ``public`` are open."""
    from riskcore.data.files import formats
    from riskcore.data.files.replace import replacing_all

    wanted = {path: make for path, make in made.items() if path is not None}
    if not wanted:
        return
    with replacing_all(options.overwrite, inputs(options, source)) as create:
        for path, make in wanted.items():
            content = make()
            if path == getattr(options, "output", None):
                formats.write(path, content, overwrite=options.overwrite, create=create)
                continue
            create(path, private=path not in public).write(content.encode())


def report_text(
    options: argparse.Namespace, result: Any, parts: Sequence[Part] = ()
) -> str:
    """Return the page of the internal report of a result."""
    from riskcore.report.sheet_page import part_charts, sheet_page

    sheet = result._sheet()
    return sheet_page(
        replace(sheet, parts=[*sheet.parts, *parts]),
        title=f"{options.file.name}: {sheet.name.lower()}",
        charts=part_charts(result),
        provenance=provenance(options),
    )


def print_results(
    options: argparse.Namespace,
    figures: Mapping[str, Any],
    text: Callable[[str], str],
    files: Mapping[str, Path | None],
    read: Mapping[str, Path] | None = None,
    title: str = "",
) -> None:
    """Print the figures: as JSON with the files read, or as text with those written."""
    if options.json:
        read = {"file": options.file} if read is None else read
        print_json({**{name: str(path) for name, path in read.items()}, **figures})
        return
    print(text(f"riskcore {__version__}: {title or options.file}"))
    print_files(files)


def give_results(
    options: argparse.Namespace,
    source: Any,
    result: Any,
    progress: Progress,
    figures: Mapping[str, Any],
    lines: Sequence[str],
    parts: Sequence[Part],
) -> None:
    """Write the table and the report, with further ``parts``, and print the result."""
    if options.output is not None:
        progress(f"writing {options.output}")
    made = {
        options.output: lambda: result.records,
        options.report: lambda: report_text(options, result, parts),
    }
    write_files(options, source, made)
    progress.done()
    files = {"table": options.output, "report": options.report}
    print_results(
        options, figures, lambda title: "\n".join([result.text(title), *lines]), files
    )


def print_json(figures: Mapping[str, Any]) -> None:
    """Print figures as JSON."""
    print(json.dumps(figures, indent=2, allow_nan=False))


def print_files(files: Mapping[str, Path | None]) -> None:
    """Print the paths of the written files."""
    if any(files.values()):
        print()
    for what, path in files.items():
        if path is not None:
            print(f"  The {what} is in {printable(str(path))}.")
