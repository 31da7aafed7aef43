"""Leaks of people: values that keys tell, and who is left over; their remedies."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from riskcore import protect

KEYS = ["age", "sex", "region"]


def survey(n=2000):
    """Return people whose region tells what they have for the rarer ages."""
    rng = np.random.default_rng(4)
    data = pd.DataFrame({
        "age": rng.geometric(0.2, n), "sex": rng.integers(0, 2, n),
        "region": rng.geometric(0.5, n), "ill": rng.integers(0, 4, n),
    })  # fmt: skip
    some = (data.age == 4) & (data.region == 2)
    data.loc[some, "ill"] = 3
    return data, int(some.sum())


def protected(data, **options):
    options = {
        "k": 3,
        "roles": {"ill": "sensitive"},
        "sampling_fraction": 0.1,
    } | options
    return protect(data, KEYS, **options)


def kinds(result):
    return [one.kind for one in result.examination.open]


def test_a_sensitive_value_that_keys_tell_is_a_leak():
    data, told = survey()
    result = protected(data)
    (leak,) = result.examination.open
    assert (leak.column, leak.kind) == ("ill", "attributes")
    found = result.examination.shared["ill"]
    assert found.people >= told
    assert f"{found.people:,} of 2,000 records" in leak.text
    assert not result.safe
    figures = json.loads(json.dumps(result.examination.to_dict()))["attributes"]["ill"]
    assert figures["people"] == found.people
    assert not any(kind == "attributes" for kind in kinds(protected(data, l=2)))
    accepted = protected(data, accept={"ill": "known to all"})
    assert accepted.examination.open == ()


def test_a_key_that_tells_most_is_named_and_tells_nothing_once_it_is_left_out(tmp_path):
    data, told = survey()
    (leak,) = protected(data).examination.open
    words, key = re.search(
        r"leave '(\w+)' out, which leaves ([\d,]+)", leak.advice
    ).groups()
    assert f"--drop {words}" in leak.advice
    data.to_csv(tmp_path / "a.csv", index=False)
    result = protected(tmp_path / "a.csv")
    written = result.write(tmp_path / "b.csv", drop=[words], allow_unsafe=True)
    found = written["examined"]
    assert found["attributes"]["ill"]["people"] == int(key.replace(",", "")) < told / 2


def test_values_at_random_are_not_told():
    data, _ = survey()
    data["ill"] = np.random.default_rng(5).integers(0, 4, len(data))
    assert kinds(protected(data)) == []


@pytest.mark.parametrize(
    "more",
    [
        {"sampling_fraction": 1.0},
        {"sampling_fraction": None},
        {"sampling_fraction": None, "weight": "w"},
    ],
)
def test_people_who_are_left_over_are_named_in_a_whole_population(more):
    data = survey()[0].drop(columns="ill")
    if "weight" in more:
        data["w"] = np.random.default_rng(0).uniform(1, 1.004, len(data))
        more = {"accept": {"w": "for the test"}, **more}
    more = {"roles": {}, **more}
    result = protected(data, **more)
    (leak,) = result.examination.open
    people = result.examination.elimination.people
    assert leak.kind == "elimination"
    assert people > 0
    assert f" {people:,} p" in leak.text
    safe = protected(data, against_insiders=True, **more)
    assert safe.safe
    assert safe.examination.elimination.people == 0
    more_blanks = sum(safe.suppressed.values()) - sum(result.suppressed.values())
    told = result.examination.elimination.records_told
    assert safe.examination.elimination.records_told == 0
    assert 0 < more_blanks <= 3 * told
    assert "--against-insiders" in leak.advice


def test_in_a_sample_elimination_is_a_figure():
    data = survey()[0].drop(columns="ill")
    result = protected(data, roles={})
    assert kinds(result) == []
    assert result.examination.to_dict()["elimination"]["people"] > 0


def test_insiders_are_met_with_all_sets_of_keys():
    data = survey()[0].drop(columns="ill")
    result = protect(data, [KEYS[:2], KEYS[1:]], k=3, against_insiders=True)
    assert result.examination.elimination.people == 0
