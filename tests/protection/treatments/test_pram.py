"""Post-randomization: its matrices by algebra and sdcMicro, its draws by their law."""

import hashlib

import numpy as np
import pytest
from scipy import stats

import riskcore
from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.pram import (
    MOST_CATEGORIES,
    draw,
    post_randomize,
    restore,
    transition_matrix,
)
from riskcore.protection.treatments.rules import Treatment
from tests.secret_of import secret_of

COUNTS = np.array([600, 300, 90, 10])
CODES = np.repeat(np.arange(4), COUNTS)


def numbers(n, label=b"pram"):
    """Return fixed random numbers, the same on every machine."""
    return np.frombuffer(hashlib.shake_256(label).digest(8 * n), "<u8")


# sdcMicro 5.8.1, pramWORK with set.seed(1), pd=0.8, alpha=1 on a factor with these
# counts: the diagonal it drew for the first step, and its matrix.
DRAWN = [
    0.85310173262842004, 0.87442477992735812, 0.91457067267037928, 0.98164155799895525,
]  # fmt: skip
OF_SDCMICRO = [
    [0.8714740405324074, 0.080235170166017611, 0.03930798955572793,
     0.0089827997458471493],
    [0.16047034033203525, 0.794248410669658123, 0.037509064456221347,
     0.0077721845420852973],
    [0.26205326370485288, 0.12503021485407112, 0.607310629988447870,
     0.0056058914526280687],
    [0.53896798475082908, 0.233165536262558926, 0.050453023073652618,
     0.1774134559129594835],
]  # fmt: skip


def test_two_steps_are_those_of_sdcmicro():
    diagonal = np.array(DRAWN)
    first = np.where(np.eye(4, dtype=bool), diagonal, ((1 - diagonal) / 3)[:, None])
    assert restore(first, COUNTS) == pytest.approx(np.array(OF_SDCMICRO), rel=1e-14)


@pytest.mark.parametrize("invariant", [False, True])
@pytest.mark.parametrize("keep", [0.0, 0.3, 0.8, 0.999])
@pytest.mark.parametrize(
    "counts", [[600, 300, 90, 10], [1, 1], [5, 0, 7, 1], [3, 10**9]]
)
def test_expected_frequencies_stay(counts, keep, invariant):
    matrix = transition_matrix(counts, keep, invariant=invariant)
    assert (matrix >= 0).all()
    assert matrix.sum(axis=1) == pytest.approx(1, rel=1e-14)
    assert np.array(counts) @ matrix == pytest.approx(counts, rel=1e-14)


def test_one_step_by_its_definition():
    found = transition_matrix(COUNTS, 0.8, invariant=False)
    shares = COUNTS / 1000
    for i in range(4):
        for j in range(4):
            expected = 0.2 * shares[j] + (0.8 if i == j else 0.0)
            assert found[i, j] == pytest.approx(expected, rel=1e-15)


def test_two_steps_as_sums():
    found = transition_matrix(COUNTS, 0.7, invariant=True)
    first = np.where(np.eye(4, dtype=bool), 0.7, 0.1)
    back = [[COUNTS[j] * first[j, k] for j in range(4)] for k in range(4)]
    back = [[one / sum(row) for one in row] for row in back]
    assert found == pytest.approx(first @ np.array(back), rel=1e-14)


def test_rare_categories_are_where_the_kinds_differ():
    one = transition_matrix([990, 5, 5], 0.8, invariant=False)
    two = transition_matrix([990, 5, 5], 0.8, invariant=True)
    assert one[1, 1] > 0.8
    assert two[1, 1] < 0.2


def test_categories_that_do_not_occur_change_nothing():
    some = transition_matrix([70, 0, 30], 0.6, invariant=True)
    assert (some[[0, 2], 1] == 0).all()
    without = transition_matrix([70, 30], 0.6, invariant=True)
    assert (some[np.ix_([0, 2], [0, 2])] == without).all()


@pytest.mark.parametrize("counts", [[], [0, 0], [0, 5, 0]])
def test_nothing_to_exchange(counts):
    expected = np.eye(len(counts))
    assert (transition_matrix(counts, 0.5, invariant=True) == expected).all()


@pytest.mark.parametrize("invariant", [False, True])
def test_the_law_of_the_draws(invariant):
    n = 200
    codes = np.tile(CODES, n)
    new, effects = post_randomize(
        codes, 4, numbers(codes.size), keep=0.8, invariant=invariant
    )
    matrix = transition_matrix(COUNTS * n, 0.8, invariant=invariant)
    for i in range(4):
        seen = np.bincount(new[codes == i], minlength=4)
        assert stats.chisquare(seen, matrix[i] * seen.sum()).pvalue > 0.001
    variation = effects.pop("total_variation")
    # Three standard errors of a share are 0.0034 here.
    assert 0 < variation < 0.0034
    assert effects == {
        "matrices": [matrix.tolist()],
        "before": (COUNTS * n).tolist(),
        "after": np.bincount(new).tolist(),
        "changed": np.count_nonzero(new != codes),
    }


def test_draws_at_the_ends():
    ends = np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    assert draw(np.array([0.5, 0.5]), ends).tolist() == [0, 0, 1, 1]
    # Never a category of probability 0, whatever the sum of the row is rounded to.
    assert draw(np.array([0.0, 0.5, 0.4999999, 0.0]), ends).tolist() == [1, 1, 2, 2]
    assert draw(np.array([0.0, 1.0, 0.0]), ends).tolist() == [1, 1, 1, 1]


def test_missing_stays_missing_and_counts_for_nothing():
    codes = np.array([4, 0, 1, 2, 3, 4, 255], np.uint8)
    new, effects = post_randomize(codes, 4, numbers(7), keep=0.0)
    assert new[[0, 5, 6]].tolist() == [4, 4, 255]
    assert new.dtype == np.uint8
    assert sum(effects["before"]) == sum(effects["after"]) == 4
    only, effects = post_randomize(np.array([-1, -1]), 3, numbers(2), keep=0.8)
    assert only.tolist() == [-1, -1]
    assert effects["changed"] == effects["total_variation"] == 0


def test_strata_have_matrices_of_their_own():
    codes = np.array([0, 1, 0, 1, 2, 2] * 500)
    strata = np.array([0, 0, 0, 0, 1, 1] * 500)
    new, effects = post_randomize(codes, 3, numbers(3000), keep=0.1, strata=strata)
    assert set(new[strata == 0].tolist()) == {0, 1}
    assert (new[strata == 1] == 2).all()
    alone = transition_matrix([1000, 1000, 0], 0.1, invariant=False)
    assert effects["matrices"][0] == alone.tolist()
    assert len(effects["matrices"]) == 2


def test_a_record_draws_by_its_own_number():
    codes = np.array([0, 1, 2, 0, 1, 2])
    strata = np.array([0, 0, 0, 1, 1, 1])
    drawn = numbers(6)
    whole, _ = post_randomize(codes, 3, drawn, keep=0.2)
    parts, _ = post_randomize(codes, 3, drawn, keep=0.2, strata=strata)
    back, _ = post_randomize(codes[::-1], 3, drawn[::-1], keep=0.2)
    assert whole.tolist() == parts.tolist() == back[::-1].tolist()


def test_too_many_categories():
    with pytest.raises(ValueError, match=f"more than {MOST_CATEGORIES:,}; recode"):
        post_randomize(np.array([0]), MOST_CATEGORIES + 1, numbers(1), keep=0.8)
    most, _ = post_randomize(np.array([0]), MOST_CATEGORIES, numbers(1), keep=0.8)
    assert most.tolist() == [0]


def test_a_column_of_numbers():
    column = np.array([10.0, np.nan, 20.0, 20.0, 30.0, 10.0] * 50)
    area = np.tile([3, 3, 3, 9, 9, 9], 50)
    rule = Treatment.of("edu", "pram:0.2:within=AREA")
    told = []
    found = treated_columns(
        {"edu": column}, {("edu",): [rule]}, strata={"AREA": area},
        secret=secret_of(1), tell=lambda *one: told.append(one),
    )["edu"]  # fmt: skip
    assert (np.isnan(found) == np.isnan(column)).all()
    assert set(found[(area == 3) & ~np.isnan(column)]) == {10.0, 20.0}
    assert set(found[area == 9]) == {10.0, 20.0, 30.0}
    ((label, effects),) = told
    assert label == "treat edu=pram:0.2:within=AREA"
    assert effects["categories"] == [10.0, 20.0, 30.0]
    assert effects["changed"] == np.count_nonzero((found != column) & (found == found))
    assert effects["matrices"][0][2] == [0.0, 0.0, 1.0]


MATRIX = "V,1,2,3\n1,.8,.2,0\n2,0,1,0\n3,0,.1,.9\n"


def by_matrix(values, text, path):
    """Return values post-randomized by a matrix in a file."""
    path.write_text(text)
    data = {"K": [1] * len(values), "V": values}
    treat = {"V": f"pram:{path}"}
    result = riskcore.protect(data, ["K"], threshold=1.0, treat=treat)
    rule = result.settings.treat["V",][0]
    assert Treatment.of("V", str(rule)) == rule
    return result.data["V"]


@pytest.mark.parametrize("kind", [int, float, str])
def test_a_matrix_of_ones_own_makes_its_moves_only(kind, tmp_path):
    old = np.repeat([kind(i) for i in (1, 2, 3)], 1000)
    new = by_matrix(old, MATRIX, tmp_path / "m.csv")
    moves = [
        [np.mean(new[old == kind(i)] == kind(j)) for j in (1, 2, 3)] for i in (1, 2, 3)
    ]
    expected = np.array([[0.8, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.1, 0.9]])
    assert np.abs(moves - expected).max() < 0.06
    assert ((np.array(moves) == 0) >= (expected == 0)).all()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("1,.8,.2", "1,.8,.3", "row '1' adds to 1.1, not to 1"),
        ("1,.8,.2", "1,1.2,-.2", "row '1' has numbers outside"),
        ("1,.8,.2,0", "1,.8,.2", "one row and one column for each category"),
        ("3,0,.1,.9\n", "", "'3' needs one place in the header and one row"),
        ("1,.8,.2", "1,x,.2", "row 1: need a category and its prob"),
        (",3\n", ",4\n", "'3' needs one place in the header and one row"),
        (MATRIX, "V,1,2,2,3\n1,1,0,0,0\n2,0,1,0,0\n3,0,0,0,1\n", "'2' needs one place"),
        (MATRIX, "V,1,2,3\n1,1,0,0\n2,0,1,0\n3,0,0,1\n", "changes nothing; leave"),
        ("V,1,2,3\n1,.8,.2,0\n", "V,7,2,3\n7,.8,.2,0\n", "no row for '1'"),
        (MATRIX, "V,1,2,3,4\n1,1,0,0,0\n2,0,1,0,0\n3,0,0,.5,.5\n4,0,0,0,1\n",
         "row '3' of the matrix has categories that nobody"),
    ],
)  # fmt: skip
def test_a_matrix_that_does_not_fit_is_refused(old, new, told, tmp_path):
    with pytest.raises(ValueError, match=told):
        by_matrix([1, 2, 3], MATRIX.replace(old, new), tmp_path / "m.csv")
