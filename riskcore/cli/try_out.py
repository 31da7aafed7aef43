"""``riskcore try``: compare several protections of one file."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from riskcore.cli import protect
from riskcore.cli.options import (
    add_file,
    add_keys,
    add_quiet,
    add_reading,
    add_weight,
    source_of,
)
from riskcore.cli.paths import inputs
from riskcore.cli.results import check_files, print_files, print_json, write_files
from riskcore.cli.rules import print_rules, rules_of
from riskcore.cli.settings import arguments_of, options_of
from riskcore.cli.shell import shell_lines
from riskcore.cli.terminal import Progress
from riskcore.cli.words import gathered
from riskcore.common.shell_line import shell_line
from riskcore.common.version import __version__
from riskcore.protection.settings_table import ProtectSettings

_TRY = """\
Try several protections of a file: what risk each leaves, and what it costs.

A candidate is a name with options of riskcore protect. Each candidate is carried out
and compared with the unprotected file, but no safe file is written. The table shows the
unsafe records, the expected re-identifications and the largest risk; the values
suppressed, the share of the keys' information that is lost, distances between tables,
and pMSE. Candidates that no other candidate beats in both risk and information are
marked.
"""

_TRY_EXAMPLES = """\
examples:
  riskcore try survey.csv --keys REGION SEX AGE --weight WEIGHT \\
      --candidate "coarse=--threshold 1% --recode AGE=from:15,30,45,65" \\
      "fine=--threshold 1% --recode AGE=from:15,20,25,30,40,50,60,70"
  riskcore try survey.csv --keys REGION SEX AGE --weight WEIGHT \\
      --candidates candidates.json --report tried.html --script coarse

--costs tries each candidate with several costs of suppression: "fewest", "equal",
"entropy", and "fewest" with --protect-shares. "Largest loss" is the category that lost
the largest share of its records.

candidates.json holds one object, with the options of each candidate by its name:
  {"coarse": "--threshold 1% --recode AGE=from:15,30,45,65", "fine": "--threshold 1%"}

--script prints how to make the safe file of one candidate, as a command and in Python.
Keep the results to yourself: they hold figures of FILE.

The exit status is 0; 1 if no candidate is safe; 2 if the input is refused and nothing
is written; 74 if an error occurred after files were written; or 130 if interrupted.
"""
# Options of riskcore protect that a candidate may use.
_OF_CANDIDATES = (options_of(ProtectSettings) | {"household"}) - {"ties"}


def add(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the parser, and return its subparser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "try",
        usage="riskcore try FILE --keys COLUMN [COLUMN ...] (--candidate NAME=OPTIONS "
        "... | --candidates JSON) [options]",
        help="try several protections: risk, suppressed values, utility",
        description=_TRY,
        epilog=_TRY_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_file(parser)
    add_keys(parser, sets=True)
    add_weight(parser)
    parser.add_argument(
        "--candidate",
        nargs="+",
        type=_candidate,
        default=[],
        metavar="NAME=OPTIONS",
        help="a name, and in quotes the options of riskcore protect, or a file of "
        "rules such as coarse.toml",
    )
    parser.add_argument(
        "--candidates",
        type=Path,
        metavar="JSON",
        help="candidates in a file, see below",
    )
    parser.add_argument(
        "--costs",
        action="store_true",
        help="try each candidate with several costs of suppression, see below",
    )
    parser.add_argument(
        "--script",
        metavar="NAME",
        help="print how to make the safe file of a candidate",
    )
    parser.add_argument(
        "--print-rules",
        metavar="NAME",
        help="print a candidate as a file of rules, for riskcore run, and end",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="safe file named in that script (default safe, in the format of FILE)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--report",
        type=Path,
        metavar="HTML",
        help="report for internal use, with the chart; only you can read the file",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="chart of risk against information lost: .png, .svg, .pdf; only you can "
        "read the file",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace existing files",
    )
    add_reading(parser)
    add_quiet(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from riskcore.protection.trials import safe_name, try_out
    from riskcore.report import utility_text
    from riskcore.report.utility_page import trials_page
    from riskcore.report.utility_pictures import risk_utility_figure

    if options.output and not (options.script or options.print_rules):
        raise ValueError("--output needs --script or --print-rules")
    words = _words(options)
    if options.costs:
        words = _with_costs(words)
    for option, name in (
        ("--script", options.script),
        ("--print-rules", options.print_rules),
    ):
        if name is not None and name not in words:
            raise ValueError(
                f"{option} {name}: no candidate has this name; candidates are "
                f"{', '.join(words)}"
            )
    options.recode = []
    progress = Progress(quiet=options.quiet)
    source = source_of(options, progress)
    candidates = {
        name: _settings(options, name, one, source.names) for name, one in words.items()
    }
    if options.print_rules is not None:
        means = {"file": options.output or safe_name(source), "shuffle": True}
        chosen = candidates[options.print_rules]
        options.weight, options.household = (
            chosen.pop("weight"),
            chosen.pop("household"),
        )
        return print_rules(rules_of(options, chosen, means))
    check_files(options, source, {"--plot": options.plot})
    keys = options.keys if len(options.keys) > 1 else options.keys[0]
    tried = try_out(source, keys, candidates, progress=progress)
    title = f"{options.file.name}: protections tried"
    files = {
        options.report: lambda: trials_page(tried, title=title),
        options.plot: lambda: risk_utility_figure(tried),
    }
    write_files(options, inputs(options, source), files)
    progress.done()
    figures = tried.to_dict()
    if options.script is not None:
        output = options.output or safe_name(source)
        again = _command(options, words[options.script], output)
        figures["script"] = {
            "command": shell_line(again),
            "python": tried.script(options.script, output),
        }
    if options.json:
        print_json({"file": str(options.file), **figures})
    else:
        title = f"riskcore {__version__}: {options.file}, protections tried"
        print(utility_text.trials_text(figures, title))
        print_files({"report": options.report, "plot": options.plot})
        if options.script is not None:
            print(f"\n{shell_lines(again)}\n\n{figures['script']['python']}")
    return 0 if any(one.safe for one in tried.trials) else 1


def _candidate(text: str) -> tuple[str, str]:
    name, equals, words = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=OPTIONS")
    return name, words


def _words(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the options of each candidate as lists of words."""
    given: list[tuple[str, Any]] = [*options.candidate]
    if options.candidates is not None:
        given += _read(options.candidates).items()
    if not given:
        raise ValueError("give --candidate or --candidates")
    found = gathered("--candidate", given)
    words = {}
    for name, one in found.items():
        listed = isinstance(one, list) and all(isinstance(word, str) for word in one)
        if not (isinstance(one, str) or listed):
            raise ValueError(
                f"candidate {name}: give its options as text or as a list of words"
            )
        try:
            words[name] = shlex.split(one) if isinstance(one, str) else one
        except ValueError as error:
            raise ValueError(f"candidate {name}: {error}") from None
    return words


# The costs of suppression that --costs tries, by name.
_COSTS = {
    "fewest": ["--cost", "fewest"],
    "equal": ["--cost", "equal"],
    "entropy": ["--cost", "entropy"],
    "shares": ["--cost", "fewest", "--protect-shares"],
}


def _with_costs(words: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return each candidate with several costs of suppression."""
    for name, own in words.items():
        if _is_file(own):
            raise ValueError(f"candidate {name} is a file of rules; leave out --costs")
        for word in own:
            if word.partition("=")[0] in ("--cost", "--protect-shares"):
                raise ValueError(
                    f"candidate {name} has {word}; leave out that or --costs"
                )
    return {
        f"{name}, {cost}": [*own, *more]
        for name, own in words.items()
        for cost, more in _COSTS.items()
    }


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a candidates file."""
    from riskcore.common.private_record import plain_json

    try:
        plain = plain_json(path)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(plain, dict):
        raise ValueError(f"{path}: need an object of options by candidate name")
    return plain


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors, and takes options in full only."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> Any:
        """Raise the message as an error."""
        raise ValueError(message)


def _settings(
    options: argparse.Namespace, name: str, words: list[str], columns: Iterable[Any]
) -> dict[str, Any]:
    """Return the arguments of `riskcore.protect` for one candidate."""
    if _is_file(words):
        return _settings_of_file(options, name, Path(words[0]))
    parser = _Parser(add_help=False)
    command = protect.add(parser.add_subparsers(parser_class=_Parser))
    try:
        parsed = command.parse_args([str(options.file), *words])
    except ValueError as error:
        raise ValueError(f"candidate {name}: {error}") from None
    given = {
        key
        for key, value in vars(parsed).items()
        if key not in ("run", "file") and value != command.get_default(key)
    }
    if foreign := sorted(given - _OF_CANDIDATES):
        option = f"--{foreign[0].replace('_', '-')}"
        raise ValueError(
            f"candidate {name}: {option} is not an option of candidates; give keys, "
            "weight and files to riskcore try"
        )
    parsed.keys = options.keys
    options.recode += parsed.recode  # files that are read
    asked = arguments_of(parsed, ProtectSettings, columns=columns)
    return {"weight": options.weight, "household": parsed.household, **asked}


def _is_file(words: list[str]) -> bool:
    """Return whether a candidate is a file of rules."""
    return len(words) == 1 and words[0].endswith(".toml")


def _settings_of_file(
    options: argparse.Namespace, name: str, path: Path
) -> dict[str, Any]:
    """Return the arguments of `riskcore.protect` that a file of rules gives."""
    from riskcore.protection.release.rules import Release

    given = Release.read(path).arguments()
    keys = given.pop("keys")
    if keys not in (options.keys, options.keys[0]) or given.pop("ties", None):
        raise ValueError(
            f"candidate {name}: {path} has keys other than --keys, or ties; the "
            "candidates of riskcore try share the keys and decide ties by rule"
        )
    options.recode += given.get("recodings", {}).items()  # files that are read
    return {"weight": options.weight, "household": None, **given}


def _command(options: argparse.Namespace, words: list[str], output: str) -> list[str]:
    """Return the words of the command that makes the safe file of a candidate."""
    if _is_file(words):
        return ["riskcore", "run", *words, "--output", output]
    line = ["riskcore", "protect", str(options.file)]
    for one in options.keys:
        line += ["--keys", *one]
    if options.weight is not None:
        line += ["--weight", options.weight]
    for name in _READING:
        value, usual = getattr(options, name), _USUAL.get(name)
        if value != usual:
            line += [f"--{name.replace('_', '-')}", str(value)]
    if options.na:
        line += ["--na", *options.na]
    return [*line, *words, "--shuffle", "--output", output]


_READING = (
    "metadata",
    "delimiter",
    "encoding",
    "decimal",
    "user_missing",
    "sheet",
)
_USUAL = {"encoding": "utf-8", "decimal": ".", "user_missing": "missing", "sheet": None}
