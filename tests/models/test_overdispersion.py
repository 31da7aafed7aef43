"""How far cells are from their probabilities: likelihoods, boundaries, recovery."""

import math

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import nbinom, poisson

from riskcore.models import DirichletMultinomial, Overdispersion, SizeIndices
from riskcore.models import overdispersion as module
from riskcore.models.overdispersion import (
    fit_between_clusters,
    fit_overdispersion,
    likely_between_clusters,
    likely_laws,
)


def sample(a, b, seed, cells=20_000, n=20_000):
    """Return pi and f of the cells of a sample whose law is that of the model."""
    rng = np.random.default_rng(seed)
    pi = rng.dirichlet(np.full(cells, 0.5))
    shape = a * (n * pi) ** b
    f = rng.poisson(n * pi * rng.gamma(shape) / np.where(shape > 0, shape, 1.0))
    return pi, f


MEANS, RECORDS = np.array([0.1, 0.5, 3.0, 40.0, 70.0]), np.array([1.0, 3, 2, 30, 80])


def each_cell():
    return [
        module.Cells(MEANS[i : i + 1], RECORDS[i : i + 1]) for i in range(len(MEANS))
    ]


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("a", [0.3, 2.0])
def test_what_made_the_sample_is_found_again(a, b):
    pi, f = sample(a, b, 1)
    found = fit_overdispersion(pi, f)
    assert found.exponent == pytest.approx(b, abs=0.25)
    at = fit_overdispersion(pi, f, exponents=(b,))
    assert at.scale == pytest.approx(a, rel=0.1)
    assert (at.kind, at.reason) == ("power", "")


def test_dirichlet_multinomial_is_the_symmetric_model_where_pi_is_one_over_K():
    counts = {1: 300, 2: 60, 5: 12, 11: 2}
    f = np.repeat(list(counts), list(counts.values()))
    K = 2000
    found = fit_overdispersion(np.full(len(f), 1 / K), f, "dirichlet-multinomial")
    symmetric = DirichletMultinomial.fit(SizeIndices(counts), K)
    assert found.scale * f.sum() == pytest.approx(K * symmetric.alpha, rel=1e-9)
    assert found.exponent == 1.0


def log_likelihood(A, pi, f):
    parts = gammaln(f + A * pi) - gammaln(A * pi)
    return parts.sum() + gammaln(A) - gammaln(A + f.sum())


def test_the_likelihood_of_the_dirichlet_multinomial_law_is_largest():
    pi, f = sample(0.5, 1.0, 2)
    seen = f > 0
    found = fit_overdispersion(pi, f, "dirichlet-multinomial")
    A = found.scale * f.sum()
    best = log_likelihood(A, pi[seen], f[seen])
    for other in (A * 0.99, A * 1.01):
        assert log_likelihood(other, pi[seen], f[seen]) < best


def test_the_truncated_likelihood_is_that_of_scipy():
    t = 0.7
    law = nbinom(t, t / (t + MEANS))
    right = law.logpmf(RECORDS) - np.log1p(-law.pmf(0)) + gammaln(RECORDS + 1)
    for one, cells in enumerate(each_cell()):
        assert cells.height(t, np.ones(1)) == pytest.approx(right[one], rel=1e-12)
        far = cells.height(1e15, np.ones(1))
        assert far == pytest.approx(
            module.poisson_height(cells.m, cells.f)[0], rel=1e-12
        )
    law = poisson(MEANS)
    right = law.logpmf(RECORDS) - np.log(-np.expm1(-MEANS)) + gammaln(RECORDS + 1)
    assert module.poisson_height(MEANS, RECORDS) == pytest.approx(right, rel=1e-12)


def test_the_likelihood_of_many_cells_is_that_of_each():
    # More than a block of the kernels, and cells of many records among them.
    m, f = np.tile(MEANS, 300), np.tile(RECORDS, 300)
    e = np.linspace(0.5, 2.0, len(m))
    both = module.Cells(m, f)
    cells = [module.Cells(m[i : i + 1], f[i : i + 1]) for i in range(len(m))]
    for of in ("height", "slope"):
        each = [getattr(one, of)(0.7, e[i : i + 1]) for i, one in enumerate(cells)]
        assert getattr(both, of)(0.7, e) == pytest.approx(math.fsum(each), rel=1e-13)


@pytest.mark.parametrize("power", [60, 90, 130])
def test_heights_where_a_product_would_overflow(power):
    cells = module.Cells(np.ones(1), np.array([60.0]))
    # For t -> 0, (t)_f is t (f-1)!, and 1 - P(0) is -t log t.
    right = gammaln(60.0) - np.log(power * np.log(2.0))
    assert cells.height(2.0**-power, np.ones(1)) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("t", [1e-6, 0.7, 50.0, 1e9])
def test_slopes_are_derivatives(t):
    import mpmath

    def height(m, f, s):
        p = s / (s + m)
        law = mpmath.rf(s, f) * (m / (s + m)) ** f * p**s / (1 - p**s)
        return mpmath.log(law)

    with mpmath.workdps(60):
        for cells in each_cell():
            # Both numbers now, for `diff` calls later.
            mean, records = mpmath.mpf(cells.m[0]), mpmath.mpf(cells.f[0])
            exact = t * mpmath.diff(lambda s, x=mean, y=records: height(x, y, s), t)
            assert cells.slope(t, np.ones(1)) == pytest.approx(float(exact), rel=1e-7)


def test_chance_alone_is_no_overdispersion():
    rng = np.random.default_rng(3)
    pi = np.full(4000, 1 / 4000)
    f = rng.multinomial(2000, pi)
    f[np.flatnonzero(f > 1)] = 2  # less uneven than chance
    for kind in ("power", "dirichlet-multinomial"):
        found = fit_overdispersion(pi, f, kind)
        assert found.poisson
        assert found.reason.startswith("boundary")
        assert found.kind == kind


def test_no_cell_of_two_records_tells_nothing():
    found = fit_overdispersion(np.full(9, 0.1), np.ones(9, np.int64))
    assert found.reason.endswith("no cell has two records")


def test_none_is_not_looked_for():
    pi, f = sample(0.3, 0.0, 4, 500, 500)
    assert fit_overdispersion(pi, f, "none") == Overdispersion()
    assert module.kind_of(False) == "none"
    assert module.kind_of(True) == "power"
    with pytest.raises(ValueError, match="overdispersion='gamma'"):
        fit_overdispersion(pi, f, "gamma")


def test_a_part_of_many_cells_gives_nearly_the_same():
    pi, f = sample(0.5, 0.5, 5, cells=400_000, n=200_000)
    assert (f > 0).sum() > module.MOST_CELLS
    part = module.part_of(f, "power")
    assert len(part) < module.MOST_CELLS
    n = int(f.sum())
    found = fit_overdispersion(pi[part], f[part], exponents=(0.5,), n=n)
    assert found.scale == pytest.approx(0.5, rel=0.05)


def test_shapes_and_evenness():
    law, expected = Overdispersion(3.0, 0.25), np.array([0.0, 1e-9, 1.0, 7.0])
    assert law.shape(expected) == pytest.approx(3.0 * expected**0.25, rel=1e-15)
    with np.errstate(divide="ignore"):
        assert law.evenness(expected) == pytest.approx(3.0 * expected**-0.75)
    assert Overdispersion(3.0, 1.0).evenness(expected).tolist() == [3.0] * 4
    assert Overdispersion(3.0, 0.0).shape(expected).tolist() == [3.0] * 4


def test_repr():
    assert repr(Overdispersion()) == "<Overdispersion: none, Poisson>"
    lost = Overdispersion(math.nan, 1.0, "power", "why")
    assert repr(lost) == "<Overdispersion: no estimate, why>"


def test_the_part_of_many_cells_is_by_their_place(monkeypatch):
    # Else the fits of a jackknife would each have another part.
    monkeypatch.setattr(module, "MOST_CELLS", 300)
    _, f = sample(0.5, 0.5, 6, cells=3100, n=3000)
    part = module.part_of(f, "power")
    _, place = module.groups_of(np.ones(3100, np.int64), 3100)
    assert part.tolist() == np.flatnonzero((place < 300) & (f > 0)).tolist()
    f[part[0]] = 0
    assert module.part_of(f, "power").tolist() == part[1:].tolist()
    seen = np.flatnonzero(f)
    assert module.part_of(f, "dirichlet-multinomial").tolist() == seen.tolist()
    assert len(module.part_of(f, "none")) == 0


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.0), (2.0, 0.0), (2.0, 0.5), (2.0, 1.0)])
def test_few_clusters_that_do_not_matter_hardly_change_the_law(a, b):
    pi, f = sample(a, b, 1)
    cluster = np.random.default_rng(2).integers(0, 40, f.sum())
    pairs = np.unique(np.repeat(np.arange(len(f)), f) * 40 + cluster)
    clusters = np.bincount(pairs // 40, minlength=len(f))
    assert clusters.sum() < 0.96 * f.sum()  # common cells have several by chance
    whole, found = fit_overdispersion(pi, f), fit_between_clusters(pi, f, clusters)
    assert found.exponent == whole.exponent
    assert found.scale == pytest.approx(whole.scale, rel=0.25)


def test_clusters_of_one_record_give_the_law_of_the_records():
    pi, f = sample(0.3, 0.5, 1)
    assert fit_between_clusters(pi, f, f) == fit_overdispersion(pi, f)


def log_chance(a, b, m, f):
    """Return the log-likelihood of seen cells, and of the prior up to a constant."""
    shape = a * m**b
    law = nbinom(shape, shape / (shape + m))
    seen = np.log1p(-law.pmf(0))
    return (law.logpmf(f) - seen).sum() + math.log(a) - 2.0 * math.log1p(a)


@pytest.mark.parametrize("kind", ["power", "dirichlet-multinomial"])
def test_chances_of_laws_are_by_their_likelihood_and_prior(kind):
    pi, f = sample(0.5, 1.0, 3, cells=400, n=60)
    pi, f = pi[f > 0], f[f > 0]
    found = likely_laws(pi, f, kind, 60)
    chances = np.array([p for _, p in found])
    right = np.array(
        [
            log_chance(law.scale, law.exponent, 60 * pi, f) + 2.0 * law.exponent
            for law, _ in found
        ]
    )
    expected = np.exp(right - right.max())
    assert chances == pytest.approx(expected / expected.sum(), rel=1e-9)
    assert {law.kind for law, _ in found} == {kind}
    exponents = {law.exponent for law, _ in found}
    assert exponents <= ({0.0, 0.5, 1.0} if kind == "power" else {1.0})
    assert (len(exponents) > 1) == (kind == "power")


def test_many_records_leave_few_laws():
    pi, f = sample(2.0, 0.5, 1)
    found = likely_laws(pi, f, "power", int(f.sum()))
    assert {(law.scale, law.exponent) for law, _ in found} == {(2.0, 0.5)}
    assert found[0][1] == 1.0


def test_laws_between_clusters_of_one_record_are_those_of_records():
    pi, f = sample(0.5, 1.0, 3, cells=400, n=60)
    pi, f = pi[f > 0], f[f > 0]
    one = likely_laws(pi, f, "power", int(f.sum()))
    two = likely_between_clusters(pi, f, f, "power")
    assert [law.scale for law, _ in one] == [law.scale for law, _ in two]
    assert [p for _, p in one] == pytest.approx([p for _, p in two], rel=1e-9)
