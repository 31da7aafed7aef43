"""Suppression: which records are unsafe, and the blanks that make them safe.

A record is unsafe if its sample frequency is below k, if its risk reaches the threshold
for records, or if it reaches its share of the threshold for its household. How many
original records fit a released one depends on what it loses itself, and not on others,
so each record is planned alone. The values to blank are chosen for all sets of keys at
once (`cheapest_blanks_of_sets`). With household keys, mu-Argus's heuristic or risks
that depend on the values of keys, sets are planned one after the other
(`cheapest_blanks`), and what is blanked already is free for the next. Without given
costs the order of the keys and of their sets decides nothing.

Rows are records; of data on an engine they are the cells of all keys, whose records are
all planned alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.cell_risk import risk_of
from riskcore.assessment.goals import l_parts
from riskcore.assessment.margin_goals import MarginGoal, PopulationGoal, SensitiveGoal
from riskcore.assessment.margins import Margins
from riskcore.assessment.released import Patterns, assess_released
from riskcore.common.arrays import Integers, Mask
from riskcore.common.progress import Lines
from riskcore.common.words import shortened
from riskcore.core.risk.anonymity import short_of
from riskcore.data.cells import Cells
from riskcore.data.columns import ByDesign, CodedColumn, plain_value
from riskcore.data.files.labels import code_text
from riskcore.disclosure.elimination import eliminate
from riskcore.disclosure.kept_keys import cells as cells_by
from riskcore.disclosure.kept_keys import kept_sets, with_missing_drawn
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.cheapest_blanks import (
    Draw,
    entropies,
    losses_of,
    plan,
)
from riskcore.protection.suppression.cheapest_blanks_of_sets import (
    MOST_IN_SET,
    MOST_KEYS,
    Sight,
    plan_together,
)

_LONGEST = 200

Risks = NDArray[np.float64]
Masks = dict[Any, Mask]


@dataclass(frozen=True, slots=True)
class Aim:
    """What makes the records of a file safe from an intruder with one set of keys."""

    threshold: float  # the risk that no record may reach; infinite if there is none
    household_threshold: float  # the same for households
    k: int | None = None  # the least sample frequency
    strata: tuple[Hashable, ...] = ()  # the keys that are never blanked
    goals: tuple[MarginGoal, ...] = ()  # of people and sensitive values
    among: Mask | None = None  # the rows that are to be safe; None for all

    @classmethod
    def of(
        cls,
        assessment: Assessment,
        settings: Settings,
        sensitive: Iterable[CodedColumn] = (),
    ) -> Aim:
        """Return the thresholds of the settings for a recoded file."""
        threshold, household = settings.threshold, settings.household_threshold
        if settings.rate is not None:
            threshold = assessment.risk_threshold(rate=settings.rate)
        if settings.household_rate is not None:
            household = assessment.household_threshold(rate=settings.household_rate)
        return cls(
            np.inf if threshold is None else float(threshold),
            np.inf if household is None else float(household),
            settings.goal_of(assessment.cells.keys),
            settings.strata,
            tuple(_goals(assessment.cells, settings, sensitive)),
        )

    @property
    def of_households(self) -> bool:
        """Whether there is a threshold for households."""
        return self.household_threshold < np.inf

    @property
    def has_threshold(self) -> bool:
        """Whether there is a threshold for records or households."""
        return self.threshold < np.inf or self.of_households

    def limit(self, assessment: Assessment) -> Risks:
        """Return for each row the risk that makes it unsafe, shape (n,)."""
        limit = np.full(len(assessment.cells.rows), self.threshold)
        if self.among is not None:
            limit[~self.among] = np.inf
        groups = assessment.households
        if not self.of_households or groups is None:
            return limit
        member = groups.member_threshold(self.household_threshold)
        member[~groups.unsafe(self.household_threshold)] = np.inf
        lower: Risks = np.minimum(limit, member[groups.inverse])
        return lower

    def risk(self, f: NDArray[Any], risk: Risks) -> Risks:
        """Return the risk that decides, as one number: infinite where f is below k."""
        return risk if self.k is None else np.where(short_of(f, self.k), np.inf, risk)

    def unsafe(self, assessment: Assessment) -> Mask:
        """Return the mask of the unsafe rows, shape (n,)."""
        cells = assessment.cells
        risk = self.risk(cells.frequency_for_k, assessment.cell_risk)
        if isinstance(cells, Patterns):
            risk = np.where(cells.failed, np.inf, risk)
        unsafe: Mask = risk[cells.rows] >= self.limit(assessment)
        return unsafe if self.among is None else unsafe & self.among

    def unsafe_households(self, assessment: Assessment) -> int:
        """Return the number of households whose risk reaches their threshold."""
        if not self.of_households:
            return 0
        return assessment.unsafe_household_count(self.household_threshold)


def suppress(
    assessments: Sequence[Assessment],
    aims: Sequence[Aim],
    costs: Sequence[Risks],
    settings: Settings,
    progress: Lines,
    draw: Draw | None = None,
    blanked: Masks | None = None,
) -> Masks:
    """Return what to blank to make records safe; what is ``blanked`` costs nothing."""
    n = len(assessments[0].cells.rows)
    masks: Masks = {name: np.zeros(n, bool) for name in settings.suppressible}
    if blanked is not None:
        masks |= {name: mask.copy() for name, mask in blanked.items()}
    elif len(assessments) > 1 and plans_together(assessments, aims, settings):
        _suppress_together(assessments, aims, costs, masks, settings, progress, draw)
        return masks
    sets = list(zip(assessments, aims, costs, strict=True))
    if settings.by_content:  # the order of the sets decides nothing
        sets.sort(key=lambda entry: sorted(map(str, entry[0].cells.keys)))
    for assessment, aim, cost in sets:
        _suppress_set(assessment, aim, cost, masks, settings, progress, draw)
    return masks


def unblanked(assessment: Assessment, aim: Aim) -> Assessment:
    """Return the risks of unblanked records by who fits them, with missing keys."""
    if not (any(assessment.cells.missing_values) or aim.goals):
        return assessment
    return assess_released(assessment, {}, goals=aim.goals)


def _goals(
    cells: Cells, settings: Settings, sensitive: Iterable[CodedColumn]
) -> Iterator[MarginGoal]:
    """Yield the goals of people and sensitive values for a set of keys."""
    people = settings.goal_of(cells.keys, "min_population")
    if people is not None:
        yield PopulationGoal(people)
    for column in sensitive:
        ordered = column.name in settings.ordered
        if settings.l is not None:
            definition, least = l_parts(settings.l)
            yield SensitiveGoal("l", least, column, cells, definition)
        if settings.t is not None:
            yield SensitiveGoal("t", settings.t, column, cells, ordered=ordered)


def _by_name(
    names: Sequence[Hashable], assessments: Sequence[Assessment], costs: Sequence[Risks]
) -> tuple[Risks, list[Integers]]:
    """Return the costs of keys, (C,), or by row, (n, C), and the losses of codes."""
    cost: dict[Hashable, Any] = {}
    losses: dict[Hashable, Integers] = {}
    for assessment, own in zip(assessments, costs, strict=True):
        keys = assessment.cells.keys
        cost |= dict(zip(keys, own.T, strict=True))
        losses |= dict(zip(keys, losses_of(assessment.cells), strict=True))
    price = np.stack([cost[name] for name in names], axis=-1)
    return price, [losses[name] for name in names]


def plans_together(
    assessments: Sequence[Assessment], aims: Sequence[Aim], settings: Settings
) -> bool:
    """Whether each record is planned for all sets of keys at once.

    That takes goals that a record with fewer keys never fails if it meets them with
    more. By a model this holds up to its error; where t does not fall with the keys, a
    record may stay unsafe, and the verdict says so.
    """
    return (
        settings.suppression == "exact"
        and not settings.household_keys
        and all(x.model is None for x in assessments if aims[0].has_threshold)
        and len(settings.variables) <= MOST_KEYS
        and max(len(assessment.cells.keys) for assessment in assessments) <= MOST_IN_SET
    )


def _suppress_together(
    assessments: Sequence[Assessment],
    aims: Sequence[Aim],
    costs: Sequence[Risks],
    masks: Masks,
    settings: Settings,
    progress: Lines,
    draw: Draw | None,
) -> None:
    """Blank what makes records safe from all sets of keys."""
    names = list(settings.variables)
    sights = [
        Sight(
            margins_of(assessment, aim),
            tuple(map(names.index, assessment.cells.keys)),
            assessment.cells.rows,
            aim.limit(unblanked(assessment, aim)),
        )
        for assessment, aim in zip(assessments, aims, strict=True)
    ]
    price, losses = _by_name(names, assessments, costs)
    along = [settings.blanked_with(name) for name in names]  # the key among them
    blank = plan_together(
        sights,
        names,
        price,
        [sum(1 << i for i, key in enumerate(names) if key in x) for x in along],
        progress,
        losses=losses if settings.by_content else None,
        draw=draw,
    )
    for i, name in enumerate(names):
        masks[name] |= (blank >> np.uint64(i) & np.uint64(1)).astype(bool)
    _join_related(masks, assessments[0], settings)


def _suppress_set(
    assessment: Assessment,
    aim: Aim,
    cost: Risks,
    masks: Masks,
    settings: Settings,
    progress: Lines,
    draw: Draw | None,
) -> None:
    """Add to the masks what makes the file safe from one set of keys."""
    cells, now = assessment.cells, unblanked(assessment, aim)
    unsafe, limit = np.flatnonzero(aim.unsafe(now)), aim.limit(now)
    if not len(unsafe):
        return
    margins = margins_of(assessment, aim)
    losses = losses_of(cells) if settings.by_content else None
    # What is blanked for another set or another member of the household is free, so
    # household keys are settled before the records' own.
    while True:
        prices = _prices(assessment, unsafe, cost, masks, settings)
        at, most, how = cells.rows[unsafe], limit[unsafe], settings.suppression
        blank = plan(margins, at, most, prices, how, progress, losses=losses, draw=draw)
        new = {key: np.zeros(len(cells.rows), bool) for key in cells.keys}
        for i, key in enumerate(cells.keys):
            new[key][unsafe] = blank >> np.uint64(i) & np.uint64(1)
        before = {key: masks[key].sum() for key in settings.household_keys}
        shared = [key for key in cells.keys if key in settings.household_keys]
        for key in shared:
            masks[key] |= _spread(new[key], assessment)
        settled = all(masks[key].sum() == before[key] for key in shared)
        if settled or settings.suppression == "argus":
            break
    for key in cells.keys:
        masks[key] |= new[key]
    _join_related(masks, assessment, settings)


def margins_of(assessment: Assessment, aim: Aim) -> Margins:
    """Return the margins of a file with the risks that decide."""
    cells, model = assessment.cells_by_weights or assessment.cells, assessment.model
    risk: Callable[..., Risks] = partial(risk_of, assessment.method)
    if not aim.has_threshold:
        model = None  # only f decides
    if model is not None:
        from riskcore.assessment.population import risk_of_margins

        risk = partial(risk_of_margins, model, cells)

    return Margins(cells, risk, model is not None, aim.k, aim.goals)


def _prices(
    assessment: Assessment,
    unsafe: Integers,
    cost: Risks,
    masks: Masks,
    settings: Settings,
) -> Risks:
    """Return the cost of each key for each unsafe record, (U, m); or for all, (m,)."""
    keys, groups = assessment.cells.keys, assessment.households
    if not set(keys) & {*settings.household_keys}:
        groups = None
    by_row = cost.ndim > 1
    if groups is None and not any(masks[key].any() for key in keys):
        return cost[unsafe] if by_row else cost
    prices = cost[unsafe] if by_row else np.tile(cost, (len(unsafe), 1))
    if groups is not None and by_row:
        for i, key in enumerate(keys):
            if key in settings.household_keys:
                of_all = np.bincount(groups.inverse, cost[:, i])
                prices[:, i] = of_all[groups.inverse[unsafe]]
    elif groups is not None:
        # A household key is blanked for all members.
        size = groups.size[groups.inverse[unsafe]].astype(np.float64)
        shared = [key in settings.household_keys for key in keys]
        prices *= np.where(shared, size[:, None], 1.0)
    blanked = np.stack([masks[key][unsafe] for key in keys], axis=1)
    return np.where(blanked, 0.0, prices)


def masks_of_members(
    masks: Masks, unit: Integers, present: Masks, settings: Settings
) -> Masks:
    """Return the masks of records from those of their households or persons."""
    wide: Masks = {name: mask[unit] for name, mask in masks.items()}
    for name in settings.variables:
        for other in settings.blanked_with(name):
            wide[other] = wide[other] | masks[name][unit]
    return {name: mask & present[name] for name, mask in wide.items()}


def with_companions(
    assessments: Sequence[Assessment],
    costs: Sequence[Risks],
    masks: Masks,
    settings: Settings,
) -> Masks:
    """Return masks by which elimination tells no blanked key, with any set of keys."""
    masks = {name: mask.copy() for name, mask in masks.items()}
    for assessment, cost in zip(assessments, costs, strict=True):
        cells = assessment.cells_by_weights or assessment.cells
        kept = [
            np.where(cells.present(i), column.astype(np.int64), -1)[cells.rows]
            for i, column in enumerate(cells.codes)
        ]
        codes = np.stack(kept, axis=1)
        blanked = np.stack([masks[key] for key in cells.keys], axis=1)
        more = companions(codes, blanked, cost)
        for key, mask in zip(cells.keys, more.T, strict=True):
            masks[key] |= mask
        _join_related(masks, assessment, settings)
    return masks


def companions(codes: NDArray[np.integer], blanked: Mask, costs: Risks) -> Mask:
    """Return the values to blank so that elimination tells no blanked key.

    The blanked keys of a record are told if other people do not remain once complete
    records account for theirs; if only one person has these keys, he is named. Another
    record that fits the keys which are left is a companion: if it loses the keys in
    which the two people differ, the two records can change places. Further blanks tell
    nothing, as each person remains a candidate where he was one. A record whose
    companions would all lose a key that is never blanked stays told.

    ``codes`` are the keys after recoding, -1 for missing, and ``blanked`` where the
    released records have no value, both (n, K); ``costs`` of blanking are (K,) or
    (n, K), infinite for never.
    """
    more = np.zeros(blanked.shape, bool)
    people = with_missing_drawn(codes.astype(np.int64))
    now = blanked | (codes < 0)
    elimination = eliminate(codes, blanked)
    waiting = elimination.told | elimination.named
    cell = cells_by(people, range(codes.shape[1]))
    for kept, rows in kept_sets(now.copy()):
        told = rows[waiting[rows]]
        if not len(told):
            continue
        lost = np.setdiff1d(np.arange(codes.shape[1]), kept)
        price = np.where(now, 0.0, costs)[:, lost].sum(axis=1)
        group = cells_by(people, kept)
        # The cheapest record of each cell, and of these the cheapest of the group, or
        # the next one if that is of the same cell.
        order = np.lexsort((price, group))
        order = order[np.sort(np.unique(cell[order], return_index=True)[1])]
        first = np.searchsorted(group[order], group[told])
        companion = order[first + (cell[order[first]] == cell[told])]
        may = np.isfinite(price[companion])
        told, companion = told[may], companion[may]
        differ = (people[companion] != people[told]) & ~now[companion]
        for i, keys in zip(companion, differ, strict=True):
            more[i] |= keys
        now |= more
        waiting[companion] = False
    return more


def _spread(mask: Mask, assessment: Assessment) -> Mask:
    """Return the mask of all members of the households of some records."""
    groups = assessment.households
    assert groups is not None
    hit = np.zeros(len(groups), bool)
    hit[groups.inverse[mask]] = True
    return hit[groups.inverse]


def _join_related(masks: Masks, assessment: Assessment, settings: Settings) -> None:
    """Blank related columns, and the household's values, together with a key."""
    total = -1
    while total != (now := sum(int(mask.sum()) for mask in masks.values())):
        total = now
        for key, others in settings.related.items():
            for other in others:
                masks[other] |= masks[key]
        for key in settings.household_keys:
            masks[key] |= _spread(masks[key], assessment)


def costs_of_sets(assessments: Sequence[Assessment], settings: Settings) -> list[Risks]:
    """Return by set the cost of blanking each key, (m,); by category by row, (n, m)."""
    of_keys = [_costs_of_keys(assessment, settings) for assessment in assessments]
    by_design = any(
        labels.dtype == object and ByDesign in map(type, labels)
        for assessment in assessments
        for labels in assessment.cells.categories
    )
    if not (settings.cost_of_categories or by_design):
        return of_keys
    of_rows: dict[Hashable, Risks] = {}
    for assessment, own in zip(assessments, of_keys, strict=True):
        for i, key in enumerate(assessment.cells.keys):
            if key not in of_rows:
                code_costs = _costs_of_codes(assessment.cells, i, own[i], settings)
                of_rows[key] = code_costs[assessment.cells.codes[i]][
                    assessment.cells.rows
                ]
    never = {key: np.isinf(costs) for key, costs in of_rows.items()}
    for key, costs in of_rows.items():
        for other in settings.blanked_with(key):
            if other in never:
                costs[never[other]] = np.inf
    return [
        np.stack([of_rows[key] for key in assessment.cells.keys], axis=1)
        for assessment in assessments
    ]


def _costs_of_keys(assessment: Assessment, settings: Settings) -> Risks:
    """Return the cost of blanking each key."""
    costs = np.array([settings.cost_of(key) for key in assessment.cells.keys])
    if settings.cost == "entropy":
        return np.where(np.isinf(costs), costs, entropies(assessment.cells))
    return costs


def _costs_of_codes(cells: Cells, i: int, cost: float, settings: Settings) -> Risks:
    """Return the cost of blanking each category of a key; a missing value costs 0."""
    key, labels = cells.keys[i], cells.categories[i]
    texts = [code_text(plain_value(x)) for x in labels if x is not None]
    category_costs = settings.cost_of_categories.get(key, {})
    if unknown := [
        repr(category) for category in category_costs if category not in texts
    ]:
        raise ValueError(
            f"cost of {key!r}: {', '.join(unknown)} is not a category after recoding; "
            f"categories are {shortened(', '.join(texts), _LONGEST)}"
        )
    costs = np.zeros(len(labels))
    costs[: len(texts)] = cost
    if cost < np.inf:
        costs[: len(texts)] = [category_costs.get(text, cost) for text in texts]
    # A value that is missing by design cannot be blanked.
    costs[[type(label) is ByDesign for label in labels]] = np.inf
    return costs
