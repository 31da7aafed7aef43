"""Orders that cannot be tried out."""

import subprocess
import sys

import numpy as np
import pytest

from riskcore.protection import secret


def test_secrets_are_fresh():
    assert len({secret.new_secret() for _ in range(1000)}) == 1000
    assert secret.check_secret(secret.new_secret())
    one, again = secret.Draw("0" * 64), secret.Draw("0" * 64)
    first = one(3)
    assert np.array_equal(first, again(3))
    assert not np.any(first == one(3))


def test_orders():
    unit = np.repeat(np.arange(200), 4)
    one, two = "1a" * 32, "2b" * 32
    order = secret.random_order(one, unit, 800)
    assert sorted(order) == list(range(800))
    assert np.array_equal(order, secret.random_order(one, unit, 800))
    assert not np.array_equal(order, secret.random_order(two, unit, 800))
    # Households stay together; neither they nor their members keep their places.
    households = unit[order].reshape(200, 4)
    assert (households == households[:, :1]).all()
    assert (np.diff(households[:, 0]) != 1).any()
    places = (order % 4).reshape(200, 4)
    assert len({tuple(row) for row in places.tolist()}) == 24
    # The numbers of the households, which depend on their holder, do not matter.
    other = secret.random_order(one, (unit * 7919 % 1013).astype(np.int64), 800)
    assert np.array_equal(order, other)
    # Members alone: without households they are the units.
    assert not np.array_equal(order, secret.random_order(one, None, 800))


def test_every_order_is_as_likely():
    counts = {}
    for number in range(6000):
        order = tuple(secret.random_order(f"{number:064x}", None, 3).tolist())
        counts[order] = counts.get(order, 0) + 1
    # Six orders, expected 1000 each; chi-square with 5 degrees: 1 in 1000 beyond 20.5.
    assert len(counts) == 6
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 20.5


@pytest.mark.parametrize("last", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_small_seeds_do_not_find_the_order(last):
    n = 40
    unit = np.repeat(np.arange(20), 2)
    order = secret.random_order(secret.new_secret(), unit, n)
    households = unit[order][::2]
    ids = secret.random_ids(secret.new_secret(), "hh", unit)
    for seed in range(last + 1):
        bits = f"{seed:064x}"
        assert not np.array_equal(secret.random_order(bits, unit, n), order)
        assert not np.array_equal(secret.random_ids(bits, "hh", unit), ids)
        generator = np.random.default_rng(seed)
        assert not np.array_equal(np.argsort(generator.permutation(20)), households)
        assert not np.array_equal(
            np.random.default_rng(seed).permutation(20), households
        )


def test_the_order_is_the_same_on_every_platform():
    order = secret.random_order("ab" * 32, np.array([3, 1, 3, 2, 1, 3, 9]), 7)
    ids = secret.random_ids("ab" * 32, "hh", np.array([3, 1, 3, 2, 1, 3, 9]))
    assert order.tolist() == [3, 5, 2, 0, 6, 4, 1]
    assert ids.tolist() == [4, 2, 4, 1, 2, 4, 3]


def test_new_ids():
    codes = np.array([5, 5, 2, -1, 7, 2, 0])
    one = "1a" * 32
    ids = secret.random_ids(one, "hh", codes)
    assert ids[3] == 0
    assert sorted(set(ids)) == [0, 1, 2, 3, 4]
    assert (ids[0], ids[2]) == (ids[1], ids[5])
    many = np.arange(500)
    assert not np.array_equal(
        secret.random_ids(one, "hh", many), secret.random_ids(one, "person", many)
    )
    taken = secret.random_ids(one, "hh", many, [1, 9, 99])
    assert sorted(taken) == [i for i in range(1, 504) if i not in (1, 9, 99)]
    # New ids say nothing of the order in which households stand in the file.
    order = np.argsort(secret.random_order(one, None, 500))
    assert abs(np.corrcoef(order, secret.random_ids(one, "hh", many))[0, 1]) < 0.3


def test_secrets_that_are_none():
    for text in ("", "0" * 63, "G" * 64, 5, None):
        with pytest.raises(ValueError, match="64 hexadecimal"):
            secret.check_secret(text)


def test_importing_is_light():
    code = "import riskcore.protection.secret, sys; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
