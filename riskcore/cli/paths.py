"""The files that a command reads and writes, found by the names of its options."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from riskcore.cli.options import reading

if TYPE_CHECKING:
    from riskcore.data.source import Source

# Options that name files to write.
WRITTEN = frozenset((
    "output", "report", "report_public", "record", "record_public", "socket",
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
    paths = [
        path
        for source_file in sources_of(options, source)
        for path in source_file.paths
    ]
    return paths + rule_files(options)


def rule_files(options: argparse.Namespace) -> list[Path]:
    """Return the recode files and hierarchies that --recode names."""
    from riskcore.data.recoding_words import rule_file

    rules = (rule_file(rule) for _, rule in getattr(options, "recode", ()))
    return [path for path in rules if path is not None]


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
