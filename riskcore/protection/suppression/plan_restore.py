"""Plan the whole file: blank no value that can be put back.

Planned record by record, each record is safe by its own blanks, and most of them would
be safe with fewer, since the blanks of others match them. ``plan="restore"`` puts back
every value that can be put back while all records stay safe. The result is assessed
again like any plan. It comes with a lower bound on the cost of any plan that puts
values back from this plan by record.

Related keys, and keys of a household, are blanked and put back together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskcore.assessment.result import Assessment
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
from riskcore.protection.suppression.plan_parts import Priced, in_parts
from riskcore.protection.suppression.plan_units import COST_UNIT, File, Units
from riskcore.protection.suppression.rounds import Aim, Mask, Masks

# Work is counted, not timed: the result is the same on every machine.
_WORK = 100_000_000
_PASSES = 4
_NODES = 100_000
_SEARCHED = 500_000_000
_STEPS = 300
# The numbers in the tables of a bound: some hundred MB.
_MOST_IN_TABLES = 40_000_000
# The work spent on the prices of rules.
_PRICED = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """The masks of a plan, its lower bound, and whether it is proven to be optimal."""

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
    """Return a plan of the whole file that blanks a part of a plan by record."""
    file = File.of(coded, assessments, aims, costs, settings)
    by_record = file.packed(masks)
    say(f"plan {settings.plan!r}: putting values back")
    best = _put_back(file, by_record, still_unsafe)
    rules = _priced(file, by_record, file.plain_cost(best), still_unsafe)
    say(f"plan {settings.plan!r}: again, what helps others least first")
    other = _put_back(file, by_record, still_unsafe, rules.worth)
    if file.cost_of(other) < file.cost_of(best):
        best = other
    say(f"plan {settings.plan!r}: small parts of the file, by trying all")
    best, bound = in_parts(file, best, by_record, still_unsafe, rules)
    optimal = bound is not None and bound == file.plain_cost(best)
    if not optimal:
        exact, optimal = _exact(file, best, by_record, still_unsafe)
        if exact is not None:
            best = exact
    spent = file.plain_cost(best)
    if optimal:
        bound = spent
    found = file.unpacked(best, masks, settings)
    return Found(found, bound, optimal or bound == spent)


def _put_back(
    file: File, by_record: KeyMasks, frozen: Mask, worth: Floats | None = None
) -> KeyMasks:
    """Return a plan from which no value can be put back.

    With ``worth``, what each record's blanks give to others, the least go back first.
    """
    file = file.watching(by_record)
    units = Units.of(file, by_record != 0)
    state = units.matching(file, by_record, by_record)
    moves, cost = units.moves(file, np.where(frozen, np.uint64(0), by_record))
    if worth is not None:
        of_move = np.full(moves.number, -np.inf)
        np.maximum.at(of_move, moves.of_part, worth[units.row[moves.unit]])
        order = np.argsort(of_move, kind="stable")
        moves, cost = moves.take(order), cost[order]
    done = state.put_back(moves)
    for _ in range(_PASSES):
        left, before = _WORK - state.work, done
        if left <= 0:
            break
        done = state.exchange(moves, cost, done, left)
        if np.array_equal(done, before):
            break
    # Exchanges may have left values that can be put back by themselves.
    state.put_back(moves)
    return units.of_rows(state.blank, by_record)


def _exact(
    file: File, best: KeyMasks, by_record: KeyMasks, frozen: Mask
) -> tuple[KeyMasks | None, bool]:
    """Return a cheaper plan of a small file or None, and whether that is proven."""
    free = np.where(frozen, np.uint64(0), by_record)
    if int(np.bitwise_count(free).sum()) > MOST_MOVES:
        return None, False
    file = file.watching(by_record)
    units = Units.of(file, by_record != 0)
    fixed = np.where(frozen, by_record, np.uint64(0))
    state = units.matching(file, fixed, by_record)
    if not len(free) or not free.any():
        return None, file.whole
    moves, cost = units.moves(file, free)
    most = file.cost_of(best) - file.cost_of(fixed)
    # Cheap plans first: they are soon ruled out. A step is not smaller than a cost of
    # one: steps by a key that costs nothing would never end.
    step = int(cost[cost >= COST_UNIT].min(initial=cost.max(initial=COST_UNIT)))
    limit, blanked, proven = 1, None, True
    while blanked is None and proven and limit < most:
        limit = min(limit + step, most)
        blanked, proven, _ = cheapest(state, moves, cost, limit, _NODES, work=_SEARCHED)
    if blanked is None:
        return None, proven and file.whole
    found = fixed.copy()
    part = blanked[moves.of_part]
    np.bitwise_or.at(found, units.row[moves.unit[part]], moves.columns[part])
    return found, proven and file.whole


def _priced(file: File, may: KeyMasks, goal: float, frozen: Mask) -> Priced:
    """Return the lower bound on plans that blank no more than some keys."""
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
    """Return an estimate of the number of sets of keys that records may lose."""
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
    """Return the units that one set of keys makes unsafe, and what they need."""
    assessment = file.assessments[v]
    row = units.row
    unsafe = file.unsafe[v][row] & ~frozen[row]
    cell = assessment.cells.rows[row[unsafe]]
    needs = np.zeros(len(row))
    places = file.places(v)
    codes = file.codes[row][:, places]
    may = may[row]
    able = np.zeros(len(row), np.uint64)
    for k, column in enumerate(places):
        able |= (may >> np.uint64(column) & np.uint64(1)) << np.uint64(k)
    helpers, top, mean = helpers_of(codes, able, units.size, heaviest)
    f = assessment.cells.sample_frequency[cell].astype(np.float64)
    F, limit = assessment.cells.population_frequency[cell], units.limits[v][unsafe]
    risk_of, helpers = file.risk_of(v), helpers[unsafe]
    least = least_helpers(f, F, limit, top[unsafe], helpers, file.alpha, risk_of)
    needs[unsafe] = least
    by_weight = shares_of_weight(f, F, limit, least, helpers, file.alpha, risk_of)
    # Shares by weight are taken where a helper of mean weight gives less by them.
    usual = by_weight[:, 0] + by_weight[:, 1] * mean[unsafe]
    share = shares_of_count(needs)
    better = (usual > 0) & (usual < share[unsafe, 0])
    share[np.flatnonzero(unsafe)[better]] = by_weight[better]
    return Unsafe(
        codes,
        units.size,
        file.price[row][:, list(places)],
        able,
        needs,
        heaviest,
        share,
        places,
    )
