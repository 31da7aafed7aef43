"""Ties between keys of equal cost, decided by the rule or by a secret."""

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from bench.blanked_keys import attack, commonest, plain, records_of_values
from riskcore import protect, simulate
from riskcore.data.files import formats
from tests.made_again import made_again

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]
SECRET = "5a" * 32

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows",
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked",
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RISKCORE_CONFIG_DIR", str(tmp_path / "settings"))
    return tmp_path


def survey(n=1500, seed=3):
    rng = np.random.default_rng(seed)
    drawn = simulate.microdata(n, rng)
    mixed = rng.permutation(len(drawn["SEX"]))
    drawn = {name: values[mixed] for name, values in drawn.items()}
    return {
        "REGION": (drawn["REGION"] // 100).tolist(),
        "SEX": drawn["SEX"].tolist(),
        "AGE": (drawn["AGE"] // 10).tolist(),
        "MARSTAT": drawn["MARSTAT"].tolist(),
    }


def protected(data, keys=KEYS, secret=SECRET, **asked):
    """Protect with a secret that is known: a test has the same ties each time."""
    return protect(data, keys, secret=secret, **{"ties": "secret"} | asked)


def small(seed, n=40):
    """Return a file of five keys, with rare categories."""
    rng = np.random.default_rng(seed)
    return {
        key: np.minimum(rng.geometric(0.4 + 0.05 * i, n), 2 + i).tolist()
        for i, key in enumerate("dbeac")
    }


def smallest_sets(data, i, sets, k):
    """Return all smallest sets of keys without which a record is safe, by trying."""
    keys = sorted({key for one in sets for key in one})

    def is_safe(lost):
        return all(
            sum(
                all(data[key][j] == data[key][i] for key in one if key not in lost)
                for j in range(len(data["a"]))
            )
            >= k
            for one in sets
        )

    for size in range(len(keys) + 1):
        if found := [one for one in combinations(keys, size) if is_safe(one)]:
            return found
    raise AssertionError("no record is unsafe without keys")


def loss(data, i, keys):
    """Return the sum of 1/n over some values of a record that n records have each."""
    return sum(Fraction(1, data[key].count(data[key][i])) for key in keys)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "sets", [["dbeac"], ["dbe", "bac", "ce"]], ids=["one set", "three sets"]
)
def test_of_the_fewest_values_those_of_common_categories_go(seed, sets):
    data = small(seed)
    keys = [list(one) for one in sets]
    result = protect(data, keys, k=4)
    chosen = 0
    for i in range(40):
        lost = tuple(key for key in "abcde" if result.masks[key][i])
        found = smallest_sets(data, i, sets, 4)
        least = min(loss(data, i, one) for one in found)
        assert lost in found
        assert loss(data, i, lost) == least
        # Of equal ones the first by name.
        assert lost == min(one for one in found if loss(data, i, one) == least)
        chosen += len(found) > 1
    assert chosen >= 5
    # The order of the keys and of the records decides nothing.
    order = np.random.default_rng(seed).permutation(40)
    mixed = {key: [data[key][i] for i in order] for key in "edcba"}
    again = protect(mixed, [one[::-1] for one in keys[::-1]], k=4)
    for key in "abcde":
        assert again.masks[key].tolist() == result.masks[key][order].tolist()
    lazy = protect(pl.LazyFrame(data), keys, k=4)
    given = lazy.data.collect()
    assert {key: given[key].to_list() for key in data} == dict(result.data)


@pytest.mark.parametrize("cost", ["fewest", "equal"])
def test_what_the_key_that_was_blanked_reveals(cost):
    data = survey()
    rule = protected(data, k=3, cost=cost, ties="rule")
    secret = protected(data, k=3, cost=cost)
    assert rule.goals_met
    assert secret.goals_met
    assert rule.secret is None
    # As many values, one record as the other.
    count = [sum(one.masks[key].astype(int) for key in KEYS) for one in (rule, secret)]
    assert (count[0] == count[1]).all()
    order = KEYS if cost == "equal" else records_of_values(data, KEYS)
    known = attack(plain(rule.data, KEYS), data, KEYS, 3, choice=order)
    alone = attack(plain(rule.data, KEYS), data, KEYS, 3)
    hidden = attack(plain(secret.data, KEYS), data, KEYS, 3, choice="secret")
    # What the attack is sure of is so; and the order of keys reveals more than k.
    assert known.wrongly == alone.wrongly == hidden.wrongly == 0
    assert known.surely >= alone.surely > 0
    assert known.guessed > alone.guessed
    assert known.guessed > commonest(plain(rule.data, KEYS), data, KEYS)
    if cost == "fewest":
        assert hidden.surely < known.surely / 2
        assert hidden.guessed < 0.6 * known.guessed
    else:
        # A limit, not a wish: the region comes first there, and of its many values none
        # is guessed. Ties that are drawn blank keys of few values as well.
        assert hidden.guessed > known.guessed


def test_another_secret_blanks_other_keys():
    data = survey(400)
    one, again, other = (
        protected(data, k=3, secret=x) for x in (SECRET, SECRET, "00" * 32)
    )
    assert one.data == again.data
    assert one.data != other.data
    # Without one the rule decides, the same each time; with "secret" it is new.
    assert protect(data, KEYS, k=3).data == protect(data, KEYS, k=3).data
    first, second = (protect(data, KEYS, k=3, ties="secret") for _ in range(2))
    assert first.secret != second.secret


def test_several_sets_of_keys_cost_the_same():
    data, keys = survey(600), [["REGION", "SEX", "AGE"], ["AGE", "MARSTAT"]]
    rule = protected(data, keys, k=3, ties="rule")
    secret = protected(data, keys, k=3)
    assert rule.goals_met
    assert secret.goals_met
    assert sum(rule.suppressed.values()) == sum(secret.suppressed.values())
    assert rule.suppressed != secret.suppressed


def test_an_engine_draws_ties_too():
    data = survey(600)
    rule = protected(data, k=3, ties="rule")
    lazy = protected(pl.LazyFrame(data), k=3)
    assert lazy.goals_met
    assert sum(lazy.suppressed.values()) == sum(rule.suppressed.values())
    memory = protected(data, k=3)
    assert lazy.suppressed == memory.suppressed


def test_mu_argus_has_no_ties():
    with pytest.raises(ValueError, match="ties='secret' with suppression='argus'"):
        protect(survey(50), KEYS, k=2, ties="secret", suppression="argus")
    with pytest.raises(ValueError, match="ties='dice'"):
        protect(survey(50), KEYS, k=2, ties="dice")


def test_the_secret_gives_the_same_file(folder, run, refused):
    formats.write("survey.csv", survey(600))
    line = "protect survey.csv --keys REGION SEX AGE MARSTAT --k 3 --ties secret"
    line += " --accept '*=a test'"
    assert run(f"{line} --output safe.csv")[0] == 0
    safe = (folder / "safe.csv").read_bytes()
    record = json.loads((folder / "safe.csv.private.json").read_text())
    assert record["settings"]["ties"] == "secret"
    assert len(record["output"]["secret"]) == 64
    again = made_again("survey.csv", "safe.csv.private.json", "again.csv")
    assert again == safe
    # Another run is another file.
    assert run(f"{line} --output other.csv")[0] == 0
    assert (folder / "other.csv").read_bytes() != safe
    # A record without its secret is invalid.
    record["output"]["secret"] = None
    (folder / "bad.json").write_text(json.dumps(record))
    refused("check safe.csv --record bad.json")


def test_one_secret_a_record(folder):
    formats.write(folder / "survey.csv", survey(300))
    result = protect("survey.csv", KEYS, k=2, ties="secret")
    with pytest.raises(ValueError, match="another secret decided the ties"):
        result.write("safe.csv", secret="0" * 64)


def test_two_releases_fill_in_each_other(folder, run):
    data = survey(600)
    formats.write("survey.csv", data)
    asked = "--keys REGION SEX AGE MARSTAT --accept '*=a test' --output"

    def warned(options):
        status, out, _ = run(f"protect survey.csv {options}")
        assert status == 0
        return "another safe file of the same input" in out

    assert not warned(f"{asked} three.csv --k 3")
    assert warned(f"{asked} five.csv --k 5")
    three, five = (
        {k: [v or None for v in column] for k, column in read.items()}
        for read in (plain(formats.read(f"{x}.csv"), KEYS) for x in ("three", "five"))
    )
    blanks = [(key, i) for key in KEYS for i, v in enumerate(three[key]) if v is None]
    filled = [(key, i) for key, i in blanks if five[key][i] is not None]
    assert len(filled) > len(blanks) / 4
    assert all(str(data[key][i]) == five[key][i] for key, i in filled)
    # The same file again reveals nothing more.
    (folder / "five.csv.private.json").unlink()
    assert not warned(f"{asked} again.csv --k 3")
    # A file that is not a record is passed over.
    (folder / "odd.private.json").write_text("{")
    assert not warned(f"{asked} three.csv --k 3 --overwrite")
