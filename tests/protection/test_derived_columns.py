"""Columns that tell a key are blanked with it, if they are asked to be found."""

import json
import warnings

import numpy as np
import polars as pl
import pytest

from riskcore import protect
from riskcore.data.files import formats
from riskcore.protection.result import SuppressedValueShows
from riskcore.protection.settings.settings import Settings

KEYS = ["age", "region", "sex"]


def survey(n=600):
    rng = np.random.default_rng(1)
    age = rng.integers(15, 90, n)
    return {
        "age": age,
        "region": rng.choice(list("abcdef"), n),
        "sex": rng.choice(list("fm"), n),
        "years": age,
        "decade": age // 10,
        "income": rng.lognormal(9, 1, n).round(2),
        "w": rng.integers(5, 50, n) * 1.0,
    }


def test_copies_and_recodes_go_with_their_key():
    data = survey()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuppressedValueShows)
        result = protect(data, KEYS, "w", k=3, related="derived")
    assert result.settings.related == {"age": ("years", "decade")}
    assert [one.column for one in result.examination.open] == ["income"]
    gone = result.masks["age"]
    assert gone.any()
    assert np.array_equal(result.masks["years"], gone)
    assert np.array_equal(result.masks["decade"], gone)
    same = protect(data, KEYS, "w", k=3, related={"age": ["years", "decade"]})
    assert same.settings == result.settings
    with pytest.warns(SuppressedValueShows, match="'years'"):
        protect(data, KEYS, "w", k=3)


def test_a_finer_column_goes_with_its_key():
    data = survey()
    del data["years"]
    result = protect(
        data,
        ["decade", "region"],
        k=15,
        related="derived",
        cost={"region": float("inf")},
    )
    assert result.settings.related == {"decade": ("age",)}
    assert result.masks["decade"].any()
    assert np.array_equal(result.masks["age"], result.masks["decade"])


def test_a_record_holds_what_was_found(tmp_path, monkeypatch, run, refused):
    monkeypatch.chdir(tmp_path)
    formats.write("survey.csv", survey())
    line = "protect survey.csv --keys age region sex --weight w --k 3 --output safe.csv"
    line += " --role '*=harmless:a test' --accept '*=a test'"
    assert run(f"{line} --related derived")[0] == 0
    record = json.loads((tmp_path / "safe.csv.private.json").read_text())
    related = {"age": ["years", "decade"]}
    assert record["settings"]["related"] == related
    assert Settings.from_dict(record["settings"]).related == {
        "age": ("years", "decade")
    }
    assert "give either that word" in refused(f"{line} --related derived age=years")
    assert "'found' is not NAME=VALUE" in refused(f"{line} --related found")


def test_refused():
    with pytest.raises(TypeError, match="related='derived'"):
        protect(pl.LazyFrame(survey()), KEYS, k=3, related="derived")
    with pytest.raises(TypeError, match="related='found': need a mapping"):
        protect(survey(), KEYS, k=3, related="found")
    with pytest.raises(KeyError, match="'job'"):
        protect(survey(), ["job"], k=3, related="derived")
