"""``riskcore compare``: the safe file beside its original."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from riskcore.cli.options import (
    add_file,
    add_keys,
    add_quiet,
    add_reading,
    add_weight,
)
from riskcore.cli.paths import inputs, refuse_inputs
from riskcore.cli.protect import gathered, reading_as_recorded, recoding
from riskcore.cli.terminal import Progress
from riskcore.common.drawing import save
from riskcore.common.needs import need
from riskcore.common.version import __version__
from riskcore.common.words import printable

_COMPARE = """\
Compare a safe file with its original: what protection has changed, and how much.

Categories, smallest category, entropy and missing values by key; distances of the
weighted one-way and two-way tables; association of keys; means, quantiles and
correlations of columns of numbers; suppressed values by key and stratum; and how well a
logistic regression can tell the two files apart (pMSE). The records of SAFE may stand
in any order and have new ids.
"""

_COMPARE_EXAMPLES = """\
examples:
  riskcore compare survey.csv survey-safe.csv --keys REGION SEX AGE --weight WEIGHT \\
      --recode AGE=from:15,30,45,65 --strata REGION --columns INCOME
  riskcore compare survey.csv survey-safe.csv --record survey-safe.csv.private.json \\
      --report utility.html

What is printed and written is for you: it holds figures of ORIGINAL, which tell
suppressed values to whoever tries them. --report and --plot can be read by you alone.

Without the recodings the categories of a recoded key are not those of the original, and
nothing is said of its distances; --record reads them, the keys and the weight from the
private record of the protection.

The exit status is 0, 2 if a file is refused and nothing written, 74 if an
error came after files were written, or 130 if interrupted.
"""


def add(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the parser, and return its own."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "compare",
        usage="riskcore compare ORIGINAL SAFE (--keys COLUMN [COLUMN ...] | --record "
        "JSON) [options]",
        help="what protection has changed: tables, correlations, propensity score",
        description=_COMPARE,
        epilog=_COMPARE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_file(parser, "ORIGINAL")
    parser.add_argument("safe", metavar="SAFE", type=Path, help="the safe file")
    add_keys(parser, needed=False)
    add_weight(parser)
    parser.add_argument(
        "--record",
        dest="replay",
        type=Path,
        metavar="JSON",
        help="the private record of the protection: keys, weight, recodings, and how "
        "ORIGINAL was read",
    )
    parser.add_argument(
        "--recode",
        nargs="+",
        type=recoding,
        default=[],
        metavar="VARIABLE=RULE",
        help="how ORIGINAL was recoded, as for riskcore protect",
    )
    parser.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of numbers to compare",
    )
    parser.add_argument(
        "--strata",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="count suppressed values by these columns, too",
    )
    parser.add_argument(
        "--id",
        metavar="COLUMN",
        help="ids that both files have, if they were not given new ones: then it is "
        "known how many values were changed, and how much information is lost",
    )
    parser.add_argument(
        "--interactions",
        action="store_true",
        help="let the propensity score have terms for pairs of keys",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--report",
        type=Path,
        metavar="HTML",
        help="report for internal use, with the tables of all keys drawn; only you can "
        "read the file",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw the tables of the keys: .png, .svg, .pdf; only you can read it",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="let --report and --plot replace files"
    )
    add_reading(parser)
    add_quiet(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.comparison.compare import compare
    from riskcore.data.source import Source
    from riskcore.protection.release.record import read_record
    from riskcore.report import utility_text

    written = check_written(options)
    before = None if options.replay is None else read_record(options.replay)
    how = reading_as_recorded(options, before)
    settings = _settings(options, before)
    progress = Progress(quiet=options.quiet)
    # The metadata of the safe file are those beside it.
    original, safe = (
        Source.of(path, one, progress=progress.parts(f"reading {path}"))
        for path, one in (
            (options.file, how),
            (options.safe, replace(how, metadata=None)),
        )
    )
    refuse_targets(options, original, written)
    found = compare(
        original,
        safe,
        columns=options.columns,
        strata=options.strata,
        id=options.id,
        interactions=options.interactions,
        progress=progress,
        **settings,
    )
    _write(found, inputs(options, original), options)
    progress.done()
    if options.json:
        names = {"original": str(options.file), "safe": str(options.safe)}
        print(json.dumps({**names, **found.to_dict()}, indent=2, allow_nan=False))
        return
    title = f"riskcore {__version__}: {options.file} and {options.safe}"
    print(utility_text.comparison_text(found.to_dict(), title))
    if options.report is not None:
        print(f"\n  The report is in {printable(str(options.report))}; it is for you.")
    if options.plot is not None:
        print(f"\n  The plot is in {printable(str(options.plot))}; it is for you.")


def check_written(options: argparse.Namespace) -> list[Path]:
    """Return the files to write, and refuse what cannot be made before any work."""
    if options.report is not None:
        from riskcore.report.templating import need_jinja

        need_jinja()
    if options.plot is not None:
        if options.plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ValueError(
                f"--plot {options.plot}: can draw .png, .svg and .pdf only"
            )
        need("matplotlib", "charts")
    written = [path for path in (options.report, options.plot) if path is not None]
    if options.overwrite and not written:
        raise ValueError("--overwrite needs --report or --plot")
    return written


def refuse_targets(
    options: argparse.Namespace, source: Any, written: list[Path]
) -> None:
    """Refuse files that exist, or are read."""
    from riskcore.data.files.replace import refuse_existing

    refuse_inputs(options, source)
    for path in written:
        refuse_existing(path, options.overwrite)


def _settings(options: argparse.Namespace, before: Any) -> dict[str, Any]:
    """Return keys, weight and recodings, of the options or of a record."""
    if before is None:
        if options.keys is None:
            raise ValueError("give --keys, or --record with the private record")
        rules = gathered("--recode", options.recode)
        return {"keys": options.keys, "weight": options.weight, "recodings": rules}
    given = [
        f"--{name}" for name in ("keys", "weight", "recode") if getattr(options, name)
    ]
    if given:
        raise ValueError(
            f"--record has what {', '.join(given)} would say: leave it out"
        )
    settings = before.settings
    return {
        "keys": list(settings.variables),
        "weight": settings.weight,
        "recodings": settings.recodings,
    }


def _write(found: Any, read: list[Path], options: argparse.Namespace) -> None:
    """Write report and plot, both or none, for their owner alone."""
    from riskcore.data.files.replace import replacing_all

    if options.report is None and options.plot is None:
        return
    with replacing_all(options.overwrite, read) as create:
        if options.report is not None:
            from riskcore.report.utility_page import comparison_page

            title = f"{options.file.name} and {options.safe.name}: utility"
            text = comparison_page(found, title=title)
            create(options.report, private=True).write(text.encode())
        if options.plot is not None:
            from riskcore.report.utility_pictures import comparison_figure

            form = options.plot.suffix.lstrip(".").lower()
            figure = comparison_figure(found)
            save(figure, create(options.plot, private=True), form)
