import numpy as np
import pytest

from riskcore.simulate import microdata


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def survey():
    return microdata(100_000, rng())


def firsts(survey):
    return np.flatnonzero(survey["PERSON"] == 1)


def test_columns(survey):
    assert list(survey) == [
        "HOUSEHOLD", "PERSON", "REGION", "HHSIZE", "SEX", "AGE", "MARSTAT",
        "EDUCATION", "CITIZENSHIP", "INCOME", "WEIGHT",
    ]  # fmt: skip
    assert {len(column) for column in survey.values()} <= set(range(100_000, 100_008))
    assert len({len(column) for column in survey.values()}) == 1
    kinds = {name: column.dtype.name for name, column in survey.items()}
    assert kinds.pop("WEIGHT") == "float64"
    assert set(kinds.values()) == {"int64"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("SEX", range(1, 3)),
        ("AGE", range(100)),
        ("MARSTAT", range(1, 5)),
        ("EDUCATION", range(6)),
        ("HHSIZE", range(1, 9)),
        ("CITIZENSHIP", range(1, 61)),
    ],
)
def test_every_category_occurs_and_no_other(survey, name, values):
    assert set(survey[name].tolist()) == set(values)


def test_region_codes_are_hierarchical_with_zipf_sizes(survey):
    province, municipality = np.divmod(survey["REGION"], 100)
    assert set(province.tolist()) == set(range(1, 13))
    assert set(municipality.tolist()) == set(range(1, 41))
    persons = np.bincount(survey["REGION"], weights=survey["WEIGHT"])
    assert persons[101] / persons[102] == pytest.approx(2, rel=0.1)
    assert persons[101] / persons[110] == pytest.approx(10, rel=0.2)


def test_households_are_whole(survey):
    household, size = survey["HOUSEHOLD"], survey["HHSIZE"]
    first = firsts(survey)
    assert np.array_equal(household[first], np.arange(1, len(first) + 1))
    assert np.array_equal(np.bincount(household)[household], size)
    assert np.array_equal(survey["PERSON"], np.arange(len(household)) - first[
        household - 1
    ] + 1)  # fmt: skip
    for shared in ("REGION", "HHSIZE", "WEIGHT"):
        assert np.array_equal(survey[shared], survey[shared][first][household - 1])


def test_weights(survey):
    weight = survey["WEIGHT"]
    assert weight.min() >= 1.0
    assert weight.sum() == pytest.approx(100 * len(weight), rel=1e-5)
    assert 0.2 < weight.std() / weight.mean() < 1.0


@pytest.mark.parametrize("fraction", [1e-6, 0.5, 0.99, 1.0])
def test_sampling_fraction(fraction):
    weight = microdata(3000, rng(), fraction)["WEIGHT"]
    assert weight.min() >= 1.0
    assert weight.sum() == pytest.approx(len(weight) / fraction, rel=1e-3)
    assert (fraction < 1.0) == (weight.max() > 1.0)


def test_ages_and_families_are_plausible(survey):
    age, person = survey["AGE"], survey["PERSON"]
    status, head = survey["MARSTAT"], firsts(survey)
    share = np.bincount(age // 10, minlength=10) / len(age)
    assert share[:6].min() > 0.09
    assert share[:6].max() < 0.18
    assert 0.13 < share[7:].sum() / share[:7].sum() < 0.2
    assert np.all(np.diff(share[6:]) < 0)
    assert age[head].min() >= 18
    assert np.all(status[age < 18] == 1)
    # Third and later members are children of the first.
    later = person >= 3
    gap = age[head][survey["HOUSEHOLD"] - 1][later] - age[later]
    assert gap.min() >= 16
    assert 0.3 < np.mean(status[age > 84] == 3) < 0.8


def test_marriage_comes_in_pairs(survey):
    married = survey["MARSTAT"] == 2
    per_household = np.bincount(survey["HOUSEHOLD"], weights=married)
    assert set(per_household.tolist()) == {0.0, 2.0}
    assert set(survey["PERSON"][married].tolist()) == {1, 2}
    head = np.flatnonzero(married & (survey["PERSON"] == 1))
    sex = survey["SEX"]
    assert np.mean(sex[head] != sex[head + 1]) == pytest.approx(0.98, abs=0.01)


def test_education_and_income_follow_age(survey):
    age, education = survey["AGE"], survey["EDUCATION"]
    assert np.all((education == 0) == (age < 6))
    assert education[age < 16].max() == 2
    assert not survey["INCOME"][age < 16].any()
    adult = (age > 30) & (age < 60)
    low, high = (survey["INCOME"][adult & (education == e)].mean() for e in (1, 5))
    assert high > 2 * low


def test_the_file_has_the_shape_of_a_disclosure_problem(survey):
    keys = ("REGION", "SEX", "AGE", "MARSTAT", "CITIZENSHIP")
    combination = np.zeros(len(survey["AGE"]), dtype=np.int64)
    for name in keys:
        combination = combination * 2000 + survey[name]
    _, frequency = np.unique(combination, return_counts=True)
    uniques = np.count_nonzero(frequency == 1) / len(combination)
    assert 0.2 < uniques < 0.7
    assert frequency.max() > 10
    foreign = np.mean(survey["CITIZENSHIP"] > 1)
    assert foreign == pytest.approx(0.08, abs=0.01)


def test_same_state_same_file():
    one, two = microdata(500, rng(7)), microdata(500, rng(7))
    other = microdata(500, rng(8))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not np.array_equal(one["AGE"][:500], other["AGE"][:500])


@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("seed", range(20))
def test_small_files(n, seed):
    survey = microdata(n, rng(seed))
    records = len(survey["AGE"])
    assert n <= records <= n + 7
    assert np.array_equal(
        np.bincount(survey["HOUSEHOLD"])[survey["HOUSEHOLD"]], survey["HHSIZE"]
    )
    assert survey["WEIGHT"].sum() == pytest.approx(100 * records, abs=0.01 * records)
    assert survey["AGE"].min() >= 0


@pytest.mark.parametrize("n", [0, -5])
def test_no_records_are_refused(n):
    with pytest.raises(ValueError, match="at least 1 record"):
        microdata(n, rng())


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.5, float("nan")])
def test_impossible_fractions_are_refused(fraction):
    with pytest.raises(ValueError, match="fraction"):
        microdata(10, rng(), fraction)


def test_wrong_types_are_refused():
    with pytest.raises(TypeError, match="Generator"):
        microdata(10, 42)
    with pytest.raises(TypeError):
        microdata(10.5, rng())
