"""``riskcore check``: check a file against the rules of a release."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskcore.assessment.settings_table import OF_WEIGHTS, CheckSettings
from riskcore.cli.options import (
    add_file,
    add_keys,
    add_quiet,
    add_reading,
    add_roles,
    reading,
    source_of,
)
from riskcore.cli.paths import inputs
from riskcore.cli.results import (
    add_sheet_report,
    check_files,
    print_files,
    print_json,
    report_text,
    write_files,
)
from riskcore.cli.rules import add_print_rules, print_rules, rules_of_check
from riskcore.cli.settings import add_settings, arguments_of, option_of
from riskcore.cli.terminal import Progress
from riskcore.cli.words import fraction
from riskcore.common.settings import settings_of
from riskcore.common.version import __version__
from riskcore.common.words import printable
from riskcore.disclosure.settings_table import AuditSettings

if TYPE_CHECKING:
    from riskcore.assessment.recorded import Recorded
    from riskcore.protection.release.rules import Release

_CHECK = """\
Check whether a file of survey microdata keeps the rules of a release.

Each rule is checked separately for each set of keys. The result shows the limit, the
value found, and how many records and cells break the rule. The file is not changed;
"riskcore protect" makes a file that passes. With --audit, FILE is also compared with
its original, as by "riskcore audit": for synthetic and perturbed files.
"""

_CHECK_EXAMPLES = """\
examples:
  riskcore check safe.csv --record safe.csv.private.json
  riskcore check --rules release.toml
  riskcore check safe.csv --keys REGION SEX AGE MARSTAT --k 5
  riskcore check safe.parquet --keys REGION SEX AGE --weight W --max-risk 0.05 \\
      --max-rate 0.1% --json
  riskcore check safe.csv --keys SEX AGE --keys SEX JOB --k 11 5
  riskcore check safe.csv --keys SEX AGE --k 11 --strata COUNTY --weight W \\
      --area COUNTY --min-population 20000
  riskcore check safe.csv --keys SEX AGE --weight W --household HH \\
      --max-household-risk 5% --max-household-rate 1%

  riskcore check safe.csv --keys REGION SEX AGE --sensitive DISEASE --l 3 --t 0.2 \\
      --report check.html --report-public rules.html
  riskcore check synthetic.csv --audit survey.csv --keys SEX AGE JOB --weight W \\
      --max-right-claims 5% --target DISEASE --max-guess-excess 2%

--record takes the keys, the goals and the rule for missing keys from the private record
of the protection, so leave those options out; other rules may be added. A risk may not
reach the record's threshold, as in protect. The file is compared with the record by its
SHA-256; the check fails if it is another file.

A value equal to its limit keeps the rule: f = 5 keeps --k 5, a risk of 0.05 keeps
--max-risk 0.05. A missing key matches any value, as in protect, unless --missing says
otherwise; the result says how many records have missing keys. An area is a combination
of values of the --area columns, and its population is the sum of its weights. A record
whose area is missing is in no area; the number of such records is shown, and a file in
which all areas are missing is refused.

With --audit, --weight names the weights of the original; FILE needs weights only for
rules on its own risk. --max-right-claims is kept if the expected number of right claims
is at most this share of the claims.

--report holds what is printed, for internal use. --report-public may go with FILE as it
is released: it lists the rules and whether they are kept, but no value that was found.

The exit status is 0 if all rules are kept; 1 if a rule is broken or the file is not the
one that the record names; 2 if the input is refused and nothing is written; 70 if
riskcore has a defect; 74 if an error occurred after files were written; or 130 if
interrupted.
"""


def add(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the parser, and return its subparser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "check",
        usage="riskcore check FILE (--record JSON | --rules TOML | "
        "--keys COLUMN [COLUMN ...] (--k K | --max-risk RISK | --max-rate RATE | "
        "--min-population N | --l L | --t T | --audit ORIGINAL)) [options]",
        help="check a file against the rules of a release",
        description=_CHECK,
        epilog=_CHECK_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_file(parser, what="the file to be released", needed=False)
    parser.add_argument(
        "--record",
        dest="of_record",
        type=Path,
        metavar="JSON",
        help="private record of the protection of FILE: it states --keys, the goals "
        "and how records are counted",
    )
    parser.add_argument(
        "--rules",
        type=Path,
        metavar="TOML",
        help="file of rules of riskcore run, in place of --keys and the goals; by "
        "default FILE is its safe file",
    )
    add_keys(parser, sets=True, needed=False)
    add_roles(parser)
    rules = parser.add_argument_group("rules")
    add_settings(rules, CheckSettings)
    _add_audit(parser)
    add_sheet_report(parser)
    parser.add_argument(
        "--report-public",
        type=Path,
        metavar="HTML",
        help="report to publish with FILE: the rules and whether they are kept, but "
        "no value that was found",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_print_rules(parser)
    add_reading(parser)
    add_quiet(parser)
    # Nothing stands for an option that was not given, which a record may state.
    parser.set_defaults(**dict.fromkeys(_options()))
    return parser


def _add_audit(parser: argparse.ArgumentParser) -> None:
    """Add the rules of an audit."""
    group = parser.add_argument_group("rules beside the original")
    group.add_argument(
        "--audit",
        type=Path,
        metavar="ORIGINAL",
        help="the people to protect, from whose records FILE was made: audit FILE",
    )
    group.add_argument(
        "--max-right-claims",
        type=fraction,
        metavar="SHARE",
        help="with --audit: largest share allowed of the claims that a record is a "
        "certain person to be right",
    )
    add_settings(group, AuditSettings, "target")
    group.add_argument(
        "--max-guess-excess",
        type=fraction,
        metavar="SHARE",
        help="with --audit and --target: by how much the share of right guesses may be "
        "larger for the people of ORIGINAL than for others, such as 0.02 or 2%%",
    )
    group.add_argument(
        "--holdout",
        type=Path,
        metavar="FILE",
        help="with --audit: people who were not in ORIGINAL; by default others are "
        "drawn from a model",
    )


def _options() -> dict[str, str]:
    """Return the options of the settings, and the setting of each."""
    known = settings_of(CheckSettings)
    return {option_of(name, setting): name for name, setting in known.items()}


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    progress = Progress(quiet=options.quiet)
    given = [
        name
        for option, name in _options().items()
        if getattr(options, option) is not None
    ]
    release = _release(options)
    if options.keys is None and options.of_record is None and release is None:
        raise ValueError(
            "give --keys, --record with the record of a protection, or --rules with a "
            "file of rules"
        )
    if options.file is None:
        raise ValueError("give FILE, the file to be released")
    if options.print_rules:
        return print_rules(rules_of_check(options, given))
    _check_audit(options)
    rules = arguments_of(options, CheckSettings, given) if given else {}
    recorded = None if release is None else release._recorded()
    source = source_of(options, progress, _reading(options, recorded))
    check_files(options, source, {"--report-public": options.report_public})
    found = _found(options, release, source, rules, progress)
    files = {
        options.report: lambda: report_text(options, found),
        options.report_public: lambda: _rules_page(found, options.report_title),
    }
    public = options.report_public
    write_files(options, inputs(options, source), files, public=[public])
    progress.done()
    if options.json:
        print_json({"file": str(options.file), **found.to_dict()})
    else:
        print(printable(f"riskcore {__version__}: {options.file}"))
        print(found.text())
        print_files({"report for publication": public, "report": options.report})
    return 0 if found.passed else 1


def _found(
    options: argparse.Namespace,
    release: Release | None,
    source: Any,
    rules: dict[str, Any],
    progress: Progress,
) -> Any:
    """Return the rules of a file of rules, or of the options and an audit, checked."""
    from riskcore.assessment.check import check

    if release is not None:
        return release.check(source, progress=progress, **rules)
    found: Any = None
    of_file = rules.keys() - {"missing"}  # which holds for the audit, too
    if of_file or options.of_record is not None or options.audit is None:
        weighed = options.audit is None or bool(OF_WEIGHTS & rules.keys())
        found = check(
            source,
            options.keys,
            options.weight if weighed else None,
            options.household,
            record=options.of_record,
            progress=progress,
            **rules,
        )
    if options.audit is not None:
        found = _with_audit(found, source, options, progress)
    return found


def _release(options: argparse.Namespace) -> Release | None:
    """Return the file of rules, which names the file to check if no option does."""
    if options.rules is None:
        return None
    from riskcore.protection.release.rules import Release

    for name in ("keys", "weight", "household", "of_record", "audit", "print_rules"):
        if getattr(options, name):
            option = words_of(name.removeprefix("of_"))
            raise ValueError(f"--rules states what to check: leave out {option}")
    release = Release.read(options.rules)
    if options.file is None:
        options.file = release.file("output")
    return release


def _check_audit(options: argparse.Namespace) -> None:
    """Refuse options of an audit without it, and an audit without rules."""
    limits = ("max_right_claims", "max_guess_excess")
    if options.audit is None:
        for name in (*limits, "target", "holdout"):
            if getattr(options, name):
                raise ValueError(f"{words_of(name)} needs --audit with the original")
        return
    if options.keys is None:
        raise ValueError("--audit needs --keys")
    if all(getattr(options, name) is None for name in limits):
        raise ValueError("--audit needs --max-right-claims or --max-guess-excess")
    if bool(options.target) != (options.max_guess_excess is not None):
        raise ValueError("--target and --max-guess-excess belong together: give both")


def words_of(name: str) -> str:
    """Return an option as it is typed."""
    return "--" + name.replace("_", "-")


def _with_audit(
    found: Any, source: Any, options: argparse.Namespace, progress: Progress
) -> Any:
    """Return the rules with those of the audit, for each set of keys."""
    from riskcore.data.source import Source
    from riskcore.disclosure.audit import audit
    from riskcore.disclosure.files import read_like

    how = reading(options)
    asked = {"missing": options.missing} if options.missing is not None else {}
    rules = [] if found is None else [*found.rules]
    for keys in options.keys:
        one = audit(
            Source.of(options.audit, read_like(how)),
            source,
            keys,
            options.weight,
            holdout=options.holdout and Source.of(options.holdout, read_like(how)),
            target=options.target,
            progress=progress,
            **asked,
        ).check(
            max_right_claims=options.max_right_claims,
            max_guess_excess=options.max_guess_excess,
        )
        rules += one.rules
        found = one if found is None else found
    return replace(found, rules=tuple(rules))


def _reading(options: argparse.Namespace, recorded: Recorded | None) -> Any:
    """Return how to read the file: as the options say, or the record or the rules."""
    from riskcore.assessment.recorded import Recorded
    from riskcore.data.files.reading import Reading

    chosen = reading(options)
    if chosen != Reading(missing_codes={}):
        return chosen
    if options.of_record is not None:
        recorded = Recorded.read(options.of_record)
    return chosen if recorded is None else recorded.reading_of(options.file)


def _rules_page(found: Any, title: str | None) -> str:
    """Return the report for publication."""
    from riskcore.report.sheet_page import public_rules_page

    return public_rules_page(found, title=title or "Rules of the release")
