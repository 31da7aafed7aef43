"""Several protections side by side, and the rules of the one that is chosen."""

import functools
import json
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pandas
import pyreadstat
import pytest

import riskcore
from riskcore import Recoding, try_out
from riskcore.data.files import formats
from riskcore.data.source import Source
from riskcore.protection.trials import Trial

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows"
)

KEYS = ["sex", "age", "region"]
GROUPS = {"age": Recoding.intervals([30, 60], closed="left")}
CANDIDATES = {
    "fine": {"threshold": 0.02},
    "coarse": {"threshold": 0.02, "recodings": GROUPS},
    "as in mu-Argus": {"threshold": 0.02, "recodings": GROUPS, "suppression": "argus"},
}


def survey(n=300):
    rng = np.random.default_rng(1)
    return {
        "sex": rng.choice(list("fm"), n),
        "age": rng.integers(15, 90, n),
        "region": rng.choice(list("abcdefg"), n),
        "w": rng.integers(5, 50, n) * 1.0,
    }


@pytest.fixture(scope="module")
def tried():
    """Return the trials of all candidates; what is warned of is kept, not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return try_out(survey(), KEYS, CANDIDATES, weight="w")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "survey.csv"
    pandas.DataFrame(survey()).to_csv(path, index=False)
    return path


def test_figures_are_those_of_each_protection(tried):
    for name, settings in CANDIDATES.items():
        result = riskcore.protect(survey(), KEYS, "w", **settings)
        risk, found, one = result.protected, result.compare(), tried[name]
        assert one.suppressed == result.suppressed
        assert one.max_risk == risk.max_risk
        assert one.expected_reidentifications == risk.expected_reidentifications
        assert one.unsafe_before == result.original.unsafe_count(0.02)
        assert (one.safe, one.unsafe_after) == (True, 0)
        assert one.pmse == found.propensity.pmse
        assert one.share_lost == found.share_lost
        assert one.largest_loss == found.largest_loss
        assert one.largest_change == found.largest_change
        values = found.mean_total_variation_of_values
        assert one.mean_total_variation_of_values == values
        assert one.mean_total_variation == found.mean_total_variation
        assert one.categories == {k.key: k.safe.categories for k in found.keys}


def test_what_is_warned_of_is_kept():
    data = {**survey(), "w": np.full(300, 2.0)}
    data["province"] = np.char.upper(data["region"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tried = try_out(data, KEYS, {"a": {"threshold": 0.4}}, weight="w")
    assert any("show in 'province'" in said for said in tried["a"].warnings)


def test_what_recoding_loses_counts(tried):
    # On the categories of the safe file recoding costs nothing: not a measure.
    assert tried["coarse"].pmse < tried["fine"].pmse
    only = try_out(survey(), ["age"], {"coarse": {"recodings": GROUPS}}, threshold=1.0)
    assert only["coarse"].values_suppressed == only["coarse"].pmse == 0
    assert only["coarse"].share_lost > 0.5


def test_a_candidate_that_fails_is_a_row():
    candidates = {
        "good": {"threshold": 0.5},
        "no threshold": {},
        "no such column": {"threshold": 0.5, "household": "hh"},
        "stops": {"threshold": 0.02, "cost": dict.fromkeys(KEYS, np.inf)},
        "never": {"threshold": 1e-9},
    }
    tried = try_out(survey(), KEYS, candidates, weight="w")
    assert [one.safe for one in tried.trials] == [True, None, None, False, False]
    assert "give a threshold" in tried["no threshold"].reason
    assert "'hh'" in tried["no such column"].reason
    assert tried["no threshold"].values_suppressed is None
    assert "NOT SAFE" in tried["stops"].reason
    assert tried["stops"].unsafe_after > 0
    assert tried.front() == ("good",)
    assert "no threshold failed; " in repr(tried)
    json.dumps(tried.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("keys", "candidates", "error", "message"),
    [
        (KEYS, {}, ValueError, "candidates is empty"),
        (KEYS, [{"threshold": 1}], TypeError, "need a mapping of names"),
        (KEYS, {"a": 0.1}, TypeError, "'a': need a mapping"),
        (
            KEYS,
            {"a": {"treshold": 1}},
            TypeError,
            "'treshold' is not a setting of protect",
        ),
        (KEYS, {"a": {"keys": ["sex"]}}, TypeError, "'keys' is not a setting"),
        (KEYS, {1: {}}, TypeError, "a name must be text"),
        (["sex", "regio"], CANDIDATES, KeyError, "regio"),
    ],
)
def test_candidates_that_are_refused_at_once(keys, candidates, error, message):
    with pytest.raises(error, match=message):
        try_out(survey(), keys, candidates)


def trial(name, risk, loss, safe=True, far=0.1):
    """Return a trial of which only risk and losses are known."""
    return Trial(
        name,
        {},
        "safe" if safe else "not safe",
        "" if safe else "a leak is open",
        expected_reidentifications=risk,
        share_lost=loss,
        mean_total_variation=far,
    )


def test_the_front():
    trials = (
        trial("a", 1.0, 0.5),
        trial("b", 2.0, 0.2),
        trial("beaten", 2.0, 0.3),
        trial("same as a", 1.0, 0.5),
        trial("not safe", 0.0, 0.0, safe=False),
        trial("unknown", 0.0, None),
        trial("nearer", 3.0, 0.6, far=0.05),
    )
    tried = riskcore.Trials(Source.of(survey()), KEYS, trials)
    assert tried.front() == ("a", "b", "same as a", "nearer")
    assert tried.front(losses=["share_lost"]) == ("a", "b", "same as a")
    with pytest.raises(ValueError, match="loss='cost'"):
        tried.front(losses=["cost"])
    with pytest.raises(KeyError, match="'c' is not a candidate"):
        tried["c"]


def test_a_file_is_read_once(file, monkeypatch):
    read = []
    of = Source.read_columns
    monkeypatch.setattr(
        Source, "read_columns", lambda *a, **k: read.append(k) or of(*a, **k)
    )
    try_out(file, KEYS, CANDIDATES, weight="w")
    assert len([one for one in read if one.get("text")]) == 1


def test_progress_names_the_candidate():
    said = []
    try_out(survey(), KEYS, CANDIDATES, weight="w", progress=said.append)
    assert "2 of 3, coarse: recoding" in said
    assert "3 of 3, as in mu-Argus: comparing keys" in said


def test_k_anonymity_and_its_strata(file):
    candidates = {
        "k": {"k": 3},
        "by region": {"k": {("sex", "age"): 2}, "strata": ["region"]},
    }
    candidates["k"]["roles"] = {"w": "harmless", "region": "harmless"}
    candidates["by region"]["roles"] = {"w": "harmless"}
    tried = try_out(file, [["sex", "age"]], candidates, recodings=GROUPS)
    assert [one.safe for one in tried.trials] == [True, True]
    assert tried["by region"].categories["region"] == 7
    again = tried.protect("by region").suppressed
    assert again == tried["by region"].suppressed


def test_a_defect_is_no_reason(monkeypatch):
    @functools.wraps(riskcore.protect)
    def fail(*_, **__):
        raise IndexError

    monkeypatch.setattr("riskcore.protection.trials.protect", fail)
    with pytest.raises(IndexError):
        try_out(survey(), KEYS, CANDIDATES, weight="w")


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("s.csv", "safe.csv"),
        ("s.tsv", "safe.tsv"),
        ("s.csv.gz", "safe.csv.gz"),
        ("s.TXT", "safe.txt"),
        ("s.parquet", "safe.parquet"),
        ("s.arrow", "safe.arrow"),
        ("s.dta", "safe.dta"),
        ("s.zsav", "safe.zsav"),
        ("s.xpt", "safe.sav"),
        ("parts", "safe.parquet"),
    ],
)
def test_the_safe_file_of_a_choice_has_the_format_of_the_file(
    tmp_path, run, name, output, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    data = {"SEX": ["f", "m"] * 4, "AGE": ["1", "2", "1", "1"] * 2}
    if name == "parts":
        Path(name).mkdir()
        formats.write(f"{name}/1.parquet", data)
    elif name == "s.TXT":
        formats.write("s.csv", data).rename(name)
    elif name == "s.xpt":
        pyreadstat.write_xport(pandas.DataFrame(data), name)
    else:
        formats.write(name, data)
    tried = try_out(name, ["SEX", "AGE"], {"a": {"k": 2}})
    tried.protect("a").write(output)
    line = f"try {name} --keys SEX AGE --candidate 'a=--k 2' --print-rules a"
    status, out, _ = run(line)
    assert status == 0
    assert tomllib.loads(out)["output"] == {"file": output}
