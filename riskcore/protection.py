"""From risk to a safe file: recode, suppress, verify.

`protect` is the whole path. It assesses the file as it is and as recoded, finds the
thresholds, blanks the cheapest keys of every unsafe record and assesses the result
again, until no record is unsafe or none can be made safer. What it says of the result
is computed from the result.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore import _html, release
from riskcore.assessment import (
    Assessment,
    Method,
    PopulationBelowSample,
    Progress,
    assess,
)
from riskcore.microdata import files, replace
from riskcore.microdata.blank import blank
from riskcore.microdata.columns import Records, code_column
from riskcore.microdata.recode import Recoding, recode
from riskcore.microdata.suppression import Method as Suppression
from riskcore.release import Source
from riskcore.risk.household import Households
from riskcore.rounds import Aim, Mask, Masks, costs_of_keys, suppress
from riskcore.settings import Costs, Settings

# The share of households, or of neighbours, in which values of a key must be equal
# for one to be told from the other.
_MOSTLY = 0.9


class SuppressedValueShows(UserWarning):
    """A suppressed value can be told from what is left in the file."""


class HouseholdKeyDiffers(UserWarning):
    """A key that is said to be equal within households is not."""


def protect(
    data: Any,
    keys: Iterable[Any],
    weight: Hashable | None = None,
    household: Hashable | None = None,
    *,
    threshold: float | None = None,
    rate: float | None = None,
    household_threshold: float | None = None,
    household_rate: float | None = None,
    within_households: bool = True,
    recodings: Mapping[Any, Recoding | str | os.PathLike[str]] | None = None,
    household_keys: Iterable[Hashable] | None = None,
    related: Mapping[Any, Iterable[Hashable]] | None = None,
    cost: Costs | None = None,
    suppression: Suppression = "exact",
    method: Method = "exact",
    missing: str = "wildcard",
    alpha: float = 1.0,
    rounds: int | None = None,
    progress: Progress | None = None,
) -> Protected:
    """Protect a file: recode it, suppress keys of unsafe records, verify the result.

    Parameters
    ----------
    data : frame, mapping or path
        Records, one per row, as for `assess`. A file is read whole, as text, so that
        it can be written again as it was, see `Protected.write`.
    keys : iterable of column names, or of lists of column names
        The key variables, known to an intruder; several lists for several intruders
        of different knowledge. The file must be safe from each.
    weight, household : column name, optional
        As for `assess`.
    threshold, rate : float, optional
        The individual risk that no record may reach, or the re-identification rate,
        a fraction, that gives it, see `Assessment.risk_threshold`.
    household_threshold, household_rate : float, optional
        The same for the risk of households. At least one of the four is needed.
    within_households : bool
        Who must be protected in unsafe households: members whose risk is at least the
        household threshold divided by the size of the household. If False, such
        members of safe households too; the source has both readings, see Notes.
    recodings : mapping of column names to Recoding or path, optional
        Recodings to apply first, or ``.grc`` files that hold them.
    household_keys : iterable of column names, optional
        Keys that are equal for all members of a household: blanked for one, they are
        blanked for all, and cost as much. By default those that the metadata of a
        mu-Argus file declare, if there is a household.
    related : mapping of column names to column names, optional
        Columns that would give a key away (nationality a country of birth) and are
        blanked with it. By default those that mu-Argus metadata declare, both ways.
    cost : {"equal", "entropy"} or mapping of column names to float, optional
        What it costs to blank a value: the same for all keys; the entropy of the key
        in the recoded file; or given by key, 50 for keys not named, infinite for keys
        that may not be blanked. By default the weights in mu-Argus metadata, else
        "equal".
    suppression : {"exact", "argus"}
        The cheapest set of keys for each record, or what mu-Argus's rules choose.
    method : {"exact", "series7", "franconi"}
        The individual risk, as for `assess`.
    missing : {"wildcard", "argus", "category"}
        What missing keys match, blanked ones included, see `tabulate`.
    alpha : float
        With ``missing="wildcard"``, see `tabulate`.
    rounds : int, optional
        Stop after so many rounds of suppression, whether or not the file is safe.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Protected
        Its ``safe`` tells whether the risks, computed again, are all below their
        thresholds; its ``verdict`` says so in words.

    Warns
    -----
    PopulationBelowSample
        As `assess`, for the file as it is.
    SuppressedValueShows
        If suppressed values can be told from neighbours in data in memory (a file may
        still be shuffled when it is written), or from other members of the household
        since the key is not among ``household_keys``. They are counted.
    HouseholdKeyDiffers
        If a key among them of which values were suppressed is not equal within
        households.
    DoubtfulRules
        As `recode`.

    Raises
    ------
    KeyError, TypeError, ValueError, OSError
        As `assess` and `recode`; ValueError also if no threshold is given or they
        contradict each other, and for a rule, cost or number of rounds that is none.

    Notes
    -----
    CASC (2004) deliverable 1.2-D3, sections 4 to 7. Section 5.2 calls unsafe every
    record with r_i >= r^h*/|g|; section 7.4.1 and mu-Argus only those "within the
    unsafe households".

    With ``missing="wildcard"`` or ``"argus"`` and ``alpha=1`` blanking a key never
    raises another record's risk (but for records blanked wholly, which "wildcard" no
    longer counts for others), so that one round mostly does. By other rules blanked
    records move to cells of their own, some of which are unsafe: rounds follow.

    Examples
    --------
    >>> data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
    >>> result = protect(data, ["sex", "age"], "w", threshold=0.05)
    >>> result.suppressed
    {'sex': 1, 'age': 0}
    >>> result.data["sex"], result.safe
    (['f', 'f', None, 'f', 'f'], True)
    """
    source = Source.of(data)
    settings = Settings.resolve(
        source,
        keys,
        weight=weight,
        household=household,
        threshold=threshold,
        rate=rate,
        household_threshold=household_threshold,
        household_rate=household_rate,
        within_households=within_households,
        recodings=recodings,
        household_keys=household_keys,
        related=related,
        cost=cost,
        suppression=suppression,
        method=method,
        missing=missing,
        alpha=alpha,
        rounds=rounds,
    )
    return protect_source(source, settings, progress)


def protect_source(
    source: Source, settings: Settings, progress: Progress | None = None
) -> Protected:
    """Protect a file by settings that are resolved, as those of an earlier record.

    See `protect`, which calls this.
    """
    say = progress or _silent
    source.check(settings.columns)
    if source.path is not None:
        say(f"reading {source.path}")
    assessed = partial(_assess, numbers=source.numbers(settings.weight))
    data = source.data
    say("assessing the file as it is")
    original = recoded = assessed(data, settings)
    with warnings.catch_warnings():
        # Said already, of the file as it is.
        warnings.simplefilter("ignore", PopulationBelowSample)
        if settings.recodings:
            say("recoding")
            data = recode(data, settings.recodings)
            recoded = assessed(data, settings)
        aims = [Aim.of(assessment, settings) for assessment in recoded]
        costs = [costs_of_keys(assessment, settings) for assessment in recoded]
        protected = recoded
        n = recoded[0].cells.n
        masks: Masks = {name: np.zeros(n, bool) for name in settings.suppressible}
        rounds: list[Round] = []
        while len(rounds) != settings.rounds:
            say(f"round {len(rounds) + 1}: suppressing")
            new = suppress(protected, aims, costs, settings, say)
            for name, mask in new.items():
                mask &= _present(data, name)
            if not any(mask.any() for mask in new.values()):
                break
            rounds.append(Round.of(protected, aims, new))
            masks = {name: masks[name] | mask for name, mask in new.items()}
            say(f"round {len(rounds)}: verifying")
            data = blank(data, new)
            protected = assessed(data, settings)
    sets = tuple(map(KeySet, settings.keys, aims, original, recoded, protected))
    result = Protected(source, settings, data, sets, masks, tuple(rounds))
    _warn_of_households(result)
    if source.path is None:
        _warn_if_order_shows(result)  # of a file, when it is written
    return result


def _assess(data: Any, settings: Settings, numbers: Any) -> list[Assessment]:
    """Assess the data from each set of keys; ``numbers`` are the weights of text."""
    if numbers is not None:
        data = _columns(data, settings)
        data[settings.weight] = numbers
    return [
        assess(
            data,
            keys,
            settings.weight,
            settings.household,
            method=settings.method,
            missing=settings.missing,
            alpha=settings.alpha,
        )
        for keys in settings.keys
    ]


def _columns(data: Any, settings: Settings) -> dict[Any, Any]:
    """Return the columns that an assessment needs, without the weight."""
    records = Records.of(data)
    names = [*settings.variables, settings.household]
    return {name: records.column(name) for name in names if name is not None}


@dataclass(frozen=True, slots=True)
class Round:
    """One round of suppression.

    Attributes
    ----------
    unsafe : int
        Records unsafe before it, from any set of keys.
    suppressed : dict of column name to int
        The values blanked.
    """

    unsafe: int
    suppressed: dict[Any, int]

    @classmethod
    def of(
        cls, assessments: Sequence[Assessment], aims: Sequence[Aim], masks: Masks
    ) -> Round:
        """Count what was unsafe, and what is blanked for it."""
        pairs = zip(aims, assessments, strict=True)
        unsafe = np.logical_or.reduce([aim.unsafe(each) for aim, each in pairs])
        counts = {name: int(np.count_nonzero(mask)) for name, mask in masks.items()}
        return cls(int(np.count_nonzero(unsafe)), counts)


@dataclass(frozen=True, slots=True, eq=False)
class KeySet:
    """The file as it looks to an intruder who knows one set of keys.

    Attributes
    ----------
    keys : tuple of column names
    aim : Aim
        The thresholds.
    original, recoded, protected : Assessment
        Of the file as it was, after recoding (the same if there was none), and as it
        is now.
    """

    keys: tuple[Hashable, ...]
    aim: Aim
    original: Assessment
    recoded: Assessment
    protected: Assessment

    @property
    def unsafe(self) -> Mask:
        """Mask of the records that are still unsafe, shape (n,)."""
        return self.aim.unsafe(self.protected)

    @property
    def safe(self) -> bool:
        """Whether no record and no household reaches its threshold."""
        return not self.unsafe.any() and not self.aim.unsafe_households(self.protected)

    @property
    def stages(self) -> dict[str, Assessment]:
        """The assessments by stage, without recoding if there was none."""
        stages = {"original": self.original, "recoded": self.recoded}
        if self.recoded is self.original:
            del stages["recoded"]
        return {**stages, "protected": self.protected}

    def _of_households(self, stage: Assessment) -> dict[str, int]:
        """Return the figures that differ where there is a threshold for households."""
        return {
            "at_risk_threshold": stage.unsafe_count(self.aim.threshold),
            "unsafe_households": self.aim.unsafe_households(stage),
        }

    def comparison(self) -> dict[str, dict[str, Any]]:
        """Return the figures of every stage: before and after, by name."""
        return {
            name: {
                "cells": len(stage.cells),
                "sample_uniques": int(np.sum(stage.cells.sample_frequency == 1)),
                "reidentification_rate": stage.reidentification_rate,
                "capped_rate": stage.distribution.capped_rate(self.aim.threshold),
                "expected_reidentifications": stage.expected_reidentifications,
                "max_risk": stage.max_risk,
                "unsafe_records": int(np.count_nonzero(self.aim.unsafe(stage))),
                **(self._of_households(stage) if self.aim.of_households else {}),
            }
            for name, stage in self.stages.items()
        }


@dataclass(frozen=True, eq=False, repr=False)
class Protected:
    """A protected file, and the risks before and after.

    Attributes
    ----------
    source : Source
        What was protected.
    settings : Settings
        How, with everything filled in.
    data : frame or mapping
        The protected records, of the type and in the order of the input; of a path
        all its columns.
    sets : tuple of KeySet
        The risks by set of keys.
    masks : dict of column name to bool ndarray, each shape (n,)
        The values that were suppressed.
    rounds : tuple of Round
    """

    source: Source
    settings: Settings
    data: Any
    sets: tuple[KeySet, ...]
    masks: Masks
    rounds: tuple[Round, ...]

    @property
    def n(self) -> int:
        """Number of records."""
        return self.sets[0].protected.cells.n

    @property
    def suppressed(self) -> dict[Any, int]:
        """The number of values suppressed, by column."""
        return {name: int(np.count_nonzero(m)) for name, m in self.masks.items()}

    @cached_property
    def unsafe(self) -> Mask:
        """Mask of the records still unsafe from any set of keys, shape (n,)."""
        either: Mask = np.logical_or.reduce([one.unsafe for one in self.sets])
        return either

    @property
    def safe(self) -> bool:
        """Whether no risk reaches its threshold, from any set of keys."""
        return all(one.safe for one in self.sets)

    @property
    def original(self) -> Assessment:
        """The assessment before protection, if there is one set of keys."""
        return self._only().original

    @property
    def recoded(self) -> Assessment:
        """The assessment after recoding, if there is one set of keys."""
        return self._only().recoded

    @property
    def protected(self) -> Assessment:
        """The assessment of the protected file, if there is one set of keys."""
        return self._only().protected

    def _only(self) -> KeySet:
        if len(self.sets) > 1:
            raise ValueError(f"{len(self.sets)} sets of keys: see .sets")
        return self.sets[0]

    @property
    def verdict(self) -> str:
        """What the risks computed from the protected file say, in words."""
        return " ".join(_verdict(self, one) for one in self.sets)

    def to_dict(self) -> dict[str, Any]:
        """Return settings, what was done and the risks, as plain data for JSON.

        Raises
        ------
        TypeError
            If a column's name is no text.
        """
        return {
            "settings": self.settings.to_dict(),
            "records": self.n,
            "safe": self.safe,
            "verdict": self.verdict,
            "sets": [
                {
                    "keys": list(one.keys),
                    "threshold": _finite(one.aim.threshold),
                    "household_threshold": _finite(one.aim.household_threshold),
                    "risk": one.comparison(),
                }
                for one in self.sets
            ],
            "suppressed": self.suppressed,
            "rounds": [
                {"unsafe_records": each.unsafe, "suppressed": each.suppressed}
                for each in self.rounds
            ],
        }

    def write(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        allow_unsafe: bool = False,
        drop: Iterable[str] = (),
        shuffle: int | None = None,
        record: str | Path | None = None,
        also: Mapping[Path, str] | None = None,
        public: Mapping[Path, str] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, Any]:
        """Write the protected file and the record of its protection.

        All files appear together, or none does, and only those may read them who may
        read the input: see `riskcore.microdata.replace`, also for what is left if the
        process is killed.

        Parameters
        ----------
        path : str or pathlib.Path
            The safe file, in the format of the input: delimiter and encoding of a
            CSV, columns and codes as they were but for what was recoded or
            suppressed; of a mu-Argus file with new metadata (``.rds``) beside it, see
            `riskcore.microdata.argus_writer`. CSV and Parquet may change into each
            other.
        overwrite : bool, optional
            Whether existing files may be replaced; the input never is.
        allow_unsafe : bool, optional
            Whether to write the file although it is not safe.
        drop : iterable of str, optional
            Columns to leave out.
        shuffle : int, optional
            Write the records in random order, the members of a household together:
            the seed of that order, which is in the record.
        record : str or pathlib.Path, optional
            The record; by default ``path`` with ``.json`` added.
        also : mapping of pathlib.Path to str, optional
            Further texts to write, such as a report, that only their owner can read.
        public : mapping of pathlib.Path to str, optional
            Further texts for everybody, such as a report to hand out.
        progress : callable, optional
            Called with the part done and the whole while text is written.

        Returns
        -------
        dict
            The record: `to_dict`, with what tells input and output from other files
            and the versions of all that computed. From it `riskcore protect
            --replay` makes the same file again.

        Warns
        -----
        SuppressedValueShows
            If the records are not shuffled, and suppressed values can be told from
            their neighbours.

        Raises
        ------
        FileExistsError, OSError
            If a file exists and ``overwrite`` is not set, or cannot be written.
        KeyError
            If a column to be left out does not exist.
        TypeError
            If a column's name is no text.
        ValueError
            If the file is not safe, cannot be written in this format, or one of the
            files is read from.
        """
        if not (self.safe or allow_unsafe):
            raise ValueError(
                f"{self.verdict} Nothing is written; allow_unsafe=True would do so"
            )
        path = self.source.check_writable(path, overwrite=overwrite)
        if shuffle is None and self.source.path is not None:
            _warn_if_order_shows(self)
        record = Path(f"{path}.json") if record is None else Path(record)
        private, common = also or {}, public or {}
        beside = [record, *private, *common]
        written = files.files_written(path, self.source.format)
        replace.refuse_sources([*written, *beside], self.source.paths)
        with replace.replacing_all(overwrite, self.source.paths) as create:
            output = release.write(
                self.source,
                self.data,
                path,
                create=create,
                recodings=self.settings.recodings,
                drop=drop,
                order=None if shuffle is None else self._order(shuffle),
                progress=progress,
            )
            figures = {
                "versions": release.versions(),
                "input": self.source.to_dict(),
                "output": {**output, "shuffled": shuffle},
                **self.to_dict(),
            }
            text = json.dumps(figures, indent=2, allow_nan=False, ensure_ascii=False)
            for target, content in [(record, f"{text}\n"), *common.items()]:
                create(target).write(content.encode())
            for target, content in private.items():
                create(target, private=True).write(content.encode())
        return figures

    def _order(self, seed: int) -> NDArray[np.int64]:
        """Return the records in random order, those of a household together."""
        groups = self.sets[0].protected.households
        unit = np.arange(self.n) if groups is None else groups.inverse
        rank = np.random.default_rng(seed).permutation(unit.max() + 1)
        return np.argsort(rank[unit], kind="stable")

    def _repr_html_(self) -> str:
        rows = []
        for one in self.sets:
            stages = one.comparison()
            for name in ("reidentification_rate", "max_risk", "unsafe_records"):
                values = [figures[name] for figures in stages.values()]
                shown = " \u2192 ".join(f"{value:.6g}" for value in values)
                rows.append((name.replace("_", " "), shown))
        rows += [
            (f"suppressed values of {name}", f"{count:,}")
            for name, count in self.suppressed.items()
        ]
        title = "Protected, for internal use"
        return _html.figures(title, _html.escape(self.verdict), rows)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {k}" for name, k in self.suppressed.items() if k)
        return (
            f"<Protected: {self.n} records, {'safe' if self.safe else 'NOT SAFE'}; "
            f"suppressed: {values or 'nothing'}>"
        )


def _verdict(result: Protected, one: KeySet) -> str:
    """Say in words whether the file is safe from one set of keys, and why not."""
    keys = " x ".join(map(str, one.keys))
    goals = []
    if one.aim.threshold < np.inf:
        goals.append(f"the risk of no record reaches {one.aim.threshold:.8g}")
    if one.aim.of_households:
        limit = f"{one.aim.household_threshold:.8g}"
        goals.append(f"that of no household reaches {limit}")
    rule = _RULES[result.settings.missing]
    if one.safe:
        goal = ", ".join(goals) or "no threshold was needed"
        return f"Safe: by {keys}, {goal} ({rule})."
    unsafe = one.unsafe
    count = int(np.count_nonzero(unsafe))
    cells = one.protected.cells
    open_keys = np.zeros(cells.n, bool)
    for i, key in enumerate(cells.keys):
        if result.settings.cost_of(key) < np.inf:
            open_keys |= cells.present(i)[cells.inverse]
    stuck = int(np.count_nonzero(unsafe & ~open_keys))
    why = []
    if stuck:
        why.append(f"{stuck} with no key left that may be blanked")
    if count > stuck and len(result.rounds) == result.settings.rounds:
        why.append(f"{count - stuck} as rounds were limited to {len(result.rounds)}")
    elif count > stuck:
        why.append(f"{count - stuck} that would with all keys blanked")
    households = one.aim.unsafe_households(one.protected)
    of_households = f" and {households} households" if households else ""
    return (
        f"NOT SAFE: by {keys}, {count} of {cells.n} records{of_households} still reach "
        f"their threshold ({rule}): {', '.join(why)}."
    )


_RULES = {
    "wildcard": "missing keys match any value",
    "argus": "missing keys match any value, as in mu-Argus",
    "category": "missing keys are a category of their own",
}


def _present(data: Any, name: Hashable) -> Mask:
    """Return the mask of the records that have a value of the column."""
    column = code_column(Records.of(data), name)
    return np.not_equal(column.codes, len(column.labels))


def _warn_of_households(result: Protected) -> None:
    """Warn if a suppressed key of a household shows, or is none of the household."""
    for one in result.sets:
        groups = one.recoded.households
        if groups is None:
            continue
        for key, codes, shown in _suppressed_keys(result, one):
            known, differing = _within_households(codes, shown, groups)
            if key in result.settings.household_keys:
                if differing:
                    message = f"key {key!r} differs within {differing} households"
                    warnings.warn(message, HouseholdKeyDiffers, stacklevel=4)
            elif known:
                why = "in other members of the household: name it in household_keys"
                _warn_shows(result, key, known, why)


def _warn_if_order_shows(result: Protected) -> None:
    """Warn if suppressed keys can be told from the neighbours in the file."""
    for one in result.sets:
        for key, codes, shown in _suppressed_keys(result, one):
            known = _between_equals(codes, shown, result.masks[key])
            if known:
                why = "in the neighbours, the file being in its order: shuffle it"
                _warn_shows(result, key, known, why)


def _suppressed_keys(
    result: Protected, one: KeySet
) -> Iterator[tuple[Hashable, NDArray[np.int64], Mask]]:
    """Yield keys with suppressed values, their codes before, and who has one still."""
    before, after = one.recoded.cells, one.protected.cells
    for i, key in enumerate(one.keys):
        if result.suppressed[key]:
            codes = before.codes[i][before.inverse].astype(np.int64)
            codes[~before.present(i)[before.inverse]] = -1
            yield key, codes, after.present(i)[after.inverse]


def _within_households(
    codes: NDArray[np.int64], shown: Mask, groups: Households
) -> tuple[int, int]:
    """Return how many suppressed values other members tell, and where codes differ.

    The key is taken to be one of the household if it is equal in most households in
    which two members have it.
    """
    have = np.flatnonzero(codes >= 0)
    last = np.full(len(groups), -1, np.int64)
    last[groups.inverse[have]] = codes[have]
    unequal = have[last[groups.inverse[have]] != codes[have]]
    differing = len(np.unique(groups.inverse[unequal]))
    several = np.count_nonzero(np.bincount(groups.inverse[have]) > 1)
    if differing > (1 - _MOSTLY) * several:
        return 0, differing
    told = np.zeros(len(groups), bool)
    told[groups.inverse[shown]] = True
    return int(np.count_nonzero(told[groups.inverse[have]] & ~shown[have])), differing


def _between_equals(codes: NDArray[np.int64], shown: Mask, blanked: Mask) -> int:
    """Return how many suppressed values stand between others that are equal to them.

    The file is taken to be in the order of a key if nearly all records are equal to
    the one before them, and would not be in random order.
    """
    equal = np.mean(codes[1:] == codes[:-1]) if len(codes) > 1 else 0.0
    by_chance = np.sum((np.bincount(codes + 1) / len(codes)) ** 2)
    if equal < _MOSTLY or by_chance > _MOSTLY * equal:
        return 0
    n = len(codes)
    position = np.arange(n)
    before = np.maximum.accumulate(np.where(shown, position, -1))
    after = np.minimum.accumulate(np.where(shown, position, n)[::-1])[::-1]
    inside = blanked & (before >= 0) & (after < n)
    told = codes[before[inside]] == codes[after[inside]]
    return int(np.count_nonzero(told & (codes[before[inside]] == codes[inside])))


def _warn_shows(result: Protected, key: Hashable, known: int, why: str) -> None:
    message = f"{known} of {result.suppressed[key]} suppressed values of {key!r} show"
    warnings.warn(f"{message} {why}", SuppressedValueShows, stacklevel=5)


def _finite(threshold: float) -> float | None:
    return threshold if threshold < np.inf else None


def _silent(_: str) -> None:
    pass
