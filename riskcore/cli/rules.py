"""Options as a file of rules, so that a line of the shell becomes a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from riskcore.cli.options import reading, source_of
from riskcore.cli.settings import arguments_of, option_of
from riskcore.cli.terminal import Progress
from riskcore.protection.settings.settings_table import ProtectSettings

if TYPE_CHECKING:
    from riskcore.protection.release_toml import Release


def add_print_rules(command: Any) -> None:
    """Add the option that prints the rules and ends."""
    command.add_argument(
        "--print-rules",
        action="store_true",
        help="print these options as a file of rules, for riskcore run, and end",
    )


def print_rules(release: Release) -> int:
    """Print rules, and return the exit status."""
    print(release.to_toml(), end="")
    return 0


def rules_of_protect(options: argparse.Namespace) -> Release:
    """Return the rules that the options of ``protect`` say."""
    source = source_of(options, Progress(quiet=True))
    asked = arguments_of(options, ProtectSettings, columns=source.names)
    return rules_of(options, asked, {})


def files_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the values of options that ``[output]`` has a name for, by this name."""
    from riskcore.protection.settings.rules_table import TABLES

    settings = TABLES["output"]
    assert isinstance(settings, Mapping)
    values = {
        name: getattr(options, option_of(name, setting), None)
        for name, setting in settings.items()
    }
    return {**values, "file": getattr(options, "output", None)}


def rules_of_check(options: argparse.Namespace, rules: Mapping[str, Any]) -> Release:
    """Return the rules that the options of ``check`` say."""
    for name in ("of_record", "original"):
        if getattr(options, name) is not None:
            option = name.removeprefix("of_")
            raise ValueError(f"--print-rules prints options; leave out --{option}")
    return rules_of(options, rules, {"file": options.file}, data=False)


def rules_of(
    options: argparse.Namespace,
    settings: Mapping[str, Any],
    output: Mapping[str, Any],
    *,
    data: bool = True,
) -> Release:
    """Return the rules of some settings, with the files that the options name."""
    from riskcore.protection.release_toml import Release
    from riskcore.protection.settings.rules_table import CHECKED

    checks = set() if data else {*CHECKED}
    return Release.of(
        options.file if data else None,
        options.keys if len(options.keys) > 1 else options.keys[0],
        options.weight,
        options.household,
        reading=reading(options),
        output={**(files_of(options) if data else {}), **output},
        check={name: settings[name] for name in checks & settings.keys()},
        **{name: value for name, value in settings.items() if name not in checks},
    )
