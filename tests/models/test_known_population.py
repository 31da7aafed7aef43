"""A known population: its cells, those it lacks, and what may be done with them."""

import math

import numpy as np
import pytest

from riskcore import tabulate
from riskcore.models import CellTable, KnownPopulation, LatentClass

REGISTER = {
    "sex": ["f", "f", "m", "m"],
    "age": [30, 40, 30, 40],
    "people": [1, 7, 3, 9],
}
KEYS = ["sex", "age"]


@pytest.fixture
def known():
    return KnownPopulation(REGISTER, KEYS, "people")


def sample(sexes, ages):
    return CellTable.of({"sex": list(sexes), "age": ages}, KEYS)


def test_frequencies_of_cells(known):
    cells = sample("fmf", [30, 40, 40])
    prior = known.prior(cells)
    assert prior.population.tolist() == [1.0, 7.0, 9.0]
    assert prior.mu is prior.shape is None
    assert known.unique_probability(cells).tolist() == [1.0, 0.0, 0.0]
    assert known.probability(cells).tolist() == [0.05, 0.35, 0.45]
    assert known.tau(cells) == 1.0
    assert known.tau_interval(cells) == (1, 1)
    total = known.interval(cells, lambda prior: 1.0 / prior.population)
    assert total == pytest.approx((1 + 1 / 7 + 1 / 9,) * 3)
    assert known.n == 20


def test_people_one_by_one_are_counted():
    rows = {key: np.repeat(REGISTER[key], REGISTER["people"]) for key in KEYS}
    known = KnownPopulation(rows, KEYS)
    assert known.prior(sample("m", [30])).population.tolist() == [3.0]
    assert known.unique_probability().tolist() == [1.0, 0.0, 0.0, 0.0]


def test_text_of_numbers_is_numbers_beside_numbers(known):
    # As when one of the files is CSV.
    cells = sample("fmf", ["30", "40", "40"])
    assert known.prior(cells).population.tolist() == [1.0, 7.0, 9.0]
    by_text = KnownPopulation({**REGISTER, "age": list("3434")}, KEYS, "people")
    assert by_text.prior(sample("fm", [3, 4])).population.tolist() == [1.0, 9.0]
    # Two texts of one number stay two values.
    with pytest.raises(ValueError, match="lacks 2 of 2 cells"):
        known.prior(sample("ff", ["30", "3e1"]))


def test_cells_that_are_lacking_or_too_small_are_refused(known):
    with pytest.raises(ValueError, match="lacks 1 of 3 cells of the sample, and 1"):
        known.prior(sample("fffm", [30, 30, 50, 40]))
    with pytest.raises(ValueError, match="the model has the keys sex, age"):
        known.prior(CellTable.of({"sex": ["f"]}, ["sex"]))


def test_the_sample_may_stand_in():
    known = KnownPopulation(REGISTER, KEYS, "people", lacking="sample")
    cells = sample("fffm", [30, 30, 50, 40])
    assert known.prior(cells).population.tolist() == [2.0, 1.0, 9.0]
    assert known.unique_probability(cells).tolist() == [0.0, 1.0, 0.0]


def test_a_model_may_stand_in():
    rng = np.random.default_rng(1)
    data = {"sex": rng.choice(["f", "m"], 300), "age": rng.integers(30, 60, 300)}
    data["w"] = np.full(300, 5.0)
    cells = tabulate(data, KEYS, weight="w")
    model = LatentClass.fit(cells, classes=1)
    known = KnownPopulation(REGISTER, KEYS, "people", lacking=model)
    prior, plain = known.prior(cells), model.prior(cells)
    table = CellTable.of(cells)
    there = ~np.isnan(prior.population)
    assert 0 < there.sum() < len(table)
    chance = known.unique_probability(cells)
    assert (chance[~there] == plain.unique_probability()[~there]).all()
    assert set(chance[there]) <= {0.0, 1.0}
    low, high = known.tau_interval(cells)
    assert low < known.tau(cells) < high
    fixed = known.tau_interval(cells, groups=0)
    assert low <= fixed[0] <= fixed[1] <= high


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": "half"}, "1 of 4 values are not whole"),
        ({"count": "none"}, "1 of 4 values are not whole, from 1 on"),
        ({"lacking": "zero"}, "lacking='zero'"),
        ({"missing": "wildcard"}, "missing='wildcard'"),
    ],
)
def test_arguments_are_checked(changes, message):
    data = {**REGISTER, "half": [1.0, 2.0, 2.5, 3.0], "none": [0, 1, 1, 1]}
    with pytest.raises(ValueError, match=message):
        KnownPopulation(data, KEYS, **changes)


def test_a_cell_of_no_known_frequency_has_no_number(known):
    assert not math.isnan(known.tau(sample("f", [30])))
    with pytest.raises(ValueError, match="lacks 1 of 1"):
        known.tau(sample("f", [99]))
