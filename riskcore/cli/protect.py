"""``riskcore protect``: make a safe file by recoding and local suppression."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from riskcore.cli.options import (
    add_file,
    add_keys,
    add_quiet,
    add_reading,
    add_report,
    add_roles,
    check_reports,
    provenance,
    reading,
    source_of,
)
from riskcore.cli.results import print_json
from riskcore.cli.rules import add_print_rules, files_of, print_rules, rules_of_protect
from riskcore.cli.settings import add_setting, add_settings, arguments_of, option_of
from riskcore.cli.terminal import Progress
from riskcore.common.settings import ANY, ORDER, settings_of
from riskcore.common.version import __version__
from riskcore.common.words import printable
from riskcore.protection.settings.settings_table import (
    OUTPUT,
    ColumnSettings,
    GoalSettings,
    PanelSettings,
    PopulationSettings,
    ProtectSettings,
    SuppressionSettings,
    WriteSettings,
)

if TYPE_CHECKING:
    from riskcore.protection.release.record import Record
    from riskcore.protection.release_toml import Release
    from riskcore.protection.settings.settings import Settings
    from riskcore.report.release_files import ReleaseFiles


USAGE = (
    "riskcore protect FILE --keys COLUMN [COLUMN ...] "
    "(--threshold RISK | --rate RATE | --k K) [options]"
)
HELP = "recode, suppress, verify, and write a safe file"
DESCRIPTION = """\
Protect a file of survey microdata: recode key variables, suppress keys of unsafe
records, compute the risks again, and write the safe file.

A record is unsafe if its individual risk reaches the threshold, which is given or found
from a re-identification rate, or if fewer than k records have its keys (--k). In each
unsafe record, the cheapest keys that make it safe are blanked. The risks after it are
counted among the original records: a blank stands for any value, and never counts as a
match of others. Every column that stays needs a role. The file is written only if it is
safe, or safe except for leaks that were accepted by name.
"""

EPILOG = """\
examples:
  riskcore protect survey.csv --keys REGION SEX AGE MARSTAT --weight WEIGHT \\
      --recode AGE=from:15,30,45,65 --rate 0.1% \\
      --output survey-safe.csv --report survey-safe.html --report-public about.html
  riskcore protect survey.csv --keys REGION SEX AGE --k 3 --role DISEASE=sensitive --l 2

Without --output, the file that would be written is judged and nothing is written.
Keep the printed result, the private record and --report to yourself; you may publish
--report-public. A second safe file of the same survey can reveal what this one
suppresses.

The exit status is 0 if the file is safe, or safe except for accepted leaks; 1 if a goal
is not met, a leak is open or a column has no role; 2 if the input is refused and
nothing is written; 74 if an error occurred after files were written; or 130 if
interrupted.
"""
_GOALS = """\
Give --keys twice to protect from two intruders who know different variables.
"""
_RECODINGS = """\
Each is given as VARIABLE=RULE:
  AGE=Age.grc              the rules of a mu-Argus recode file
  AGE=upto:15,30,45        up to 15, over 15 to 30, ..., over 45
  AGE=from:15,30,45        below 15, from 15 to below 30, ..., from 45
  AGE=from:15,30=a,b,c     the same, with the given codes
  AGE=top:85               85 and more become 85 (with top:85=85+ they become 85+)
  AGE=bottom:16            16 and less become 16; both: AGE=top:85,bottom:16
  INCOME=top:99%           the same from a quantile of FILE (unweighted); bottom:1%
  INCOME=round:1000        the nearest multiple of 1000
  BIRTH=year               dates: year, quarter, month, age:2024-12-31 (on that day;
                           age:2024-12-31,top:85), top:2005-01-01, from:1950-01-01; in
                           text such as 01.02.2024, say what is first: month:dmy or :mdy
  REGION=truncate:2        remove the last two characters
  MARSTAT=map:3=2,4=2      3 and 4 become 2; other codes stay (map:3=2,*=9: become 9)
  AREA=hierarchy:a.csv:2   the group two levels up, from lines value;group;...;all
"""
_TREATMENTS = """\
Each is given as COLUMN=RULE, or COLUMN+COLUMN=RULE for columns together:
  INCOME=top:1%            the largest 1 % become the limit (top:1%=mean: their mean)
  INCOME=bottom:0=0        values up to 0 become 0
  INCOME=round:1000        multiples of 1000 (round:2digits: two significant digits)
  INCOME=bands:0,1000,5000 the midpoint of the band
  A+B=microaggregate:5     the mean of groups of at least 5 similar records
  INCOME=swap:5%           the value of a record at most 5 % of the ranks away
  INCOME=noise:10%         noise of 10 % of the standard deviation is added
  A+B=shift:365:within=ID  the dates of a person move by one secret number of days
  JOB=pram:0.8             kept with probability 0.8, otherwise drawn from all jobs
  JOB=pram:matrix.csv      drawn by a matrix: a header of jobs, and a line for each
  REGION=swap-areas:2%     2 % of the households exchange their regions
  WEIGHT=share-weights:20  the mean of 20 classes of weights
  WEIGHT=round-weights:10  multiples of 10, with the same sum
  WEIGHT=rake:totals.csv   known totals, from lines column,category,total; comes last
microaggregate, swap, noise, shift, pram, swap-areas and the rules of weights alter
values: the verdict says so. :within=COLUMN at the end of a rule keeps to groups of
records.
"""
_FILES = """\
The safe file has the format of FILE, or the format that its suffix names: .csv,
.parquet, .feather, .arrow, .sav, .zsav, .dta or .xlsx.
Before the safe file is put in place, it is read back, compared cell by cell and
assessed again. For a CSV file of a million records and ten columns this takes about 7 s
in addition to 3 s for writing, for Parquet 2 s in addition to 3 s. Household numbers
are replaced by new numbers in random order, because the old numbers often follow the
regions.

The private record of the protection is written beside the safe file, with
.private.json added to its name. Keep it to yourself: it reveals the order of the
original file. With it riskcore run RULES --secret makes the same file again, by the
rules that --print-rules writes. --record-public writes a record of methods and counts
only.
"""
_REPORTS = """\
There is one report for each set of keys, NAME.html, NAME-2.html and so on. If there are
more than ten sets, the worst ten get a report, with a table of all sets. Keep these
reports to yourself, because their exact risks reveal weights of single records. Keep
the printed result to yourself, too: from figures of FILE, anyone can work out
suppressed values by trial. --report also shows the cost of the protection, as riskcore
compare does: entropy, distances between tables, the propensity score. This takes about
2 s for a million records. You may publish --report-public: it has classes and rounded
figures of the protected file alone, on one page for all sets of keys. Print and sign
--form, and keep it with FILE: it has figures of FILE and its digest.
"""
_EXAMPLES = """\
examples:
  riskcore protect Demodata.asc --keys REGION SEX AGE MARSTAT --threshold 0.00125 \\
      --recode REGION=Region.grc AGE=Age.grc --output Demodata-safe.asc
  riskcore protect survey.parquet --keys REGION SEX AGE --keys SEX AGE JOB --weight W \\
      --household HH --household-keys REGION --household-rate 1% --rate 0.1%
  riskcore protect survey.csv --keys REGION SEX AGE MARSTAT JOB --k 5 --subsets 3
  riskcore protect survey.csv --level household --household HH --keys REGION SIZE \\
      --weight HHWEIGHT --k 3 --output households-safe.csv
"""
# The options of each topic of the help.
_TOPICS: Mapping[str, Iterable[str]] = {
    "goals": settings_of(GoalSettings),
    "population": settings_of(PopulationSettings),
    "panels": settings_of(PanelSettings),
    "columns": settings_of(ColumnSettings),
    "recodings": ("recodings",),
    "treatments": ("treat",),
    "suppression": settings_of(SuppressionSettings),
}
_TEXTS = {
    "goals": _GOALS,
    "recodings": _RECODINGS,
    "treatments": _TREATMENTS,
    "files": _FILES,
    "reports": _REPORTS,
    "examples": _EXAMPLES,
}
# The options that the help shows first.
_MAIN = (
    *("keys", "weight", "household", "k", "threshold", "rate", "role", "accept"),
    *("recode", "treat", "output", "report", "report_public", "form", "overwrite"),
    *("allow_unsafe", "json", "print_rules", "quiet"),
)
# What to do if no safe file is wanted, or if it is not safe.
_ADVICE = {"file": "give --output", "allow_unsafe": "give --allow-unsafe"}
_ADVICE_ON_RULES = {
    "file": "name a file in [output] or give --output",
    "allow_unsafe": "set allow_unsafe = true in [output]",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("-h", "--help", action=HelpByTopic, main=_MAIN, texts=_TEXTS)
    add_file(parser)
    who = parser.add_argument_group("columns")
    add_keys(who, sets=True, needed=False)
    add_roles(who)
    groups = {"columns": who}
    for topic, names in _TOPICS.items():
        group = groups.get(topic) or parser.add_argument_group(topic)
        add_settings(group, ProtectSettings, *names)
    _add_files(parser)
    add_reading(parser.add_argument_group("reading"))


def _add_files(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("files")
    add_setting(group, "output", OUTPUT)
    add_settings(group, WriteSettings, "record", "public_record", "drop", "shuffle")
    add_settings(group, WriteSettings, "renumber", "guard_formulas")
    add_settings(group, WriteSettings, "overwrite", "allow_unsafe")
    pages = parser.add_argument_group("reports")
    add_report(pages)
    add_settings(pages, WriteSettings, "form")
    results = parser.add_argument_group("results")
    results.add_argument(
        "--json", action="store_true", help="print the outcome as JSON"
    )
    add_print_rules(results)
    add_quiet(results)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.print_rules:
        return print_rules(rules_of_protect(options))
    return carry_out(options)


def carry_out(
    options: argparse.Namespace,
    release: Release | None = None,
    before: Record | None = None,
) -> int:
    """Make the safe file with the secret of ``before``, if given; return the status."""
    from riskcore.data.files.digest import digest
    from riskcore.protection.protect import protect
    from riskcore.report.release_files import check_release_files, write_release

    if release is None:
        _refuse_idle(options)
    progress = Progress(quiet=options.quiet)
    how = release._reading() if release else reading(options)
    source = source_of(options, progress, how)
    settings = _settings(source, options, release)
    files = files_of(options)
    rules = None if release is None else release.path
    check_release_files(
        source,
        settings,
        files,
        overwrite=options.overwrite,
        read=[] if rules is None else [rules],
        before=before,
    )
    secret = None if before is None else before.secret
    by_rules = None if rules is None else (rules.name, digest(rules))
    office = {} if release is None else release._office
    result = protect(source, settings, secret=secret, progress=progress)
    made = write_release(
        result,
        files,
        overwrite=options.overwrite,
        secret=secret,
        before=before,
        provenance=replace(provenance(options), rules=by_rules, office=office),
        progress=progress,
    )
    progress.done()
    advice = _ADVICE if release is None else _ADVICE_ON_RULES
    lines = [*_outcome(options, advice, made, before)]
    lines += office.get("said", []) + office.get("unjudged", [])
    lines += _accepted_in_vain(settings.accept, made.figures["leaks"])
    lines += [f"The report is in {path}." for path in made.reports]
    if made.public_report is not None:
        lines.append(f"The report for publication is in {made.public_report}.")
    if made.form is not None:
        lines.append(f"The form to sign is in {made.form}.")
    _print(made.figures, lines, options)
    return 0 if made.figures["safe"] else 1


def _print(
    figures: dict[str, Any], lines: list[str], options: argparse.Namespace
) -> None:
    """Print the outcome, and the lines on the files written."""
    from riskcore.report import text

    if options.json:
        print_json(figures)
        return
    print(text.protection_text(figures, f"riskcore {__version__}: {options.file}"))
    for line in lines:
        print(f"  {printable(line)}")


def _refuse_idle(options: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    from riskcore.report.release_files import idle

    name = idle(files_of(options))
    if name is not None:
        option = option_of(name, settings_of(WriteSettings)[name])
        raise ValueError(f"--{option.replace('_', '-')} needs --output")
    written = (options.output, options.report, options.report_public, options.form)
    if options.overwrite and not any(written):
        raise ValueError("--overwrite needs --output or a report")
    check_reports(options)


def _outcome(
    options: argparse.Namespace,
    advice: Mapping[str, str],
    made: ReleaseFiles,
    before: Record | None,
) -> Iterator[str]:
    """Yield lines on the files written."""
    if options.output is None:
        yield f"Nothing is written: {advice['file']} to write the safe file."
    elif made.record is None:
        yield f"{options.output} is not written; {advice['allow_unsafe']} to write it."
    else:
        yield from _said_of_output(made, made.record)
        if before is not None:
            yield "It is byte for byte the file of the record."


def _accepted_in_vain(
    accept: Iterable[Any], leaks: Iterable[dict[str, Any]]
) -> Iterator[str]:
    """Yield that there was nothing to accept in some columns."""
    leaky = {ORDER if leak["column"] is None else leak["column"] for leak in leaks}
    leaky |= {name for leak in leaky for name in leak.split(" + ")}
    for name in accept:
        if name != ANY and str(name) not in leaky:
            yield f"{str(name)!r} has no leak: there was nothing to accept."


def _said_of_output(made: ReleaseFiles, record: dict[str, Any]) -> Iterator[str]:
    """Yield lines on the files written, and on how they were written."""
    from riskcore.data.files.reading import beside_persons
    from riskcore.protection.release.record import other_releases

    output, private = record["output"], made.private_record
    assert private is not None
    yield f"The safe file is in {made.file}."
    if made.file is not None and output["household_sha256"] is not None:
        yield f"The safe file of its households is {beside_persons(made.file)}."
    yield "It was read back and checked: every value and every risk agrees."
    if output["renumbered"]:
        yield f"New ids in random order in {', '.join(output['renumbered'])}."
    if output["formulas_guarded"]:
        yield "Text that a spreadsheet would run as a formula now begins with an '."
    yield f"The private record is in {private}; do not publish it."
    for other in other_releases(private, record):
        yield (
            f"{printable(str(other))} belongs to another safe file of the same input. "
            "Anyone with both safe files can fill blanks of one from the other: "
            "publish only one of them."
        )
    if made.public_record is not None:
        yield f"The record for publication is in {made.public_record}."


def _settings(
    source: Any, options: argparse.Namespace, release: Release | None
) -> Settings:
    """Return the settings from the options or from a file of rules."""
    from riskcore.protection.settings.settings import Settings
    from riskcore.report.release_files import check_columns

    if release is not None:
        settings = release.settings(source)
        with release._placed():
            check_columns(source, settings, release.output())
        return settings
    if options.keys is None:
        raise ValueError("give --keys, the key variables")
    return Settings.resolve(
        source,
        options.keys,
        options.weight,
        options.household,
        **arguments_of(options, ProtectSettings, columns=source.names),
    )


_WIDTH = 80
_INDENT = 15


class HelpByTopic(argparse.Action):
    """Print the main options and the topics, or all about one topic, and end.

    The topics are the groups of options by title, and further texts by name; the text
    of a group is below its options.
    """

    def __init__(
        self,
        option_strings: list[str],
        dest: str,
        *,
        main: Collection[str],
        texts: Mapping[str, str],
        **_: Any,
    ) -> None:
        super().__init__(
            option_strings,
            dest,
            nargs="?",
            default=argparse.SUPPRESS,
            metavar="TOPIC",
            help="show this help message, or all about a topic, and exit",
        )
        self._main, self._texts = main, texts

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Print the help and end."""
        topics = self.topics(parser)
        if values is not None and values not in topics:
            names = ", ".join(topics)
            raise argparse.ArgumentError(self, f"no topic {values!r}; give {names}")
        text = self.overview(parser) if values is None else topics[values]
        parser._print_message(text, sys.stdout)
        parser.exit()

    def topics(self, parser: argparse.ArgumentParser) -> dict[str, str]:
        """Return the help of each topic."""
        help_texts = {}
        for name, actions in _groups(parser).items():
            formatter = parser._get_formatter()
            formatter.start_section(name)
            formatter.add_arguments(actions)
            formatter.end_section()
            formatter.add_text(self._texts.get(name))
            help_texts[name] = formatter.format_help()
        for name, text in self._texts.items():
            help_texts.setdefault(name, f"{text}\n")
        return help_texts

    def overview(self, parser: argparse.ArgumentParser) -> str:
        """Return the main options, and the options of each topic by name."""
        formatter = parser._get_formatter()
        groups = parser._mutually_exclusive_groups
        formatter.add_usage(parser.usage, parser._actions, groups)
        formatter.add_text(parser.description)
        formatter.start_section("main options")
        for action in parser._actions:
            main = action is self or action.dest in self._main
            if main or not action.option_strings:
                formatter.add_argument(action)
        formatter.end_section()
        lines = [f"topics, each with riskcore {parser.prog.split()[-1]} --help TOPIC:"]
        for name in self.topics(parser):
            options = _groups(parser).get(name, ())
            lines += textwrap.wrap(
                " ".join(option.option_strings[-1] for option in options),
                _WIDTH,
                initial_indent=f"  {name}".ljust(_INDENT),
                subsequent_indent=" " * _INDENT,
                break_on_hyphens=False,
            ) or [f"  {name}"]
        formatter.add_text("\n".join(lines))
        formatter.add_text(parser.epilog)
        return formatter.format_help()


def _groups(parser: argparse.ArgumentParser) -> dict[str, list[argparse.Action]]:
    """Return the options of each group that is a topic."""
    usual = (parser._positionals, parser._optionals)
    return {
        str(group.title): group._group_actions
        for group in parser._action_groups
        if group not in usual and group._group_actions
    }
