"""Log-linear models: margins, closed forms, statistics of fit, zeros, refusals."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from riskcore.models import CellTable, LogLinear
from riskcore.models import log_linear as module

LEVELS = (3, 4, 2)
FAR = 1e-9  # records: as exact as closed forms are


@pytest.fixture(scope="module")
def table():
    """Return a full table of counts and its cells."""
    counts = np.random.default_rng(1).integers(1, 30, LEVELS)
    codes = np.indices(LEVELS).reshape(3, -1)
    return counts, CellTable.of(list(codes), frequency=counts.ravel())


def fitted(model):
    return model.n * model.probability().reshape(LEVELS)


def test_main_effects_are_independence(table):
    counts, cells = table
    model = LogLinear.fit(cells, overdispersion=False)
    n = counts.sum()
    a, b, c = (counts.sum(axis=axes) / n for axes in ((1, 2), (0, 2), (0, 1)))
    independent = n * np.einsum("i,j,k->ijk", a, b, c)
    assert fitted(model) == pytest.approx(independent, rel=1e-12)
    _, _, df, expected = stats.chi2_contingency(counts)
    assert fitted(model) == pytest.approx(expected, rel=1e-12)
    assert model.cells - 1 - model.parameters == df
    assert model.cells == 24


def test_a_decomposable_model_has_its_closed_form(table):
    counts, cells = table
    model = LogLinear.fit(
        cells, terms=[(0, 1), (2, 1)], tolerance=FAR, overdispersion=False
    )
    ab, bc, b = counts.sum(axis=2), counts.sum(axis=0), counts.sum(axis=(0, 2))
    right = ab[:, :, None] * bc[None] / b[None, :, None]
    assert fitted(model) == pytest.approx(right, rel=1e-10)
    assert model.parameters == 2 + 3 + 1 + 2 * 3 + 3
    assert model.terms == ((0, 1), (1, 2))


def test_all_pairs_have_the_margins_of_the_sample(table):
    counts, cells = table
    model = LogLinear.fit(
        cells, terms="all two-way", tolerance=FAR, overdispersion=False
    )
    found = fitted(model)
    for a, b in combinations(range(3), 2):
        (other,) = {0, 1, 2} - {a, b}
        right = counts.sum(axis=other)
        assert found.sum(axis=other) == pytest.approx(right, abs=1e-8)
    # No three-way interaction: odds ratios are the same in both layers.
    odds = found[:-1, :-1] * found[1:, 1:] / found[:-1, 1:] / found[1:, :-1]
    assert odds[..., 0] == pytest.approx(odds[..., 1], rel=1e-9)
    assert model.cells - 1 - model.parameters == 2 * 3 * 1
    assert model.converged
    assert model.iterations > 1


def test_the_likelihood_is_largest_at_the_margins(table):
    counts, cells = table
    model = LogLinear.fit(cells, terms=[(0, 1)], overdispersion=False)
    best = (counts * np.log(fitted(model) / counts.sum())).sum()
    assert model.log_likelihood == pytest.approx(best, rel=1e-12)
    main = LogLinear.fit(cells, overdispersion=False)
    assert main.log_likelihood < best


def test_terms_by_name():
    data = {"a": [0, 1, 1, 0], "b": [0, 1, 0, 1], "c": [0, 0, 1, 1]}
    model = LogLinear.fit(data, ["a", "b", "c"], terms=[("c", "a")])
    assert model.terms == ((0, 2), (1,))
    assert repr(model).startswith("<LogLinear: 4 records, 1 pair of keys, 1 key alone")
    for wrong in [("a", "a")], [("a", "x")], [("a", "b", "c")], ["ab"]:
        with pytest.raises(ValueError, match="is not a pair of the keys"):
            LogLinear.fit(data, ["a", "b", "c"], terms=wrong)
    with pytest.raises(ValueError, match="terms='two'"):
        LogLinear.fit(data, ["a", "b", "c"], terms="two")


def test_structural_zeros():
    # Quasi-independence off the diagonal: of a symmetric table it is symmetric.
    counts = np.array([[0, 4, 6], [4, 0, 8], [6, 8, 0]])
    codes = np.indices((3, 3)).reshape(2, -1)
    zeros = {(0, 1): np.eye(3, dtype=bool)}
    model = LogLinear.fit(
        list(codes),
        frequency=counts.ravel(),
        structural_zeros=zeros,
        tolerance=FAR,
        overdispersion=False,
    )
    all_cells = CellTable.of(list(codes), frequency=np.ones(9, np.int64))
    found = model.n * model.probability(all_cells).reshape(3, 3)
    assert np.diag(found).tolist() == [0.0, 0.0, 0.0]
    assert found.sum(axis=1) == pytest.approx(counts.sum(axis=1), abs=1e-8)
    assert found == pytest.approx(found.T, rel=1e-6)
    assert model.cells == 6
    assert model.cells - 1 - model.parameters == 1
    with pytest.raises(ValueError, match="1 of 1 records are in impossible pairs"):
        LogLinear.fit([[0], [0]], levels=[3, 3], structural_zeros=zeros)


def test_pairs_that_do_not_occur_are_no_parameters():
    codes = [[0, 0, 1, 1, 2], [0, 1, 0, 1, 2]]
    model = LogLinear.fit(
        codes, terms="all two-way", tolerance=FAR, overdispersion=False
    )
    assert model.cells == 5
    assert model.probability().tolist() == pytest.approx([0.2] * 5)
    absent = CellTable.of([[0], [2]], levels=(3, 3))
    assert model.probability(absent).tolist() == [0.0]


def test_a_table_that_does_not_fit_is_refused():
    codes = [np.arange(2000) for _ in range(3)]
    with pytest.raises(ValueError, match="8000000000 combinations of categories"):
        LogLinear.fit(codes)


def test_what_does_not_converge_says_so(table, monkeypatch):
    monkeypatch.setattr(module, "_CYCLES", 1)
    model = LogLinear.fit(table[1], terms="all two-way", tolerance=FAR)
    assert not model.converged
    assert model.reason == "margins not met after 1 cycles"
    assert math.isnan(model.tau())


def test_leaving_records_out_is_a_new_fit(table):
    cells = table[1]
    model = LogLinear.fit(cells, terms=[(0, 1)], overdispersion=False)
    records = cells.records.copy()
    records[5] //= 2
    again = model._refitted(records)
    anew = LogLinear.fit(
        cells.codes, terms=[(0, 1)], frequency=records, overdispersion=False
    )
    assert again.probability() == pytest.approx(anew.probability(), rel=1e-10)


def test_probabilities_of_all_combinations_sum_to_one(table):
    every = CellTable.of(list(zip(*product(*map(range, LEVELS)), strict=True)))
    for terms in ("main", "all two-way"):
        model = LogLinear.fit(table[1], terms=terms)
        assert model.probability(every).sum() == pytest.approx(1.0, abs=1e-12)
