"""Swapping of households: what stays exactly, who is swapped, and how often."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import riskcore
from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.rules import Treatment
from riskcore.protection.treatments.swap_areas import swap_areas
from tests.secret_of import secret_of

H = 600


def numbers(n, label=b"swap"):
    """Return fixed random numbers, the same on every machine."""
    return np.frombuffer(hashlib.shake_256(label).digest(8 * n), "<u8")


@pytest.fixture
def file():
    """Return households of 1 to 4 persons in five areas, one of them small."""
    drawn = numbers(3 * H, b"file").reshape(3, H)
    size = (1 + drawn[0] % 4).astype(np.int64)
    area = (drawn[1] % 41 // 10).astype(np.int64)
    tenure = (drawn[2] % 3).astype(np.int64)
    household = np.repeat(np.arange(H)[::-1] * 7, size)
    order = np.argsort(numbers(len(household), b"order"))
    columns = [np.repeat(one, size)[order] for one in (area, size, tenure)]
    return household[order], *columns


def of_households(household, *columns):
    """Return the values of the columns of each household."""
    _, first = np.unique(household, return_index=True)
    return list(zip(*(column[first].tolist() for column in columns), strict=True))


@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("targeted", [False, True])
def test_what_stays(file, share, targeted):
    household, area, size, tenure = file
    risk = numbers(len(area), b"risk") / 2.0**64 if targeted else None
    source, effects = swap_areas(
        area, household, share, numbers(len(area)),
        matching={"size": size, "tenure": tenure}, risk=risk,
    )  # fmt: skip
    new = area[source]
    # Tables of the matching variables by area, of households and of persons.
    for ids in (household, np.arange(len(area))):
        before = Counter(of_households(ids, area, size, tenure))
        assert Counter(of_households(ids, new, size, tenure)) == before
    # All members move together, and each swap is mutual.
    moved = {}
    for i, j in enumerate(source.tolist()):
        moved.setdefault(household[i], set()).add(household[j])
    partner = {one: min(others) for one, others in moved.items()}
    assert all(len(others) == 1 for others in moved.values())
    assert all(partner[other] == one for one, other in partner.items())
    changed = {one for one, other in partner.items() if one != other}
    assert effects["swapped"] == len(changed)
    assert effects["wanted"] == 2 * round(share * H / 2)
    assert effects["records"] == np.count_nonzero(new != area)
    assert effects["total_variation"] == 0.0
    if share < 1:
        assert effects["swapped"] == effects["wanted"]
    else:
        # Who is left in a group lives in one area.
        left = [i for i in range(len(area)) if household[i] not in changed]
        by_group = {}
        for i in left:
            by_group.setdefault((size[i], tenure[i]), set()).add(area[i])
        assert all(len(areas) == 1 for areas in by_group.values())


def test_the_riskiest_first(file):
    household, area, size, _ = file
    risk = np.zeros(len(area))
    chosen = np.unique(household)[[3, 50, 400]]
    for one in chosen:
        risk[np.flatnonzero(household == one)[-1]] = 0.5  # one member is enough
    source, effects = swap_areas(
        area, household, 6 / H, numbers(len(area)), matching={"size": size}, risk=risk
    )
    moved = np.unique(household[area[source] != area])
    assert effects["swapped"] == len(moved) == 6
    assert set(chosen) <= set(moved)


def test_the_risk_of_a_household_is_its_largest():
    area = np.array([0, 0, 0, 1, 2, 2])
    household = np.array([1, 1, 1, 2, 3, 3])
    risk = np.array([0.4, 0.4, 0.4, 0.5, 0.1, 0.6])
    columns, rule = {"area": area * 1.0}, Treatment.of("area", "swap-areas:67%")
    for seed in range(20):
        new = treated_columns(
            columns, {("area",): [rule]}, household=household, risk=risk,
            secret=secret_of(seed),
        )["area"]  # fmt: skip
        # The third household is first, and swaps with one of the others.
        assert new[4] == new[5] != 2


@pytest.mark.parametrize("level", ["record", "household"])
def test_the_risk_is_that_of_what_is_protected(level):
    # The last household is the only one of its size.
    data = {"H": [*"aabbccddee"], "AREA": [*"0011001100"], "SIZE": [*"1111111122"]}
    data["W"] = [10.0] * 10
    found = riskcore.protect(
        data, ["SIZE"], "W", "H", level=level, threshold=0.9,
        treat={"AREA": "swap-areas:40%"}, secret=secret_of(1),
    ).data["AREA"]  # fmt: skip
    assert found[8:] == ["1", "1"]


def test_every_partner_is_equally_likely():
    # The first household swaps with one of three others, never with its neighbor.
    area = np.array([0, 0, 1, 1, 2])
    household = np.arange(5)
    risk = np.array([1.0, 0, 0, 0, 0])
    drawn = numbers(5 * 3000).reshape(3000, 5)
    seen = Counter(
        int(swap_areas(area, household, 0.4, each, matching={}, risk=risk)[0][0])
        for each in drawn
    )
    assert set(seen) == {2, 3, 4}
    assert stats.chisquare(list(seen.values())).pvalue > 0.001


def test_every_household_is_equally_likely():
    area = np.array([0, 0, 1, 1, 2, 2])
    seen = np.zeros(6)
    for each in numbers(6 * 3000).reshape(3000, 6):
        source, _ = swap_areas(area, np.arange(6), 0.3, each, matching={})
        seen += source != np.arange(6)
    assert seen.sum() == 2 * 3000
    assert stats.chisquare(seen).pvalue > 0.001


def test_no_partner():
    area, household = np.zeros(4, np.int64), np.arange(4)
    source, effects = swap_areas(area, household, 1.0, numbers(4), matching={})
    assert (effects["wanted"], effects["swapped"], effects["records"]) == (4, 0, 0)
    assert source.tolist() == [0, 1, 2, 3]


def test_weights_show_in_the_effects():
    area, weights = np.array([0, 1]), np.array([30.0, 10.0])
    _, effects = swap_areas(
        area, np.arange(2), 1.0, numbers(2), matching={}, weights=weights
    )
    assert effects == {
        "households": 2,
        "wanted": 2,
        "swapped": 2,
        "records": 2,
        "total_variation": 0.5,
    }


def test_members_that_differ():
    household, area = np.array([1, 1, 2]), np.array([0, 1, 1])
    with pytest.raises(ValueError, match="differ in the area in 1 of 2 households"):
        swap_areas(area, household, 0.5, numbers(3), matching={})
    with pytest.raises(ValueError, match="differ in size in 1 of 2"):
        swap_areas(
            np.array([0, 0, 1]), household, 0.5, numbers(3), matching={"size": area}
        )


def test_a_share_of_less_than_a_pair():
    two = np.array([0, 1])
    with pytest.raises(ValueError, match=r"0\.02 of 2 households is less than one"):
        swap_areas(two, two, 0.02, numbers(2), matching={})


def test_many_households_of_one_area_are_quick():
    # Skipping those of its own area for each of them would take 10**10 steps.
    n = 200_000
    area = np.zeros(n, np.int64)
    area[:10] = 1
    _, effects = swap_areas(area, np.arange(n), 1.0, numbers(n), matching={})
    assert effects["swapped"] == 20


def test_area_columns_go_together(file):
    household, area, size, _ = file
    area = np.where(area == 4, np.nan, area)  # a missing area is an area
    district = area * 10 + 1
    rule = Treatment.of("area+district", "swap-areas:20%:within=SIZE")
    told = []
    found = treated_columns(
        {"area": area, "district": district}, {("area", "district"): [rule]},
        strata={"SIZE": size}, household=household, secret=secret_of(3),
        tell=lambda *one: told.append(one),
    )  # fmt: skip
    assert np.array_equal(found["area"] * 10 + 1, found["district"], equal_nan=True)
    for values in (0.0, 1.0, 2.0, 3.0, np.nan):
        for one in range(1, 5):
            before, after = (
                np.isclose(column, values, equal_nan=True) & (size == one)
                for column in (area, found["area"])
            )
            assert before.sum() == after.sum()
    ((label, effects),) = told
    assert label == "treat area+district=swap-areas:20%:within=SIZE"
    assert effects["swapped"] == effects["wanted"] == 120


def test_households_are_needed():
    rule = Treatment.of("area", "swap-areas:2%")
    with pytest.raises(ValueError, match="households are swapped, name their column"):
        treated_columns({"area": np.zeros(3)}, {("area",): [rule]}, secret=secret_of(1))
