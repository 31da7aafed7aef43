"""The simulated survey of living conditions: its margins, families and labels."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.simulate import household_survey, household_survey_labels

CODED = [
    "REGION", "URBRUR", "RELIG", "OWNAGLAND", "ROOF", "TV", "CAR", "GENDER", "REL",
    "MARITAL", "EDUCY", "ATSCHOOL", "INDUSTRY1",
]  # fmt: skip
SHARED = [
    "PHONE", "REGION", "URBRUR", "HHSIZE", "RELIG", "OWNAGLAND", "LANDSIZEHA", "ROOF",
    "TV", "CAR", "TANHHEXP", "INCTOTGROSSHH", "WGTHH", "WGTPOP",
]  # fmt: skip


def simulate(households, seed=2004):
    return household_survey(households, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def survey():
    return simulate(2000)


def counts(values):
    return Counter(values.tolist())


def test_the_margins_are_those_the_guide_prints(survey):
    # Benschop, Machingauta and Welch, case study 1: steps 2 and 8a, appendix C.
    assert len(survey["IDH"]) == 10_574
    home = {name: survey[name][survey["IDP"] == 1] for name in SHARED}
    size = counts(home["HHSIZE"])
    assert [size[k] for k in (1, 2, 13, 14, 20, 33)] == [152, 194, 11, 6, 2, 1]
    assert sum(v for k, v in size.items() if k >= 14) == 29
    assert counts(home["REGION"]) == {1: 324, 2: 334, 3: 371, 4: 375, 5: 260, 6: 336}
    assert counts(home["URBRUR"]) == {1: 1316, 2: 684}
    assert counts(home["OWNAGLAND"]) == {1: 763, 2: 500, 3: 332, 9: 405}
    religion = {1: 179, 5: 383, 6: 267, 7: 7, 9: 154, 99999: 1010}
    assert counts(home["RELIG"]) == religion


def test_what_a_household_shares_is_shared(survey):
    first = np.flatnonzero(survey["IDP"] == 1)
    of = survey["IDH"] - 1
    assert np.array_equal(np.bincount(of), survey["HHSIZE"][first])
    for name in SHARED:
        assert np.array_equal(survey[name], survey[name][first][of]), name
    assert len(np.unique(survey["PHONE"])) == 2000
    product = survey["WGTHH"] * survey["HHSIZE"]
    assert survey["WGTPOP"] == pytest.approx(product, abs=0.0051)
    assert survey["WGTHH"].min() >= 1


def test_families_are_plausible(survey):
    relation, age = survey["REL"], survey["AGEYRS"]
    person, marital = survey["IDP"], survey["MARITAL"]
    assert np.array_equal(relation == 1, person == 1)
    spouse = np.flatnonzero(relation == 2)
    assert set(person[spouse].tolist()) == {2}
    assert np.array_equal(marital[spouse], marital[spouse - 1])
    assert set(marital[spouse].tolist()) == {2, 3, 4}
    assert (survey["GENDER"][spouse] != survey["GENDER"][spouse - 1]).all()
    head_age = age[relation == 1][survey["IDH"] - 1]
    assert (age[relation == 3] <= head_age[relation == 3] - 17).mean() > 0.99
    assert age[relation <= 2].min() >= 16
    assert (age.min(), age.max() <= 95) == (0, True)


def test_what_was_not_asked_goes_by_age(survey):
    age = survey["AGEYRS"]
    assert np.array_equal(survey["MARITAL"] == 9, age < 12)
    assert np.array_equal(survey["EDUCY"] == 9, age < 5)
    assert np.array_equal(survey["ATSCHOOL"] == 9, age < 5)
    assert (survey["INDUSTRY1"][age < 15] == 99).all()
    for level, youngest in ((1, 6), (2, 12), (3, 15), (4, 18), (5, 19), (6, 22)):
        assert age[survey["EDUCY"] == level].min() >= youngest


def test_every_code_has_a_label_and_every_label_a_column(survey):
    labels = household_survey_labels()
    assert set(labels) == set(survey)
    assert [name for name in survey if labels[name]["values"]] == [
        name for name in survey if name in CODED
    ]
    for name in CODED:
        assert set(map(str, survey[name].tolist())) <= set(labels[name]["values"])


@given(st.integers(1, 60), st.integers(0, 2**32))
def test_any_number_of_households(n, seed):
    survey = simulate(n, seed)
    assert survey["IDH"][-1] == n
    assert {len(column) for column in survey.values()} == {len(survey["IDH"])}
    assert not any(np.isnan(column.astype(float)).any() for column in survey.values())


def test_the_same_state_gives_the_same_file():
    one, two, other = simulate(50, 7), simulate(50, 7), simulate(50, 8)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert any(not np.array_equal(one[name], other[name]) for name in one)
