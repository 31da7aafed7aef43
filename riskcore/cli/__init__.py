"""The command ``riskcore``; each of its subcommands has a module of its own."""

from __future__ import annotations

import argparse
import difflib
import functools
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from riskcore.cli import (
    app,
    assess,
    audit,
    best,
    check,
    compare,
    demo,
    describe,
    diversity,
    error_table,
    presets,
    protect,
    run,
    simulate,
    stop,
    suda,
    try_out,
    uniques,
)
from riskcore.cli.messages import in_options
from riskcore.cli.terminal import (
    hush,
    one_line,
    report_compilation,
    safe_streams,
    show_warning,
    tell,
)
from riskcore.common.missing_column import FAILURES
from riskcore.common.needs import lacking
from riskcore.common.toml_text import RulesError
from riskcore.common.version import __version__
from riskcore.common.words import printable
from riskcore.data.files import replace

# What bad input, a full disk or too large a file raises. Any other error is a defect,
# above all an IndexError or a KeyError from our own code.
_REFUSALS = (*FAILURES, ImportError, MemoryError)
# In the order of the help.
_COMMANDS = {
    "describe": describe,
    "assess": assess,
    "protect": protect,
    "run": run,
    "rules": presets,
    "app": app,
    "check": check,
    "compare": compare,
    "audit": audit,
    "try": try_out,
    "best": best,
    "error-table": error_table,
    "uniques": uniques,
    "diversity": diversity,
    "suda": suda,
    "simulate": simulate,
    "demo": demo,
}
# Exit status of a defect, as in sysexits.h: 1 and 2 say something about the file.
_DEFECT = 70
# Exit status of an error after files were written (EX_IOERR in sysexits.h): 2 says
# that nothing was written.
_WRITTEN = 74


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    if arguments is None:
        stop.end_in_time()
    with safe_streams(), replace.written_files() as written:
        return _status(arguments, written)


def _status(arguments: Sequence[str] | None, written: Sequence[Path]) -> int:
    try:
        try:
            with stop.stopped_like_interrupted():
                return _run(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt as pressed:
        stop.say_interrupted()
        return pressed.args[0] if pressed.args else 130
    except _REFUSALS as error:
        hush()
        tell(f"error: {_said(error)}{_already(written)}")
        return _WRITTEN if written else 2
    except Exception as error:
        hush()
        _tell_defect(error, written)
        return _DEFECT


def _already(written: Sequence[Path]) -> str:
    """Return the names of the files that were written before an error."""
    named = ", ".join(map(str, dict.fromkeys(written)))
    return f"; written before that: {named}" if named else ""


def _tell_defect(error: Exception, written: Sequence[Path]) -> None:
    """Print the traceback, and ask the user to report the defect."""
    for line in "".join(traceback.format_exception(error)).splitlines():
        sys.stderr.write(f"{printable(line)}\n")
    tell(
        f"error: this is a defect of riskcore {__version__}, not of your input: "
        f"{type(error).__name__}. Please report it with the command and the lines "
        "above, after checking that they show no data from your file"
        f"{_already(written)}"
    )


def _said(error: BaseException) -> str:
    """Return the message of an error in terms of the command's options."""
    if isinstance(error, RulesError):
        return str(error)
    if isinstance(error, KeyError):
        return in_options(str(error.args[0]))
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"riskcore needs {error.name}: pip install {error.name}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return in_options(str(error))


# The number of letters of an option that are compared, and of options in a hint.
_LONGEST_OPTION = 80
_CLOSE = 5
_COMMAND = "command"


def _run(arguments: Sequence[str] | None) -> int:
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:  # the shell asks
        _complete(parser)
    words = list(sys.argv[1:] if arguments is None else arguments)
    parsed = parser.parse_args(_as_meant(words, parser))
    parsed.words = words
    if parsed.run is None:
        parser.print_usage(sys.stderr)
        tell("error: give a COMMAND; riskcore --help lists them")
        return 2
    report_compilation(quiet=parsed.quiet)
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        show_once = functools.cache(show_warning)  # files are read several times
        warnings.showwarning = lambda message, *_, **__: show_once(str(message))
        try:
            status: int | None = parsed.run(parsed)
        except ImportError as error:
            raise _with_all_missing(error, vars(parsed)) from None
    return status or 0


def _with_all_missing(error: ImportError, options: Mapping[str, Any]) -> ImportError:
    """Return the error of a missing library with all others the options ask for."""
    from riskcore.core.compiled import shipped
    from riskcore.data.files.formats import lacking_for

    said, told, named = str(error).partition(": pip install ")
    if not told:
        return error
    packages = set(named.split())
    if lacking("numba", "llvmlite") and not shipped.has("riskcore.data.count.add_sums"):
        packages.add("'riskcore[jit]'")
    for name, value in options.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Path):
                packages.update(lacking_for(part, written=name == "output"))
                packages.update(lacking("jinja2") if name.startswith("report") else [])
    return ImportError(f"{said}{told}{' '.join(sorted(packages))}")


def _as_meant(words: list[str], parser: argparse.ArgumentParser) -> list[str]:
    """Return ``help COMMAND`` as an option, and ``0.5 %`` in one word."""
    (action,) = (a for a in parser._actions if a.dest == _COMMAND)
    commands = list(action.choices or ())
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help", *words[2:]]
    if words and not words[0].startswith("-") and words[0] not in commands:
        close = difflib.get_close_matches(words[0][:_LONGEST_OPTION], commands)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        parser.error(f"no command {words[0]!r}.{hint} riskcore --help lists them")
    joined: list[str] = []
    for word in words:
        if word == "%" and joined and joined[-1][-1:].isdigit():
            joined[-1] += word
        else:
            joined.append(word)
    return joined


class _Once(argparse.Action):
    """Store the values of an option, and refuse an option that is given twice."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store the values, unless the option was given before."""
        destinations = parser.given if isinstance(parser, _Parser) else set()
        if option_string is not None and self.dest in destinations:
            raise argparse.ArgumentError(self, "given twice; give all values at once")
        destinations.add(self.dest)
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """A parser whose messages show what was typed without control characters."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        # A prefix that names one option today fits two when another is added.
        options["allow_abbrev"] = False
        super().__init__(*arguments, **options)
        for name in (None, "store"):
            self.register("action", name, _Once)
        self.given: set[str] = set()

    def parse_known_args(self, *arguments: Any, **options: Any) -> Any:
        """Parse a new command line."""
        self.given.clear()
        return super().parse_known_args(*arguments, **options)

    def error(self, message: str) -> NoReturn:
        """Print the usage and the error, and exit."""
        super().error(one_line(message))


class _Command(_Parser):
    """The parser of a subcommand, which reports unknown options before other errors."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(*arguments, formatter_class=raw, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments after the name of a subcommand."""
        for text in args or ():
            if text == "--":
                break
            name = text.partition("=")[0]
            options = self._option_string_actions
            if name.startswith("--") and " " not in text and name not in options:
                self.error(f"no option {name}{_perhaps(name, list(options))}")
        return super().parse_known_args(args, namespace)


def _perhaps(name: str, options: Sequence[str]) -> str:
    """Return a hint at the options that may have been meant."""
    close = [option for option in options if option.startswith(name)]
    if not close:
        words = [option.removeprefix("--") for option in options]
        matches = difflib.get_close_matches(name[2:_LONGEST_OPTION], words)
        close = [f"--{option}" for option in matches]
    return f"; did you mean {' or '.join(close[:_CLOSE])}?" if close else ""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command with all its commands."""
    parser = _Parser(
        prog="riskcore",
        description="Measure and reduce the re-identification risk of microdata.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.set_defaults(run=None, quiet=False)
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=_Command, dest=_COMMAND
    )
    for name, command in _COMMANDS.items():
        subparser = commands.add_parser(
            name,
            usage=command.USAGE,
            help=command.HELP,
            description=command.DESCRIPTION,
            epilog=command.EPILOG,
            add_help=command is not protect,  # its help is by topic
        )
        command.add(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def _complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell's request for completions, if argcomplete is there."""
    try:
        import argcomplete
        from argcomplete.finders import safe_actions
    except ImportError:
        return
    safe_actions.add(_Once)
    for action in _actions(parser):
        if action.metavar == "COLUMN":
            action.completer = columns_of_file  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options="long")


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)


def columns_of_file(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Return the columns of the file named so far; empty if it cannot be read."""
    from riskcore.cli.options import reading
    from riskcore.data.source import Source

    try:
        source = Source.of(parsed_args.file, reading(parsed_args))
        return [str(name) for name in source.names]
    except (AttributeError, ImportError, OSError, TypeError, ValueError):
        return []
