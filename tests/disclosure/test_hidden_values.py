"""What a written file shows of suppressed values: attacks, and no false alarms."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore import Recoding, assess, protect, simulate
from riskcore.data.files import formats
from riskcore.disclosure.hidden_values import (
    RecodedColumn,
    SuppressedColumn,
    rule_holds,
    what_shows,
)
from riskcore.disclosure.leaks import Shown
from riskcore.protection.result import SuppressedValueShows, UnsafeError

N = 1200


def drawn(seed=1, n=N, regions=12, share=0.02):
    """Return regions in order, which of them are suppressed, and a generator."""
    rng = np.random.default_rng(seed)
    region = np.sort(rng.integers(0, regions, n))
    return region, rng.random(n) < share, rng


def shown(columns, codes, blanked, order=None):
    """Return what shows of the key "k", which is one of the columns."""
    columns = {"k": np.ma.array(codes, mask=blanked | (codes < 0)), **columns}
    found = what_shows(columns, {"k": SuppressedColumn(codes, blanked)}, order)
    return tuple(one for one in found if one.key == "k")


def by_column(found):
    return {one.column: (one.rule, one.count) for one in found}


def of_rule(found, rule):
    return {(one.key, one.column) for one in found if one.rule == rule}


def guesses_by_sorting(codes, visible, blanked, order):
    """Attack by sorting: yield the records guessed at, and whether rightly.

    A guess is the value that the nearest records before and after in the order have,
    among those of which the key is visible.
    """
    ordered = codes[order]
    at = np.flatnonzero(visible[order])
    for place, record in enumerate(order):
        if not (visible[record] or blanked[record]):
            continue
        before = at[np.searchsorted(at, place) - 1 :][:1]
        after = at[np.searchsorted(at, place, "right") :][:1]
        if not len(before) or not len(after) or before[0] >= place:
            continue
        if ordered[before[0]] == ordered[after[0]]:
            yield record, bool(ordered[before[0]] == codes[record])


def recovered(codes, visible, blanked, order):
    """Return guesses and right guesses at what shows, and at blanks."""
    tries = {True: [0, 0], False: [0, 0]}
    for record, right in guesses_by_sorting(codes, visible, blanked, order):
        count = tries[bool(visible[record])]
        count[0] += 1
        count[1] += right
    return tries[True], tries[False]


# What shows


@pytest.mark.parametrize("errors", [0.0, 0.1, 0.2, 0.3, 0.4])
def test_a_copy_with_errors(errors):
    """An intruder reads what the copy has right, whatever its share of errors."""
    region, blanked, rng = drawn(n=6000, regions=40)
    wrong = rng.random(6000) < errors
    copy = np.where(wrong, rng.permutation(region), region)
    mixed = rng.permutation(6000)
    found = by_column(shown({"copy": 7 * copy % 40}, region, blanked, mixed))
    assert found["copy"][1] == np.count_nonzero(blanked & (copy == region))
    recoded = {"r": RecodedColumn(region, region // 10)}
    (one,) = what_shows({"copy": 7 * copy % 40}, {}, mixed, recoded)
    assert abs(one.count - np.count_nonzero(copy == region)) < 0.06 * 6000
    # A relation by which less than half is read is what data are for.
    weak = np.where(rng.random(6000) < 0.6, rng.permutation(region), region)
    assert shown({"weak": weak}, region, blanked, mixed) == ()


@pytest.mark.parametrize("spread", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_weights_near_that_of_the_stratum(spread, seed):
    rng = np.random.default_rng(seed)
    region, mixed = rng.integers(0, 60, 20_000), rng.permutation(20_000)
    weight = 100 + 10 * rng.permutation(60)[region]
    weight += rng.integers(-spread, spread + 1, 20_000)
    recoded = {"r": RecodedColumn(region, region // 10)}
    (one,) = what_shows({"w": weight}, {}, mixed, recoded)
    assert one.count == 20_000
    blanked = rng.random(20_000) < 0.01
    found = by_column(shown({"w": weight}, region, blanked, mixed))
    assert found["w"][1] == np.count_nonzero(blanked)


@pytest.mark.parametrize(("errors", "told"), [(0.0, True), (0.1, True), (0.4, False)])
def test_codes_before_recoding_show_in_a_copy_but_not_in_what_depends_on_them(
    errors, told
):
    """As marital status before recoding depends on age, and is not told by it."""
    rng = np.random.default_rng(8)
    region = rng.integers(0, 60, 20_000)
    near = region // 10 * 10 + rng.integers(0, 10, 20_000)
    column = np.where(rng.random(20_000) < errors, near, region)
    recoded = {"r": RecodedColumn(region, region // 10)}
    found = what_shows({"c": column}, {}, rng.permutation(20_000), recoded)
    right = np.count_nonzero(column == region)
    assert [one.count for one in found] == [right] * told


def test_bands_of_neighbors_that_mostly_agree():
    """Neighbors differ in every second pair; most of sixteen have the region."""
    region, blanked, rng = drawn(n=6000)
    noise = rng.random(6000) < 0.35
    region = np.where(noise, rng.integers(0, 12, 6000), region)
    found = by_column(shown({}, region, blanked))
    assert found[None][1] > 0.6 * np.count_nonzero(blanked)
    assert shown({}, region, blanked, rng.permutation(6000)) == ()


def test_pairs_that_differ_are_wrong_by_either_value():
    """Of guesses at the rarer value a third are right: its errors were not counted."""
    rng = np.random.default_rng(1)
    pairs = np.repeat([[0, 0], [0, 1], [1, 1]], [800, 400, 100], axis=0)
    key = np.concatenate([pairs.ravel(), np.ones(20, int)])
    of_pair = rng.permutation(1300)
    value = np.concatenate([np.repeat(of_pair, 2), of_pair[-20:]])
    blanked = np.arange(2620) >= 2600
    assert shown({"x": value}, key, blanked, rng.permutation(2620)) == ()


IDS = np.arange(N)
# The rule by which a column tells the regions, and how to make it of them.
COLUMNS = {
    "numbers": ("between", lambda region, rng: IDS),
    "scaled numbers": ("between", lambda region, rng: IDS * 1.5 - 7),
    "numbers as text": ("between", lambda region, rng: IDS.astype(str)),
    "ids": ("between", lambda region, rng: np.array([f"P{i:06d}" for i in IDS])),
    "days": ("between", lambda region, rng: np.datetime64("2020-01-01") + IDS),
    # Nearly all of its values occur once: the codes around one show it.
    "finest codes": (
        "between",
        lambda region, rng: np.array([f"D{region[i]:02d}{i:05d}" for i in IDS]),
    ),
    "noisy weights": (
        "between",
        lambda region, rng: rng.permutation(12)[region] + rng.uniform(-0.4, 0.4, N),
    ),
    "weights": ("equal", lambda region, rng: rng.permutation(12)[region] + 20.5),
    "finer codes": (
        "equal",
        lambda region, rng: np.array([f"D{r:02d}{rng.integers(9)}" for r in region]),
    ),
    "mixed types": (
        "equal",
        lambda region, rng: [int(region[i]) if i % 2 else f"r{region[i]}" for i in IDS],
    ),
    "lists": ("equal", lambda region, rng: pl.Series([[int(r)] for r in region])),
    "objects": ("equal", lambda region, rng: [{"r": int(r)} for r in region]),
    "new ids": (None, lambda region, rng: rng.permutation(N)),
    "coarse weights": (None, lambda region, rng: rng.choice([20.0, 25.0, 30.0], N)),
    "coarser codes": (None, lambda region, rng: region < 4),
    "not a number": (None, lambda region, rng: np.full(N, np.nan)),
    "all missing": (None, lambda region, rng: [None] * N),
}  # fmt: skip


@pytest.mark.parametrize("kind", COLUMNS)
def test_what_a_column_tells(kind):
    region, blanked, rng = drawn()
    rule, make = COLUMNS[kind]
    columns = {"x": make(region, rng)}
    found = by_column(shown(columns, region, blanked, rng.permutation(N)))
    if rule is None:
        assert found == {}
    else:
        ((by, told),) = found.values()
        count = np.count_nonzero(blanked)
        ends = 3 if rule == "between" else 0  # of regions
        assert by == rule
        assert count - ends <= told <= count


def some_exceptions(region, rng):
    odd = rng.random(N) < 0.03
    column = np.where(odd, rng.integers(0, 12, N), region)
    return column, column == region


# A column, and the records whose region it tells.
PARTS = {
    "weights of one class": lambda region, rng: (
        np.where(region == 7, 3.0, rng.integers(10, 30, N)), region == 7,
    ),
    "missing in one region": lambda region, rng: (
        np.where(region == 4, np.nan, rng.normal(size=N)), region == 4,
    ),
    "right with a few exceptions": some_exceptions,
}  # fmt: skip


@pytest.mark.parametrize("kind", PARTS)
def test_what_a_column_tells_of_some_records(kind):
    region, blanked, rng = drawn()
    column, tells = PARTS[kind](region, rng)
    found = by_column(shown({"x": column}, region, blanked, rng.permutation(N)))
    assert found == {"x": ("equal", np.count_nonzero(blanked & tells))}


def test_ids_of_text_are_looked_at_as_text_too():
    # Region and number within it: 7, 71, 710, ... are neighbors as text alone.
    region, blanked, rng = drawn(regions=9)
    ids = np.array([f"{r + 1}{rng.integers(0, 10**9)}" for r in region])
    cut = np.array([one[: 1 + rng.integers(1, 9)] for one in ids])
    for kind in (cut, cut.astype(np.int64)):
        assert "id" in by_column(
            shown({"id": kind}, region, blanked, rng.permutation(N))
        )


def test_the_order_of_the_records():
    region, blanked, rng = drawn()
    found = shown({"x": rng.integers(0, 5, N)}, region, blanked)
    (one,) = found
    assert (one.column, one.rule) == (None, "between")
    assert one.count >= np.count_nonzero(blanked) - 3
    assert str(one) == (
        f"{one.count} of {one.of} suppressed values of 'k' show in the order of the "
        "records: they can be read off the records before and after them"
    )
    assert (
        shown({"x": rng.integers(0, 5, N)}, region, blanked, rng.permutation(N)) == ()
    )


def test_the_order_is_not_blamed_on_a_column_with_equal_values():
    region, blanked, rng = drawn()
    found = by_column(shown({"sex": rng.integers(0, 2, N)}, region, blanked))
    assert found.keys() == {None}


def test_households():
    rng = np.random.default_rng(3)
    size = rng.integers(1, 6, 400)
    household = np.repeat(np.arange(400), size)
    region = rng.integers(0, 12, 400)[household]
    n = len(region)
    blanked = rng.random(n) < 0.05
    mates = [
        np.any((household == household[i]) & ~blanked) for i in np.flatnonzero(blanked)
    ]
    ids = rng.permutation(400)[household]
    columns = {"hh": np.array([f"h{i}" for i in ids], object)}
    found = by_column(shown(columns, region, blanked, rng.permutation(n)))
    assert found == {"hh": ("equal", sum(mates))}
    # The members are together in the file: the order shows it without the column.
    together = by_column(shown({}, region, blanked))
    assert together[None][1] > 0


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames(make):
    region, blanked, rng = drawn()
    rows = rng.permutation(N)
    frame = make(
        {"id": rows, "text": [f"{i:05d}" for i in rows], "r": region[rows].tolist()}
    )
    from riskcore.data.blank import blank
    from riskcore.data.columns import Records

    mask = blanked[rows]
    columns = Records.of(blank(frame, {"r": mask})).columns
    found = what_shows(columns, {"r": SuppressedColumn(region[rows], mask)})
    assert {one.column for one in found} == {"id", "text"}


def test_rare_values_are_found_among_trivial_guesses():
    # 97 % have the commonest value, and those suppressed mostly do not.
    rng = np.random.default_rng(1)
    household = np.repeat(np.arange(1000), 4)
    foreign = (rng.random(1000) < 0.03)[household].astype(int)
    blanked = (foreign == 1) & (np.arange(4000) % 4 == 0)
    found = shown({"hh": household}, foreign, blanked, rng.permutation(4000))
    assert by_column(found) == {"hh": ("equal", np.count_nonzero(blanked))}


def test_values_that_were_missing_are_neither_shown_nor_counted():
    region, blanked, rng = drawn()
    absent = ~blanked & (rng.random(N) < 0.1)
    codes = np.where(absent, -1, region)
    (one,) = shown({"w": 1.0 + region}, codes, blanked, rng.permutation(N))
    assert (one.count, one.of) == (np.count_nonzero(blanked),) * 2


def test_the_most_first_and_nothing_of_nothing():
    region, blanked, rng = drawn()
    half = np.where(region < 6, region, -1)
    found = shown({"half": half, "all": region}, region, blanked, rng.permutation(N))
    assert [one.column for one in found] == ["all", "half"]
    none = np.zeros(N, bool)
    assert shown({"all": region}, region, none) == ()
    assert shown({"all": region}, region, ~none) == ()
    assert what_shows({"all": region}, {}) == ()


@pytest.mark.parametrize(
    ("trials", "wrong", "by_chance", "holds"),
    [
        # Half the errors of a guess are just few enough.
        (10_000, 500, 0.1, True),
        (10_000, 501, 0.1, False),
        (1000, 475, 0.95, True),
        (1000, 476, 0.95, False),
        (10_000, 0, 0, False),
        # Without an error the bound of chance is exp(-expected/2), taken at half the
        # numbers: below 1e-5 from 23.03 on.
        (24, 0, 0.96, True),
        (24, 0, 0.95, False),
    ],
)
def test_where_a_rule_begins_to_hold(trials, wrong, by_chance, holds):
    assert rule_holds(trials, wrong, by_chance, 1e-5) == holds


def test_what_few_agree_on_is_not_told_with_what_many_agree_on():
    # Strata of 40 with equal regions; pairs with random regions.
    rng = np.random.default_rng(5)
    large, pairs = np.repeat(np.arange(20), 40), np.repeat(np.arange(20, 520), 2)
    stratum = np.concatenate([large, pairs])
    region = np.concatenate([large % 10, rng.integers(0, 10, 1000)])
    blanked = np.zeros(1800, bool)
    blanked[:800:40] = True
    # In forty pairs one is suppressed, and by luck it has what the other has.
    blanked[800:880:2] = True
    region[800:880:2] = region[801:880:2]
    found = shown({"w": stratum}, region, blanked, rng.permutation(1800))
    assert by_column(found) == {"w": ("equal", 20)}


def test_neighbors_agree_if_their_neighbors_do():
    # Eighteen ids: eight of a region, then every second of another one. Where a single
    # one agrees on either side, most are guessed at wrongly.
    rng = np.random.default_rng(2)
    block = np.array([0] * 8 + [1, 0] * 5)
    region = np.concatenate([(block + 3 * i) % 7 for i in range(100)])
    ids = 10_000 + 10 * np.arange(1800)
    # In every second of forty blocks one is suppressed of which four agree on either
    # side, in the others one where a single one does.
    place = np.array([180 * i + (5 if i % 2 else 35) for i in range(40)])
    region = np.concatenate([region, region[place // 10]])
    ids = np.concatenate([ids, 10_000 + place])
    blanked = np.arange(1840) >= 1800
    found = shown({"id": ids}, region, blanked, rng.permutation(1840))
    assert by_column(found) == {"id": ("between", 20)}


def test_a_value_whose_records_differ_is_wrong_by_their_share():
    # Four records with each value; of every fifth value one has another region.
    rng = np.random.default_rng(3)
    value = np.repeat(1000 + 10 * np.arange(400), 4)
    region = np.repeat(np.arange(10), 160)
    region[::20] += 1
    # The suppressed have values of their own, between two whose records agree.
    place = np.arange(25, 4000, 200)
    region = np.concatenate([region, place // 400])
    value = np.concatenate([value, 1000 + place])
    blanked = np.arange(1620) >= 1600
    found = shown({"x": value}, region, blanked, rng.permutation(1620))
    assert by_column(found) == {"x": ("between", 20)}


def test_two_values_that_are_as_common_tell_nothing():
    # Twenty strata of 40, each with two exceptions; one more is divided by halves.
    stratum = np.repeat(np.arange(21), 40)
    region = stratum % 10
    region[::40] += 1
    region[1::40] += 1
    region[800:] = np.repeat([0, 1], 20)
    blanked = np.zeros(840, bool)
    blanked[2:800:40] = True
    # Two of the suppressed stand in it, one of each half.
    blanked[[800, 820]] = True
    rng = np.random.default_rng(4)
    found = shown({"w": stratum}, region, blanked, rng.permutation(840))
    assert by_column(found) == {"w": ("equal", 20)}


# Attacks by sorting


@st.composite
def secrets(draw):
    """Draw a key, what is suppressed of it, and a column that may follow it."""
    rng = np.random.default_rng(draw(st.integers(0, 10**9)))
    n = draw(st.integers(150, 700))
    levels = draw(st.integers(2, 20))
    sizes = rng.dirichlet(np.full(levels, draw(st.sampled_from([0.3, 1.0, 5.0]))))
    key = rng.choice(levels, n, p=sizes)
    spread = draw(st.sampled_from([0.0, 0.2, 0.4, 1.0, 5.0]))
    column = key + spread * rng.normal(size=n)
    if draw(st.booleans()):
        column = np.round(column, 1)
    if draw(st.booleans()):
        wild = rng.random(n) < draw(st.sampled_from([0.02, 0.1, 0.5]))
        column = np.where(wild, rng.uniform(0, levels, n), column)
    blanked = rng.random(n) < draw(st.sampled_from([0.01, 0.05, 0.2]))
    if draw(st.booleans()):
        blanked &= key != np.bincount(key, minlength=levels).argmax()
    return key, blanked, column, rng.permutation(n)


def clearly(guesses, right, chance):
    """Return whether an attack clearly exceeds chance."""
    wrong = guesses - right
    expected = (1 - chance) * guesses
    return expected > 60 and wrong < 0.4 * expected


@given(secrets())
def test_no_less_is_told_than_sorting_recovers(secret):
    key, blanked, column, mixed = secret
    if not blanked.any():
        return
    visible = ~blanked
    chance = np.bincount(key[visible]).max() / np.count_nonzero(visible)
    order = mixed[np.argsort(column[mixed], kind="stable")]
    (guesses, right), (tries, known) = recovered(key, visible, blanked, order)
    found = by_column(shown({"c": column}, key, blanked, mixed))
    told = found.get("c", ("", 0))[1]
    above = known > tries * chance + 4 * np.sqrt(tries * chance)
    if clearly(guesses, right, chance) and above:
        if len(np.unique(column)) < len(column):
            # What the file's order of equal values gives away is not the column's. The
            # attack uses both rules at once: in 3 of 573 files it found one value more.
            known = len(recovered_in_any_order(key, visible, blanked, column))
            known = 0.9 * known - 2
        assert told >= known


def recovered_in_any_order(codes, visible, blanked, column):
    """Return the blanks that sorting recovers however equal values are put."""
    rng = np.random.default_rng(1)
    always = set(np.flatnonzero(blanked).tolist())
    for _ in range(20):
        order = np.lexsort([rng.random(len(column)), column])
        guesses = guesses_by_sorting(codes, visible, blanked, order)
        always &= {record for record, right in guesses if right}
    return always


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.2])
def test_the_attack_recovers_what_is_told(spread):
    region, blanked, rng = drawn(n=3000)
    column = region + spread * rng.normal(size=3000)
    column += 1e-9 * np.arange(3000)  # no two are equal
    _, (_, known) = recovered(region, ~blanked, blanked, np.argsort(column))
    found = by_column(shown({"c": column}, region, blanked, rng.permutation(3000)))
    assert found["c"] == ("between", known)
    assert known > 0.75 * np.count_nonzero(blanked)


# No alarm


@pytest.mark.parametrize("seed", range(40))
def test_columns_that_are_independent(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 1500))
    keys = {}
    for i, levels in enumerate(rng.choice([2, 2, 2, 5, 12, 40], 6)):
        shares = rng.dirichlet(np.full(levels, rng.choice([0.1, 0.5, 2.0])))
        keys[i] = rng.choice(levels, n, p=shares)
    share = rng.choice([0.01, 0.05, 0.3], 6)
    suppressed = {
        i: SuppressedColumn(codes, rng.random(n) < share[i])
        for i, codes in keys.items()
    }
    columns = {
        i: np.ma.array(codes, mask=suppressed[i].blanked) for i, codes in keys.items()
    }
    columns["id"] = rng.permutation(n)
    columns["hh"] = rng.integers(0, n // 3 + 1, n)
    columns["w"] = np.round(rng.uniform(5, 60, n), 1)
    assert what_shows(columns, suppressed) == ()


@pytest.mark.parametrize("share", [0.9, 0.95, 0.98, 0.995])
def test_a_binary_key_of_one_value_mostly(share):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        n = 2000
        key = (rng.random(n) > share).astype(int)
        blanked = rng.random(n) < 0.03
        columns = {
            "id": np.arange(n),
            "hh": np.sort(rng.integers(0, 800, n)),
            "age": rng.integers(0, 100, n),
            "sex": rng.integers(0, 2, n),
        }
        assert shown(columns, key, blanked) == ()


@pytest.mark.parametrize("seed", range(10))
def test_ordinary_dependence(seed):
    # Marital status goes with age, education with both, none is given by another.
    rng = np.random.default_rng(seed)
    n = 3000
    age = rng.integers(15, 95, n)
    chances = np.stack([np.clip(1.4 - age / 40, 0.05, 0.95), 0.4 + 0 * age, age / 300])
    marital = (rng.random(n)[:, None] > np.cumsum(chances / chances.sum(0), 0).T).sum(1)
    education = np.clip((rng.normal(4 - age / 60, 1, n)).astype(int), 0, 5)
    keys = {"age": age // 5, "marital": marital, "education": education}
    suppressed = {
        name: SuppressedColumn(v, rng.random(n) < 0.03) for name, v in keys.items()
    }
    columns = {n: np.ma.array(v, mask=suppressed[n].blanked) for n, v in keys.items()}
    columns["income"] = np.exp(8 + 0.02 * age + 0.1 * education + rng.normal(size=n))
    assert what_shows(columns, suppressed) == ()


def test_a_survey_of_persons():
    # Without ids, weights and what is equal in households nothing shows.
    data = simulate.microdata(4000, np.random.default_rng(5), fraction=0.2)
    order = np.random.default_rng(1).permutation(len(data["AGE"]))
    keys = ["SEX", "AGE", "MARSTAT"]
    left = {name: data[name][order] for name in [*keys, "INCOME", "WEIGHT", "HHSIZE"]}
    result = protect(
        left, keys, "WEIGHT", threshold=0.006, missing="category",
        recodings={"AGE": Recoding.intervals([15, 30, 45, 60, 75])},
    )  # fmt: skip
    assert sum(result.suppressed.values()) > 30
    assert result.shown == ()


# What was recoded, and the order


def towns(seed=1, regions=6, towns=8, households=12):
    """Return a sorted file: households of one to four, numbered town by town."""
    rng = np.random.default_rng(seed)
    town = np.repeat(np.arange(regions * towns), households)
    size = rng.integers(1, 5, len(town))
    household = np.repeat(np.arange(len(town)), size)
    fine = np.repeat(town, size)
    return RecodedColumn(fine, fine // towns), household, rng


def read_off(recoded, column):
    """Attack: sort by a column, and give out the towns as many as were sampled."""
    order = np.lexsort((column, recoded.coarse))
    guess = np.empty(len(order), np.int64)
    guess[order] = np.sort(recoded.fine)
    return np.count_nonzero(guess == recoded.fine)


def test_ids_that_give_back_what_was_recoded():
    recoded, household, rng = towns()
    n = len(household)
    assert read_off(recoded, household) == n
    mixed = rng.permutation(n)
    text = np.array([f"H{one:07d}" for one in household])
    for ids in (household, household * 7 + 3, -household, text):
        found = what_shows({"hh": ids}, {}, mixed, {"region": recoded})
        assert by_column(one for one in found if one.rule == "finer") == {
            "hh": ("finer", n)
        }
    assert str(found[0]) == (
        f"{n:,} of {n:,} values of 'region' before recoding show in 'hh': its values, "
        "their number or their order follow the codes"
    )
    # New ones do not.
    new = rng.permutation(household.max() + 1)[household]
    assert read_off(recoded, new) < 0.3 * n
    assert what_shows({"hh": new}, {}, mixed, {"region": recoded}) == ()
    # Without a shuffle the order of the records does.
    found = what_shows({"hh": new}, {}, None, {"region": recoded})
    assert of_rule(found, "finer") == {("region", None)}


def test_a_column_of_which_each_value_is_one_code():
    # The year of birth, next to the age.
    rng = np.random.default_rng(3)
    age = rng.integers(0, 90, 2000)
    recoded = RecodedColumn(age, age // 15)
    mixed = rng.permutation(2000)
    found = what_shows({"born": 2001 - age}, {}, mixed, {"age": recoded})
    assert by_column(found) == {"born": ("finer", 2000)}
    # Incomes of the old are higher, but do not give single years.
    income = 100 * age + rng.normal(0, 3000, 2000)
    assert what_shows({"income": income}, {}, mixed, {"age": recoded}) == ()


def test_what_is_missing_or_blanked_is_not_counted():
    recoded, household, rng = towns()
    n = len(household)
    recoded.coarse[:50] = -1
    recoded.fine[50:60] = -1
    ids = np.ma.array(household, mask=np.arange(n) >= n - 7)
    found = what_shows({"hh": ids}, {}, rng.permutation(n), {"region": recoded})
    (one,) = (one for one in found if one.rule == "finer")
    assert (one.count, one.of) == (n - 67, n - 60)


def test_codes_that_were_left_alone_are_not_counted():
    # Towns of the first region were recoded; the others stay as they were.
    recoded, household, rng = towns()
    coarse = np.where(recoded.fine < 40, 0, recoded.fine)
    found = what_shows(
        {"hh": household}, {}, rng.permutation(len(household)),
        {"region": RecodedColumn(recoded.fine, coarse)},
    )  # fmt: skip
    (one,) = (one for one in found if one.rule == "finer")
    assert one.count == one.of == np.count_nonzero(recoded.fine < 40)


@pytest.mark.parametrize("seed", range(5))
def test_ordinary_columns_give_no_code_and_no_order_back(seed):
    rng = np.random.default_rng(seed)
    n = 1500
    region = np.sort(rng.integers(0, 40, n))
    age = np.clip(rng.normal(40 + region / 4, 20, n), 0, 99).astype(int)
    columns = {
        "sex": rng.integers(0, 2, n),
        "size": rng.poisson(1 + age / 50),
        "income": np.round(rng.lognormal(9 + age / 100, 0.5, n), -1),
        "education": (age + rng.normal(0, 20, n)) // 25,
        "weight": np.round(rng.uniform(100, 110, 40)[region], 2),
        "town": region,  # sorted as it is, of 37 records each
    }
    recoded = {
        "region": RecodedColumn(region, region // 4),
        "age": RecodedColumn(age, np.searchsorted([15, 30, 45, 65], age, "right")),
        "marstat": RecodedColumn(rng.integers(0, 3, n), np.zeros(n, int)),
    }
    found = what_shows(columns, {}, rng.permutation(n), recoded)
    # A copy that was left in the file does, and weights of which each town has its
    # own; but of the towns' records the order does not come back.
    assert {one.column for one in found} == {"town", "weight"}
    assert of_rule(found, "order") == set()


def test_new_household_numbers_are_no_names_of_small_towns():
    # One household or two in each town: hardly more numbers than towns.
    rng = np.random.default_rng(9)
    town = np.sort(rng.integers(0, 140, 216))
    household = np.repeat(np.arange(216), rng.integers(1, 6, 216))
    fine = town[household]
    new = rng.permutation(216)[household]
    recoded = {"region": RecodedColumn(fine, fine // 14)}
    assert what_shows({"hh": new}, {}, rng.permutation(len(new)), recoded) == ()


def test_ids_that_undo_a_shuffle():
    rng = np.random.default_rng(5)
    mixed = rng.permutation(N)
    back = {
        "number": np.arange(N),
        "backwards": 10.5 - np.arange(N),
        "text": np.array([f"{i:05d}" for i in range(N)]),
        "number as text": np.arange(N).astype(str),
        "household": np.arange(N) // 3,
        "nearly": np.arange(N) + rng.uniform(-4, 4, N),
    }
    found = what_shows(back, {}, mixed)
    assert by_column(found) == dict.fromkeys(back, ("order", N))
    # As the attack finds: sorted by the column, records stand where they stood.
    for ids in (back["number"], back["nearly"]):
        stood = np.argsort(ids[mixed], kind="stable")
        assert np.abs(mixed[stood] - np.arange(N)).max() <= 10
    assert str(found[0]) == (
        f"the places that {N:,} of {N:,} records had before show in 'backwards': "
        "sorted by it, records stand within 10 of where they stood"
    )
    tells_nothing = {
        "new": rng.permutation(N),
        "far": np.arange(N) + rng.uniform(-200, 200, N),
        "class": np.arange(N) // 50,
        "sex": np.arange(N) // (N // 2),
    }
    assert what_shows(tells_nothing, {}, mixed) == ()
    # Nobody hid the order of a file that is not shuffled.
    assert what_shows(back, {}) == ()


def test_a_column_without_values_or_with_one_gives_no_order():
    mixed = np.random.default_rng(1).permutation(60)
    for column in (np.ma.masked_all(60, int), np.zeros(60)):
        assert what_shows({"c": column}, {}, mixed) == ()
        nothing = {"k": RecodedColumn(np.full(60, -1), np.full(60, -1))}
        assert what_shows({"c": column}, {}, None, nothing) == ()


def written(result, path, **options):
    """Write a file; return what shows in it, and the warnings, one for each.

    An open leak is refused unless the file may be unsafe.
    """
    how = {"overwrite": True, "allow_unsafe": True, **options}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SuppressedValueShows)
        record = result.write(path, **how)
        found, how["secret"] = record["examined"], record["output"]["secret"]
        leaks = [one for one in found["leaks"] if one["kind"] == "reveals"]
        assert len(caught) == len(leaks)
        if found["safe"]:
            assert leaks == []
        else:
            warnings.simplefilter("ignore", SuppressedValueShows)
            with pytest.raises(UnsafeError, match="NOT SAFE") as error:
                result.write(path, **how | {"allow_unsafe": False})
            assert error.value.figures == found
    shown = [{**one["shown"], "advice": one["advice"]} for one in leaks]
    return shown, [str(w.message) for w in caught]


def test_a_shuffled_file_with_old_household_numbers_is_put_back(tmp_path):
    """The attack: sort, and give out the municipalities as many as were sampled."""
    data = simulate.microdata(2000, np.random.default_rng(4))
    formats.write(tmp_path / "survey.csv", data)
    recodings = {"REGION": Recoding.truncation(2)}
    result = protect(
        tmp_path / "survey.csv", KEYS, weight="WEIGHT", threshold=0.05,
        recodings=recodings,
    )  # fmt: skip

    def attacked(**options):
        path = tmp_path / "safe.csv"
        shown, _ = written(result, path, shuffle=True, **options)
        safe = pd.read_csv(path)
        guess = safe.sort_values(["HOUSEHOLD", "PERSON"], kind="stable").index
        town = np.empty(len(safe), int)
        town[guess] = np.sort(data["REGION"])  # how many of each is not a secret
        order = np.array(pd.Series(data["INCOME"]))
        put_back = safe["INCOME"].to_numpy()[guess]
        true = recovered_towns(safe, data)
        told = {(one["key"], one["column"], one["rule"]) for one in shown}
        return np.mean(town == true), np.mean(put_back == order), told

    right, back, told = attacked()
    assert (right, back) == (1.0, 1.0)
    assert told >= {("REGION", "HOUSEHOLD", "finer"), (None, "HOUSEHOLD", "order")}
    right, back, told = attacked(renumber=["HOUSEHOLD"])
    assert right < 0.2
    assert back < 0.1
    assert not {one for one in told if one[2] in ("finer", "order")}


def recovered_towns(safe, data):
    """Return the municipality of each written record, found by what is unique."""
    names = ["INCOME", "WEIGHT", "PERSON", "HHSIZE", "EDUCATION", "CITIZENSHIP"]
    original = pd.DataFrame({name: data[name] for name in [*names, "REGION"]})
    written = safe[names].copy()
    # Records equal in all of these are matched in turn.
    for frame in (original, written):
        frame["turn"] = frame.groupby(names).cumcount()
    return written.merge(original, how="left", on=[*names, "turn"])["REGION"].to_numpy()


# In memory and in files


def survey():
    data = simulate.microdata(2000, np.random.default_rng(4))
    return {**data, "REGION": data["REGION"].astype(str)}


KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]
PROTECTION = {
    "weight": "WEIGHT",
    "household": "HOUSEHOLD",
    "household_keys": ["REGION"],
    "threshold": 0.005,
    "cost": "equal",  # of equal keys the first is blanked: the region
    "recodings": {
        "REGION": Recoding.truncation(2),
        "AGE": Recoding.intervals([15, 30, 45, 60]),
    },
}


def test_in_memory():
    data = survey()
    with pytest.warns(SuppressedValueShows) as caught:
        result = protect(data, KEYS, **PROTECTION)
    lines = [str(w.message) for w in caught]
    assert len(lines) == len(result.shown)
    for line, one in zip(lines, result.shown, strict=True):
        assert line.startswith(f"{one}; ")
    found = by_column(one for one in result.shown if one.rule == "between")
    assert "HOUSEHOLD" not in found  # new ids follow the order of the records
    assert found[None][1] > 0.9 * result.suppressed["REGION"]
    said = result.to_dict()["leaks"]
    assert json.loads(json.dumps(said)) == said
    told = [one["shown"]["count"] for one in said if one["kind"] == "reveals"]
    assert told == [one.count for one in result.shown]
    # The count is what an attack on the data finds.
    cells = result.protected.cells
    codes = result.recoded.cells.codes[0][result.recoded.cells.inverse].astype(int)
    visible = cells.present(0)[cells.inverse]
    blanked = result.masks["REGION"]
    _, (_, known) = recovered(codes, visible, blanked, np.arange(len(codes)))
    assert found[None] == ("between", known)
    # And the file is sorted by what was recoded.
    assert of_rule(result.shown, "finer") == {("REGION", None)}


def test_in_files_as_they_are_written(tmp_path):
    formats.write(tmp_path / "survey.csv", survey())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a file nothing is said before it is written
        result = protect(tmp_path / "survey.csv", KEYS, **PROTECTION)

    def told(**options):
        shown, _ = written(result, tmp_path / "safe.csv", **options)
        return {one["column"] for one in shown if one["rule"] == "between"}

    shuffled = {"shuffle": True, "secret": "5" * 64}
    assert told(renumber=()) >= {"HOUSEHOLD", None}
    assert "HOUSEHOLD" in told(renumber=(), **shuffled)
    assert None not in told(renumber=(), **shuffled)
    # New numbers and columns left out show nothing.
    assert "HOUSEHOLD" not in told(**shuffled)
    assert told(drop=["HOUSEHOLD", "WEIGHT"], **shuffled) == set()


def test_related_columns_are_looked_at(tmp_path):
    # Blanked with the key, but shown by a copy that was forgotten.
    data = survey()
    data["TOWN"] = data["REGION"].astype(str)
    data["COPY"] = np.array([f"town {one}" for one in data["TOWN"]])
    result_of = {"related": {"REGION": ["TOWN"]}, **PROTECTION}
    with pytest.warns(SuppressedValueShows):
        in_memory = protect(data, KEYS, **result_of)
    formats.write(tmp_path / "survey.csv", data)
    of_file = protect(tmp_path / "survey.csv", KEYS, **result_of)
    for result in (in_memory, of_file):
        town = [one for one in result.shown if one.key == "TOWN"]
        assert "COPY" in {one.column for one in town}
        assert all(one.of == result.suppressed["TOWN"] for one in town)
        assert "REGION" not in {one.column for one in town}
    assert in_memory.shown == of_file.shown


def test_advice(tmp_path):
    """It names what undoes the leak, neither what was done nor what is refused."""
    data = survey()
    data["ADDRESS"] = data["HOUSEHOLD"]
    data["NUMBER"] = np.arange(len(data["SEX"]))
    formats.write(tmp_path / "survey.csv", data)

    def advice(*, shuffle, **options):
        settings = {**PROTECTION, **options}
        result = protect(tmp_path / "survey.csv", KEYS, **settings)
        shown, _ = written(result, tmp_path / "safe.csv", shuffle=shuffle)
        return {(one["column"], one["key"]): one["advice"] for one in shown}

    alone = advice(shuffle=False, household_keys=[])
    assert "--renumber HOUSEHOLD ADDRESS; or " in alone["ADDRESS", "REGION"]
    assert "--treat WEIGHT=share-weights:5; or " in alone["WEIGHT", "REGION"]
    assert "--household-keys REGION; or " in alone["HOUSEHOLD", "REGION"]
    assert alone[None, "REGION"].startswith("shuffle the records: --shuffle; or ")
    free = advice(shuffle=True)
    related = advice(shuffle=True, related={"SEX": ["NUMBER"]})
    for key in ("REGION", None):
        assert free["NUMBER", key].startswith("give it new ids: --renumber ")
        assert related["NUMBER", key] == (
            "leave it out: --drop NUMBER; or accept this with a reason: --accept "
            "NUMBER=REASON"
        )


def test_what_is_shown_is_plain():
    one = Shown("k", None, "between", 3, 7)
    assert one.to_dict() == {
        "key": "k", "column": None, "rule": "between", "count": 3, "of": 7,
        "unit": "record",
    }  # fmt: skip
    assert one == Shown("k", None, "between", 3, 7)
    data = {"a": ["x", "y", "x"], "b": ["x", "x", "x"]}
    assert protect(data, ["a", "b"], threshold=1.0).shown == ()
    assert assess(data, ["a", "b"]).cells.n == 3


def test_rows_that_stand_for_many_records_tell_as_much_as_these():
    seen = set()
    for seed in range(12):
        region, _, rng = drawn(seed, n=300, regions=5)
        rows = len(region)
        sizes = rng.integers(1, 6, rows) if seed % 3 else np.ones(rows, np.int64)
        codes = np.where(rng.random(rows) < 0.02, -1, region)
        blanked = (rng.random(rows) < 0.05) & (codes >= 0)
        columns = {
            "k": np.ma.array(codes, mask=blanked | (codes < 0)),
            "finer": region * 10 + rng.integers(0, 3, rows),
            "exactly": np.array([f"r{one}" for one in region]),
            "mostly": np.where(rng.random(rows) < 0.05, 9, region),
            "number": np.arange(rows) + 50 if seed % 2 else rng.integers(0, 40, rows),
            "noise": rng.integers(0, 4, rows),
        }
        coarse = np.where(blanked | (codes < 0), -1, codes // 2)
        suppressed = {"k": SuppressedColumn(codes, blanked)}
        recoded = {"k": RecodedColumn(codes, coarse)}
        got = what_shows(columns, suppressed, None, recoded, stands_for=sizes)
        each = np.repeat(np.arange(rows), sizes)
        want = what_shows(
            {name: column[each] for name, column in columns.items()},
            {"k": SuppressedColumn(codes[each], blanked[each])},
            None,
            {"k": RecodedColumn(codes[each], coarse[each])},
        )
        assert got == tuple(one for one in want if one.column is not None)
        seen |= {(one.column, one.rule) for one in got}
    assert {("finer", "equal"), ("number", "between"), ("exactly", "finer")} <= seen
    assert "noise" not in {column for column, _ in seen}


def coded_regions(seed=1, n=400):
    random = np.random.default_rng(seed)
    region = random.choice(5, n, p=[0.4, 0.3, 0.2, 0.06, 0.04])
    return random, region, SuppressedColumn(region, region >= 3)


@pytest.mark.parametrize("finer", [False, True])
def test_a_column_that_repeats_a_key_of_which_a_category_is_gone(finer):
    """None of the category is left, so that nothing agrees; its code is there."""
    random, region, suppressed = coded_regions(n=2000 if finer else 400)
    tenure = random.choice(["own", "rent"], len(region))
    parts = tenure if finer else [""] * len(region)
    code = np.array([f"R{r}{part}" for r, part in zip(region, parts, strict=True)])
    (shown,) = what_shows({"code": code}, {"region": suppressed})
    assert (shown.column, shown.rule) == ("code", "code")
    assert shown.count == shown.of == np.count_nonzero(region >= 3)
    assert str(shown).endswith(
        "'code': each of its values goes with one value of 'region'"
    )


# Households


def households(seed=1, n=400, regions=8):
    """Return households sorted by region; the largest of them are blanked.

    The income is of the whole household, and its own in nearly all of them.
    """
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 14, n)
    household = np.repeat(np.arange(n), size)
    region = np.sort(rng.integers(0, regions, n))[household]
    religion = rng.integers(0, 4, n)[household]
    income = rng.permutation(10 * n)[:n][household]
    return household, region, religion, income, (size >= 11)[household], rng


def test_members_of_a_large_household_are_one_value():
    # Eleven members with one income were eleven records that agree.
    household, _, religion, income, blanked, rng = households()
    columns = {
        "religion": np.ma.array(religion, mask=blanked),
        "income": income,
        "age": rng.integers(0, 90, len(income)),
        "person": np.arange(len(income)),
    }
    suppressed = {"religion": SuppressedColumn(religion, blanked)}
    by_person = what_shows(columns, suppressed)
    assert ("income", blanked.sum()) in {(one.column, one.count) for one in by_person}
    assert what_shows(columns, suppressed, household=household) == ()
    # Who has the safe file guesses no better than by the commonest value.
    once = np.unique(household, return_index=True)[1]
    codes, blank = religion[once], blanked[once]
    by_income = np.argsort(income[once])
    _, (guesses, right) = recovered(codes, ~blank, blank, by_income)
    assert 0 < guesses < blank.sum() / 2
    assert right < guesses / 2


def test_values_of_households_are_counted_once():
    household, region, _, income, blanked, _ = households()
    columns = {
        "region": np.ma.array(region, mask=blanked),
        "household": household,
        "person": np.arange(len(region)),
        "income": income,
    }
    suppressed = {"region": SuppressedColumn(region, blanked)}
    found = what_shows(columns, suppressed, household=household)
    once = np.unique(household, return_index=True)[1]
    codes, blank = region[once], blanked[once]
    _, (_, right) = recovered(codes, ~blank, blank, np.arange(len(once)))
    assert 0 < right < blank.sum()
    # Sorted as text, the persons' numbers show one more.
    assert {(one.column, one.count) for one in found} == {
        ("household", right), ("person", right + 1), (None, right)
    }  # fmt: skip
    assert {one.of for one in found} == {blank.sum()}
    assert str(found[1]).startswith(
        f"suppressed values of 'region' in {right} of {blank.sum()} households show in "
    )
    # Where a single member lost the value, the others show it, record by record.
    one = household == np.unique(household, return_counts=True)[1].argmax()
    single = np.zeros_like(blanked)
    single[np.flatnonzero(one)[:1]] = True
    suppressed = {"region": SuppressedColumn(region, single)}
    columns["region"] = np.ma.array(region, mask=single)
    told = what_shows(columns, suppressed, household=household)
    assert ("household", 1, "record") in {(x.column, x.count, x.unit) for x in told}


def test_what_is_no_code_of_a_key():
    random, region, suppressed = coded_regions()
    households = np.repeat(np.arange(200), 2)
    of_member = SuppressedColumn(region[households], region[households] >= 3)
    columns = {
        "age": random.integers(0, 90, len(region)),
        "sex": random.choice(["f", "m"], len(region)),
        "seldom": np.where(random.random(len(region)) < 0.3, region, 0),
    }
    assert what_shows(columns, {"region": suppressed}) == ()
    often = np.where(random.random(len(region)) < 0.8, region, 0)
    (one,) = what_shows({"often": often}, {"region": suppressed})
    assert one.count == np.count_nonzero((region >= 3) & (often == region))
    numbers = {"household": random.permutation(200)[households]}
    shuffled = random.permutation(400)
    assert all(
        one.rule != "code"
        for one in what_shows(numbers, {"region": of_member}, shuffled)
    )


def test_a_related_column_that_is_blanked_with_the_key_tells_nothing():
    _, region, suppressed = coded_regions()
    code = np.ma.array(region + 10, mask=region >= 3)
    assert what_shows({"code": code}, {"region": suppressed}) == ()
