import dataclasses
import inspect
import math
import pickle
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy import stats

import riskcore
from riskcore import models, simulate
from riskcore.models import (
    DirichletMultinomial,
    Ewens,
    Pitman,
    PoissonGamma,
    SizeIndices,
)

SIZES = SizeIndices({1: 30, 2: 10, 9: 5})
LARGER = SizeIndices({1: 300, 2: 60, 3: 20, 4: 9, 7: 4})


def fits(sizes, K):
    finite = [model.fit(sizes, K) for model in (DirichletMultinomial, PoissonGamma)]
    return [Ewens.fit(sizes), Pitman.fit(sizes), *finite]


def each(models):
    return pytest.mark.parametrize("model", models, ids=lambda x: type(x).__name__)


fitted = each(fits(SIZES, 400))


def test_every_public_name_resolves():
    assert riskcore.models is models
    for name in models.__all__:
        assert inspect.isclass(getattr(models, name))
    assert set(models.__all__) <= set(dir(models))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = models.nonsense


@fitted
def test_a_fit_has_the_same_verbs_whatever_the_model(model):
    n, N = SIZES.n, 5000
    assert model.converged
    assert (model.method, model.reason) == ("ml", "")
    assert set(model.standard_errors) == set(model.names)
    assert all(error > 0 for error in model.standard_errors.values())
    assert model.aic == 2 * len(model.names) - 2 * model.log_likelihood
    assert 0 < model.uniqueness(n, N) < model.uniqueness(n, n) == 1
    assert 0 < model.population_uniques(N) < N
    low, high = model.tau_interval(SIZES, N)
    assert 0 <= low < model.tau(SIZES, N) < high <= 30
    assert type(low) is type(high) is int
    narrow = model.tau_interval(SIZES, N, level=0.5)
    assert low <= narrow[0] <= narrow[1] <= high
    assert model.tau_interval(SIZES, n) == (30, 30)


@fitted
def test_a_fit_does_not_change(model):
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.converged = False
    assert pickle.loads(pickle.dumps(model)) == model
    assert hash(model) == hash(dataclasses.replace(model))
    assert "s.e." in repr(model)
    assert repr(Ewens(5.0)) == "<Ewens: theta 5, given>"


def test_models_can_be_compared():
    # Of two models that are the same the likelihoods are, too.
    rng = np.random.default_rng(24)
    sizes = SizeIndices.from_frequencies(rng.negative_binomial(0.3, 0.05, 500))
    finite = DirichletMultinomial.fit(sizes, 500)
    assert finite.aic < min(Pitman.fit(sizes).aic, Ewens.fit(sizes).aic)
    gamma = PoissonGamma.fit(sizes, 500)
    assert gamma.log_likelihood == pytest.approx(finite.log_likelihood, abs=0.01)
    vast = DirichletMultinomial.fit(sizes, 10**14)
    assert vast.log_likelihood == pytest.approx(Ewens.fit(sizes).log_likelihood)


@fitted
@pytest.mark.parametrize("level", [0.0, 1.0, -1.0])
def test_levels_are_checked(model, level):
    with pytest.raises(ValueError, match="level"):
        model.tau_interval(SIZES, 5000, level=level)


@pytest.mark.parametrize(
    ("model", "known"),
    [
        (Ewens.fit(LARGER), Ewens),
        (DirichletMultinomial.fit(LARGER, 2000), partial(DirichletMultinomial, 2000)),
        (PoissonGamma.fit(LARGER, 2000), partial(PoissonGamma, 2000)),
    ],
)
def test_wide_interval_by_the_delta_method(model, known):
    N = 10_000
    (name,) = model.names
    value, error = getattr(model, name), model.standard_errors[name]
    step = 1e-3 * error
    ends = [known(value + sign * step).tau(LARGER, N) for sign in (-1, 1)]
    spread = 1.959963984540054 * error * (ends[1] - ends[0]) / (2 * step)
    assert model.wide_tau_interval(LARGER, N) == widened(model, N, spread)


def widened(model, N, spread):
    low, high = model.tau_interval(LARGER, N)
    middle = model.tau(LARGER, N)
    return (
        math.floor(middle - math.hypot(middle - low, spread)),
        math.ceil(middle + math.hypot(high - middle, spread)),
    )


# So many sample uniques that intervals at 0.94, 0.95 and 0.96 differ.
MANY = SizeIndices({1: 30_000, 2: 6000, 3: 2000, 4: 900, 7: 400})
MANY_N = 500_000
to_many = each(fits(MANY, 200_000))


@to_many
def test_default_interval_leaves_a_fortieth_on_each_side(model):
    if isinstance(model, PoissonGamma):
        k = np.arange(MANY[1] + 1)
        law = stats.binom(MANY[1], model.uniqueness(MANY.n, MANY_N)).pmf(k)
    else:
        law = model.tau_distribution(MANY, MANY_N)
    expected = np.searchsorted(np.cumsum(law), [0.025, 0.975])
    assert model.tau_interval(MANY, MANY_N) == tuple(expected.tolist())


@pytest.mark.parametrize("verb", ["tau_interval", "wide_tau_interval"])
@to_many
def test_default_level(model, verb):
    interval = getattr(model, verb)
    default = interval(MANY, MANY_N)
    assert default == interval(MANY, MANY_N, 0.95)
    assert default != interval(MANY, MANY_N, 0.94)
    assert default != interval(MANY, MANY_N, 0.96)


def cell_log_likelihood(model, sizes, parameters):
    """Return what "ml" maximizes, but for a constant, in mpmath."""
    parameters = [mpmath.mpf(x) for x in parameters]
    rows = zip(sizes.sizes.tolist(), sizes.counts.tolist(), strict=True)
    n, u = sizes.n, sizes.u
    if isinstance(model, Ewens):
        (theta,) = parameters
        return u * mpmath.log(theta) - mpmath.log(mpmath.rf(theta, n))
    if isinstance(model, Pitman):
        theta, sigma = parameters
        opened = sum(mpmath.log(theta + i * sigma) for i in range(1, u))
        own = sum(s * mpmath.log(mpmath.rf(1 - sigma, j - 1)) for j, s in rows)
        return opened + own - mpmath.log(mpmath.rf(theta + 1, n - 1))
    if isinstance(model, DirichletMultinomial):
        (alpha,) = parameters
        own = sum(s * mpmath.log(mpmath.rf(alpha, j)) for j, s in rows)
        return own - mpmath.log(mpmath.rf(model.K * alpha, n))
    # K independent negative binomial frequencies with mean n/K.
    (beta,) = parameters
    alpha = 1 / (model.K * beta)
    own = sum(s * mpmath.log(mpmath.rf(alpha, j)) for j, s in rows)
    hit = n * mpmath.log(n * beta / (1 + n * beta))
    return own + hit - model.K * alpha * mpmath.log(1 + n * beta)


@pytest.mark.parametrize("sizes", [SIZES, LARGER], ids=["45 cells", "393 cells"])
@pytest.mark.parametrize(
    "fit",
    [
        Ewens.fit,
        Pitman.fit,
        partial(DirichletMultinomial.fit, K=2000),
        partial(PoissonGamma.fit, K=2000),
    ],
    ids=["Ewens", "Pitman", "DirichletMultinomial", "PoissonGamma"],
)
def test_covariance_is_that_of_the_likelihood(fit, sizes):
    model = fit(sizes)
    at = [getattr(model, name) for name in model.names]
    with mpmath.workdps(50):
        function = partial(cell_log_likelihood, model, sizes)
        k = len(at)
        orders = [
            [[int(i == m) + int(j == m) for m in range(k)] for j in range(k)]
            for i in range(k)
        ]
        information = mpmath.matrix(
            [
                [-mpmath.diff(lambda *x: function(x), at, order) for order in row]
                for row in orders
            ]
        )
        exact = np.array((information**-1).tolist(), float)
    assert np.array(model._covariance(sizes)) == pytest.approx(exact, rel=1e-6)
    errors = [model.standard_errors[name] for name in model.names]
    assert errors == pytest.approx(np.sqrt(np.diag(exact)), rel=1e-6)
    if k == 2:  # more cells by theta or by sigma: one makes up for the other
        assert model._covariance(sizes)[0][1] < 0


def test_wide_interval_of_two_parameters_needs_their_covariance():
    # If the errors of theta and sigma were independent, or their covariance positive,
    # the interval would be another one.
    model, N, step = Pitman.fit(LARGER), 10_000, 1e-4
    (a, b), (_, d) = np.linalg.inv(np.array(model.information(LARGER)))
    assert np.sqrt([a, d]) == pytest.approx(list(model.standard_errors.values()))
    slopes = [
        (moved(model, theta=t, sigma=s).tau(LARGER, N)
         - moved(model, theta=-t, sigma=-s).tau(LARGER, N)) / (2 * step)
        for t, s in ((step, 0), (0, step))
    ]  # fmt: skip
    found = []
    for cross in (b, 0.0, -b):
        square = np.array(slopes) @ [[a, cross], [cross, d]] @ slopes
        found.append(widened(model, N, 1.959963984540054 * math.sqrt(square)))
    assert model.wide_tau_interval(LARGER, N) == found[0]
    assert len({*found}) == 3
    low, high = model.tau_interval(LARGER, N)
    assert found[0][0] < low < high < found[0][1]


def moved(model, theta, sigma):
    return Pitman(model.theta + theta, model.sigma + sigma)


def test_no_wide_interval_without_standard_errors():
    for model in (Ewens(3.0), Pitman.fit(LARGER, "moments")):
        assert np.isnan(model.wide_tau_interval(LARGER, 10_000)).all()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Ewens(1e100), "theta"),
        (lambda: Ewens(1e-100), "theta"),
        (lambda: Pitman(1e300, 0.5), "theta [+] sigma"),
        (lambda: PoissonGamma(2**53, 1e300), "beta"),
    ],
)
def test_parameters_that_cannot_be_computed_with_are_refused(make, name):
    with pytest.raises(ValueError, match=f"{name}: need a number from 2.-100 to 2.100"):
        make()


@pytest.mark.parametrize(
    ("make", "wrong", "message"),
    [
        (Ewens, (0.0, -1.0, math.inf, math.nan), "theta={}: need a number > 0"),
        (partial(Pitman, 1.0), (-0.1, 1.0, math.nan), "sigma={}: need a number in"),
        (lambda theta: Pitman(theta, 0.5), (-0.5, -1.0, math.inf, math.nan),
         r"theta: need a number > -sigma = -0\.5"),
        (partial(DirichletMultinomial, 10), (0.0, -1.0, math.nan),
         "alpha={}: need a number > 0"),
        (partial(PoissonGamma, 10), (-1.0, math.inf, math.nan),
         "beta={}: need a number >= 0"),
        (partial(Ewens.fit, SIZES), ("mle",), "method='{}': use 'ml' or 'moments'"),
        (partial(Pitman.fit, SIZES), ("mle",),
         "method='{}': use 'ml' or 'moments'"),
    ],
)  # fmt: skip
def test_arguments_are_checked(make, wrong, message):
    for value in wrong:
        with pytest.raises(ValueError, match=message.format(value)):
            make(value)


PITMAN = ("ml", "moments")
UNIQUE, ONE_CELL = "all records are unique", "all records are in one cell"


@pytest.mark.parametrize(
    ("fit", "methods", "counts", "reason"),
    [
        (Ewens.fit, ["ml"], {1: 1}, UNIQUE),
        (Ewens.fit, ["ml", "moments"], {1: 50}, UNIQUE),
        (Ewens.fit, ["ml", "moments"], {50: 1}, f"{ONE_CELL}: theta falls to 0"),
        (Ewens.fit, ["moments"], {2: 5}, "no sample uniques"),
        (Pitman.fit, PITMAN, {1: 1}, UNIQUE),
        (Pitman.fit, PITMAN, {1: 50}, UNIQUE),
        (Pitman.fit, PITMAN, {50: 1}, ONE_CELL),
        (partial(DirichletMultinomial.fit, K=7), ["ml", "moments"], {1: 1}, ONE_CELL),
        (partial(DirichletMultinomial.fit, K=7), ["ml", "moments"], {50: 1},
         f"{ONE_CELL}: alpha falls to 0"),
    ],
)  # fmt: skip
def test_without_an_estimate(fit, methods, counts, reason):
    sizes = SizeIndices(counts)
    for method in methods:
        model = fit(sizes, method=method)
        assert not model.converged
        assert reason in model.reason
        assert f"no estimate by {method}" in repr(model)
        assert getattr(model, "K", 7) == 7
        assert np.isnan([getattr(model, name) for name in model.names]).all()
        assert np.isnan([model.log_likelihood, model.aic]).all()
        assert np.isnan([model.uniqueness(50, 60), model.population_uniques(60)]).all()
        assert np.isnan([model.tau(sizes, 60), model.asymptotic_tau(sizes, 60)]).all()
        assert np.isnan(model.tau_interval(sizes, 60)).all()
        assert np.isnan(model.tau_distribution(sizes, 60)).all()
        assert np.isnan(
            [model.tau_variance(sizes, 60), model.unique_fraction(60)]
        ).all()


@pytest.mark.parametrize(
    ("draw", "fit", "truth"),
    [
        (lambda rng: simulate.pitman_population(4000, 300.0, 0.0, rng),
         Ewens.fit, {"theta": 300.0}),
        (lambda rng: simulate.pitman_population(4000, 300.0, 0.0, rng),
         partial(Ewens.fit, method="moments"), {"theta": 300.0}),
        (lambda rng: simulate.pitman_population(6000, 200.0, 0.4, rng),
         Pitman.fit, {"theta": 200.0, "sigma": 0.4}),
        (lambda rng: simulate.dirichlet_multinomial_population(5000, 3000, 0.4, rng),
         partial(DirichletMultinomial.fit, K=3000), {"alpha": 0.4}),
    ],
    ids=["Ewens", "Ewens by moments", "Pitman", "DirichletMultinomial"],
)  # fmt: skip
def test_parameters_come_back(draw, fit, truth):
    rng, z = np.random.default_rng(20), []
    for _ in range(60):
        model = fit(SizeIndices.from_frequencies(draw(rng)))
        z.append(
            [
                (getattr(model, name) - value) / model.standard_errors[name]
                for name, value in truth.items()
            ]
        )
    # Mean 0 and standard deviation 1, to 4 of their own standard errors.
    assert np.all(np.abs(np.mean(z, axis=0)) < 4 / math.sqrt(60))
    assert np.all(np.abs(np.std(z, axis=0) - 1) < 4 / math.sqrt(120))


@pytest.mark.parametrize("family", [DirichletMultinomial, PoissonGamma])
def test_samples_with_more_cells_than_the_model_are_refused(family):
    model = family(20, 0.2)
    for verb in (model.tau, model.tau_interval, model.wide_tau_interval):
        with pytest.raises(ValueError, match="45 occupied cells, the model has 20"):
            verb(SIZES, 1000)


# How many cells of each size


@pytest.mark.parametrize(
    "model",
    [
        Ewens(theta=1.5), Pitman(theta=0.7, sigma=0.4), Pitman(theta=-0.2, sigma=0.6),
        DirichletMultinomial(9, 0.3), DirichletMultinomial(6, math.inf),
        DirichletMultinomial(1, 0.5), PoissonGamma(8, 0.25), PoissonGamma(8, 0.0),
    ],
)  # fmt: skip
def test_expected_sizes_are_those_of_all_partitions(partitions, model):
    n = 6
    expected = np.zeros(n)
    for sizes in partitions(n):
        chance = math.exp(model.log_probability(sizes))
        expected[sizes.sizes - 1] += chance * sizes.counts
    found = model.expected_sizes(n, n + 2)
    assert found[:n] == pytest.approx(expected, rel=1e-12, abs=1e-300)
    assert found[n:].tolist() == [0.0, 0.0]
    assert model.expected_sizes(n, 2).tolist() == found[:2].tolist()


@pytest.mark.parametrize(
    "model",
    [
        Ewens(theta=2e4), Pitman(theta=37298.0, sigma=0.36),
        DirichletMultinomial(384_000, 0.19),
    ],
)  # fmt: skip
def test_expected_sizes_add_up(model):
    n = 20_000
    found = model.expected_sizes(n, 2000)
    assert found.sum() == pytest.approx(model.expected_cells(n), rel=1e-11)
    assert (found * np.arange(1, 2001)).sum() == pytest.approx(n, rel=1e-11)


def test_sizes_that_are_none_are_refused():
    for n, most in ((0, 3), (3, 0), (2.5, 3), (3, 1.5)):
        with pytest.raises((TypeError, ValueError)):
            Ewens(theta=1.0).expected_sizes(n, most)
    for model in (Ewens.none("ml", "why"), PoissonGamma.none("ml", "why", K=3)):
        assert np.isnan(model.expected_sizes(5, 3)).all()
