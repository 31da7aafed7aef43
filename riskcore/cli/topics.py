"""Help by topic: a command with many options shows the main ones, the rest by topic."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Collection, Mapping
from typing import Any

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
        others = {name: f"{text}\n" for name, text in self._texts.items()}
        return help_texts | {
            name: others[name] for name in others if name not in help_texts
        }

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
            options = [
                option.option_strings[-1] for option in _groups(parser).get(name, ())
            ]
            said = " ".join(options)
            lines += textwrap.wrap(
                said,
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
