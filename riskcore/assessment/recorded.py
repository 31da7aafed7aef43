"""What the private record of a protection says of its safe file, for a check."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from riskcore.assessment.goals import KeyGoals, check_k, key_sets
from riskcore.assessment.settings_table import AUTO, BY_WEIGHTS, CheckSettings
from riskcore.common import arguments
from riskcore.common.private_record import hex_digits, member, record_of
from riskcore.common.settings import (
    FRACTION,
    GOALS,
    NAME,
    NAME_SETS,
    NAMES,
    WORD,
    Kind,
    settings_of,
)
from riskcore.data.files import formats
from riskcore.data.files.base_format import suffix_of
from riskcore.data.files.digest import digest
from riskcore.data.files.reading import Reading

_GOALS = ("threshold", "rate", "household_threshold", "household_rate")
_HOW = ("level", "method", "missing", "alpha")
_KINDS: Mapping[str, Kind] = {
    "keys": NAME_SETS,
    "k": GOALS,
    "strata": NAMES,
    "weight": NAME,
    "household": NAME,
    "population": WORD,
    **dict.fromkeys(_GOALS, FRACTION.or_null()),
    **dict.fromkeys(("level", "method", "missing"), WORD),
    "alpha": FRACTION,
}
# How a CSV file is read. Its missing codes are not used: in a safe file a missing value
# is an empty field, whatever its code was.
_OF_CSV = ("encoding", "delimiter", "decimal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The goals of a protection, by its private record or a file of rules.

    Attributes
    ----------
    path : pathlib.Path
        The record, or the rules.
    goals : KeyGoals
        The sets of keys, each with its strata and its k.
    weight, household : str or None
    threshold, rate, household_threshold, household_rate : float or None
    how : dict
        The settings of `check` that say how records are counted.
    population : str
        What the risks came from: the weights, or a model.
    reading : dict
        How the original file was read.
    sha256 : str or None
        The digest of the safe file; None for rules.
    safe : bool or None
        Whether the file was written as safe; None for rules.
    """

    path: Path
    goals: KeyGoals
    weight: str | None
    household: str | None
    threshold: float | None
    rate: float | None
    household_threshold: float | None
    household_rate: float | None
    how: dict[str, Any]
    population: str
    reading: dict[str, Any]
    sha256: str | None = None
    safe: bool | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Recorded:
        """Read a private record; the file may hold anything."""
        path = arguments.file_path("record", path)
        return record_of(path, partial(cls._of, path))

    @classmethod
    def _of(cls, path: Path, content: Mapping[str, Any]) -> Recorded:
        """Return what the content of a record says; refuse what does not fit."""
        given = member(content, "settings", dict)
        source = member(content, "input", dict)
        output = member(content, "output", dict)
        if given.get("person") is not None:
            raise ValueError(
                "it is of a panel, which check cannot count; use riskcore assess "
                "--person --wave on the safe file"
            )
        plain = {name: member(given, name, object, "settings") for name in _KINDS}
        for name, kind in _KINDS.items():
            if not kind.fits(plain[name]):
                shown = reprlib.repr(plain[name])
                raise ValueError(f"settings.{name}: need {kind.need}, not {shown}")
        for name in _HOW:
            settings_of(CheckSettings)[name].check(f"settings.{name}", plain[name])
        risks: dict[str, Any] = {name: _risk(name, plain[name]) for name in _GOALS}
        return cls(
            path=path,
            goals=_goals(plain),
            **{name: plain[name] for name in ("weight", "household", "population")},
            **risks,
            how={name: plain[name] for name in _HOW},
            reading=member(source, "reading", dict, "input"),
            sha256=hex_digits(output, "sha256", "output") or "",
            safe=member(content, "safe", bool),
        )

    @property
    def stated(self) -> set[str]:
        """The arguments of `check` that the record states."""
        stated = {"keys", "weight", "household", "subsets", "strata", "population"}
        stated.update(_HOW)
        rules = {
            "k": any(self.goals.k),
            "max_rate": self.rate is not None,
            "max_household_rate": self.household_rate is not None,
        }
        return stated | {name for name, is_stated in rules.items() if is_stated}

    def refuse_other(self, given: Mapping[str, Any]) -> None:
        """Refuse arguments of `check` that the record states."""
        idle = [name for name in given if name in self.stated]
        if idle:
            what, verb = "record", "the record states, or check without a record"
            if self.sha256 is None:
                what, verb = "rules", "the rules state, or check without them"
            raise ValueError(
                f"{what}: {self.path} states {', '.join(idle)}: leave out what {verb}"
            )

    def refuse_model(self) -> None:
        """Refuse goals of risks by a model of the population."""
        at_risk = [name for name in _GOALS if getattr(self, name) is not None]
        if at_risk and self.population not in (AUTO, *BY_WEIGHTS):
            what = "record" if self.sha256 is not None else "rules"
            raise ValueError(
                f"{self.path}: its risks come from a model of the population "
                f"({self.population!r}), which was fitted before suppression and "
                f"cannot be fitted to the safe file; check without the {what}, by k or "
                "by risks from the weights"
            )

    def reading_of(self, path: str | os.PathLike[str]) -> Reading:
        """Return how to read the safe file."""
        kept: dict[str, Any] = {}
        kind = type(formats.opened(Path(path)))
        if kind.kind == "csv":
            kept = {name: self.reading.get(name) for name in _OF_CSV}
            if suffix_of(Path(path))[0] == ".tsv":
                del kept["delimiter"]
        elif kind.labelled:
            kept = {"user_missing": self.reading.get("user_missing")}
        try:
            return Reading(**{name: v for name, v in kept.items() if v is not None})
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.path}: input.reading: {error}") from None

    def is_of(self, path: Path) -> bool | None:
        """Return whether a file is the safe file of the record; None for rules."""
        return None if self.sha256 is None else digest(path) == self.sha256


def _goals(plain: Mapping[str, Any]) -> KeyGoals:
    """Return the sets of keys with their goals; refuse what does not fit together."""
    keys, k = key_sets(plain["keys"]), tuple(plain["k"])
    if len(k) != len(keys):
        raise ValueError(f"settings.k: {len(k)} goals for {len(keys)} sets of keys")
    for one in k:
        if one is not None:
            check_k(one, "settings.k")
    return KeyGoals(keys, k, tuple(plain["strata"]))


def _risk(name: str, value: float | None) -> float | None:
    """Return a threshold or a rate of a record; refuse one outside (0, 1]."""
    if value is None:
        return None
    arguments.number_in(f"settings.{name}", value, "(0, 1]")
    return float(value)
