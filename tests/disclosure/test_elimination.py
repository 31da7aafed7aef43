"""Who is named by elimination: by hand, and by all assignments of small files."""

from itertools import permutations

import numpy as np
import pytest

from riskcore.disclosure.elimination import components, eliminate


def file_of(rng, n, levels, share):
    codes = np.stack([rng.integers(0, k, n) for k in levels], axis=1)
    return codes, rng.random(codes.shape) < share


def candidates_by_hand(codes, blanked):
    """Return to how many people each record belongs in some assignment."""
    n = len(codes)
    agree = [
        [all(b or x == y for x, y, b in zip(*row, strict=True)) for row in rows]
        for rows in (
            [(codes[i], codes[j], blanked[i]) for j in range(n)] for i in range(n)
        )
    ]
    found = [set() for _ in range(n)]
    for people in permutations(range(n)):
        if all(agree[i][j] for i, j in enumerate(people)):
            for i, j in enumerate(people):
                found[i].add(j)
    return (
        [len(one) for one in found],
        [len({tuple(codes[j]) for j in one}) for one in found],
    )


def test_ten_records_and_one_blank():
    """Each pattern fits three people or more, and yet one person is left over."""
    codes = np.array([[0, 0]] * 4 + [[0, 1]] * 5 + [[0, 2]])
    blanked = np.zeros(codes.shape, bool)
    blanked[9, 1] = True
    found = eliminate(codes, blanked)
    assert found.fits.min() >= 3
    assert found.people == 1
    assert found.named.tolist() == [False] * 9 + [True]


def test_another_blank_protects():
    codes = np.array([[0, 0]] * 4 + [[0, 1]] * 5 + [[0, 2]])
    blanked = np.zeros(codes.shape, bool)
    blanked[[8, 9], 1] = True
    found = eliminate(codes, blanked)
    assert found.people == 0
    assert found.candidates.tolist() == [4] * 4 + [5] * 4 + [6] * 2


def test_a_record_alone_with_its_keys_is_no_finding_of_elimination():
    codes = np.array([[0], [0], [1]])
    found = eliminate(codes, np.zeros(codes.shape, bool))
    assert found.people == 0
    assert found.candidates.tolist() == [2, 2, 1]


@pytest.mark.parametrize("seed", range(40))
def test_all_assignments_of_small_files(seed):
    rng = np.random.default_rng(seed)
    levels = [(2, 3), (3, 2, 2), (4,), (5, 2)][seed % 4]
    codes, blanked = file_of(rng, 7, levels, rng.uniform(0.1, 0.6))
    wanted, combinations = candidates_by_hand(codes, blanked)
    exact = eliminate(codes, blanked)
    assert exact.exact
    assert exact.candidates.tolist() == wanted
    assert exact.combinations.tolist() == combinations
    assert exact.expected == pytest.approx(sum(1 / one for one in wanted))
    left_over = eliminate(codes, blanked, most_arcs=-1)
    assert not left_over.exact
    assert np.all(left_over.candidates >= wanted)
    assert np.all(left_over.candidates <= left_over.fits)
    assert np.all(left_over.combinations >= combinations)
    assert np.all(left_over.named <= exact.named)


def test_who_is_left_over_is_found_without_the_graph():
    """Two people with one blank each, of different keys: both are named."""
    codes = np.array([[0, 0]] * 3 + [[0, 1]] + [[1, 0]] * 3 + [[1, 1]])
    blanked = np.zeros(codes.shape, bool)
    blanked[3, 1] = blanked[7, 1] = True
    assert eliminate(codes, blanked, most_arcs=-1).people == 2


def test_missing_keys_fit_by_chance():
    """A person without a known key is one of those who have the rest."""
    codes = np.array([[0, 0]] * 5 + [[0, 1]] * 5 + [[0, -1], [1, -1]])
    found = eliminate(codes, np.zeros(codes.shape, bool))
    assert found.candidates[10] == 6
    assert found.fits[10] == 11
    assert (found.people, found.records_told) == (0, 0)


def test_no_records():
    found = eliminate(np.zeros((0, 2), np.int64), np.zeros((0, 2), bool))
    assert found.people == 0


@pytest.mark.parametrize("seed", range(10))
def test_components_by_reach(seed):
    rng = np.random.default_rng(seed)
    nodes, arcs = 30, rng.integers(10, 80)
    source, target = rng.integers(0, nodes, (2, arcs))
    reach = np.eye(nodes, dtype=bool)
    reach[source, target] = True
    for middle in range(nodes):
        reach |= reach[:, [middle]] & reach[[middle]]
    found = components(nodes, source, target)
    assert np.array_equal(found[:, None] == found, reach & reach.T)


def test_a_person_whom_one_record_fits_is_found_without_the_graph():
    """The first blank fits two people who are left; the second one fits one of them."""
    codes = np.array([[0, 0]] * 3 + [[0, 1], [0, 2]])
    blanked = np.zeros(codes.shape, bool)
    blanked[3, 1] = True
    blanked[4, 1] = True
    assert eliminate(codes, blanked, most_arcs=-1).people == 0
    codes = np.array([[0, 0]] * 3 + [[0, 1], [1, 1]] + [[1, 0]] * 3)
    blanked = np.zeros(codes.shape, bool)
    blanked[3, 0] = blanked[4, 1] = True
    assert eliminate(codes, blanked, most_arcs=-1).named[[3, 4]].tolist() == [True] * 2


def test_blanked_keys_are_told_where_nobody_is_named():
    """Complete records have one of the last two people, the blanked one the other."""
    codes = np.array([[0, 0]] * 3 + [[0, 1]] * 2)
    blanked = np.zeros(codes.shape, bool)
    blanked[4, 1] = True
    found = eliminate(codes, blanked)
    assert (found.people, found.records_told) == (0, 1)
    assert found.candidates[4] == 2
