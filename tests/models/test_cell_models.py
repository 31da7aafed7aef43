"""Every model of cells has the same verbs, and they agree with each other."""

import math
from dataclasses import replace

import numpy as np
import pytest

from riskcore import tabulate
from riskcore.models import CellTable, LatentClass, LogLinear
from riskcore.simulate import microdata

KEYS = ["SEX", "AGE", "MARSTAT", "HHSIZE"]
FITS = {
    "latent class": LatentClass.fit,
    "independence": lambda cells, **more: LatentClass.fit(cells, classes=1, **more),
    "main effects": LogLinear.fit,
    "pairs": lambda cells, **more: LogLinear.fit(cells, terms="all two-way", **more),
}


@pytest.fixture(scope="module")
def cells():
    survey = microdata(1500, np.random.default_rng(1), fraction=0.05)
    return tabulate(survey, KEYS, weight="WEIGHT")


@pytest.fixture(scope="module", params=FITS)
def model(request, cells):
    """Return each model fitted; the test runs once for each."""
    return FITS[request.param](cells)


def test_verbs(model, cells):
    table = CellTable.of(cells)
    assert model.converged
    pi = model.probability(cells)
    assert pi.shape == (len(cells),)
    assert (pi >= 0.0).all()
    assert pi.sum() < 1.0 + 1e-9
    prior = model.prior(cells)
    chance = model.unique_probability(cells)
    assert (chance[~table.unique] == 0.0).all()
    assert ((chance >= 0.0) & (chance <= 1.0)).all()
    assert chance.tobytes() == prior.unique_probability().tobytes()
    assert model.tau(cells) == math.fsum(chance)
    low, high = model.tau_interval(cells, groups=5)
    assert 0 <= low < model.tau(cells) < high <= table.unique.sum()
    given = model.tau_interval(cells, groups=0)
    assert low <= given[0] <= given[1] <= high
    assert model.tau_interval(cells, groups=5) == (low, high)
    assert model.parameters > 0
    assert repr(model).startswith(f"<{type(model).__name__}: 1,500 records")


def test_cells_in_another_place_are_the_same_cells(model, cells):
    table = CellTable.of(cells)
    part = table.some(table.unique)
    assert (
        model.probability(part).tolist() == model.probability()[table.unique].tolist()
    )


def test_without_overdispersion_frequencies_are_poisson(cells):
    for fit in FITS.values():
        model = fit(cells, overdispersion=False)
        assert replace(model, shares=None).prior().mu is not None
        assert model.overdispersion.kind == "none"


def test_independence_is_one_model(cells):
    one, two = (FITS[name](cells) for name in ("independence", "main effects"))
    assert two.probability() == pytest.approx(one.probability(), rel=1e-10)
    # One class does not adapt to a record, so nothing is left out of pi.
    assert one.tau() == pytest.approx(two.tau(), rel=1e-9)
    assert two.parameters == one.parameters
    assert two.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-10)


def test_the_pairs_fit_better_than_independence(cells):
    main, pairs = (FITS[name](cells) for name in ("main effects", "pairs"))
    assert pairs.log_likelihood > main.log_likelihood
    assert FITS["latent class"](cells).aic < main.aic


def test_what_is_left_out_changes_the_overdispersion_too(model):
    law = model.overdispersion
    again = [one.overdispersion for one in model._replicates(5)]
    assert {one.kind for one in again} == {law.kind} == {"power"}
    assert law.poisson or len({one.scale for one in again}) > 1
    plain = model.with_overdispersion(False)._replicates(5)
    assert all(one.overdispersion.poisson for one in plain)
