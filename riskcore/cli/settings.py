"""Settings as options: a table of settings becomes options, and words its values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from riskcore.common import text_numbers
from riskcore.common.settings import Setting, settings_of

Read = TypeVar("Read")


def option_reader(read: Callable[[str], Read]) -> Callable[[str], Read]:
    """Return a reader of words whose errors argparse shows as they are."""

    @wraps(read)
    def reader(text: str) -> Read:
        try:
            return read(text)
        except (OSError, TypeError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return reader


fraction = option_reader(text_numbers.fraction)
number = option_reader(text_numbers.number)
whole = option_reader(text_numbers.whole)


def records(text: str) -> int:
    """Read the number of records to simulate."""
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: need at least 1 record")
    return number


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


def option_of(name: str, setting: Setting) -> str:
    """Return the name of the option of a setting, as parsed options have it."""
    return setting.option or name


def options_of(table: type) -> set[str]:
    """Return the names of the options of a table."""
    return {option_of(*pair) for pair in settings_of(table).items()}


def add_settings(command: Any, table: type, *names: str) -> None:
    """Add the options of a table of settings: all, or some by their names."""
    settings = settings_of(table)
    for name in names or settings:
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
