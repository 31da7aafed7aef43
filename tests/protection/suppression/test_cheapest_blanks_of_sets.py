"""Suppression for several sets of keys at once: against all that can be blanked."""

from itertools import combinations, pairwise

import numpy as np
import pytest

import riskcore
from riskcore.data.cells import tabulate
from riskcore.protection.suppression import cheapest_blanks_of_sets
from riskcore.protection.suppression.cheapest_blanks import (
    Margins,
    losses_of,
    plan,
    preference_of,
)
from riskcore.protection.suppression.cheapest_blanks_of_sets import Sight, plan_together
from riskcore.simulate import microdata
from tests.accepted import ANY_LEAK

NAMES = ["d", "b", "e", "a", "c"]
SETS = [("d", "b", "e"), ("b", "a"), ("a", "c", "e", "d")]


def made(seed, missing):
    """Return a file of 40 records, with gaps if missing is a rule."""
    rng = np.random.default_rng(seed)
    data = {name: rng.integers(0, 2 + i, 40) for i, name in enumerate(NAMES)}
    if missing != "complete":
        for name in NAMES:
            data[name] = np.ma.MaskedArray(data[name], rng.random(40) < 0.1)
    data["w"] = rng.uniform(1, 9, 40)
    return data


def risk(f, F):
    return 1 / (f + F / 4)


def sights_of(data, missing, alpha, limits):
    rule = "wildcard" if missing == "complete" else missing
    found = []
    for keys, limit in zip(SETS, limits, strict=True):
        cells = tabulate(data, list(keys), "w", missing=rule, alpha=alpha)
        at = tuple(NAMES.index(key) for key in keys)
        each = np.full(40, limit)
        found.append(Sight(Margins(cells, risk), at, cells.inverse, each))
    return found


def losses(data):
    """Return the losses of the codes of all keys, and of the values of each record."""
    cells = tabulate(data, NAMES, missing="wildcard")
    of_values = []
    for name in NAMES:
        values = np.ma.getdata(data[name])
        missing = np.ma.getmaskarray(data[name])
        shown = values[~missing].tolist()
        of_values.append(
            [
                0 if gone else 2**50 // shown.count(value)
                for value, gone in zip(values.tolist(), missing, strict=True)
            ]
        )
    return losses_of(cells), np.array(of_values).T.tolist()


def closed(keys, along):
    return sum(1 << i for i in range(5) if any(along[k] >> i & 1 for k in keys))


def is_safe(sights, unit, mask):
    """Return whether a unit is safe in all sets of keys without those of a mask."""
    for one in sights:
        gone = sum(1 << i for i, c in enumerate(one.columns) if mask >> c & 1)
        kept = one.margins.all_keys & ~gone
        if not one.margins.risk(kept, one.cell[[unit]])[0] < one.threshold[unit]:
            return False
    return True


def by_hand(sights, unit, cost, along, loss):
    """Return the keys that a unit loses, by trying all; None if nothing helps.

    Of equally cheap and equally many keys those whose categories have most records.
    """
    by_name = sorted(range(5), key=NAMES.__getitem__)
    best = None
    for size in range(6):
        for keys in combinations(range(5), size):
            mask = closed(keys, along)
            lost = [i for i in range(5) if mask >> i & 1]
            if len(lost) != size or any(np.isinf(cost[i]) for i in lost):
                continue
            present = 0
            for one in sights:
                own = int(one.margins.present(one.cell[[unit]])[0])
                present |= one.seen(own)
            if mask & ~present:
                continue
            rank = (
                sum(sorted(cost[i] for i in lost)), size,
                sum(loss[i] for i in lost),
                sorted(by_name.index(i) for i in lost),
            )  # fmt: skip
            if (best is None or rank < best[0]) and is_safe(sights, unit, mask):
                best = rank, mask
    return None if best is None else best[1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("missing", "alpha"),
    [("complete", 1.0), ("wildcard", 1.0), ("wildcard", 0.5), ("category", 1.0)],
)
def test_each_record_loses_the_cheapest_keys_of_all(seed, missing, alpha):
    data = made(seed, missing)
    sights = sights_of(data, missing, alpha, (0.2, 0.1, 0.25))
    rng = np.random.default_rng(seed)
    cost = rng.choice([1.0, 1.0, 2.0, 2.5], 5) if seed % 2 else np.ones(5)
    if seed % 3 == 2:
        cost[3] = np.inf
    along = [1 << i for i in range(5)]
    of_codes, loss = losses(data)
    blank = plan_together(sights, NAMES, cost, along, losses=of_codes)
    blanked = 0
    for unit in range(40):
        best = by_hand(sights, unit, cost, along, loss[unit])
        if best is not None:
            assert int(blank[unit]) == best, unit
            blanked += best != 0
    assert blanked >= 5


@pytest.mark.parametrize("seed", range(4))
def test_keys_that_go_together(seed):
    data = made(seed, "complete")
    sights = sights_of(data, "complete", 1.0, (0.2, 0.1, 0.25))
    # d takes e along, and a and c each other.
    along = [0b00101, 0b00010, 0b00100, 0b11000, 0b11000]
    cost = np.array([1.0, 2.0, 1.0, 1.0, 1.5]) if seed % 2 else np.ones(5)
    of_codes, loss = losses(data)
    blank = plan_together(sights, NAMES, cost, along, losses=of_codes)
    for unit in range(40):
        best = by_hand(sights, unit, cost, along, loss[unit])
        if best is not None:
            assert int(blank[unit]) == best
            mask = int(blank[unit])
            assert mask == closed([i for i in range(5) if mask >> i & 1], along)


def test_one_set_of_keys_is_planned_as_before():
    data = made(1, "complete")
    cells = tabulate(data, NAMES, "w")
    margins, limit = Margins(cells, risk), np.full(40, 0.2)
    rng = np.random.default_rng(1)
    cost, losses = rng.choice([1.0, 1.5], 5), losses_of(cells)
    alone = plan(margins, cells.inverse, limit, cost, losses=losses)
    sight = Sight(margins, tuple(range(5)), cells.inverse, limit)
    same = plan_together([sight], NAMES, cost, [1, 2, 4, 8, 16], losses=losses)
    assert alone.any()
    by_position = plan(margins, cells.inverse, limit, cost)
    assert by_position.tolist() != alone.tolist()
    assert same.tolist() == alone.tolist()


def of_two_sets(data, *limits):
    """Return the sights of the keys a and b, and b and c."""
    sights = []
    for keys, at, limit in zip(("ab", "bc"), ((0, 1), (1, 2)), limits, strict=True):
        cells = tabulate(data, list(keys))
        margins, each = Margins(cells, lambda f, F: 1 / f), np.full(cells.n, limit)
        sights.append(Sight(margins, at, cells.inverse, each))
    return sights


def test_who_cannot_be_made_safe_from_one_set_is_made_so_from_the_others():
    data = {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "c": [1, 2, 2, 2]}
    sights = of_two_sets(data, 0.2, 0.6)
    blank = plan_together(sights, list("abc"), np.ones(3), [1, 2, 4])
    # Of the first set all is lost; by the second all but one are safe then.
    assert blank.tolist() == [0b111, 0b011, 0b011, 0b011]


def test_a_search_that_is_given_up_is_safe_and_not_the_cheapest(monkeypatch):
    monkeypatch.setattr(cheapest_blanks_of_sets, "_NODES", 2)
    sights = sights_of(made(0, "complete"), "complete", 1.0, (0.2, 0.1, 0.25))
    along = [1 << i for i in range(5)]
    blank = plan_together(sights, NAMES, np.ones(5), along)
    monkeypatch.undo()
    best = plan_together(sights, NAMES, np.ones(5), along)
    assert np.all(np.bitwise_count(blank) >= np.bitwise_count(best))
    assert blank.tolist() != best.tolist()
    for one in sights:
        for unit in range(40):
            gone = sum(
                1 << i for i, c in enumerate(one.columns) if int(blank[unit]) >> c & 1
            )
            kept = one.margins.all_keys & ~gone
            assert one.margins.risk(kept, one.cell[[unit]])[0] < one.threshold[unit]


@pytest.mark.parametrize("seed", range(20))
def test_hitting_sets_are_the_cheapest_by_all_subsets(seed):
    rng = np.random.default_rng(seed)
    number = 9
    sets = [
        int(sum(1 << int(i) for i in rng.choice(number, rng.integers(1, 5), False)))
        for _ in range(rng.integers(2, 14))
    ]
    cost = rng.choice([1.0, 2.0, 3.5], number)
    names = [chr(97 + i) for i in rng.permutation(number)]
    preference = preference_of(names, by_name=True)
    choice = cheapest_blanks_of_sets.Choice.of(
        cost, [1 << i for i in range(number)], preference
    )
    masks = choice.cheapest(sets)
    hits = [x for x in range(1 << number) if all(x & one for one in sets)]
    least = min(map(choice.rank, hits))
    by_name = {x: sorted(names[i] for i in range(number) if x >> i & 1) for x in hits}
    assert masks == sorted(
        (x for x in hits if choice.rank(x) == least), key=by_name.__getitem__
    )


def test_records_are_counted_once_that_are_alike():
    said = []
    data = {"a": [1] * 3 + [2, 2], "b": [1] * 3 + [2, 2], "c": [1, 1, 1, 2, 2]}
    sights = of_two_sets(data, 0.4, 0.4)
    blank = plan_together(sights, list("abc"), np.ones(3), [1, 2, 4], said.append)
    assert said[0].endswith("1 of them distinct")
    assert blank[3] == blank[4] != 0
    assert all(a == b for a, b in pairwise(blank[:3].tolist()))


def test_a_model_that_no_goal_asks_for_changes_no_blank():
    # With a model the sets were planned one after the other, which blanks more.
    data = microdata(1500, np.random.default_rng(3))
    data["REGION"] //= 100
    keys = [["REGION", "AGE"], ["AGE", "MARSTAT"], ["REGION", "EDUCATION"]]
    made = [
        riskcore.protect(
            data, keys, "WEIGHT", min_population=30_000, population=population,
            recodings={"AGE": "from:15,30,45,65"}, **ANY_LEAK,
        )
        for population in ("auto", "weights")
    ]  # fmt: skip
    assert made[0].sets[0].original.model is not None
    assert made[0].suppressed == made[1].suppressed
