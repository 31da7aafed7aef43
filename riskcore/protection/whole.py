"""A file planned as a whole: no value blanked that it can do without.

Planned record by record, each record is safe by its own blanks, and most of them would
be safe with fewer, since the blanks of others match them. `plan="restore"` puts back
whatever value can be put back while all stay safe; `plan="file"` looks for the fewest
blanks of all, whoever carries them. What they find is assessed again like any plan, and
comes with a bound that no plan of its kind can be below.

Related keys, and keys of a household, are blanked and put back together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskcore.assessment import Assessment
from riskcore.common.progress import Lines
from riskcore.microdata.coded import CodedRecords
from riskcore.microdata.matching import Floats, KeyMasks
from riskcore.microdata.plan_bound import (
    Bound,
    Unsafe,
    helpers_of,
    least_helpers,
    shares_of_count,
    shares_of_weight,
)
from riskcore.microdata.plan_exact import MOST_MOVES, cheapest
from riskcore.microdata.plan_greedy import greedy_cover
from riskcore.protection.plan_file import File, Units
from riskcore.protection.rounds import Aim, Mask, Masks
from riskcore.protection.settings import Settings

# Work is counted, not timed: the result depends on no machine.
_WORK = 100_000_000
_PASSES = 4
_NODES = 100_000
_STEPS = 300
# Prices of rules are changed while the work of it is below this.
_PRICED = 1_000_000_000
# Tables of 2**m sets of keys are made of no more.
_MOST_KEYS = 8


@dataclass(frozen=True, slots=True)
class Found:
    """What a whole file loses.

    Attributes
    ----------
    masks : dict of column name to bool ndarray, each shape (n,)
    lower_bound : float or None
    optimal : bool
    """

    masks: Masks
    lower_bound: float | None
    optimal: bool


def plan_whole(
    coded: CodedRecords,
    assessments: Sequence[Assessment],
    aims: Sequence[Aim],
    costs: Sequence[Floats],
    masks: Masks,
    still_unsafe: Mask,
    settings: Settings,
    say: Lines,
) -> Found:
    """Return what to blank instead of a plan by record.

    Parameters
    ----------
    coded : CodedRecords
        The file before suppression.
    assessments : sequence of Assessment
        Of it, from each set of keys.
    aims : sequence of Aim
    costs : sequence of float64 ndarray, each shape (m,)
    masks : dict of column name to bool ndarray, each shape (n,)
        The plan by record.
    still_unsafe : bool ndarray, shape (n,)
        Records that it cannot make safe: they keep what it blanks.
    settings : Settings
    say : callable

    Returns
    -------
    Found
    """
    file = File.of(coded, assessments, aims, costs, settings)
    by_record = file.packed(masks)
    say(f"plan {settings.plan!r}: putting values back")
    best = _put_back(file, by_record, by_record, still_unsafe)
    starts = []
    if settings.plan == "file" and file.apart:
        say(f"plan {settings.plan!r}: looking for the fewest blanks")
        starts = _covers(file, by_record, still_unsafe)
    bound: float | None = None
    for start in starts:
        other = _put_back(file, start, start, still_unsafe)
        if file.cost_of(other) < file.cost_of(best):
            best = other
    if not starts:
        spent = file.plain_cost(best)
        bound, worth = _bound(file, by_record, spent, still_unsafe)
        say(f"plan {settings.plan!r}: again, what helps others least first")
        other = _put_back(file, by_record, by_record, still_unsafe, worth)
        if file.cost_of(other) < file.cost_of(best):
            best = other
    may = by_record
    if settings.plan == "file":
        may = file.all_keys(by_record, still_unsafe)
    exact, optimal = _exact(file, best, may, by_record, still_unsafe)
    if exact is not None:
        best = exact
    spent = file.plain_cost(best)
    if optimal:
        bound = spent
    elif settings.plan == "file":
        say(f"plan {settings.plan!r}: a bound from below")
        bound, _ = _bound(file, may, spent, still_unsafe)
    found = file.unpacked(best, masks, settings)
    return Found(found, bound, optimal or bound == spent)


def _put_back(
    file: File,
    start: KeyMasks,
    most: KeyMasks,
    frozen: Mask,
    worth: Floats | None = None,
) -> KeyMasks:
    """Return a plan from which no value can be put back.

    ``worth``: what each record's blanks give to others; the least are tried first.
    """
    units = Units.of(file, most != 0)
    state = units.matching(file, start, most)
    moves, cost = units.moves(file, np.where(frozen, np.uint64(0), start))
    if worth is not None:
        of_move = np.full(len(moves), -np.inf)
        move = np.repeat(np.arange(len(moves)), np.diff(moves.begin))
        np.maximum.at(of_move, move, worth[units.row[moves.unit]])
        order = np.argsort(of_move, kind="stable")
        moves, cost = moves.take(order), cost[order]
    made = state.try_moves(moves)
    for _ in range(_PASSES):
        left = _WORK - state.work
        before = made
        if left <= 0:
            break
        made = state.exchange(moves, cost, made, left)
        if np.array_equal(made, before):
            break
    # So that no value is left that could be put back by itself.
    state.try_moves(moves)
    return units.of_rows(state.blank, start)


def _exact(
    file: File, best: KeyMasks, may: KeyMasks, by_record: KeyMasks, frozen: Mask
) -> tuple[KeyMasks | None, bool]:
    """Return a cheaper plan of a small file, if there is one, and if it is proven."""
    free = np.where(frozen, np.uint64(0), may)
    if int(np.bitwise_count(free).sum()) > MOST_MOVES:
        return None, False
    units = Units.of(file, may != 0)
    fixed = np.where(frozen, by_record, np.uint64(0))
    state = units.matching(file, fixed, may)
    if not len(free) or not free.any():
        return None, file.whole
    moves, cost = units.moves(file, free)
    most = file.cost_of(best) - file.cost_of(fixed)
    # Cheap plans first: what costs little is soon ruled out.
    step = max(int(cost.min()), 1)
    limit, blanked, proven = 1, None, True
    while blanked is None and proven and limit < most:
        limit = min(limit + step, most)
        blanked, proven = cheapest(state, moves, cost, limit, _NODES)
    if blanked is None:
        return None, proven and file.whole
    found = fixed.copy()
    for t in np.flatnonzero(blanked):
        for part in range(moves.begin[t], moves.begin[t + 1]):
            found[units.row[moves.unit[part]]] |= moves.columns[part]
    return found, proven and file.whole


def _covers(file: File, by_record: KeyMasks, frozen: Mask) -> list[KeyMasks]:
    """Return plans in which few records carry the blanks."""
    if len(file.assessments) > 1 or len(file.names) > _MOST_KEYS:
        return []
    n = len(file.codes)
    units = Units.of(file, np.zeros(n, bool))
    assessment, limit = file.assessments[0], units.limits[0]
    at = [file.names.index(key) for key in assessment.cells.keys]
    order = np.lexsort((np.arange(n), -file.weight, units.of_row))
    first = np.searchsorted(units.of_row[order], np.arange(len(units.size)))
    heaviest = order[first]
    of = assessment.cells.rows[heaviest]
    may = file.all_keys(by_record, np.zeros(n, bool))[heaviest]
    cover = greedy_cover(
        units.unsafe(file, 0, may, np.zeros(len(of))),
        assessment.cells.sample_frequency[of].astype(np.float64),
        assessment.cells.population_frequency[of],
        np.where(file.unsafe[0][heaviest], limit, np.nan),
        file.weight[heaviest],
        file.alpha,
        file.blank_matches_complete,
        file.risk_of(0),
        most=max(64, n // 100),
    )
    plan = np.where(frozen, by_record, np.uint64(0))
    used = np.zeros(len(units.size), np.int64)
    for i, lost in zip(cover.unit.tolist(), cover.columns.tolist(), strict=True):
        row = order[first[i] + used[i]]
        used[i] += 1
        plan[row] |= np.uint64(sum(1 << c for k, c in enumerate(at) if lost >> k & 1))
    # Who is unsafe still loses what the plan by record takes.
    safe = _safe(file, plan)
    return [np.where(safe, plan, plan | by_record)]


def _safe(file: File, plan: KeyMasks) -> Mask:
    """Return which records are safe by a plan."""
    units = Units.of(file, plan != 0)
    safe: Mask = np.logical_and.reduce(units.matching(file, plan, plan).safe)
    return safe[units.of_row]


def _bound(
    file: File, may: KeyMasks, goal: float, frozen: Mask
) -> tuple[float | None, Floats]:
    """Return a cost that no plan within some keys can be below, and worths."""
    worth = np.full(len(file.codes), -np.inf)
    if len(file.names) > _MOST_KEYS:
        return None, worth
    units = Units.of(file, may != file.usual(may))
    heaviest = np.zeros(len(units.size))
    np.maximum.at(heaviest, units.of_row, file.weight)
    best = 0.0
    for v, assessment in enumerate(file.assessments):
        row, limit = units.row, units.limits[v]
        unsafe = file.unsafe[v][row] & ~frozen[row]
        of = assessment.cells.rows[row[unsafe]]
        needs = np.zeros(len(row))
        part = units.unsafe(file, v, may[row], needs)
        helpers, top, mean = helpers_of(part.codes, part.may, part.size, heaviest)
        f = assessment.cells.sample_frequency[of].astype(np.float64)
        F, limit = assessment.cells.population_frequency[of], limit[unsafe]
        risk_of, helpers = file.risk_of(v), helpers[unsafe]
        least = least_helpers(f, F, limit, top[unsafe], helpers, file.alpha, risk_of)
        needs[unsafe] = least
        by_weight = shares_of_weight(f, F, limit, least, helpers, file.alpha, risk_of)
        # Whichever a helper of usual weight gives less to.
        usual = by_weight[:, 0] + by_weight[:, 1] * mean[unsafe]
        share = shares_of_count(needs)
        better = (usual > 0) & (usual < share[unsafe, 0])
        share[np.flatnonzero(unsafe)[better]] = by_weight[better]
        use = (needs > 0) | (part.may != 0)
        part = Unsafe(
            part.codes[use], part.size[use], part.price[use], part.may[use],
            part.needs[use], heaviest[use], share[use],
        )  # fmt: skip
        bound = Bound(part)
        steps = min(_STEPS, _PRICED // max(bound.work, 1))
        best = max(best, bound.raised(goal, steps))
        each = np.full(len(use), -np.inf)
        each[use] = bound.worth
        worth = np.maximum(worth, each[units.of_row])
    return best, worth
