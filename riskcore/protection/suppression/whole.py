"""A file planned as a whole: no value blanked that it can do without.

Planned record by record, each record is safe by its own blanks, and most of them would
be safe with fewer, since the blanks of others match them. `plan="restore"` puts back
whatever value can be put back while all stay safe; `plan="file"` looks for the fewest
blanks of all, whoever carries them. What they find is assessed again like any plan, and
comes with a lower bound: for "restore" on what putting values back from this plan by
record can reach, for "file" on all plans, both at the given costs.

Related keys, and keys of a household, are blanked and put back together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from riskcore.assessment.assess import Assessment
from riskcore.common.progress import Lines
from riskcore.data.coded import CodedRecords
from riskcore.protection.settings import Settings
from riskcore.protection.suppression.matching import Floats, KeyMasks
from riskcore.protection.suppression.plan_bound import (
    FEW_TRIED,
    MOST_TRIED,
    Bound,
    Unsafe,
    helpers_of,
    least_helpers,
    shares_of_count,
    shares_of_weight,
)
from riskcore.protection.suppression.plan_exact import MOST_MOVES, cheapest
from riskcore.protection.suppression.plan_file import File, Units
from riskcore.protection.suppression.plan_greedy import Unprotected, greedy_cover
from riskcore.protection.suppression.plan_parts import Priced, in_parts
from riskcore.protection.suppression.rounds import Aim, Mask, Masks

# Work is counted, not timed: the result depends on no machine.
_WORK = 100_000_000
_PASSES = 4
_NODES = 100_000
_SEARCHED = 500_000_000
_STEPS = 300
# The numbers in tables of a bound: some hundred MB.
_MOST_IN_TABLES = 40_000_000
# Prices of rules are changed while the work of it is below this.
_PRICED = 1_000_000_000


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
    if settings.plan == "file":
        say(f"plan {settings.plan!r}: looking for the fewest blanks")
        starts = _covers(file, by_record, still_unsafe)
    bound: float | None = None
    carried = False
    for start in starts:
        other = _put_back(file, start, start, still_unsafe)
        if file.cost_of(other) < file.cost_of(best):
            best, carried = other, True
    if not carried:
        spent = file.plain_cost(best)
        rules = _priced(file, by_record, spent, still_unsafe)
        worth = rules.worth
        say(f"plan {settings.plan!r}: again, what helps others least first")
        other = _put_back(file, by_record, by_record, still_unsafe, worth)
        if file.cost_of(other) < file.cost_of(best):
            best = other
        say(f"plan {settings.plan!r}: small parts of the file, by trying all")
        best, bound = in_parts(file, best, by_record, still_unsafe, rules)
    may = by_record
    if settings.plan == "file":
        may, bound = file.all_keys(by_record, still_unsafe), None
    optimal = bound is not None and bound == file.plain_cost(best)
    if not optimal:
        exact, optimal = _exact(file, best, may, by_record, still_unsafe)
        if exact is not None:
            best = exact
    spent = file.plain_cost(best)
    if optimal:
        bound = spent
    elif settings.plan == "file":
        say(f"plan {settings.plan!r}: a bound from below")
        bound = _priced(file, may, spent, still_unsafe).value
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
    file = file.watching(most)
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
    file = file.watching(may)
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
        blanked, proven, _ = cheapest(state, moves, cost, limit, _NODES, work=_SEARCHED)
    if blanked is None:
        return None, proven and file.whole
    found = fixed.copy()
    for t in np.flatnonzero(blanked):
        for part in range(moves.begin[t], moves.begin[t + 1]):
            found[units.row[moves.unit[part]]] |= moves.columns[part]
    return found, proven and file.whole


def _covers(file: File, by_record: KeyMasks, frozen: Mask) -> list[KeyMasks]:
    """Return plans in which few records carry the blanks."""
    n = len(file.codes)
    units = Units.of(file, np.zeros(n, bool))
    order = np.lexsort((np.arange(n), -file.weight, units.of_row))
    first = np.searchsorted(units.of_row[order], np.arange(len(units.size)))
    heaviest = order[first]
    may = file.all_keys(by_record, np.zeros(n, bool))
    # Keys of a household are blanked in all of it: they stay.
    bundles = [one for one in file.bundles if not one & file.shared]
    if not bundles or _choices(may[heaviest]) * len(units.size) > _MOST_IN_TABLES:
        return []
    views = []
    for v, assessment in enumerate(file.assessments):
        of = assessment.cells.rows[heaviest]
        views.append(
            Unprotected(
                units.unsafe(file, v, may[heaviest], np.zeros(len(of))),
                assessment.cells.sample_frequency[of].astype(np.float64),
                assessment.cells.population_frequency[of],
                np.where(file.unsafe[v][heaviest], units.limits[v], np.nan),
                file.risk_of(v),
            )
        )
    cover = greedy_cover(
        views, file.weight[heaviest], file.alpha, file.blank_matches_complete, bundles,
        most=max(64, n // 100),
    )  # fmt: skip
    plan = np.where(frozen, by_record, np.uint64(0))
    used = np.zeros(len(units.size), np.int64)
    for i, lost in zip(cover.unit.tolist(), cover.columns.tolist(), strict=True):
        row = order[first[i] + used[i]]
        used[i] += 1
        plan[row] |= np.uint64(lost)
    # Who is unsafe still loses what the plan by record takes, and nothing else if no
    # key would be left: others would lose a match.
    for _ in range(_PASSES):
        bad = ~_safe(file, plan) & ~frozen
        if not bad.any():
            return [plan]
        both = plan | by_record
        both = np.where(file.loses_all(both), by_record, both)
        plan = file.spread(np.where(bad, both, plan))
    return [] if np.any(~_safe(file, plan) & ~frozen) else [plan]


def _safe(file: File, plan: KeyMasks) -> Mask:
    """Return which records are safe by a plan."""
    file = file.watching(plan)
    units = Units.of(file, plan != 0)
    safe: Mask = np.logical_and.reduce(units.matching(file, plan, plan).safe)
    return safe[units.of_row]


def _priced(file: File, may: KeyMasks, goal: float, frozen: Mask) -> Priced:
    """Return the bound of plans within some keys, and what comes with it."""
    n = len(file.codes)
    units = Units.of(file, may != file.usual(may))
    heaviest = np.zeros(len(units.size))
    np.maximum.at(heaviest, units.of_row, file.weight)
    views = [
        _rules(file, units, v, may, heaviest, frozen)
        for v in range(len(file.assessments))
    ]
    asks = np.logical_or.reduce([one.needs > 0 for one in views])
    use = asks | (may[units.row] != 0)
    nothing = np.full(n, -1), np.full(n, -np.inf)
    if not asks.any():
        return Priced(0.0, np.zeros(0), *nothing)
    if _choices(may[units.row][use]) * use.sum() > _MOST_IN_TABLES:
        return Priced(None, np.zeros(0), *nothing)
    bound = Bound([one.take(use) for one in views])
    steps = min(_STEPS, _PRICED // max(bound.work, 1))
    value = bound.raised(goal, steps)
    part, worth = np.full(len(use), -1), np.full(len(use), -np.inf)
    part[use], worth[use] = bound.component, bound.worth
    return Priced(value, bound.of_components(), part[units.of_row], worth[units.of_row])


def _choices(may: KeyMasks) -> int:
    """Return about how many sets of keys records may lose."""
    keys = int(np.bitwise_count(np.bitwise_or.reduce(may)))
    most = int(np.bitwise_count(may).max(initial=0))
    few = min(most, MOST_TRIED if most <= MOST_TRIED else FEW_TRIED)
    return min(
        sum(math.comb(keys, size) for size in range(1, few + 1)),
        len(np.unique(may)) << few,
    )


def _rules(
    file: File, units: Units, v: int, may: KeyMasks, heaviest: Floats, frozen: Mask
) -> Unsafe:
    """Return what units need that one set of keys makes unsafe."""
    assessment = file.assessments[v]
    row = units.row
    unsafe = file.unsafe[v][row] & ~frozen[row]
    of = assessment.cells.rows[row[unsafe]]
    needs = np.zeros(len(row))
    part = units.unsafe(file, v, may[row], needs)
    helpers, top, mean = helpers_of(part.codes, part.may, part.size, heaviest)
    f = assessment.cells.sample_frequency[of].astype(np.float64)
    F, limit = assessment.cells.population_frequency[of], units.limits[v][unsafe]
    risk_of, helpers = file.risk_of(v), helpers[unsafe]
    least = least_helpers(f, F, limit, top[unsafe], helpers, file.alpha, risk_of)
    needs[unsafe] = least
    by_weight = shares_of_weight(f, F, limit, least, helpers, file.alpha, risk_of)
    # Whichever a helper of usual weight gives less to.
    usual = by_weight[:, 0] + by_weight[:, 1] * mean[unsafe]
    share = shares_of_count(needs)
    better = (usual > 0) & (usual < share[unsafe, 0])
    share[np.flatnonzero(unsafe)[better]] = by_weight[better]
    return replace(part, weight=heaviest, share=share)
