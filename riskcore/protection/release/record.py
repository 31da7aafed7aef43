"""The records of a protection: a private one to run it again, a public one of methods.

The private record holds the settings and the secret of the order; its figures all
follow from the safe file. The public record holds methods and rounded counts. Neither
helps to check a guess at a suppressed value.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from riskcore.assessment.assess_settings import WEIGHTS
from riskcore.common.private_record import (
    FORMAT,
    hex_digits,
    member,
    names_of,
    record_of,
)
from riskcore.common.version import __version__
from riskcore.data.files.digest import digest
from riskcore.data.files.reading import Reading
from riskcore.data.recode import Recoding
from riskcore.data.source import Source
from riskcore.protection.secret import check_secret
from riskcore.protection.settings.settings import GIVEN, Settings

_PRIVATE = (
    "Do not publish this record. With it and the safe file the records, and new ids, "
    "can be put back in the order of the original file, which may tell suppressed "
    "values."
)
_PUBLIC = "How the file was protected: methods and rounded counts, for publication."
# The libraries that compute. The compiler is not among them: its bits are the same.
_LIBRARIES = ("numpy", "narwhals")
# The version of the layout of the public record.
_PUBLIC_FORMAT = 1
_MOST_BESIDE = 100
# Published counts are rounded to multiples of this, or coarser.
COARSE = 10


def versions() -> dict[str, str]:
    """Return the versions of Python and the libraries that compute."""
    libraries = {name: version(name) for name in _LIBRARIES}
    return {"riskcore": __version__, "python": platform.python_version(), **libraries}


def coarse(count: int) -> int:
    """Return a count rounded to two digits, and to tens; 0 for counts below 10."""
    unit = max(10 ** (len(str(count)) - 2), COARSE)
    return 0 if count < COARSE else (count + unit // 2) // unit * unit


def about(count: int) -> str:
    """Return in words a count that is rounded by `coarse`."""
    if 0 < count < COARSE:
        return f"fewer than {COARSE}"
    return f"about {coarse(count):,}" if count else "0"


# The settings that are published. The threshold that a rate gives is not among them: it
# depends on the recoded file, and would rule out candidates for a blank.
_PUBLISHED = (
    "k", "strata", "threshold", "rate", "household_threshold", "household_rate",
    "level", "population", "method", "missing",
    "suppression", "ties", "cost", "household_keys",
    "against_insiders",
    "related", "known_waves", "cluster", "sampling_fraction",
)  # fmt: skip
# The figures that follow from the safe file alone, without the threshold.
_OF_THE_SAFE_FILE = (
    "cells", "sample_uniques", "k_anonymity", "below", "reidentification_rate",
    "expected_reidentifications", "max_risk", "max_household_risk",
    "household_reidentification_rate", "measured",
)  # fmt: skip


def private(
    figures: Mapping[str, Any],
    settings: Settings,
    *,
    source: Mapping[str, Any],
    output: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the private record, from which the same file can be made again."""
    return {
        "private": _PRIVATE,
        "format": FORMAT,
        "versions": versions(),
        "input": dict(source),
        "output": dict(output),
        "settings": settings.to_dict(),
        "records": figures["records"],
        "safe": figures["safe"],
        "state": figures["state"],
        "verdict": figures["verdict_in_public"],
        "sets": [
            {
                "keys": entry["keys"],
                "risk": {
                    "protected": {
                        name: entry["risk"]["protected"][name]
                        for name in _OF_THE_SAFE_FILE
                        if name in entry["risk"]["protected"]
                    }
                },
            }
            for entry in figures["sets"]
        ],
        "suppressed": figures["suppressed"],
    }


def public(
    figures: Mapping[str, Any], settings: Settings, *, output: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the public record of a protection: methods and rounded counts."""
    plain_settings = settings.to_dict()
    return {
        "public": _PUBLIC,
        "format": _PUBLIC_FORMAT,
        "versions": versions(),
        "sha256": output["sha256"],
        "household_sha256": output["household_sha256"],
        "records": figures["records"],
        "goals_met": figures["goals_met"],
        "safe": figures["safe"],
        "verdict": figures["verdict_in_public"],
        "sets": [entry["keys"] for entry in figures["sets"]],
        **{name: plain_settings[name] for name in _PUBLISHED},
        "cost": cost_in_public(plain_settings["cost"]),
        "weighted": settings.weight is not None,
        "households": settings.household is not None and settings.person is None,
        "panel": settings.person is not None,
        "recodings": {
            name: method_of(recoding) for name, recoding in settings.recodings.items()
        },
        "treated": {
            " + ".join(names): [rule.describe(public=True) for rule in rules]
            for names, rules in settings.treat.items()
        },
        "suppressed": {
            name: about(count) if 0 < count < COARSE else coarse(count)
            for name, count in figures["suppressed"].items()
        },
        "shuffled": output["shuffled"],
        "renumbered": list(output["renumbered"]),
        "formulas_guarded": output["formulas_guarded"],
    }


def cost_in_public(cost: Any) -> Any:
    """Return costs without the codes of categories: one may be blanked everywhere."""
    if not isinstance(cost, Mapping):
        return cost
    return {
        key: "by category" if isinstance(value, Mapping) else value
        for key, value in cost.items()
    }


def method_of(recoding: Recoding) -> dict[str, Any]:
    """Return the kind of a recoding, and its bounds or quantiles, without codes."""
    if recoding.drop:
        return {"kind": "truncation", "characters": recoding.drop}
    if recoding.base:
        return {"kind": "rounding", "base": recoding.base}
    ranges = [rule for rule in recoding.rules if not rule.single]
    if not ranges:
        return {"kind": "mapping"}
    ends = all(rule.low is None or rule.high is None for rule in ranges)
    kind = "top and bottom" if ends and recoding.others == "keep" else "intervals"
    if recoding.words is not None:
        return {"kind": kind, "quantiles": recoding.words}
    described = {"kind": kind, "intervals": [rule.interval for rule in ranges]}
    if len(ranges) < len(recoding.rules):
        described["kind"] = f"{kind}, mapping"
    return described


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A private record that was read."""

    path: Path
    settings: Settings
    reading: dict[str, Any]  # how the input was read
    dropped: tuple[str, ...]
    renumbered: tuple[str, ...]
    shuffled: bool
    formulas_guarded: bool
    secret: str | None
    input_file: str | None  # its name; None if it was not a file
    input_sha256: str | None  # None if the input was not released itself
    records: int
    sha256: str  # of the safe file
    state: str  # of its verdict
    versions: Mapping[str, Any]  # of the software that wrote it
    figures: Mapping[tuple[str, ...], Mapping[str, Any]]  # by set of keys
    given: str | None = None  # the kind of a population that no record can hold
    household_sha256: str | None = None  # of the safe file of households, if any

    @property
    def digests(self) -> list[str]:
        """The digests of the safe file and of that of its households."""
        return [x for x in (self.sha256, self.household_sha256) if x is not None]


def read_record(path: str | Path) -> Record:
    """Read a private record, which may hold anything; open no file it names."""
    path = Path(path)
    return record_of(path, partial(_record, path))


def read_with_population(path: str | Path) -> Record:
    """Read the private record of a protection whose population it can hold."""
    record = read_record(path)
    if record.given is not None:
        raise ValueError(
            f"{path}: settings.population: a record cannot hold {record.given!r}; "
            "protect again by riskcore.protect(..., population=...)"
        )
    return record


def reading_of(record: Record, *, released: bool = False) -> Reading:
    """Return how the original of a record was read; its metadata are beside it."""
    gone = ("metadata",) if released else ("metadata", "household_file")
    options = {
        x: v for x, v in record.reading.items() if v is not None and x not in gone
    }
    options.setdefault("weight_scale", 1.0)  # the weights were looked at
    try:
        return Reading(**options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{record.path}: input.reading: {error}") from None


def released_digest(source: Source) -> str | None:
    """Return the digest of an input that was released itself, else None.

    The digest of an original would tell whether a guess at a blanked value is right.
    Of a released file, beside its private record, it tells nothing.
    """
    if len(source.files) != 1:
        return None
    (path,) = source.files
    try:
        sha256 = read_record(f"{path}.private.json").sha256
    except (OSError, ValueError):
        return None
    return sha256 if sha256 == digest(path) else None


def is_input_of(record: Record, source: Source) -> bool:
    """Return whether a file, released itself, is known to be the input of a record."""
    sha256 = record.input_sha256
    return sha256 is not None and [sha256] == [digest(path) for path in source.files]


def other_releases(path: Path, record: Mapping[str, Any]) -> list[Path]:
    """Return the records beside it of other safe files of the same input."""
    name, count = record["input"]["file"], record["records"]
    paths = []
    for other in sorted(path.parent.glob("*.private.json"))[:_MOST_BESIDE]:
        if name is None or other.name == path.name:
            continue
        try:
            other_record = read_record(other)
        except (OSError, ValueError):
            continue
        same = (other_record.input_file, other_record.records) == (name, count)
        if same and other_record.sha256 != record["output"]["sha256"]:
            paths.append(other)
    return paths


def _record(path: Path, content: Mapping[str, Any]) -> Record:
    source = member(content, "input", dict)
    output = member(content, "output", dict)
    secret = member(output, "secret", str | None, "output")
    settings, population = member(content, "settings", dict), None
    if str(settings.get("population")).startswith(GIVEN):
        population = settings["population"]
        settings = {**settings, "population": WEIGHTS}
    record = Record(
        path=path,
        settings=Settings.from_dict(settings),
        reading=member(source, "reading", dict, "input"),
        dropped=names_of(output, "dropped"),
        renumbered=names_of(output, "renumbered"),
        shuffled=member(output, "shuffled", bool, "output"),
        formulas_guarded=member(output, "formulas_guarded", bool, "output"),
        secret=None if secret is None else check_secret(secret),
        input_file=member(source, "file", str | None, "input"),
        input_sha256=hex_digits(source, "sha256", "input"),
        records=member(content, "records", int),
        sha256=hex_digits(output, "sha256", "output") or "",
        state=member(content, "state", str),
        versions=member(content, "versions", dict),
        figures=_figures(content),
        given=population,
        household_sha256=hex_digits(output, "household_sha256", "output"),
    )
    needed = record.settings.ties == "secret" or record.settings.is_random
    if secret is None and (record.shuffled or record.renumbered or needed):
        raise ValueError(
            "output.secret: missing; the order, new ids, ties or treatments need it"
        )
    return record


def _figures(content: Mapping[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the figures of the safe file, by set of keys."""
    figures = {}
    for entry in member(content, "sets", list):
        if not isinstance(entry, dict):
            raise ValueError("sets: need a list of objects")
        keys = tuple(map(str, member(entry, "keys", list, "sets")))
        risk = member(entry, "risk", dict, "sets")
        figures[keys] = member(risk, "protected", dict, "sets.risk")
    return figures
