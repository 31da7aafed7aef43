"""Settings as options: a table of settings becomes options, and words its values."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from riskcore.cli.words import option_reader
from riskcore.common.settings import Setting, settings_of


def option_of(name: str, setting: Setting) -> str:
    """Return the name of the option of a setting, as parsed options have it."""
    return setting.option or name


def options_of(table: type) -> set[str]:
    """Return the names of the options of a table."""
    return {option_of(*pair) for pair in settings_of(table).items()}


def add_settings(
    command: Any, table: type, *names: str, without: Iterable[type] = ()
) -> None:
    """Add the options of a table of settings: all, or ``names``, not of ``without``."""
    settings = settings_of(table)
    left_out = {name for other in without for name in settings_of(other)}
    for name in names or [name for name in settings if name not in left_out]:
        add_setting(command, name, settings[name])


def add_setting(command: Any, name: str, setting: Setting) -> None:
    """Add the option of a setting."""
    how = setting.parsing()
    if "type" in how:
        how["type"] = option_reader(how["type"])
    option = "--" + option_of(name, setting).replace("_", "-")
    command.add_argument(option, **how, help=setting.help.replace("%", "%%"))


def arguments_of(
    options: argparse.Namespace,
    table: type,
    names: Iterable[str] = (),
    columns: Iterable[Any] = (),
) -> dict[str, Any]:
    """Return the settings of a table as the options give them, by argument."""
    settings = settings_of(table)
    return {
        name: value_of(options, name, settings[name], columns)
        for name in names or settings
    }


def value_of(
    options: argparse.Namespace,
    name: str,
    setting: Setting,
    columns: Iterable[Any] = (),
) -> Any:
    """Return the value of a setting as its option gives it."""
    option = option_of(name, setting)
    words = getattr(options, option)
    return setting.value(f"--{option.replace('_', '-')}", words, columns)
