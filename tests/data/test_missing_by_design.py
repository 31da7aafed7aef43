"""Values that are missing by design are a category of their own."""

import numpy as np
import polars
import pytest

import riskcore
from riskcore.data.files.reading import DoubtfulCodes
from tests.accepted import ANY_LEAK

RNG = np.random.default_rng(11)
N = 600
AGE = RNG.choice([10, 40, 70], N)
CHILD = AGE == 10
REGION = RNG.integers(1, 4, N)
UNKNOWN = RNG.random(N) < 0.05
KEYS = ["REGION", "AGE", "OCC"]
SAID = pytest.mark.filterwarnings(
    f"ignore:key 'OCC'. missing by design in {CHILD.sum()}"
)


def survey(unknown=UNKNOWN):
    """Return records: children have no occupation, and some adults neither."""
    occupation = RNG.integers(1, 5, N).astype(float)
    occupation[CHILD | unknown] = np.nan
    return {"REGION": REGION, "AGE": AGE, "OCC": occupation}


DATA = survey()


def match(cells, record):
    """Return how many records match a record."""
    return cells.sample_frequency[cells.rows[record]]


@pytest.mark.parametrize("missing", ["wildcard", "argus"])
def test_assess_says_it_and_takes_only_the_rest_for_any_value(missing):
    words = f"'OCC': missing by design in {CHILD.sum()} records: all of AGE 10;"
    with pytest.warns(DoubtfulCodes, match=words):
        cells = riskcore.assess(DATA, KEYS, missing=missing).cells
    assert cells.missing_values == (0, 0, np.count_nonzero(UNKNOWN & ~CHILD))
    assert cells.categories[2][-2] == "missing by design"
    child = np.flatnonzero(CHILD)[0]
    assert match(cells, child) == np.count_nonzero(CHILD & (REGION[child] == REGION))


def test_children_match_no_adult_whose_age_is_unknown():
    age = np.where(np.arange(N) < 5, np.nan, AGE)
    occupation = np.where((AGE == 10) & ~np.isnan(age), np.nan, 1.0)
    with pytest.warns(DoubtfulCodes, match="missing by design"):
        cells = riskcore.assess({"AGE": age, "OCC": occupation}, ["AGE", "OCC"]).cells
    absent = np.isnan(occupation)
    assert match(cells, np.flatnonzero(absent)[0]) == np.count_nonzero(absent)


@SAID
@pytest.mark.parametrize("missing", ["wildcard", "argus"])
def test_a_child_whose_age_is_blanked_is_counted_among_children(missing):
    data = survey(np.zeros(N, bool))
    child = np.flatnonzero(CHILD)[0]
    data["AGE"] = np.where(np.arange(N) == child, 9, AGE)
    result = riskcore.protect(data, KEYS, k=3, missing=missing, **ANY_LEAK)
    assert result.masks["AGE"][child]
    cells = result.protected.cells
    alike = (REGION[child] == REGION) & CHILD
    assert cells.sample_frequency[cells.rows[child]] == np.count_nonzero(alike)
    assert np.isnan(result.data["OCC"][CHILD]).all()


@SAID
def test_keys_without_the_age_and_recoded_ages_count_children_apart():
    sets = [["REGION", "AGE"], ["REGION", "OCC"]]
    bands = riskcore.Recoding.intervals([50], ["to 50", "more"])
    result = riskcore.protect(DATA, sets, k=2, recodings={"AGE": bands}, **ANY_LEAK)
    cells = result.sets[1].recoded.cells
    assert cells.missing_values[1] == np.count_nonzero(UNKNOWN & ~CHILD)


@SAID
def test_values_missing_by_design_are_never_blanked():
    result = riskcore.protect(
        survey(np.zeros(N, bool)), KEYS, k=80, cost={"OCC": 1}, **ANY_LEAK
    )
    assert result.masks["OCC"].any()
    assert not (result.masks["OCC"] & CHILD).any()


@SAID
@pytest.mark.parametrize("original", [None, DATA])
def test_a_safe_file_passes_its_check(original):
    safe = riskcore.protect(DATA, KEYS, k=3, cost={"AGE": 1}, **ANY_LEAK).data
    assert riskcore.check(safe, KEYS, k=3, original=original).passed


def test_a_rare_category_that_suppression_emptied_is_no_design():
    rare = np.arange(N) < 8
    data = {"REGION": np.where(rare, 9, REGION), "OCC": np.where(rare, np.nan, 1.0)}
    assert riskcore.assess(data, [*data]).cells.missing_values[1] == 8


@pytest.mark.parametrize(
    "absent", [UNKNOWN, AGE < 0, np.arange(N) < 3, RNG.random(N) < 0.5]
)
def test_values_missing_by_chance_match_any_value(absent):
    occupation = np.where(absent, np.nan, 1.0)
    data = {"REGION": REGION, "ID": np.arange(N) // 2, "OCC": occupation}
    cells = riskcore.assess(data, [*data]).cells
    assert cells.missing_values[2] == np.count_nonzero(absent)


def test_a_rule_that_takes_missing_for_a_category_is_as_before():
    cells = riskcore.assess(DATA, KEYS, missing="category").cells
    assert cells.missing_values[2] == np.count_nonzero(CHILD | UNKNOWN)


def test_describe_says_it_for_keys():
    described = riskcore.describe(DATA, KEYS)
    assert (
        f"missing by design in {CHILD.sum()} records: all of AGE 10" in described.text()
    )


@SAID
def test_an_engine_counts_the_same():
    frame = polars.DataFrame(DATA).with_columns(polars.col("OCC").fill_nan(None))
    for count in (
        riskcore.assess,
        lambda data, keys: riskcore.protect(data, keys, k=3).protected,
    ):
        there, here = count(frame.lazy(), KEYS), count(frame, KEYS)
        assert there.expected_reidentifications == here.expected_reidentifications
        assert there.cells.k_anonymity == here.cells.k_anonymity
