"""Warnings and advice about values that a protected file still shows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.progress import Lines, silent
from riskcore.common.warn import warn
from riskcore.data.columns import Records
from riskcore.disclosure.hidden_values import (
    RecodedColumn,
    SuppressedColumn,
    what_shows,
)
from riskcore.disclosure.leaks import Remedy, Shown, in_words, too_many
from riskcore.protection.records.protected_records import MOST_SHOWN, ProtectedRecords
from riskcore.protection.settings.remedies import (
    SHUFFLE,
    accepted,
    coarser_weights,
    either,
    for_all_members,
    leave_out,
    never_blanked,
    new_ids,
    related_to,
)


class SuppressedValueShows(UserWarning):
    """Suppressed or recoded values, or the order, can be inferred from the file."""


def shown_by(
    result: ProtectedRecords,
    columns: Mapping[Any, Any] | Records,
    order: NDArray[np.int64] | None = None,
    *,
    at: NDArray[np.int64] | None = None,
    stands_for: NDArray[np.int64] | None = None,
    drawn: Collection[Hashable] = (),
    say: Lines = silent,
) -> tuple[Shown, ...]:
    """Return what columns, in the order they are written, show of hidden values."""
    records, codes_of = Records.of(columns), result.prepared.codes
    written = result.source.names if at is not None else records.columns
    rows = slice(None) if at is None else at
    suppressed = {
        name: SuppressedColumn(codes_of(name)[rows], mask[rows])
        for name, mask in result.masks.items()
        if mask.any() and name in written
    }
    recoded = {}
    for name in result.settings.recodings:
        if name in (result.masks if at is not None else records.columns):
            coarse = codes_of(name)
            coarse[result.masks.get(name, np.zeros(len(coarse), bool))] = -1
            fine = codes_of(name, recoded=False)
            recoded[name] = RecodedColumn(fine[rows], coarse[rows])
    if at is None and result.on_engine is not None:
        stands_for = result.on_engine.records
    household = result.household_of if at is None else None
    clues = what_shows(
        records,
        suppressed,
        order,
        recoded,
        stands_for=stands_for,
        household=household,
        drawn=drawn,
        say=say,
    )
    ids = result.settings.household
    if household is not None and ids in records.columns:
        how: dict[str, Any] = {
            "stands_for": np.ones(len(household), int),
            "household": household,
        }
        sizes = {ids: np.bincount(household)[household]}
        members = what_shows(sizes, suppressed, None, recoded, **how)
        clues += tuple(
            entry if entry.rule == "finer" else replace(entry, rule="members")
            for entry in members
        )
    return tuple(entry for entry in clues if not _counted_together(result, entry))


def _counted_together(result: ProtectedRecords, shown: Shown) -> bool:
    """Return whether codes show in a key with which the risk counts them anyway."""
    if shown.rule != "finer":
        return False
    sets = [keys for keys in result.settings.keys if shown.key in keys]
    return bool(sets) and all(shown.column in keys for keys in sets)


def shown_on_engine(result: ProtectedRecords, name: Hashable) -> Iterator[Shown]:
    """Yield what a column on an engine shows; nothing if the rows hold the column."""
    engine = result.on_engine
    assert engine is not None
    if name not in result.settings.suppressible:
        values, row, records = engine.rows_with(name)
        columns = Records.of({name: engine.recoded(name, values)}).columns
        yield from shown_by(result, columns, at=row, stands_for=records)
    for other in result._recoded_apart:
        if other != name:
            values, fine, coarse, records = engine.recoded_with(other, name)
            recoded = {other: RecodedColumn(fine, coarse)}
            columns = Records.of({name: values}).columns
            yield from what_shows(columns, {}, None, recoded, stands_for=records)


def shown_in(
    result: ProtectedRecords, shown: Iterable[Shown], names: Collection[Hashable]
) -> list[Shown]:
    """Return what is shown by some columns, also by those that an engine holds."""
    if result.on_engine is not None and result.n >= MOST_SHOWN:
        raise ValueError(
            f"{result.n:,} records: what a column reveals can be counted only for "
            f"fewer than {MOST_SHOWN:,} records"
        )
    clues = [clue for clue in shown if clue.column in names]
    for name in names:
        if name in result.not_checked:
            clues += shown_on_engine(result, name)
    return clues


def too_much(result: ProtectedRecords, shown: Iterable[Shown]) -> list[Shown]:
    """Return what shows more values than a released file may give away."""
    return [clue for clue in shown if too_many(clue.count, result.n)]


def warn_of_what_shows(
    result: ProtectedRecords, shown: Iterable[Shown], renumbered: Iterable[Hashable]
) -> None:
    """Warn of each column that reveals hidden values, unless that is accepted."""
    for clue in too_much(result, shown):
        if result.settings.accepted(clue.column) is None:
            message = f"{clue}; {in_words(advice_on(result, clue, renumbered))}"
            warn(message, SuppressedValueShows)


def advice_on(
    result: ProtectedRecords, shown: Shown, renumbered: Iterable[Hashable]
) -> tuple[Remedy, ...]:
    """Return what can be done so that the values do not show."""
    settings, column, key = result.settings, shown.column, shown.key
    fixed = {*settings.suppressible, *settings.recodings, *settings.treated}
    in_all = None
    if (
        shown.rule in ("equal", "between")
        and settings.unit != "person"
        and settings.household is not None
    ):
        more = {"shuffle": True} if column is None else {}
        in_all = for_all_members(settings, key, **more)
    accept = accepted([column])
    if column is None:
        return either(in_all or SHUFFLE, accept)
    if column == settings.weight:
        return either(coarser_weights(column), leave_out([column]), accept)
    if column == settings.household:
        members = in_all if shown.rule == "equal" else None
        kept = never_blanked(key, settings) if shown.rule == "members" else None
        return either(members, kept, leave_out([column]), accept)
    ids = None
    if shown.rule not in ("equal", "code") and column not in fixed:
        ids = new_ids(column, renumbered)
    related = None
    if shown.rule not in ("finer", "order"):
        related = related_to(key, column, settings)
    away: Remedy | None = leave_out([column])
    if column in settings.variables and shown.rule not in ("finer", "order"):
        away = never_blanked(key, settings)
    return either(ids, related, away, accept)
