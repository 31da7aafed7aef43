"""Each remedy that is printed works: the leak is gone or smaller."""

import json
import re
import shlex

import numpy as np
import pytest

from riskcore.data.files import formats

N = 300
# Options whose words replace those that were given before; others are added to them.
REPLACED = ("--keys", "--household-keys", "--cost", "--renumber")


def people(rng):
    household = np.sort(rng.integers(0, N // 2, N))
    region = np.sort(rng.integers(0, 5, N))
    return {
        "hh": household,
        "sex": rng.integers(1, 3, N),
        "age": rng.integers(0, 6, N),
        "region": region,
        "job": rng.integers(0, 3, N),
    }


def unique(data, rng):
    return data | {
        "number": rng.permutation(N),
        "name": [f"Ann {i} Smith" for i in rng.permutation(N)],
        "pay": rng.lognormal(8, 1, N).round(1),
        "word": [f"w{i % 250}" for i in range(N)],
    }


def weights(data, rng):
    return data | {"w": rng.uniform(20, 90, N).round(2)}


def copies(data, rng):
    return data | {"copy": data["region"] + 10, "place": data["region"] * 2}


def sums(data, rng):
    adults, children = rng.integers(1, 4, N), rng.integers(0, 4, N)
    more = {"size": adults + children, "adults": adults, "children": children}
    return data | {"region": rng.permutation(data["region"]), **more}


def numbers(data, rng):
    return data | {"pay": rng.lognormal(8, 1, N).round(1), "rent": rng.uniform(1, 9, N)}


def other_forms(data, rng):
    pay = rng.lognormal(8, 1, N).round(1)
    return data | {"pay": pay, "round": (pay / 100).round(1)}


def families(data, rng):
    towns = rng.permutation(N)[data["hh"]]
    return data | {"town": [f"t{one}" for one in towns]}


def shared(data, rng):
    """Add columns that members share; two, and the region, tell who is together."""
    of_household = {"pay": rng.permutation(N)[data["hh"]], "wide": data["hh"] % 2}
    return data | {"street": data["hh"] // 2, "plain": np.zeros(N, int)} | of_household


# A file, and the options of a protection in which something leaks.
CASES = {
    "unique": (unique, "--keys sex age --k 3"),
    "weights": (weights, "--keys sex age --k 3 --weight w"),
    "copies": (copies, "--keys region age sex --k 12 --cost region=1 age=90 sex=90"),
    "sums": (sums, "--keys size age sex --k 5 --cost size=1 age=90 sex=90"),
    "numbers": (numbers, "--keys sex age --k 3 --role pay=numeric rent=numeric"),
    "altered": (numbers, "--keys sex age --k 3 --treat pay=noise:1% rent=noise:1%"),
    "forms": (
        other_forms,
        "--keys sex age --k 3 --treat pay=swap:90% --role pay=numeric round=harmless",
    ),
    "households": (families, "--keys age sex job --k 3 --household hh"),
    "members": (families, "--keys region sex --k 9 --household hh"),
    "new ids": (unique, "--keys sex age --k 3 --household hh"),
    "shared": (shared, "--keys age sex job --k 3 --household hh --drop hh --shuffle"),
    "no ids": (families, "--keys age sex job --k 3 --household hh --drop hh"),
}


def merged(given, more):
    """Return the words of a command with those of a remedy."""
    found = {}
    for line in (given, more):
        for part in re.split(r" (?=--)", line):
            option, *words = shlex.split(part)
            before = [] if option in REPLACED else found.get(option, [])
            found[option] = before + words
    return [word for option, words in found.items() for word in (option, *words)]


def remedies(leak):
    """Return the options of each remedy that the advice prints."""
    return [re.sub(r"^.*?: --", "--", one) for one in leak["advice"].split("; or ")]


def size(leaks, leak):
    """Return the figures of a leak among others in all, 0 if it is gone."""
    same = [one for one in leaks if one["accepted"] is None]
    same = [one for one in same if all(one[n] == leak[n] for n in ("column", "kind"))]
    told = [one["text"] for one in same if key_of(one) == key_of(leak)]
    return sum(int(one) for text in told for one in re.findall(r"\b\d+\b", text))


def key_of(leak):
    return (leak["shown"] or {}).get("key")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_each_remedy_works(tmp_path, run, case):
    make, options = CASES[case]
    rng = np.random.default_rng(45)
    file = formats.write(tmp_path / "survey.csv", make(people(rng), rng))
    options = f"--population weights {options} --json --quiet"
    status, out, error = run(f"protect {file} {options}")
    assert status == 1, error
    leaks = [one for one in json.loads(out)["leaks"] if one["accepted"] is None]
    assert leaks
    for leak in leaks:
        options_of = remedies(leak)
        assert len(options_of) > 1
        for remedy in options_of:
            assert remedy.startswith("--"), leak["advice"]
            status, out, error = run("protect", file, *merged(options, remedy))
            assert status in (0, 1), (remedy, error)
            left = json.loads(out)["leaks"]
            assert all(one["kind"] != "ids" for one in left), remedy
            assert size(left, leak) < size(leaks, leak), (remedy, leak["text"], left)


def advice_on(leaks, kind, column):
    (leak,) = (x for x in leaks if (x["kind"], x["column"]) == (kind, column))
    return leak["advice"]


def test_only_what_shows_who_belongs_together_is_dropped(tmp_path, figures):
    make, options = CASES["shared"]
    rng = np.random.default_rng(45)
    file = formats.write(tmp_path / "survey.csv", make(people(rng), rng))
    roles = "--role '*=harmless:a test' --population weights --quiet"
    leaks = figures(f"protect {file} {options} {roles}", status=1)["leaks"]
    advice = advice_on(leaks, "composition", "hh")
    assert advice.startswith("leave them out: --drop pay street region;")


@pytest.mark.filterwarnings("ignore")
def test_a_key_that_shows_another_is_not_dropped(tmp_path, figures):
    rng = np.random.default_rng(45)
    data = people(rng)
    del data["hh"]
    data["town"] = 4 * data["region"] + rng.integers(0, 4, N)
    file = formats.write(tmp_path / "survey.csv", data)
    line = f"protect {file} --keys region sex age --keys town --k 9 --quiet"
    line += " --role '*=harmless:a test' --sampling-fraction 1% --cost"
    leaks = figures(f"{line} region=1 town=90 sex=30 age=30", status=1)["leaks"]
    advice = advice_on(leaks, "reveals", "town")
    given = "--cost region=never town=90 sex=30 age=30; or accept"
    assert given in advice
    assert "--drop" not in advice
    found = figures(f"{line} region=never town=90 sex=30 age=30", status=0)
    assert found["goals_met"]
    assert all(one["accepted"] for one in found["leaks"])
