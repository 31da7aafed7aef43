"""Shell completion of options, choices, and columns of the given file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any


def complete(parser: argparse.ArgumentParser, stores: type[argparse.Action]) -> None:
    """Answer the shell's request for completions, if argcomplete is there."""
    try:
        import argcomplete
        from argcomplete.finders import safe_actions
    except ImportError:
        return
    safe_actions.add(stores)
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
