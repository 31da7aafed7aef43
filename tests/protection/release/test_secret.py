"""The key of the records, and orders that cannot be tried out."""

import hashlib
import hmac
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from riskcore.protection.release import secret
from tests import needs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RISKCORE_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path / "config"


def test_the_key_is_made_once(folder):
    key = secret.user_key()
    assert len(key.value) == 32
    assert secret.user_key() == key
    assert [path.name for path in folder.iterdir()] == ["record.key"]
    (folder / "record.key").unlink()
    assert secret.user_key(create=False) is None
    assert secret.user_key() != key


@needs.posix
def test_only_the_owner_can_read_it(folder):
    secret.user_key()
    assert stat.S_IMODE((folder / "record.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@needs.posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_read_is_refused(folder, mode):
    secret.user_key()
    (folder / "record.key").chmod(mode)
    with pytest.raises(ValueError, match="others may read or write the key"):
        secret.user_key()


@needs.posix
def test_the_key_of_another_user_is_refused(folder, monkeypatch):
    secret.user_key()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ValueError, match="belongs to another user"):
        secret.user_key()


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "0" * 63, "0" * 65, "\xff"])
def test_what_is_no_key_is_refused(folder, text):
    secret.user_key()
    (folder / "record.key").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match="not a key of riskcore"):
        secret.user_key()


def test_no_place_for_a_key(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("RISKCORE_CONFIG_DIR", str(tmp_path / "file" / "below"))
    assert secret.user_key() is None


def test_where_the_key_is(monkeypatch):
    for name in ("RISKCORE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for platform, name, value, folder in (
        ("linux", "HOME", "/home/me", "/home/me/.config/riskcore"),
        ("linux", "XDG_CONFIG_HOME", "relative", "/home/me/.config/riskcore"),
        ("linux", "XDG_CONFIG_HOME", "/else", "/else/riskcore"),
        ("darwin", "HOME", "/home/me", "/home/me/Library/Application Support/riskcore"),
        ("win32", "LOCALAPPDATA", "/local", "/local/riskcore"),
        ("win32", "RISKCORE_CONFIG_DIR", "/chosen", "/chosen"),
    ):
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setenv(name, value)
        assert secret.key_folder() == Path(folder)


def test_two_at_once_have_one_key(folder):
    found = []
    begin = threading.Barrier(8)

    def look():
        begin.wait()
        found.append(secret.user_key())

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({key.value for key in found}) == 1
    assert [path.name for path in folder.iterdir()] == ["record.key"]


def test_the_digest_is_that_of_hmac(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 3_000_000)
    key = secret.Key(b"k" * 32)
    expected = hmac.digest(b"k" * 32, path.read_bytes(), "sha256").hex()
    assert key.digest_of([path]) == expected
    assert key.digest_of([path, path]) != expected
    assert "6b6b" not in key.id
    assert key.value.hex() not in repr(key)
    assert key.id != hashlib.sha256(key.value).hexdigest()[:16]


def test_the_id_of_a_key_stays_as_earlier_records_have_it():
    assert secret.Key(bytes(32)).id == "0741b5bce82e6278"
    assert secret.Key(bytes(range(32))).id == "52ed43f6663edbad"


def test_secrets_are_fresh():
    assert len({secret.new_secret() for _ in range(1000)}) == 1000
    assert secret.check_secret(secret.new_secret())
    assert secret.secret_of_seed(1).startswith("682a6cd3")
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
        given = secret.secret_of_seed(seed)
        assert not np.array_equal(secret.random_order(given, unit, n), order)
        assert not np.array_equal(secret.random_ids(given, "hh", unit), ids)
        bits = f"{seed:064x}"
        assert not np.array_equal(secret.random_order(bits, unit, n), order)
        generator = np.random.default_rng(seed)
        assert not np.array_equal(np.argsort(generator.permutation(20)), households)
        assert not np.array_equal(
            np.random.default_rng(seed).permutation(20), households
        )
    # The same search finds the order of a given seed, so it could have found it.
    found = secret.random_order(secret.secret_of_seed(77), unit, n)
    assert [
        seed
        for seed in range(100)
        if np.array_equal(
            secret.random_order(secret.secret_of_seed(seed), unit, n), found
        )
    ] == [77]


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
    code = (
        "import riskcore.protection.release.secret, sys; "
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
