"""Settings as options: a table of settings becomes options, and words its values."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from riskcore.cli.words import (
    delimiter,
    fraction,
    gathered,
    number,
    pair,
    recoding,
    related,
    seed,
    split_by_columns,
    whole,
)
from riskcore.common.settings import (
    CODES,
    COST,
    DELIMITER,
    FLAG,
    FRACTION,
    GOALS,
    IDS,
    NAMES,
    NEVER,
    NUMBER,
    PATH,
    RECODINGS,
    RELATED,
    SEED,
    TOLERANCES,
    TREATMENTS,
    WHOLE,
    WORDS,
    Kind,
    Setting,
    settings_of,
)

# How one word of an option is read; options of these kinds take several words.
_READ: dict[Kind, Callable[[str], Any]] = {
    DELIMITER: delimiter,
    PATH: Path,
    SEED: seed,
    FRACTION: fraction,
    NUMBER: number,
    WHOLE: whole,
    GOALS: whole,
    RECODINGS: recoding,
    RELATED: related,
    TOLERANCES: pair,
    TREATMENTS: pair,
    WORDS: pair,
}
_BY_COLUMN = (RELATED, TOLERANCES, TREATMENTS, WORDS)
_SEVERAL = (CODES, GOALS, NAMES, RECODINGS, COST, *_BY_COLUMN)
_COSTS = ("fewest", "equal", "entropy")


def option_of(name: str, setting: Setting) -> str:
    """Return the name of the option of a setting, as parsed options have it."""
    return setting.option or name


def options_of(table: type) -> set[str]:
    """Return the names of the options of a table."""
    return {option_of(*pair) for pair in settings_of(table).items()}


def add_settings(
    command: Any, table: type, *names: str, without: Iterable[type] = ()
) -> None:
    """Add the options of a table of settings: all, or only ``names``.

    ``without`` are tables whose settings are left out.
    """
    known = settings_of(table)
    left_out = {name for other in without for name in settings_of(other)}
    for name in names or [name for name in known if name not in left_out]:
        add_setting(command, name, known[name])


def add_setting(
    command: Any, name: str, setting: Setting, *, required: bool = False
) -> None:
    """Add the option of a setting."""
    option = "--" + option_of(name, setting).replace("_", "-")
    text = setting.help.replace("%", "%%")
    if setting.kind is FLAG:
        command.add_argument(option, action="store_true", help=text)
        return
    several = setting.kind in _SEVERAL
    default = setting.default
    if setting.kind in (CODES, RECODINGS, TOLERANCES, WORDS):
        default = []
    number = {IDS: "*", SEED: "?"}.get(setting.kind, "+" if several else None)
    command.add_argument(
        option,
        action="extend" if default == [] else "store",
        default=default,
        const=True if setting.kind is SEED else None,
        required=required,
        nargs=number,
        type=_READ.get(setting.kind),
        choices=None if setting.kind is WORDS else setting.choices or None,
        metavar=setting.metavar or None,
        help=text,
    )


def arguments_of(
    options: argparse.Namespace,
    table: type,
    names: Iterable[str] = (),
    columns: Iterable[Any] = (),
) -> dict[str, Any]:
    """Return the settings of a table as the options give them, by argument.

    ``columns`` are those of the file, which tell where a name ends.
    """
    known = settings_of(table)
    found = {}
    for name in names or known:
        words = getattr(options, option_of(name, known[name]))
        if known[name].kind is GOALS:
            found[name] = goal_of(options)
        elif known[name].kind is COST:
            found[name] = _cost(words, [key for one in options.keys for key in one])
        else:
            found[name] = _value(words, name, known[name], columns)
    return found


def _value(words: Any, name: str, setting: Setting, columns: Iterable[Any]) -> Any:
    """Return the value that the words of an option stand for."""
    option = f"--{option_of(name, setting)}"
    if setting.kind in _BY_COLUMN and words and "derived" not in words:
        words = split_by_columns(option, words, columns)
    if setting.kind in (RECODINGS, TOLERANCES, WORDS):
        found = gathered(option, words) or None
        return _amounts(option, found) if setting.kind is TOLERANCES else found
    if setting.kind in (RELATED, TREATMENTS):
        return _grouped(words)
    return words


def _amounts(option: str, words: dict[str, str] | None) -> dict[str, Any] | None:
    """Return the amount of each key; a share such as 5% stays as it is written."""
    found: dict[str, Any] = {}
    for key, text in (words or {}).items():
        try:
            found[key] = text if text.endswith("%") else float(text)
        except ValueError:
            raise ValueError(
                f"{option} {key}={text}: give a number, or a share such as 5%"
            ) from None
    return found or None


def goal_of(options: argparse.Namespace) -> Any:
    """Return k: one number, or a number for each set of keys."""
    if options.k is None or len(options.k) == 1:
        return options.k and options.k[0]
    if options.keys is None:
        raise ValueError("--k: several numbers need --keys, one for each number")
    if len(options.k) != len(options.keys):
        raise ValueError(
            f"--k: {len(options.k)} numbers for {len(options.keys)} sets of keys; give "
            "one, or one for each --keys"
        )
    return {tuple(keys): k for keys, k in zip(options.keys, options.k, strict=True)}


def _grouped(pairs: Any) -> Any:
    """Return pairs as the lists of the second words by the first; or the one word."""
    if pairs is None or pairs == ["derived"]:
        return pairs and pairs[0]
    if "derived" in pairs:
        raise ValueError("--related derived: give either that word, or KEY=COLUMN ...")
    keys = dict.fromkeys(key for key, _ in pairs)
    return {key: [other for one, other in pairs if one == key] for key in keys}


def _cost(words: list[str] | None, keys: list[str]) -> Any:
    """Read the cost: fewest, equal, entropy, KEY=NUMBER or KEY[CATEGORY]=NUMBER ...."""
    if words is None or (len(words) == 1 and words[0] in _COSTS):
        return words and words[0]
    costs, of_categories = [], dict[str, list[tuple[str, float]]]()
    for word in words:
        name, equals, value = word.rpartition("=")
        if not equals:
            raise ValueError(
                f"--cost {word}: give {', '.join(_COSTS)}, KEY=NUMBER ... or "
                "KEY[CATEGORY]=NUMBER ..."
            )
        try:
            cost = math.inf if value == NEVER else float(value)
        except ValueError:
            raise ValueError(f"--cost {word}: {value!r} is not a number") from None
        key, category = _category(name, keys)
        if category is None:
            costs.append((key, cost))
        else:
            of_categories.setdefault(key, []).append((category, cost))
    more = [
        (key, gathered(f"--cost {key}", pairs)) for key, pairs in of_categories.items()
    ]
    return gathered("--cost", [*costs, *more])


def _category(name: str, keys: list[str]) -> tuple[str, str | None]:
    """Return the key and the category of KEY[CATEGORY]; brackets may be of the key."""
    if name in keys or "[" not in name or not name.endswith("]"):
        return name, None
    named = [key for key in keys if name.startswith(f"{key}[")]
    key = max(named, key=len, default=name.partition("[")[0])
    return key, name[len(key) + 1 : -1]
