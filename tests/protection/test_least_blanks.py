"""The number of blanks is the least there is, by trying all blanks of small files.

A record is safe if the original records that agree with what is left of it meet the
goals. This does not depend on the blanks of other records, so the least of a file is
the sum of the least of its records.
"""

from itertools import chain, combinations

import numpy as np
import pytest

from riskcore import individual_risk, protect

KEYS = ["area", "sex", "age", "job"]
ONE_SET = [KEYS]
TWO_SETS = [["area", "sex", "age"], ["age", "job"]]
GOALS = {
    "k": {"k": 2},
    "larger k": {"k": 4},
    "threshold": {"threshold": 0.3},
    "people": {"min_population": 9.5},
    "l": {"l": 2},
    "l and k": {"l": 3, "k": 3},
    "t": {"t": 0.4},
}

pytestmark = pytest.mark.filterwarnings("ignore")


def small_file(seed):
    """Return a file of at most eight records."""
    rng = np.random.default_rng(seed)
    n = 5 + seed % 4
    data = {key: rng.integers(0, 2 + at % 3, n) for at, key in enumerate(KEYS)}
    data["ill"] = rng.permutation(np.arange(n) % 3)
    return {**data, "weight": rng.uniform(1, 6, n).round(1)}


def meets(data, fits, *, k=1, threshold=1.1, min_population=0.0, l=1, t=1.0):  # noqa: E741
    """Return whether the original records that fit a released one meet the goals."""
    people, values = data["weight"][fits].sum(), np.arange(3)
    share, all_shares = (
        (ill[:, None] == values).mean(0) for ill in (data["ill"][fits], data["ill"])
    )
    return (
        fits.sum() >= k
        and individual_risk(fits.sum(), fits.sum() / people) < threshold
        and people >= min_population
        and (share > 0).sum() >= l
        and np.abs(share - all_shares).sum() / 2 <= t
    )


def least_blanks(data, record, sets, goals):
    """Return the fewest keys of a record whose blanks make it safe for each set."""
    subsets = (combinations(KEYS, size) for size in range(len(KEYS) + 1))
    for blanked in chain.from_iterable(subsets):
        kept = [[key for key in keys if key not in blanked] for keys in sets]
        agree = {key: data[key] == data[key][record] for key in KEYS}
        everybody = np.ones(len(data["weight"]), bool)
        if all(
            meets(
                data, np.logical_and.reduce([everybody, *map(agree.get, keys)]), **goal
            )
            for keys, goal in zip(kept, goals, strict=True)
        ):
            return len(blanked)
    return None


@pytest.mark.parametrize("sets", [ONE_SET, TWO_SETS], ids=["one set", "two sets"])
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("seed", range(10))
def test_the_number_of_blanks_is_the_least(seed, goal, sets):
    data = small_file(seed)
    n = len(data["weight"])
    goals = [GOALS[goal]] * len(sets)
    least = [least_blanks(data, record, sets, goals) for record in range(n)]
    assert None not in least
    roles = {"ill": "sensitive"}
    result = protect(
        data, sets, "weight", roles=roles, population="weights", **GOALS[goal]
    )
    assert result.goals_met
    blanks = np.array([np.ma.getmaskarray(result.data[key]) for key in KEYS])
    assert blanks.sum(0).tolist() == least


@pytest.mark.parametrize("asked", [(9.5, 14), (14, 9.5), (None, 12), (12, None)])
@pytest.mark.parametrize("seed", range(4))
def test_each_set_of_keys_has_its_own_number_of_people(seed, asked):
    data = small_file(seed)
    n = len(data["weight"])
    k = [None if people else 2 for people in asked]  # each set has a goal
    goals = [
        {"k": 2} if people is None else {"min_population": people} for people in asked
    ]
    least = [least_blanks(data, record, TWO_SETS, goals) for record in range(n)]
    how = {"k": k, "min_population": list(asked), "population": "weights"}
    result = protect(data, TWO_SETS, "weight", **how)
    assert result.goals_met
    blanks = np.array([np.ma.getmaskarray(result.data[key]) for key in KEYS])
    assert blanks.sum(0).tolist() == least
