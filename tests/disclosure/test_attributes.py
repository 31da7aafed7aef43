"""Guesses of an attribute: by a count through all records, and by the model itself."""

import math
from collections import Counter

import numpy as np
import pytest

from riskcore import audit
from riskcore.data.columns import Records, code_column
from riskcore.disclosure.attributes import AttributeGuesses
from riskcore.disclosure.shared_columns import SharedColumn
from riskcore.models import LatentClass
from riskcore.models.cell_table import CellTable

KEYS = ["a", "b"]
COLUMNS = [*KEYS, "t"]


def drawn(rng, n, missing=0.15):
    """Return records with two keys and a target, each sometimes missing."""
    some = {name: rng.integers(0, 3, n).tolist() for name in KEYS}
    some["t"] = rng.choice(list("uvw"), n, p=[0.5, 0.3, 0.2]).tolist()
    return {
        name: [None if rng.random() < missing else value for value in values]
        for name, values in some.items()
    }


def rows(data):
    return list(zip(*(data[name] for name in COLUMNS), strict=True))


def chances(released):
    """Return for each combination of keys the guesses and the chance of each."""
    by_keys = {}
    for *keys, target in released:
        if target is not None:
            by_keys.setdefault(tuple(keys), Counter())[target] += 1
    found = {}
    for keys, counts in by_keys.items():
        best = [one for one, k in counts.items() if k == max(counts.values())]
        found[keys] = dict.fromkeys(best, 1.0 / len(best))
    return found


def counted(people, guesses):
    """Return how many people are guessed, and how many rightly."""
    asked = [row for row in people if row[:-1] in guesses and row[-1] is not None]
    right = [guesses[row[:-1]].get(row[-1], 0.0) for row in asked]
    return len(asked), math.fsum(right)


@pytest.mark.parametrize("seed", range(8))
def test_by_a_count_with_a_holdout_of_another_size(seed):
    rng = np.random.default_rng(seed)
    sizes = 30, 17, 11
    original, released, holdout = (drawn(rng, n) for n in sizes)
    (found,) = audit(original, released, KEYS, target=["t"], holdout=holdout).attributes
    guesses = chances(rows(released))
    guessed, right = counted(rows(original), guesses)
    there, right_there = counted(rows(holdout), guesses)
    assert 0 < guessed < 30  # some keys are not released
    assert (found.guessed, found.guessed_there) == (guessed, there)
    assert found.right == pytest.approx(right, rel=1e-14)
    assert found.right_there == pytest.approx(right_there, rel=1e-14)
    known = [row for row in rows(original) if row[-1] is not None]
    (common, most), (_, next_most) = Counter(r[-1] for r in known).most_common(2)
    if most > next_most:
        asked = [row for row in known if row[:-1] in guesses]
        assert found.commonest == sum(row[-1] == common for row in asked)
    assert found.by == "holdout"


@pytest.mark.parametrize("seed", range(4))
def test_without_a_holdout_by_the_probabilities_of_the_model(seed):
    rng = np.random.default_rng(seed)
    original, released = drawn(rng, 60), drawn(rng, 25)
    (found,) = audit(original, released, KEYS, target=["t"]).attributes
    guesses = chances(rows(released))
    assert (found.guessed, found.right) == pytest.approx(
        counted(rows(original), guesses), rel=1e-14
    )
    # The same codes: a fit starts from them.
    known = [
        {name: [v for v, t in zip(data[name], data["t"], strict=True) if t is not None]
         for name in COLUMNS} for data in (original, released)
    ]  # fmt: skip
    shared = [
        SharedColumn.of([code_column(Records.of(one), name) for one in known])
        for name in COLUMNS
    ]
    codes = [column.codes[0].astype(np.int64) for column in shared]
    levels = [column.levels for column in shared]
    model = LatentClass.fit(codes, levels=levels, overdispersion=False)
    code = [
        dict(zip(known[0][name], column, strict=True))
        for name, column in zip(COLUMNS, codes, strict=True)
    ]

    def probability(*values):
        cell = CellTable.of([[c] for c in values], levels=levels)
        return float(model.probability(cell)[0])

    wanted = 0.0
    for *keys, target in rows(original):
        guess = guesses.get(tuple(keys))
        if guess is None or target is None:
            continue
        known = [code[i][key] for i, key in enumerate(keys)]
        every = math.fsum(probability(*known, t) for t in range(levels[-1]))
        for value, chance in guess.items():
            wanted += chance * probability(*known, code[2][value]) / every
    assert found.by == "model"
    assert found.guessed_there == found.guessed
    assert found.right_there == pytest.approx(wanted, rel=1e-9)


def test_keys_that_are_not_released_are_not_guessed():
    data = {"a": [1, 2], "t": ["u", "v"]}
    (found,) = audit(data, {"a": [1], "t": ["v"]}, ["a"], target=["t"]).attributes
    assert (found.guessed, found.right) == (1, 0.0)
    (none,) = audit(data, {"a": [3], "t": ["v"]}, ["a"], target=["t"]).attributes
    assert (none.guessed, none.right, none.right_there) == (0, 0.0, 0.0)
    assert math.isnan(none.excess)
    assert none.to_dict()["excess"] is None
    assert none.to_dict()["excess_interval"] == [None, None]
    assert none.row() == ["t", "0", "-", "-", "-", "- to -"]


def test_ties_share_the_guess():
    data = {"a": [1, 1, 1, 1], "t": list("uvwu")}
    made = {"a": [1, 1, 1], "t": list("uvx")}
    (found,) = audit(data, made, ["a"], target=["t"]).attributes
    assert found.right == pytest.approx(1.0, rel=1e-15)  # u, v, u: a third each
    (more,) = audit(data, {**made, "t": list("uvv")}, ["a"], target=["t"]).attributes
    assert more.right == 1.0


def test_a_missing_key_is_a_value_of_its_own():
    data = {"a": [None, 1], "t": ["u", "v"]}
    made = {"a": [None, 1, 1], "t": ["u", "u", "u"]}
    (found,) = audit(data, made, ["a"], target=["t"]).attributes
    assert (found.guessed, found.right) == (2, 1.0)


def test_a_target_that_is_missing_is_nobodys_right_guess():
    data = {"a": [1, 2], "t": [None, "v"]}
    (found,) = audit(data, data, ["a"], target=["t"]).attributes
    assert (found.guessed, found.right) == (1, 1.0)
    (none,) = audit({**data, "t": [None, None]}, data, ["a"], target=["t"]).attributes
    assert (none.guessed, none.right_there) == (0, 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_many_values_are_guessed_in_bands(seed):
    rng = np.random.default_rng(seed)
    files = [
        {"a": rng.integers(0, 3, n), "t": rng.lognormal(0, 1, n)} for n in (80, 40, 30)
    ]
    files[0]["t"][::7] = np.nan
    files[1]["t"][:3] = [1e-9, 1e9, np.nan]  # beyond all people of the original
    found = audit(*files[:2], ["a"], target=["t"], holdout=files[2])
    values = np.sort(files[0]["t"])
    values = values[~np.isnan(values)]
    # The least value with at least a share of the people at or below it.
    edges = [values[math.ceil(k * len(values) / 10) - 1] for k in range(1, 10)]
    banded = []
    for data in files:
        bands = [
            None if math.isnan(x) else sum(x > edge for edge in edges)
            for x in data["t"].tolist()
        ]
        banded.append([*zip(data["a"].tolist(), bands, strict=True)])
    guesses = chances(banded[1])
    (one,) = found.attributes
    assert (one.guessed, one.right) == pytest.approx(counted(banded[0], guesses))
    there = one.guessed_there, one.right_there
    assert there == pytest.approx(counted(banded[2], guesses))
    assert "one of 10 bands" in found.notes[-1]


def test_a_copy_leaks_and_independent_records_do_not():
    rng = np.random.default_rng(5)
    files = [
        {"a": rng.integers(0, 40, 400), "t": rng.integers(0, 3, 400).astype(str)}
        for _ in range(3)
    ]
    for holdout in (None, files[2]):
        copied = audit(*files[:1] * 2, ["a"], target=["t"], holdout=holdout)
        fresh = audit(*files[:2], ["a"], target=["t"], holdout=holdout)
        assert copied.attributes[0].excess_interval()[0] > 0.05
        assert fresh.attributes[0].excess_interval()[0] < 0.0
        assert "guesses of t" in copied.more_than_others
        assert "guesses of t" not in fresh.more_than_others


@pytest.mark.parametrize("by", ["holdout", "model"])
def test_few_right_guesses_by_luck_are_no_leak(by):
    """At 95 % the lower limit is above 0 for at most a few percent of all files."""
    for n in (1, 2, 5, 20, 100):
        for p in (0.2, 0.5, 0.8):
            chance = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
            above = 0.0
            for k in range(n + 1):
                for j in range(n + 1) if by == "holdout" else (n * p,):
                    one = AttributeGuesses("t", n, float(k), by, n, float(j), 0.0)
                    if one.excess_interval()[0] > 0.0:
                        above += chance[k] * (chance[j] if by == "holdout" else 1.0)
            assert above < 0.06, (n, p)


def test_the_interval_holds_the_excess_and_grows_with_its_level():
    one = AttributeGuesses("t", 40, 30.0, "holdout", 20, 9.0, 0.0)
    # Agresti and Caffo: one right and one wrong guess more on either side.
    p, q = 31 / 42, 10 / 22
    error = 1.959963984540054 * math.sqrt(p * (1 - p) / 42 + q * (1 - q) / 22)
    assert one.excess_interval() == pytest.approx((p - q - error, p - q + error))
    low, high = one.excess_interval(0.5)
    assert one.excess_interval()[0] < low < one.excess < high
    for level in (0.0, 1.0, 2.0, math.nan):
        with pytest.raises(ValueError, match="level"):
            one.excess_interval(level)
