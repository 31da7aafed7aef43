"""The curve of the share of people whom one guess by their cell finds."""

import numpy as np
import pytest

import riskcore
from riskcore.models import Ewens


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(9)
    data = {"a": rng.zipf(1.6, 800).clip(max=300), "b": rng.integers(0, 4, 800)}
    return riskcore.estimate_uniques(data, ["a", "b"], population=40_000)


def test_each_model_at_each_size(found):
    curve = found.curve(20)
    assert curve.people[0] == 1
    assert curve.people[-1] == 40_000
    assert 800 in curve.people
    assert (np.diff(curve.people) > 0).all()
    converged = {one.model for one in found.estimates if one.converged}
    # Lancaster's model and the weights have no such share.
    assert set(curve.models) == converged & {
        "Dirichlet-multinomial", "Poisson-gamma", "Ewens", "Ewens, moments", "Pitman",
        "Pitman, moments", "latent-class",
    }  # fmt: skip
    classes = found.cell_models["latent-class"]
    assert curve.models["latent-class"][-1] == classes.correctness(40_000)
    ends = classes.correctness_interval(40_000)
    assert tuple(end[-1] for end in curve.intervals["latent-class"]) == ends
    for i, N in enumerate(curve.people):
        share = Ewens.fit(found.sizes).correctness(int(N))
        assert curve.models["Ewens"][i] == share
        low, high = (end[i] for end in curve.intervals["Ewens"])
        assert low <= share <= high


def test_up_to_the_sample_it_is_known(found):
    curve = found.curve(20)
    known = curve.people <= 800
    assert not np.isnan(curve.sample[known]).any()
    assert np.isnan(curve.sample[~known]).all()
    at = int(np.flatnonzero(curve.people == 800)[0])
    assert curve.sample[at] == pytest.approx(found.sizes.u / 800)
    # Fitted by the number of cells, Ewens' curve ends where the sample does.
    assert curve.models["Ewens"][at] == pytest.approx(found.sizes.u / 800)
