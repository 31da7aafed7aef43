"""The law of combinations of some keys: what their cells add up to."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import riskcore
from riskcore.assessment.margins import Margins
from riskcore.assessment.population import risk_by, risk_of_margins
from riskcore.models import CellTable, LatentClass, LogLinear
from riskcore.models.cell_table import ANY
from riskcore.models.overdispersion import Overdispersion

LEVELS = (4, 3, 5)
GRID = [np.array(c) for c in zip(*itertools.product(*map(range, LEVELS)), strict=True)]
WEIGHT = 8.0


@pytest.fixture(scope="module")
def sample():
    """A small sample of two kinds of people."""
    rng = np.random.default_rng(4)
    kind = rng.integers(0, 2, 60)
    return [
        np.minimum(rng.geometric(0.5 + 0.2 * kind) - 1, 3),
        rng.binomial(2, 0.2 + 0.5 * kind),
        rng.binomial(4, 0.5 - 0.3 * kind),
    ]


def models(sample):
    classes = LatentClass.fit(sample, classes=2, levels=LEVELS)
    yield replace(classes, shares=None)
    yield replace(LogLinear.fit(sample, levels=LEVELS), shares=None)


def combinations(kept, f=1):
    """Yield a table of each combination of some keys with f records, and its cells."""
    for values in itertools.product(*(range(LEVELS[key]) for key in kept)):
        chosen = dict(zip(kept, values, strict=True))
        codes = tuple(np.array([chosen.get(key, ANY)]) for key in range(3))
        cells = np.logical_and.reduce([GRID[key] == chosen[key] for key in kept])
        records = np.array([f])
        yield CellTable(codes, LEVELS, records, records * WEIGHT, (0, 1, 2)), cells


def grid():
    ones = np.ones(len(GRID[0]), np.int64)
    return CellTable(tuple(GRID), LEVELS, ones, ones * WEIGHT, (0, 1, 2))


@pytest.mark.parametrize(("kept", "f"), [((0, 1), 1), ((0, 2), 2), ((1,), 12)])
@pytest.mark.parametrize(("a", "b"), [(0.5, 0.0), (2.0, 0.25), (0.5, 0.5), (0.5, 1.0)])
def test_the_risk_is_that_of_the_cells_together(sample, a, b, kept, f):
    """Draw f and F of all cells by the law of the model, and add them up."""
    for model in models(sample):
        law = Overdispersion(a, b, "power")
        model = replace(model, overdispersion=law)
        mean = model.n * model.probability(grid())
        rng, shape = np.random.default_rng(1), a * mean**b
        spread = rng.gamma(shape, 1.0 / shape, (20_000, len(mean))) * mean
        seen, others = rng.poisson(spread), rng.poisson((WEIGHT - 1.0) * spread)
        ratios = []
        for table, cells in combinations(kept, f):
            drawn = seen[:, cells].sum(axis=1) == f
            if drawn.sum() > 500:
                F = f + others[drawn][:, cells].sum(axis=1)
                ratios.append(risk_by(model.prior(table))[0] / (1.0 / F).mean())
        assert len(ratios) >= 2
        assert np.mean(ratios) == pytest.approx(1.0, abs=0.05)
        assert 0.88 < min(ratios) < max(ratios) < 1.25


@pytest.mark.parametrize("kept", [(0, 1), (2,), (1,)])
def test_sums_of_squares_over_the_cells(sample, kept):
    for model in models(sample):
        pi = model.probability(grid())
        for table, cells in combinations(kept):
            found = model._squares(table)[0]
            assert found == pytest.approx((pi[cells] ** 2).sum(), rel=1e-9)


def test_many_classes_are_squared_in_parts(sample):
    model = LatentClass.fit(sample, classes=25, levels=LEVELS)
    pi = model.probability(grid())
    for table, cells in combinations((0, 1)):
        assert model._squares(table)[0] == pytest.approx((pi[cells] ** 2).sum())


@pytest.mark.parametrize("seed", range(12))
def test_the_risk_never_rises_when_a_key_is_blanked(seed):
    rng = np.random.default_rng(seed)
    n, kind = 400, rng.integers(0, 3, 400)
    data = {
        "a": np.minimum(rng.geometric(0.15 + 0.2 * kind), 30),
        "b": rng.binomial(2 + seed % 4, 0.2 + 0.3 * kind),
        "c": rng.integers(0, 2 + kind),
        "d": (rng.random(n) < 0.03).astype(int),
    }
    data["w"] = rng.choice([5.0, 5.0 + 10 * (seed % 3)], n)
    found = riskcore.assess(data, [*"abcd"], "w", population="latent-class")
    law = [found.model.overdispersion, Overdispersion(0.7, 0.0), Overdispersion(1, 0.5)]
    model = replace(found.model, overdispersion=law[seed % 3])
    cells = found.cells
    margins = Margins(cells, lambda *given: risk_of_margins(model, cells, *given), True)
    every = np.arange(len(cells))
    risks = [margins.risk(kept, every) for kept in range(16)]
    for kept, key in itertools.product(range(16), range(4)):
        if kept >> key & 1:
            # The sum of the cells' laws is a gamma law only nearly, and a cell leaves
            # out half of its record, a sum of cells does not: 1.0021 was the worst.
            assert (risks[kept ^ 1 << key] <= risks[kept] * (1 + 2.5e-3)).all()
