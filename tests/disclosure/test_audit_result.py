"""The answer of an audit: in words, as a gate, by record, and as plain data."""

import json
import math

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import riskcore
from riskcore import audit
from riskcore.disclosure.audit_result import RECORD_COLUMNS
from riskcore.disclosure.checked import Checked
from riskcore.disclosure.figures_in_words import number

DATA = {
    "sex": ["f", "m", "f", "m"],
    "age": [31, 47, 31, 50],
    "w": [10.0, 20.0, 15.0, 4],
}
MADE = {"sex": ["f", "m", "m", "m", "m"], "age": [31, 47, 50, 60, 60]}


def one(f, F):
    return float(riskcore.individual_risk_from_frequencies(f, F))


@pytest.fixture
def found():
    return audit(DATA, MADE, ["sex", "age"], "w", population="weights")


def test_figures(found):
    right = [one(2, 25.0), one(1, 20.0), one(1, 4.0)]
    assert found.claims == 3
    assert found.expected_right_claims == pytest.approx(math.fsum(right), rel=1e-15)
    assert found.identity.matched == 3
    assert found.records == (4, 5)
    assert found.keys == ("sex", "age")
    assert repr(found) == (
        f"<Audit: 3 claims, {math.fsum(right):.5g} expected to be right>"
    )


@pytest.mark.parametrize(
    "frame", [dict, pandas.DataFrame, polars.DataFrame, pyarrow.table]
)
def test_released_records_keep_type_and_order(frame):
    made = frame({**MADE, "note": [*"vwxyz"]})
    found = audit(DATA, made, ["sex", "age"], "w", population="weights")
    records = found.released_records
    assert type(records) is type(made)
    names = list(records if frame is dict else getattr(records, "column_names", None)
                 or records.columns)  # fmt: skip
    assert names == ["sex", "age", "note", *RECORD_COLUMNS]
    columns = {name: np.asarray(records[name]).tolist() for name in names}
    assert columns["note"] == [*"vwxyz"]
    assert columns["original_frequency"] == [2, 1, 1, 0, 0]
    assert columns["right_claim_probability"] == pytest.approx(
        [one(2, 25.0), one(1, 20.0), one(1, 4.0), 0.0, 0.0], rel=1e-15
    )


@pytest.mark.parametrize("name", [RECORD_COLUMNS[0], RECORD_COLUMNS[1].upper()])
def test_released_records_have_no_such_columns_yet(name):
    found = audit(DATA, {**MADE, name: [0] * 5}, ["sex", "age"], "w")
    with pytest.raises(ValueError, match=name):
        found.released_records  # noqa: B018


def test_riskiest(found):
    rows = found.riskiest()
    assert [row["record"] for row in rows] == [3, 2, 1]
    assert rows[0] == {
        "sex": "m", "age": 50, "record": 3, "original_frequency": 1,
        "right_claim_probability": one(1, 4.0),
    }  # fmt: skip
    assert found.riskiest(1) == rows[:1]
    assert found.riskiest(0) == []
    assert type(rows[0]["age"]) is int
    for count, error in ((-1, ValueError), (1.5, TypeError), ("2", TypeError)):
        with pytest.raises(error, match="count"):
            found.riskiest(count)
    missing = audit(DATA, {"sex": ["m"], "age": [None]}, ["sex", "age"], "w")
    assert missing.riskiest()[0]["age"] is None


def test_plain_data_name_no_record(found):
    figures = found.to_dict()
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
    low, high = found.expected_right_claims_interval()
    assert figures["records"] == {"original": 4, "released": 5}
    assert figures["expected_right_claims_interval"] == [low, high]
    assert figures["claims_of_somebody"] == 3
    assert figures["population_model"] is None
    assert figures["compared_with"] == "model"
    assert figures["attributes"] == []
    others = audit(DATA, MADE, ["sex", "age"], "w", holdout={**MADE, "x": [0] * 5})
    assert others.to_dict()["records"] == {"original": 4, "released": 5, "holdout": 5}
    assert others.to_dict()["compared_with"] == "holdout"
    own = audit(
        {**DATA, "id": [1, 2, 3, 4]}, {**MADE, "id": [1, 2, 3, 4, 5]}, ["sex", "age"],
        "w", record_by="id",
    ).to_dict()  # fmt: skip
    assert own["compared_with"] is own["right_claims_about_others"] is None
    assert own["claims_excess_interval"] == [None, None]


def test_the_verdict_tells_what_is_more_than_about_others():
    rng = np.random.default_rng(1)
    n = 300
    data, other, fresh = (
        {
            "a": rng.integers(0, 40, n),
            "b": rng.integers(0, 40, n),
            "t": rng.choice([*"xyz"], n),
        }
        for _ in range(3)
    )
    options = {"sampling_fraction": 0.5, "target": ["t"], "population": "weights"}
    copied = audit(data, data, ["a", "b"], holdout=other, **options)
    assert copied.more_than_others == (
        "claims", "guesses of t", "guesses of t by a learner", "membership", "copies"
    )  # fmt: skip
    assert copied.verdict.endswith(
        " The release tells more of the original's people than of others, by claims, "
        "guesses of t, guesses of t by a learner, membership and copies. As if 100 % "
        "(99.3 % to 100 %) of its records were copied."
    )
    new = audit(data, fresh, ["a", "b"], holdout=other, **options)
    assert new.more_than_others == ()
    assert new.verdict.endswith(" No risk beyond the holdout was found.")
    by_model = audit(data, fresh, ["a", "b"], **options)
    assert by_model.verdict.endswith("other people was found, by the model.")
    low, high = new.expected_right_claims_interval()
    said = f"{number(new.expected_right_claims)} ({number(low)} to {number(high)})"
    assert said in new.verdict
    assert said in new.text()
    assert f"Of {new.claims} claims" in new.verdict


def test_the_gate(found):
    share = found.expected_right_claims / 3
    assert found.check(max_right_claims=share).passed
    broken = found.check(max_right_claims=np.nextafter(share, 0.0))
    assert isinstance(broken, Checked)
    assert not broken.passed
    assert broken.rules[0].found == share
    assert "share of right claims" in broken.text()
    with pytest.raises(ValueError, match="give a limit: max_right_claims"):
        found.check()
    with pytest.raises(ValueError, match="max_guess_excess needs targets"):
        found.check(max_guess_excess=0.1)
    for name in ("max_right_claims", "max_guess_excess"):
        for limit in (-0.1, 1.1, math.nan):
            with pytest.raises(ValueError, match=r"max_"):
                found.check(**{name: limit})


def test_the_gate_has_a_rule_for_each_target():
    rng = np.random.default_rng(2)
    data = {"a": rng.integers(0, 20, 90), "t": rng.choice([*"xy"], 90),
            "u": rng.choice([*"xy"], 90)}  # fmt: skip
    found = audit(data, data, ["a"], target=["t", "u"])
    t, u = found.attributes
    checked = found.check(max_guess_excess=t.excess, max_right_claims=0.0)
    claims, first, second = checked.rules
    assert not claims.passed
    assert first.passed
    assert second.passed == (u.excess <= t.excess)
    assert (first.found, second.found) == (t.excess, u.excess)
    assert [rule.of for rule in (first, second)] != [claims.of] * 2


def test_what_is_unknown_does_not_pass():
    data = {"a": [1] * 9, "t": ["x"] * 9}
    found = audit(data, data, ["a"], target=["t"])
    checked = found.check(max_guess_excess=1.0)
    assert not checked.passed
    figures = json.loads(json.dumps(checked.to_dict(), allow_nan=False))
    assert figures["rules"][0]["found"] is None
    assert "unknown" in checked.text()


def test_without_a_guess_nothing_is_learned():
    nobody = audit({"a": [1], "t": ["x"]}, {"a": [2], "t": ["x"]}, ["a"], target=["t"])
    assert nobody.check(max_guess_excess=0.0).passed


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (1 / 3, "0.333"), (99.49, "99.5"), (99.5, "100"), (12345.6, "12,346"),
     (-200.0, "-200"), (math.nan, "unknown")],
)  # fmt: skip
def test_numbers_of_claims_in_words(value, words):
    assert number(value) == words
