"""A released file beside its original, record by record, to be examined like a new one.

Which released record is whose is not told. Each is paired with an original one that has
the keys which it keeps, and the columns that nothing changed: records that agree in all
of these tell the same, whichever of them is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.released import assess_released
from riskcore.common.arrays import Integers
from riskcore.common.progress import Lines
from riskcore.common.words import printable
from riskcore.data.blank import blank
from riskcore.data.columns import CodedColumn, Records, code_column
from riskcore.data.count import count
from riskcore.data.household_rows import in_order
from riskcore.data.source import Source
from riskcore.disclosure.leaks import Shown
from riskcore.disclosure.shared_columns import values_of
from riskcore.protection.records.protected_records import ProtectedRecords
from riskcore.protection.records.showing import shown_by
from riskcore.protection.records.treated import Treated, numbers_of, treat_records
from riskcore.protection.records.units import Prepared
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.key_sets import KeySet

Both = tuple[Integers, Integers]
BothByName = Mapping[Hashable, Both]
_ORDER = "the order of the records"
# Pairs of a blanked record and a person that are compared, at most.
_MOST = 20_000_000
# Members of larger households are compared in their order only.
_LARGEST = 5


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """A released file in the order of its original."""

    result: ProtectedRecords  # as if these settings had made the file
    columns: dict[str, Any]  # the columns of the file
    order: Integers | None  # of each released record; None if that of the original
    dropped: tuple[str, ...]  # columns that were left out
    renumbered: tuple[str, ...]  # columns that have new ids
    changed: list[str]  # columns changed though no setting says so, in words

    def shown(self, say: Lines, *, shuffled: bool) -> list[Shown]:
        """Return what the columns and the order of the file show of hidden values."""
        columns = self.columns
        if self.order is not None and not shuffled:
            columns = {**columns, _ORDER: np.argsort(self.order)}
        clues = shown_by(
            self.result, columns, self.order, drawn=self.renumbered, say=say
        )
        return [replace(x, column=None) if x.column == _ORDER else x for x in clues]


def paired(
    original: Source,
    prepared: Prepared,
    settings: Settings,
    released: Source,
    keys: Mapping[Hashable, CodedColumn],
    with_new_ids: Collection[str],
) -> Paired | None:
    """Return a released file in the order of its original; None if they do not pair."""
    file = released.records
    if file.n != prepared.coded.n or settings.unit != "record":
        return None
    both = _both(original, prepared, settings, file, keys)
    place = _placed(prepared, settings, released, both)
    if place is None:
        return None
    both = {name: (own, other[place]) for name, (own, other) in both.items()}
    blankable = [name for name in settings.suppressible if name in both]
    changed = [
        name
        for name, (own, other) in both.items()
        if name not in blankable and not np.array_equal(own, other)
    ]
    new_ids = [name for name in changed if str(name) in with_new_ids]
    treated = [name for name in changed if name not in new_ids]
    numeric = settings.with_role("numeric")
    # Also those that no rule has changed: they are examined as treated, too.
    treated += [x for x in settings.treated if x in both and x not in treated]
    masks = {
        # A key that was left out is blank.
        name: (both[name][1] < 0 if name in both else True)
        & (prepared.codes(name) >= 0)
        for name in settings.suppressible
    }
    rows = {**Records.of(blank(prepared.recoded_rows, masks)).columns}
    names = {str(name): name for name in file.columns}
    for name in both:
        if name not in blankable or name in settings.treated:
            rows[name] = in_order(file.columns[names[str(name)]], place)
    aims = prepared.aims(settings)
    protected = [
        assess_released(assessment, masks, rows, aim.goals)
        for assessment, aim in zip(prepared.recoded, aims, strict=True)
    ]
    parts = (settings.keys, aims, prepared.original, prepared.recoded, protected)
    result = ProtectedRecords(
        original,
        settings,
        replace(
            prepared,
            treated=_treated(
                original, prepared, settings, released, place, both, treated
            ),
        ),
        Records.of(rows),
        tuple(map(KeySet, *parts)),
        masks,
    )
    order = np.argsort(place)
    return Paired(
        result,
        {str(name): rows[name] for name in both},
        None if (np.diff(order) > 0).all() else order,
        tuple(str(name) for name in original.names if name not in both),
        tuple(map(str, new_ids)),
        [
            f"{printable(str(name))!r} (changed by no rule)"
            for name in treated
            if name not in settings.treated and name not in numeric
        ],
    )


def _both(
    original: Source,
    prepared: Prepared,
    settings: Settings,
    file: Records,
    keys: Mapping[Hashable, CodedColumn],
) -> dict[Hashable, Both]:
    """Return the codes of the columns of the file, beside those of the original."""
    records, recoded = original.records, prepared.recoded_rows
    prepared_columns = {*settings.suppressible, *settings.recodings}
    names = {str(name): name for name in file.columns}
    codes = {}
    for name in original.names:
        if str(name) in names:
            own = code_column(recoded if name in prepared_columns else records, name)
            other = keys.get(name) or code_column(file, names[str(name)])
            codes[name] = _together(own, other)
    return codes


def _placed(
    prepared: Prepared, settings: Settings, released: Source, both: BothByName
) -> Integers | None:
    """Return the released record of each original one; None if they do not pair."""
    blankable, treated = {*settings.suppressible}, {*settings.treated}
    numeric = {*settings.with_role("numeric")} - blankable - treated
    hidden = [both[x] for x in settings.suppressible if x in both and x not in treated]
    alike = [name for name in both if _equally_many(both[name])]
    same = [both[x] for x in alike if x not in blankable | treated | numeric]
    same += _as_treated(prepared, settings, released, {*both} - blankable)
    household = None if settings.household is None else both.get(settings.household)
    # Somebody may have exchanged the numbers.
    also = [both[name] for name in alike if name in numeric]
    place = _pair([*same, *also], hidden, household)
    if place is None and also:
        place = _pair(same, hidden, household)
    return place


def _together(own: CodedColumn, other: CodedColumn) -> Both:
    """Return the codes of a column in both files, -1 for missing."""
    place = {value: i for i, value in enumerate(values_of(own))}
    new = [place.get(label, len(place) + i) for i, label in enumerate(values_of(other))]
    before = np.append(np.arange(len(own.labels)), -1)[own.codes]
    return before, np.array([*new, -1], np.int64)[other.codes]


def _as_treated(
    prepared: Prepared, settings: Settings, released: Source, names: Container[Hashable]
) -> list[Both]:
    """Return the treated columns as they are to be, and as they are in the file."""
    treated, columns = prepared.treated, []
    if treated is None:
        return []
    for name, own in treated.after.items():
        if name in names and name not in treated.categorical:
            with suppress(TypeError, ValueError):
                other = numbers_of(released, released.records, name, settings.treat)
                codes = np.unique(np.append(own, other), return_inverse=True)[1]
                columns.append((codes[: len(own)], codes[len(own) :]))
    return [column for column in columns if _equally_many(column)]


def _equally_many(both: Both) -> bool:
    """Return whether each value occurs as often in both files."""
    own, other = both
    return np.array_equal(np.sort(own), np.sort(other))


def _treated(
    original: Source,
    prepared: Prepared,
    settings: Settings,
    released: Source,
    place: Integers,
    both: BothByName,
    names: Sequence[Hashable],
) -> Treated | None:
    """Return columns whose values the file changed, before and after."""
    if not names:
        return None
    categorical = {
        name
        for columns, rules in settings.treat.items()
        for name in columns
        if any(rule.is_categorical(name) for rule in rules)
    }
    before, after = {}, {}
    for name in names:
        try:
            if name in categorical:
                raise ValueError
            own = numbers_of(original, original.records, name, settings.treat)
            other = numbers_of(released, released.records, name, settings.treat)[place]
        except (TypeError, ValueError):
            categorical.add(name)
            own, other = (np.where(codes < 0, np.nan, codes) for codes in both[name])
        before[name], after[name] = own, other
    empty = treat_records(
        original, prepared.recoded_rows, prepared.coded, replace(settings, treat={})
    )
    return replace(
        empty, before=before, after=after, categorical=frozenset(categorical)
    )


def _pair(
    same: Sequence[Both], hidden: Sequence[Both], household: Both | None
) -> Integers | None:
    """Return the released record of each original one; None if they do not pair."""
    n = len((*same, *hidden)[0][0])
    fits = [(other < 0) | (own == other) for own, other in hidden]
    fits += [own == other for own, other in same]
    if np.logical_and.reduce(fits).all():
        return np.arange(n)
    whole = [column for column in hidden if _equally_many(column)]
    classes = _numbered([*same, *whole], n)
    lost = [column for column in hidden if not _equally_many(column)]
    if not _equally_many(classes):
        return None
    if household is not None:
        return _pair_households(classes, lost, household)
    return _pair_kept(classes, lost)


def _numbered(columns: Sequence[Both], n: int) -> Both:
    """Return the number of each combination of values in both files."""
    if not columns:
        return np.zeros(n, np.int64), np.zeros(n, np.int64)
    joined = [np.concatenate(column) + 1 for column in columns]
    numbers = count(
        [column.astype(np.uint32) for column in joined],
        [int(x.max()) + 1 for x in joined],
    ).inverse.astype(np.int64)
    return numbers[:n], numbers[n:]


def _pair_households(
    classes: Both, lost: Sequence[Both], household: Both
) -> Integers | None:
    """Return the released record of each original one, household by household."""
    n = len(classes[0])
    most = max(int(values.max()) for values in classes)
    hashed = np.random.default_rng(0).integers(1 << 62, size=most + 1)
    members, first, size, total = [], [], [], []
    for i in (0, 1):
        # A record without a household is one of its own.
        codes = np.where(household[i] < 0, -1 - np.arange(n), household[i])
        order = np.lexsort((*(values[i] for values in lost), classes[i], codes))
        begin = np.flatnonzero(np.diff(codes[order], prepend=codes[order[0]] - 1))
        members.append(order)
        first.append(begin)
        size.append(np.diff(begin, append=n))
        total.append(np.add.reduceat(hashed[classes[i][order]], begin))
    place = np.full(n, -1, np.int64)
    for m in np.unique(size[0]).tolist():
        own, other = (np.flatnonzero(values == m) for values in size)
        if len(own) != len(other):
            return None
        kinds = np.unique(
            np.concatenate([total[0][own], total[1][other]]), return_inverse=True
        )[1].astype(np.int64)
        people, rows = (
            members[i][first[i][units][:, None] + np.arange(m)]
            for i, units in enumerate((own, other))
        )
        columns = [
            (values[people[:, j]], two[rows[:, j]])
            for values, two in (classes, *lost)
            for j in range(m)
        ]
        both = (kinds[: len(own)], kinds[len(own) :])
        match = _pair_kept(both, columns, m) if _equally_many(both) else None
        if match is None:
            return None
        place[people.ravel()] = rows[match].ravel()
    return _members_paired(place, classes, lost, household)


def _members_paired(
    place: Integers, classes: Both, lost: Sequence[Both], household: Both
) -> Integers:
    """Return the pairs of records with those of a household in an order that fits."""
    own, other = (np.stack([x[i] for x in (classes, *lost)], 1) for i in (0, 1))
    fits = ((other[place] < 0) | (other[place] == own)).all(axis=1)
    for unit in np.unique(household[0][~fits]).tolist():
        members = np.flatnonzero(household[0] == unit)
        rows = place[members]
        match = _matched(other[rows], own[members])
        assert match is not None
        place[members[match]] = rows
    return place


def _pair_kept(
    classes: Both, lost: Sequence[Both], members: int = 1
) -> Integers | None:
    """Return the row of each person, or household, by classes of equal size."""
    n = len(classes[0])
    place = np.full(n, -1, np.int64)
    by_class = [np.argsort(part, kind="stable") for part in classes]
    if not lost:
        place[by_class[0]] = by_class[1]
        return place
    people, rows = (np.stack([part[i] for part in lost], axis=1) for i in (0, 1))
    # A complete row takes any person of its class and values.
    cell, cell_of = _numbered([classes, *lost], n)
    complete = np.flatnonzero((rows >= 0).all(axis=1))
    complete = complete[np.argsort(cell_of[complete], kind="stable")]
    own, cell_of = np.argsort(cell, kind="stable"), cell_of[complete]
    turn = np.arange(len(complete)) - np.searchsorted(cell_of, cell_of)
    at = np.searchsorted(cell[own], cell_of) + turn
    if at.max(initial=0) >= n or not np.array_equal(cell[own[at]], cell_of):
        return None
    place[own[at]] = complete
    # As classes are equally large, so is what is left of them.
    hidden: NDArray[np.bool_] = np.any(rows < 0, axis=1)
    left = by_class[0][place[by_class[0]] < 0]
    open_ = by_class[1][hidden[by_class[1]]]
    begin = np.flatnonzero(np.diff(classes[0][left], prepend=-1))
    size = np.diff(begin, append=len(left))
    if int((size**2).sum()) > _MOST:
        return None
    for part, many in zip(begin.tolist(), size.tolist(), strict=True):
        mine, theirs = left[part : part + many], open_[part : part + many]
        match = _matched(rows[theirs], people[mine], members)
        if match is None:
            return None
        place[mine[match]] = theirs
    return place


def _matched(rows: Integers, people: Integers, members: int = 1) -> Integers | None:
    """Return a person for each row, by augmenting paths; None if some are left over."""
    fits = np.zeros((len(rows), len(people)), bool)
    theirs = rows.reshape(len(rows), 1, -1, members)
    ours = people.reshape(1, len(people), -1, members)
    orders = permutations(range(members)) if members <= _LARGEST else [range(members)]
    for order in orders:
        fits |= ((theirs < 0) | (theirs == ours[..., [*order]])).all(axis=(2, 3))
    person_of = np.full(len(rows), -1)
    row_of = np.full(len(people), -1)
    for row in np.argsort(fits.sum(axis=1), kind="stable").tolist():
        came = np.full(len(people), -1)
        queue, free = [row], -1
        for node in queue:
            new = np.flatnonzero(fits[node] & (came < 0))
            came[new] = node
            unpaired = new[row_of[new] < 0]
            if len(unpaired):
                free = int(unpaired[0])
                break
            queue += row_of[new].tolist()
        if free < 0:
            return None
        while free >= 0:
            node = int(came[free])
            person_of[node], row_of[free], free = free, node, int(person_of[node])
    return person_of
