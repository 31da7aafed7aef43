"""Whether the input and the rules of a private record are those of a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from riskcore.common.settings import Setting
from riskcore.data.recode import Recoding
from riskcore.data.source import Source
from riskcore.protection.release.record import Record
from riskcore.protection.release.rules import Release
from riskcore.protection.release.rules_table import TABLES, entries
from riskcore.protection.release.secret import secret_of_seed
from riskcore.protection.release.writing import columns_dropped, columns_renumbered
from riskcore.protection.settings import Settings
from riskcore.protection.settings_table import RECORDED


def differing_rules(
    release: Release, source: Source, settings: Settings, record: Record
) -> list[str]:
    """Return the rules by which a record was not made, by their names in the file.

    ``settings`` are those of the rules for the source.
    """
    reading = source.to_dict()["reading"]
    return [
        *(f"data.{name}" for name in _differing(reading, record.reading)),
        *_differing_settings(settings, record.settings),
        *_differing_output(release.output(), source, settings, record),
    ]


def _differing_settings(mine: Settings, other: Settings) -> Iterator[str]:
    """Yield the names of settings that differ, and of the columns they are for."""
    places = {place[-1]: place for place in entries() if place[0] != "check"}
    for name in RECORDED:
        one, two = _comparable(getattr(mine, name)), _comparable(getattr(other, name))
        rule = ".".join(places[name])
        if isinstance(TABLES.get(name), Setting):  # a table whose names are columns
            yield from (f"{rule}.{column}" for column in _differing(one, two))
        elif one != two:
            yield rule


def _comparable(value: Any) -> Any:
    """Return a setting without what says only where it was read from."""
    if isinstance(value, Mapping):
        return {
            "+".join(name) if isinstance(name, tuple) else name: _comparable(one)
            for name, one in value.items()
        }
    return replace(value, source=None) if isinstance(value, Recoding) else value


def _differing_output(
    wanted: Mapping[str, Any], source: Source, settings: Settings, record: Record
) -> Iterator[str]:
    """Yield the rules on the safe file that differ."""
    dropped = columns_dropped(source, settings, wanted.get("drop", ()))
    renumbered = columns_renumbered(source, settings, wanted.get("renumber"), dropped)
    shuffle = wanted.get("shuffle", False)
    seed = None if isinstance(shuffle, bool) else secret_of_seed(shuffle)
    pairs = {
        "drop": (set(dropped), set(record.dropped)),
        "renumber": (set(renumbered), set(record.renumbered)),
        "shuffle": (shuffle is not False, record.shuffled),
        "guard_formulas": (
            wanted.get("guard_formulas", False),
            record.formulas_guarded,
        ),
    }
    if seed is not None and record.secret != seed:
        pairs["shuffle"] = (seed, record.secret)
    yield from (f"output.{name}" for name, (one, two) in pairs.items() if one != two)


def _differing(one: Mapping[str, Any], two: Mapping[str, Any]) -> list[str]:
    """Return the names whose values differ."""
    return [str(name) for name in {**one, **two} if one.get(name) != two.get(name)]
