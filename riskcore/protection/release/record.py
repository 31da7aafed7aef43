"""The records of a protection: a private one for a replay, a public one of methods.

Neither helps to check a guess at a suppressed value. The private record holds settings,
a keyed digest of the input and the secret of the order; its figures all follow from the
safe file. The public record holds methods and rounded counts.
"""

from __future__ import annotations

import json
import math
import os
import re
import reprlib
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riskcore.common.version import __version__
from riskcore.data.recode import Recoding
from riskcore.protection.release.secret import check_secret
from riskcore.protection.settings import Settings

# The version of the layout of the private record.
FORMAT = 2
_PRIVATE = (
    "Do not publish this record. With it and the safe file the records, and new ids, "
    "can be put back in the order of the original file, which may tell suppressed "
    "values. The digest of the input can be checked only with the key of its owner, "
    "which is not in here."
)
_PUBLIC = "How the file was protected: methods and rounded counts, for publication."
_LARGEST = 1 << 26
_MOST_BESIDE = 100
_HEX = re.compile("[0-9a-f]+")
# Published counts are rounded to multiples of this, or coarser.
COARSE = 10


def coarse(count: int) -> int:
    """Return a count rounded to two digits, and to tens; 0 for counts below 10."""
    unit = max(10 ** (len(str(count)) - 2), COARSE)
    return 0 if count < COARSE else (count + unit // 2) // unit * unit


def about(count: int) -> str:
    """Return in words a count that is rounded by `coarse`."""
    if 0 < count < COARSE:
        return f"fewer than {COARSE}"
    return f"about {coarse(count):,}" if count else "0"


def thresholds(settings: Settings) -> dict[str, Any]:
    """Return the thresholds as they were asked for.

    The threshold that a rate gives depends on the recoded file. Even rounded it would
    rule out candidates for a blank, so only the rate is given.
    """
    given = settings.to_dict()
    return {name: given[name] for name in _THRESHOLDS}


_THRESHOLDS = (
    "k", "strata", "threshold", "rate", "household_threshold", "household_rate",
)  # fmt: skip
_METHODS = (
    "level", "within_households", "population", "method", "missing", "alpha",
    "suppression", "plan", "ties", "cost", "protect_shares", "household_keys",
    "related",
)  # fmt: skip
# The figures that follow from the safe file alone, without the threshold.
_OF_THE_SAFE_FILE = (
    "cells", "sample_uniques", "k_anonymity", "below", "reidentification_rate",
    "expected_reidentifications", "max_risk",
)  # fmt: skip


def private(
    figures: Mapping[str, Any],
    settings: Settings,
    *,
    verdict: str,
    versions: Mapping[str, str],
    source: Mapping[str, Any],
    output: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the private record, from which the same file can be made again."""
    return {
        "private": _PRIVATE,
        "format": FORMAT,
        "versions": dict(versions),
        "input": dict(source),
        "output": dict(output),
        "settings": settings.to_dict(),
        "records": figures["records"],
        "safe": figures["safe"],
        "verdict": verdict,
        "sets": [
            {
                "keys": one["keys"],
                "risk": {
                    "protected": {
                        name: one["risk"]["protected"][name]
                        for name in _OF_THE_SAFE_FILE
                    }
                },
            }
            for one in figures["sets"]
        ],
        "suppressed": figures["suppressed"],
        "rounds": len(figures["rounds"]),
    }


def public(
    figures: Mapping[str, Any],
    settings: Settings,
    *,
    verdict: str,
    shuffled: bool,
    renumbered: Iterable[str],
    formulas_guarded: bool,
) -> dict[str, Any]:
    """Return the public record of a protection: methods and rounded counts."""
    given = settings.to_dict()
    return {
        "public": _PUBLIC,
        "riskcore": __version__,
        "records": figures["records"],
        "safe": figures["safe"],
        "verdict": verdict,
        "sets": [one["keys"] for one in figures["sets"]],
        **thresholds(settings),
        **{name: given[name] for name in _METHODS},
        "weighted": settings.weight is not None,
        "households": settings.household is not None,
        "recodings": {
            name: method_of(recoding) for name, recoding in settings.recodings.items()
        },
        "suppressed": {
            name: about(count) if 0 < count < COARSE else coarse(count)
            for name, count in figures["suppressed"].items()
        },
        "shuffled": shuffled,
        "renumbered": list(renumbered),
        "formulas_guarded": formulas_guarded,
    }


def method_of(recoding: Recoding) -> dict[str, Any]:
    """Return the kind of a recoding and its bounds, without codes of single values."""
    if recoding.drop:
        return {"kind": "truncation", "characters": recoding.drop}
    ranges = [rule for rule in recoding.rules if not rule.single]
    if not ranges:
        return {"kind": "mapping"}
    ends = all(rule.low is None or rule.high is None for rule in ranges)
    kind = "top and bottom" if ends and recoding.others == "keep" else "intervals"
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
    digest: str | None  # the keyed digest of the input
    key: str | None  # the id of its key
    sha256: str  # of the safe file


def read_record(path: str | Path) -> Record:
    """Read the private record of a protection.

    The file may hold anything: an error names what does not fit, and no file is opened
    because the record names it.
    """
    path = Path(path)
    try:
        return _record(path, plain_json(path))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a record of a protection: {error}") from None
    except RecursionError:
        raise ValueError(
            f"{path}: not a record of a protection: nested too deeply"
        ) from None


def other_releases(path: Path, record: Mapping[str, Any]) -> list[Path]:
    """Return the private records in the same folder of other safe files of the input.

    The first 100 files by name are read; those that are not records are left out.
    """
    digest = record["input"]["digest"]["hmac_sha256"]
    found = []
    for other in sorted(path.parent.glob("*.private.json"))[:_MOST_BESIDE]:
        if digest is None or other.name == path.name:
            continue
        try:
            one = read_record(other)
        except (OSError, ValueError):
            continue
        if one.digest == digest and one.sha256 != record["output"]["sha256"]:
            found.append(other)
    return found


def plain_json(path: Path) -> Any:
    """Return the JSON of a file; refuse what is not plain data."""
    if path.is_dir():
        raise IsADirectoryError(f"{path}: a directory, not a file")
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(f"{path}: a device or pipe, not a file")
        if about.st_size > _LARGEST:
            raise ValueError(f"more than {_LARGEST >> 20} MiB")
        raw = file.read()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not text in UTF-8") from None
    try:
        return json.loads(
            text,
            parse_constant=_refuse_number,
            parse_int=_whole,
            parse_float=_float,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{reprlib.repr(text)} is not a number")


def _whole(text: str) -> int:
    if len(text) > 19:
        _refuse_number(text)
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse_number(text)
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{reprlib.repr(twice)} appears twice")
    return members


def _record(path: Path, content: Any) -> Record:
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    if "public" in content:
        raise ValueError("it is the public record; a replay needs the private one")
    version = _member(content, "format", int)
    if version != FORMAT:
        raise ValueError(f"format: {version}, but this version reads {FORMAT}")
    source = _member(content, "input", dict)
    output = _member(content, "output", dict)
    digest = _member(source, "digest", dict, "input")
    where = "input.digest"
    secret = _member(output, "secret", str | None, "output")
    record = Record(
        path=path,
        settings=Settings.from_dict(_member(content, "settings", dict)),
        reading=_member(source, "reading", dict, "input"),
        dropped=_names(output, "dropped"),
        renumbered=_names(output, "renumbered"),
        shuffled=_member(output, "shuffled", bool, "output"),
        formulas_guarded=_member(output, "formulas_guarded", bool, "output"),
        secret=None if secret is None else check_secret(secret),
        digest=_hex(digest, "hmac_sha256", where),
        key=_hex(digest, "key", where),
        sha256=_hex(output, "sha256", "output") or "",
    )
    ties = record.settings.ties == "secret"
    if secret is None and (record.shuffled or record.renumbered or ties):
        raise ValueError("output.secret: missing; the order, new ids or ties need it")
    return record


def _member(content: Mapping[str, Any], name: str, kind: Any, where: str = "") -> Any:
    """Return a member of an object, of the given type."""
    member = f"{where}.{name}" if where else name
    if name not in content:
        raise ValueError(f"{member}: missing")
    value = content[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        named = getattr(kind, "__name__", str(kind))
        raise ValueError(f"{member}: {reprlib.repr(value)} is not of type {named}")
    return value


def _names(output: Mapping[str, Any], name: str) -> tuple[str, ...]:
    names = _member(output, name, list, "output")
    for one in names:
        if not isinstance(one, str):
            raise ValueError(f"output.{name}: {reprlib.repr(one)} is not a name")
    return tuple(names)


def _hex(content: Mapping[str, Any], name: str, where: str) -> str | None:
    text: str | None = _member(content, name, str | None, where)
    if text is not None and not _HEX.fullmatch(text):
        raise ValueError(f"{where}.{name}: not hexadecimal digits")
    return text
