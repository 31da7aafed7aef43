"""Options shared by several commands, and how their values are read."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riskcore.cli.terminal import Progress
    from riskcore.data.files.reading import Reading
    from riskcore.data.source import Source
    from riskcore.report.provenance import Provenance

# A number as people write it; Python would also take 1_000, Arabic digits and sNaN.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?")
_MOST_DIGITS = 300
# The width of a printed command, and the pattern of a line that may be cut anywhere.
_WIDTH = 88
_PLAIN_LIST = re.compile(r"[\w%+,./:=@ -]*")


def add_quiet(command: argparse.ArgumentParser) -> None:
    """Add --quiet."""
    command.add_argument(
        "--quiet", action="store_true", help="show no progress on stderr"
    )


def add_file(
    command: argparse.ArgumentParser,
    name: str = "FILE",
    what: str = "the survey file",
    *,
    needed: bool = True,
) -> None:
    """Add the file to read."""
    count = None if needed else "?"
    command.add_argument("file", metavar=name, type=Path, nargs=count, help=what)


def add_keys(
    command: argparse.ArgumentParser, *, sets: bool = False, needed: bool = True
) -> None:
    """Add the key variables: one set or several."""
    known = "key variables: what an intruder may know about a person"
    command.add_argument(
        "--keys",
        nargs="+",
        action="append" if sets else "store",
        required=needed,
        metavar="COLUMN",
        help=f"{known}; give --keys once for each set" if sets else known,
    )


def add_weight(command: argparse.ArgumentParser) -> None:
    """Add the column of weights."""
    command.add_argument(
        "--weight",
        metavar="COLUMN",
        help="column of sampling weights, > 0; by default the one that mu-Argus "
        "metadata declare",
    )


def add_roles(command: argparse.ArgumentParser) -> None:
    """Add the options for weight, household, missing values and method."""
    add_weight(command)
    command.add_argument(
        "--household",
        metavar="COLUMN",
        help="column of household ids, for household risks",
    )
    add_method(command)


def add_method(command: Any) -> None:
    """Add the method that computes the individual risk."""
    command.add_argument(
        "--method",
        choices=("exact", "series7", "franconi"),
        default="exact",
        help="how to compute the individual risk: exact (default), or by the formulas "
        "of mu-Argus (series7) or sdcMicro (franconi)",
    )


def add_hierarchy(command: Any) -> None:
    """Add hierarchies of sensitive variables."""
    command.add_argument(
        "--hierarchy",
        nargs="+",
        type=_hierarchy,
        default=[],
        metavar="COLUMN=FILE",
        help="sensitive variables whose values form a tree: the distance of two values "
        "is how far up they meet. FILE has a line for each value: value;group;...;all",
    )


def hierarchies_of(options: argparse.Namespace) -> dict[Any, Any]:
    """Return the hierarchies by variable."""
    from riskcore.data.hierarchy import Hierarchy

    found = {}
    for column, path in options.hierarchy:
        if column in found:
            raise ValueError(f"--hierarchy: {column!r} appears twice")
        found[column] = Hierarchy.read(path)
    return found


def _hierarchy(text: str) -> tuple[str, Path]:
    column, equals, path = text.partition("=")
    if not (column and equals and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not COLUMN=FILE")
    return column, Path(path)


def add_level(command: Any, what: str) -> None:
    """Add the choice between counting records and counting households."""
    command.add_argument(
        "--level",
        choices=("record", "household"),
        default="record",
        help=f"what to count: records (default), or households, one row for each "
        f"--household; {what}",
    )


def add_population(command: argparse.ArgumentParser, *, files: bool = False) -> None:
    """Add the model or, if ``files``, the file that describes the population."""
    names = ("weights", "latent-class", "log-linear")
    more = "; or a FILE of the population: its keys and a column population_frequency"
    command.add_argument(
        "--population",
        default="weights",
        metavar="MODEL",
        choices=None if files else names,
        help="how to estimate the number of people a cell stands for: by the weights "
        "(default), or by a model fitted to the keys, latent-class or log-linear"
        + (more if files else ""),
    )


def add_k(command: Any) -> None:
    """Add k-anonymity, with a goal for each set of keys."""
    command.add_argument(
        "--k",
        nargs="+",
        type=whole,
        metavar="K",
        help="k-anonymity: at least K records must share the keys of each record (its "
        "f, counted by the rule for missing keys); one number, or one for each --keys. "
        "It applies in addition to all other rules",
    )
    command.add_argument(
        "--subsets",
        type=whole,
        metavar="M",
        help="replace each set of keys by all combinations of M of its keys, each of "
        "which must be safe by itself",
    )
    command.add_argument(
        "--strata",
        nargs="+",
        metavar="COLUMN",
        help="count within the groups of these columns, which are never blanked",
    )


def goal_of(options: argparse.Namespace) -> Any:
    """Return k: one number, or a number for each set of keys."""
    if options.k is None or len(options.k) == 1:
        return options.k and options.k[0]
    if len(options.k) != len(options.keys):
        raise ValueError(
            f"--k: {len(options.k)} numbers for {len(options.keys)} sets of keys; give "
            "one, or one for each --keys"
        )
    return {tuple(keys): k for keys, k in zip(options.keys, options.k, strict=True)}


def add_alpha(command: Any) -> None:
    """Add the weight of records with missing keys."""
    command.add_argument(
        "--alpha",
        type=fraction,
        default=1.0,
        metavar="SHARE",
        help="with --missing wildcard: how much a record with missing keys counts in "
        "the cells of other records, 0 to 1 (default 1)",
    )


def add_reading(command: argparse.ArgumentParser) -> None:
    """Add how to read the file."""
    command.add_argument(
        "--metadata",
        type=Path,
        metavar="RDA",
        help="mu-Argus metadata of FILE (default: the .rda file beside it)",
    )
    command.add_argument(
        "--delimiter",
        type=_delimiter,
        metavar="C",
        help="character between the fields of a CSV file; tab or \\t for a tab. By "
        "default comma, semicolon, tab or bar: the most frequent in the first line",
    )
    command.add_argument(
        "--encoding",
        metavar="NAME",
        default="utf-8",
        help="character encoding of a CSV file (default utf-8)",
    )
    command.add_argument(
        "--decimal",
        choices=(".", ","),
        default=".",
        help="decimal mark of the weights in a CSV file (default .)",
    )
    command.add_argument(
        "--na",
        nargs="+",
        default=[],
        metavar="[COLUMN=]CODE",
        help="codes that mean missing: NA in every column, MAR=9 in the column MAR "
        "(=A=B is the code A=B in every column). Empty fields of a CSV file are always "
        "missing",
    )
    command.add_argument(
        "--user-missing",
        choices=("missing", "codes"),
        default="missing",
        help="how to read codes that an SPSS, Stata or SAS file declares missing: as "
        "missing (default), or as ordinary codes",
    )


def add_report(command: Any) -> None:
    """Add the reports."""
    command.add_argument(
        "--report",
        type=Path,
        metavar="HTML",
        help="report for internal use: one page for any browser, with a risk chart "
        "whose threshold can be moved. Its exact risks reveal weights of single "
        "records, so only you can read the file",
    )
    command.add_argument(
        "--report-top",
        type=whole,
        default=0,
        metavar="N",
        help="list the N riskiest combinations in --report (default none)",
    )
    command.add_argument(
        "--report-public",
        type=Path,
        metavar="HTML",
        help="report for publication: classes of at least 3 records and rounded "
        "figures, which reveal nothing about a single record",
    )
    command.add_argument(
        "--report-title",
        metavar="TEXT",
        help="title of the reports; the default title of --report names the file, the "
        "default title of --report-public does not",
    )


def provenance(options: argparse.Namespace) -> Provenance:
    """Return the file, the time and the command of a report."""
    from riskcore.report.provenance import Provenance, now

    name = "" if options.file is None else options.file.name
    return Provenance(name, now(), command_again(options.words))


def shell_line(words: Iterable[str]) -> str:
    r"""Return a command line to copy into a shell, with control characters escaped.

    Examples
    --------
    >>> print(shell_line(["riskcore", "my file.csv", "it's\x1b[2J\n\u202e"]))
    riskcore 'my file.csv' $'it\'s\x1b[2J\x0a\u202e'
    """
    return " ".join(
        shlex.quote(word) if word.isprintable() else _ansi_quoted(word)
        for word in words
    )


def shell_lines(words: Sequence[str]) -> str:
    r"""Return a command on several lines, each with one option and its values.

    Examples
    --------
    >>> words = ["riskcore", "protect", "s.csv", "--keys", "A", "B", "--k", "3"]
    >>> print(shell_lines(words))
    riskcore protect s.csv --keys A B --k 3
    >>> print(shell_lines([*words, "--recode", f"A=map:{'1=a,' * 20}2=b"]))
    riskcore protect s.csv \
        --keys A B \
        --k 3 \
        --recode A=map:1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,1=a,\
    1=a,1=a,1=a,1=a,2=b
    """
    line = shell_line(words)
    if len(line) <= _WIDTH:
        return line
    options: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--") and len(word) > 2:
            options.append([])
        options[-1].append(word)
    lines = [shell_line(one) for one in options]
    return " \\\n    ".join(_cut(line) for line in lines)


def _cut(line: str) -> str:
    """Return an option whose long list of plain words is broken after commas."""
    if len(line) <= _WIDTH - 6 or not _PLAIN_LIST.fullmatch(line):
        return line
    parts = line.replace(",", ",\0").split("\0")
    cut = [""]
    room = _WIDTH - 6
    for part in parts:
        if cut[-1] and len(cut[-1]) + len(part) > room:
            cut.append("")
            room = _WIDTH - 2
        cut[-1] += part
    return "\\\n".join(cut)


def _ansi_quoted(word: str) -> str:
    """Return a word as bash, zsh and POSIX of 2024 read it, in printable characters."""
    return "$'" + "".join(map(_ansi_escaped, word)) + "'"


def _ansi_escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    # Python keeps a byte of a name that is not text as half a surrogate pair.
    if code < 0x80 or 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def command_again(words: Sequence[str]) -> str:
    """Return a command line to run again, quoted for a shell, without a seed.

    A seed reveals the order of the records and does not belong in a report.

    Examples
    --------
    >>> command_again(["protect", "my file.csv", "--shuffle", "7", "--keys", "SEX"])
    "riskcore protect 'my file.csv' --shuffle --keys SEX"
    """
    kept: list[str] = []
    for word in words:
        name, _, _ = word.partition("=")
        # Options may be abbreviated as long as they are unambiguous.
        if name.startswith("--sh") and "--shuffle".startswith(name):
            kept.append("--shuffle")
        elif not (kept and kept[-1] == "--shuffle" and word.isdecimal()):
            kept.append(word)
    return shlex.join(["riskcore", *kept])


def need_reports() -> None:
    """Refuse reports that cannot be made, before any work."""
    from riskcore.report.provenance import now
    from riskcore.report.templating import need_jinja

    need_jinja()
    now()


def check_reports(options: argparse.Namespace) -> None:
    """Refuse reports that cannot be made, and report options without a report."""
    if options.report or options.report_public:
        need_reports()
    if options.report_top and options.report is None:
        lacking = ""
        if options.report_public is not None:
            lacking = ": --report-public never lists combinations of key values"
        raise ValueError(f"--report-top needs --report{lacking}")
    if options.report_title is not None and not (
        options.report or options.report_public
    ):
        raise ValueError("--report-title needs --report or --report-public")


def reading(options: argparse.Namespace) -> Reading:
    """Return how to read the file."""
    from riskcore.data.files.reading import Reading

    codes: dict[str, list[str]] = {}
    for text in options.na:
        column, equals, code = text.partition("=")
        name, code = (column, code) if equals else ("", text)
        codes.setdefault(name, []).append(code)
    return Reading(
        encoding=options.encoding,
        delimiter=options.delimiter,
        decimal=options.decimal,
        missing_codes=codes,
        metadata=options.metadata,
        user_missing=options.user_missing,
    )


def source_of(
    options: argparse.Namespace, progress: Progress, how: Reading | None = None
) -> Source:
    """Return the file to read; ``how`` overrides the reading options."""
    from riskcore.data.source import Source

    step = progress.share(f"reading {options.file}")
    return Source.of(options.file, how or reading(options), progress=step)


def _delimiter(text: str) -> str:
    """Read a delimiter; a tab, which is hard to type, may be given by name."""
    return "\t" if text in ("tab", "\\t") else text


def records(text: str) -> int:
    """Read the number of records to simulate."""
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: need at least 1 record")
    return number


def fraction(text: str) -> float:
    """Read a fraction such as 0.00125 or 0.125%."""
    number = text.strip()
    exact = _decimal(number.removesuffix("%").rstrip(), text)
    percent = number.endswith("%")
    if not 0 <= exact <= (100 if percent else 1):
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1] (or 0% to 100%)")
    return float(exact.scaleb(-2) if percent else exact)


def number(text: str) -> float:
    """Read a number such as 0.01 or 1-1e-8."""
    if not text.startswith("1-"):
        return float(_decimal(text, text))
    below = _decimal(text[2:], text)
    if not -1 <= below <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not near 1: write the number")
    return float(1 - below)


def _decimal(number: str, text: str) -> Decimal:
    """Return a number exactly; ``text`` is what was written."""
    if len(number) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(
            f"too long: a number of {len(number)} characters"
        )
    if not _NUMBER.fullmatch(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return Decimal(number)


def grid_of(text: str) -> list[float]:
    """Read a number, START:STOP, START:STOP:COUNT or START:STOP:COUNT:SCALE."""
    from riskcore.accuracy.grid import grid

    first, *rest = text.split(":")
    if not rest:
        return [number(first)]
    if len(rest) > 3:
        raise argparse.ArgumentTypeError(f"{text!r} is not START:STOP:COUNT:SCALE")
    start, stop = number(first), number(rest[0])
    if len(rest) == 1 and not (start.is_integer() and stop.is_integer()):
        raise argparse.ArgumentTypeError(
            f"{text!r}: the ends are not whole numbers; give a count, as in {text}:20"
        )
    steps = int(stop - start) + 1 if len(rest) == 1 else whole(rest[1])
    scale: Any = rest[2] if len(rest) == 3 else "linear"
    try:
        return list(map(float, grid(start, stop, steps, scale)))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def whole(text: str) -> int:
    """Read a whole number."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 0")
    if len(text) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(
            f"too long: a whole number of {len(text)} digits"
        )
    return int(text)
