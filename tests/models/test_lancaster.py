import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product, repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.models import lancaster
from riskcore.models.lancaster import Lancaster

LAMBDAS = [Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(3, 4), Fraction(1)]


class Exact:
    """The model in rational arithmetic, by its definition, over all cells."""

    def __init__(self, rows, zeros=()):
        self.rows, self.n = rows, len(rows)
        keys = range(len(rows[0]))
        self.categories = [sorted({row[key] for row in rows}) for key in keys]
        self.cells = list(product(*self.categories))
        self.zeros = zeros  # ((key, code), (key, code)) that cannot be
        self.counts = Counter(
            places
            for row in rows
            for number in (1, 2)
            for places in combinations(enumerate(row), number)
        )

    def share(self, *places):
        """Return the share of the records with these (key, code), one or two."""
        return Fraction(self.counts[places], self.n)

    def possible(self, cell):
        return not any(cell[a] == i and cell[b] == j for (a, i), (b, j) in self.zeros)

    def terms(self, cell):
        """Return w and the excesses u_ab."""
        places = list(enumerate(cell))
        w = math.prod(self.share(place) for place in places)
        excesses = [
            self.share(x, y) / (self.share(x) * self.share(y)) - 1
            for x, y in combinations(places, 2)
        ]
        return w, excesses

    def probability(self, cell, degree):
        w, excesses = self.terms(cell)
        return w * (1 + degree * sum(excesses)) if self.possible(cell) else Fraction(0)

    def all(self, degree):
        return {cell: self.probability(cell, degree) for cell in self.cells}


def correlated(sizes, n, seed):
    """Draw rows whose keys depend on each other."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, n)
    columns = [
        np.minimum(rng.geometric(0.35, n) - 1 + hidden * (key % 2), size - 1)
        for key, size in enumerate(sizes)
    ]
    return [tuple(map(int, row)) for row in np.transpose(columns)]


TABLES = {
    "two ways": correlated((3, 4), 15, 1),
    "three ways": correlated((2, 3, 3), 12, 2),
    "three ways, exclusive": [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 0), (1, 0, 0)],
    "four ways": correlated((2, 3, 2, 4), 20, 3),
    "five ways": correlated((2, 3, 4, 2, 3), 25, 51),
}


def columns_of(rows):
    return [np.array(column, np.uint8) for column in zip(*rows, strict=True)]


def fitted(rows, **options):
    return Lancaster.fit(columns_of(rows), **options)


@pytest.fixture(params=TABLES, scope="module")
def rows(request):
    return TABLES[request.param]


# --- facts, in rationals ------------------------------------------------------------


def test_four_ways_can_exceed_one():
    # Four equal keys, nine records in ten in one category: 6 x^3 - 5 x^4.
    rows = [(0,) * 4] * 9 + [(1,) * 4]
    x = Fraction(9, 10)
    p = Exact(rows).probability((0,) * 4, 1)
    assert p == 6 * x**3 - 5 * x**4 > 1
    model = fitted(rows)
    cell = [[0]] * 4
    assert model.probability(cell, 1.0)[0] == pytest.approx(float(p), rel=1e-15)
    assert model.corrected_probability(cell, 1.0, renormalize=False)[0] == 1.0
    assert model.uniqueness(cell, 11, 1.0, renormalize=False)[0] == 0.0
    assert model.uniqueness(cell, 10, 1.0, renormalize=False)[0] == 1.0
    assert 0.0 < model.uniqueness(cell, 11, 1.0)[0] < 1.0


# --- against the rationals ----------------------------------------------------------


def assert_probabilities(rows, zeros=(), **options):
    exact, model = Exact(rows, zeros), fitted(rows, **options)
    keys = len(rows[0])
    pairs = keys * (keys - 1) // 2
    got = model.probability(columns_of(exact.cells), [float(x) for x in LAMBDAS])
    for row, degree in zip(got, LAMBDAS, strict=True):
        for p, cell in zip(row.tolist(), exact.cells, strict=True):
            w, excesses = exact.terms(cell)
            scale = w * (1 + degree * sum(map(abs, excesses)))
            error = abs(Fraction(p) - exact.probability(cell, Fraction(float(degree))))
            assert error <= (pairs + 2 * keys + 4) * Fraction(2) ** -53 * scale


def assert_sums(rows, zeros=(), **options):
    exact, model = Exact(rows, zeros), fitted(rows, **options)
    degrees = [float(x) for x in LAMBDAS]
    c, negative = model.normalizer(degrees), model.negative_sum(degrees)
    pairs = math.comb(len(rows[0]), 2)
    for k, degree in enumerate(degrees):
        p = exact.all(Fraction(degree)).values()
        positive = sum(x for x in p if x > 0)
        bound = Fraction(pairs**2, 2**51) + positive / 2**44
        assert abs(Fraction(c[k]) - positive) <= bound
        assert abs(Fraction(negative[k]) - sum(x for x in p if x < 0)) <= bound
        # One lambda alone gives the same bits.
        assert model.normalizer(degree) == c[k]
        assert model.negative_sum(degree) == negative[k]
    assert model.cells == len(exact.cells)


def test_probabilities(rows):
    assert_probabilities(rows)


def test_normalizer_is_the_sum_of_positive_parts(rows):
    assert_sums(rows)


def test_probabilities_sum_to_one_after_correction(rows):
    cells = columns_of(Exact(rows).cells)
    p = fitted(rows).corrected_probability(cells, [0.0, 0.7, 1.0])
    assert p.min() >= 0
    assert p.sum(axis=1) == pytest.approx([1, 1, 1], rel=1e-14)


small_files = st.integers(2, 5).flatmap(
    lambda keys: st.lists(
        st.tuples(*[st.integers(0, 2)] * keys), min_size=1, max_size=10
    )
)


@settings(max_examples=40)
@given(small_files)
def test_random_tables(file):
    assert_probabilities(file)
    assert_sums(file)


@settings(max_examples=40)
@given(small_files, st.randoms(use_true_random=False))
def test_random_tables_with_structural_zeros(file, random):
    found, masks = [], {}
    for a, b in combinations(range(len(file[0])), 2):
        unseen = {
            (i, j) for i, j in product(range(3), repeat=2)
        } - {(row[a], row[b]) for row in file}  # fmt: skip
        some = [pair for pair in sorted(unseen) if random.random() < 0.3]
        found += [((a, i), (b, j)) for i, j in some]
        mask = np.zeros((3, 3), bool)
        mask[tuple(np.array(some, int).reshape(-1, 2).T)] = True
        masks[(b, a) if random.random() < 0.5 else (a, b)] = mask
    masks = {(a, b): m if a < b else m.T for (a, b), m in masks.items()}
    options = {"levels": [3] * len(file[0]), "structural_zeros": masks}
    assert_probabilities(file, found, **options)
    assert_sums(file, found, **options)


def pass_of_numpy(model, degree):
    """Sum the negative p over all cells at once."""
    grids = np.meshgrid(*[np.arange(size) for size in model.levels], indexing="ij")
    p = model.probability([grid.ravel() for grid in grids], degree)
    return math.fsum(p[p < 0])


@pytest.mark.parametrize("sizes", [(37, 3, 5, 4, 6), (2,) * 13, (300, 2, 7, 3), (5, 9)])
def test_larger_tables(sizes, monkeypatch):
    model = fitted(correlated(sizes, 3000, 5), levels=sizes)
    degrees = [1.0, 0.3, 0.0, 0.6]
    sums = model.negative_sum(degrees)
    for degree, found in zip(degrees, sums.tolist(), strict=True):
        assert found == pytest.approx(
            pass_of_numpy(model, degree), rel=1e-12, abs=1e-13
        )
    # Another choice of inner keys, many calls; all within the bound of the error.
    monkeypatch.setattr(lancaster, "_INNER", 4)
    monkeypatch.setattr(lancaster, "_CALL", 1000)
    assert model.negative_sum(degrees) == pytest.approx(sums, rel=1e-12, abs=1e-13)


def test_calls_do_not_change_a_bit(monkeypatch):
    model = fitted(correlated((37, 3, 5, 4, 6, 2), 3000, 5))
    whole = model.negative_sum([1.0, 0.5])
    monkeypatch.setattr(lancaster, "_CALL", 37 * 6 * 256)
    assert model.negative_sum([1.0, 0.5]).tolist() == whole.tolist()


def test_interpreted_and_compiled_code_give_the_same_bits(monkeypatch):
    model = fitted(correlated((4, 3, 2, 3), 40, 6))
    compiled = model.negative_sum([1.0, 0.7, 0.4])
    monkeypatch.setattr(lancaster, "add_shortfalls", lancaster.add_shortfalls.function)
    assert model.negative_sum([1.0, 0.7, 0.4]).tolist() == compiled.tolist()


def test_small_terms_are_not_lost_beside_large_ones(monkeypatch):
    # In each call one cell of weight 1, then a thousand of 2^-54: 1 + 2^-54 is 1.
    calls, cells, inner = 3, 1001, 8
    groups = calls * cells
    share = np.full(groups + 2, 2.0**-54)
    share[:groups:cells], share[groups:] = 1.0, 0.5
    width = lancaster.filled_width(groups + 2) + inner
    table = lancaster.CrossProduct(
        begin=np.array([0, groups, groups + 2]),
        share=share,
        excess=lancaster.aligned(groups + 2, width),
        base=np.zeros(width),
        inner_share=np.eye(1, inner)[0],
        cells=groups * 2 * inner,
    )
    monkeypatch.setattr(lancaster, "_CALL", cells * 2 * inner)
    (found,) = lancaster.shortfalls(table, np.array([1.0]), None)
    # What is added before errors are kept, see _PAIRS_OF_ROWS, is lost.
    exact = calls + Fraction(groups - calls, 2**54)
    assert abs(Fraction(found) - exact) <= Fraction(calls * 128, 2**54)


def test_small_lambda_with_structural_zeros():
    rows = TABLES["three ways, exclusive"]
    model = fitted(rows, structural_zeros={(0, 1): [[False, False], [False, True]]})
    degrees = [0.0, 5e-324, 1e-302, 1e-300, 1e-17]
    # 1 - p_0(1) p_1(1), two records and one in five
    assert model.normalizer(degrees) == pytest.approx([0.92] * 5, rel=1e-15)


# --- cells and frequencies, uniques ---------------------------------------------------


def test_cells_with_frequencies_are_the_records():
    rows = TABLES["five ways"]
    cells = sorted(set(rows))
    frequency = [rows.count(cell) for cell in cells]
    model, whole = fitted(cells, frequency=frequency), fitted(rows)
    assert model.n == whole.n
    for pair, table in model.excess.items():
        assert table.tolist() == whole.excess[pair].tolist()
    for one, other in zip(model.margins, whole.margins, strict=True):
        assert one.tolist() == other.tolist()


def test_excess_of_many_records_is_rounded_once():
    frequency = [2**31 - 1, 1, 3, 2**29 + 1]
    model = Lancaster.fit([[0, 0, 1, 1], [0, 1, 0, 1]], frequency=frequency)
    n, first, second = sum(frequency), sum(frequency[:2]), frequency[0] + 3
    exact = Fraction(n * frequency[0], first * second) - 1
    assert abs(Fraction(model.excess[0, 1][0, 0]) - exact) <= abs(exact) / 2**51


def test_categories_that_do_not_occur():
    rows = [(0, 2, 1), (3, 2, 0), (0, 0, 0), (3, 0, 1)]
    model = fitted(rows, levels=[5, 3, 2])
    assert model.cells == 8
    assert model.probability([[0, 1, 4], [2, 2, 1], [1, 1, 1]], 1.0).tolist()[1:] == [
        0.0,
        0.0,
    ]


def test_uniqueness_and_tau():
    rows = TABLES["five ways"]
    exact = Exact(rows)
    uniques = sorted({row for row in rows if rows.count(row) == 1})
    model, columns = fitted(rows), columns_of(uniques)
    for degree in LAMBDAS:
        p = exact.all(Fraction(float(degree)))
        c = sum(max(x, 0) for x in p.values())
        for renormalize in (True, False):
            want = [
                float((1 - max(p[row], 0) / (c if renormalize else 1)) ** 75)
                for row in uniques
            ]
            options = {"renormalize": renormalize}
            got = model.uniqueness(columns, 100, float(degree), **options)
            assert got == pytest.approx(want, rel=1e-12)
            total = model.tau(columns, 100, float(degree), **options)
            assert total == math.fsum(got)
    both = model.tau(columns, 100, [0.25, 1.0])
    assert both.tolist() == [
        model.tau(columns, 100, 0.25),
        model.tau(columns, 100, 1.0),
    ]


def test_a_negative_cell_is_unique_for_sure():
    rows = TABLES["five ways"]
    negative = [row for row in rows if Exact(rows).probability(row, 1) < 0]
    unique = fitted(rows).uniqueness(columns_of(negative), 1e10, 1.0)
    assert unique.tolist() == [1.0] * len(negative)


def test_tiny_probabilities_in_a_large_population():
    # p = 1e-12 of each cell at independence: (1 - p)^(N - n) with no digit lost.
    model = Lancaster.fit([list(range(1000)) * 2] * 4)
    unique = model.uniqueness([[0]] * 4, 1e10, 0.0)
    assert unique[0] == pytest.approx(math.exp(-(1e10 - 2000) * 1e-12), rel=1e-15)


def test_one_key_one_record():
    model = Lancaster.fit([[0]])
    assert model.normalizer([0.0, 1.0]).tolist() == [1.0, 1.0]
    assert model.probability([[0]], 1.0).tolist() == [1.0]
    assert repr(model) == "<Lancaster: 1 record, 1 key, 1 cell>"


def test_progress():
    said = []
    model = fitted(correlated((5, 4, 3, 6), 200, 8))
    model.normalizer([1.0, 0.5], progress=lambda *done: said.append(done))
    assert said == [(360, 360)]


# --- structural zeros ---------------------------------------------------------------


def test_structural_zeros_take_no_probability():
    rows = TABLES["four ways"]
    exact = Exact(rows)
    mask = np.zeros((4, 2), bool)
    unseen = [
        (i, j)
        for i, j in product(range(4), range(2))
        if not exact.share((0, j), (3, i))
    ]
    mask[tuple(np.array(unseen).T)] = True
    model = fitted(rows, structural_zeros={(3, 0): mask})
    assert list(model.structural_zeros) == [(0, 3)]
    cells = columns_of(exact.cells)
    impossible = mask[cells[3], cells[0]]
    p = model.corrected_probability(cells, [0.0, 0.5, 1.0])
    assert impossible.any()
    assert not p[:, impossible].any()
    assert p.sum(axis=1) == pytest.approx([1, 1, 1], rel=1e-14)
    assert model.normalizer(0.0) < 1


def test_structural_zeros_with_records():
    rows = TABLES["two ways"]
    found = rows.count((0, 0))
    mask = np.zeros((3, 4), bool)
    mask[0, 0] = True
    message = rf"keys 0 and 1: {found} of 15 records are in impossible pairs"
    with pytest.raises(ValueError, match=message):
        fitted(rows, structural_zeros={(0, 1): mask})


@pytest.mark.parametrize(
    ("zeros", "error", "message"),
    [
        ({(0, 2): [[True]]}, ValueError, "keys 0 and 2: need two of the keys 0 to 1"),
        ({(1, 1): [[True]]}, ValueError, "keys 1 and 1: need two of the keys"),
        ({(0, 1): [[1]]}, TypeError, "keys 0 and 1: need bool, got int64"),
        ({(0, 1): [[True]]}, ValueError, r"need shape \(3, 4\), got \(1, 1\)"),
    ],
)
def test_bad_structural_zeros(zeros, error, message):
    with pytest.raises(error, match=message):
        fitted(TABLES["two ways"], structural_zeros=zeros)


# --- refusals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([],), ValueError, "no keys"),
        (([[]],), TypeError, "key 0: need integer codes, got float64"),
        (([[0, 1], [0.5, 1]],), TypeError, "key 1: need integer codes, got float64"),
        (([[0, 1], [0]],), ValueError, r"key 1: shape \(1,\), but 2 codes of key 0"),
        (([[0, -1]],), ValueError, "key 0: 1 of 2 codes are not in 0"),
        (([[0, 3], [5, 5]], [4, 5]), ValueError, r"key 1: 2 of 2 codes .* 0\.\.4"),
        (([[0, 1]], [2, 2]), ValueError, "1 keys, but 2 levels"),
        (([[0, 1]], None, [1.0, 2.0]), TypeError, "frequency: need integers"),
        (([[0, 1]], None, [1]), ValueError, r"frequency: shape \(1,\), but 2 cells"),
        (([[0, 1]], None, [1, -2]), ValueError, "frequency: 1 of 2 values are neg"),
        (([[0, 1]], None, [0, 0]), ValueError, "frequency: 0 records, need 1 to"),
        (([[0, 1]], None, [1, 2**32]), ValueError, "frequency: 4294967297 records"),
        (([[0], [0]], [20000, 20000]), ValueError, "400000000 pairs of categories"),
    ],
)
def test_bad_samples(arguments, error, message):
    with pytest.raises(error, match=message):
        Lancaster.fit(*arguments)


@pytest.mark.parametrize("shrinkage", [-0.1, 1.5, math.nan])
def test_lambda_out_of_range(shrinkage):
    model = fitted(TABLES["two ways"])
    for work in (model.normalizer, model.negative_sum):
        with pytest.raises(ValueError, match="1 of 2 values are not in"):
            work([0.5, shrinkage])
    with pytest.raises(ValueError, match="one dimension"):
        model.probability([[0], [0]], [[0.5]])


@pytest.mark.parametrize("N", [14, math.nan, math.inf])
def test_population_too_small(N):
    with pytest.raises(ValueError, match="N: need a number of at least n = 15"):
        fitted(TABLES["two ways"]).uniqueness([[0], [0]], N, 1.0)


def test_cells_beyond_the_categories():
    with pytest.raises(ValueError, match=r"key 1: 1 of 1 codes are not in 0\.\.3"):
        fitted(TABLES["two ways"]).probability([[0], [4]], 1.0)


def test_too_many_cells():
    codes = [[0, 1]] * 45
    model = Lancaster.fit(codes)
    with pytest.raises(ValueError, match=r"3\.52e\+13 cells are more than 1e\+12"):
        model.normalizer(1.0)
    assert model.tau(codes, 2, 1.0, renormalize=False) == 2.0
    # More cells than the largest double.
    excess = dict(zip(combinations(range(1100), 2), repeat(np.eye(2))))
    huge = Lancaster(2, (2,) * 1100, (np.full(2, 0.5),) * 1100, excess, {})
    with pytest.raises(ValueError, match=r"1\.36e\+331 cells"):
        huge.normalizer(1.0)
