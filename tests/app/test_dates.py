"""Columns of dates on the pages of recoding and of treatments."""

import numpy as np
import polars as pl
import pytest

from riskcore.app.pages import recode, treat
from riskcore.app.session import RefusedError
from tests.app.workbenches import column_form as form

ROLES = {"BIRTH": "key", "REGION": "key", "VISIT": "sensitive", "W": "weight"}


@pytest.fixture
def bench(opened, tmp_path):
    rng = np.random.default_rng(2)
    births, visits = (
        np.datetime64(first) + rng.integers(0, 9_000, 200)
        for first in ("1970-01-01", "2000-01-01")
    )
    frame = {"BIRTH": births, "VISIT": visits, "REGION": [1, 2] * 100, "W": [9.0] * 200}
    pl.DataFrame(frame).write_parquet(tmp_path / "a.parquet")
    return opened(tmp_path / "a.parquet", roles=ROLES)


@pytest.mark.parametrize(
    ("rule", "codes"), [("year", 25), ("from:1980-01-01,1990-01-01", 3)]
)
def test_dates_are_recoded_by_a_rule_in_words(bench, rule, codes):
    fields = {"way": "text", "rule": rule}
    assert len(recode.preview(bench, form(bench, "BIRTH", **fields))["bars"]) == codes
    recode.apply(bench, form(bench, "BIRTH", **fields))
    shown = recode.view(bench, form(bench, "BIRTH"))
    assert (shown["way"], shown["fields"]["rule"]) == ("text", rule)
    with pytest.raises(RefusedError, match="need 2024-01-31 in the rule"):
        recode.apply(bench, form(bench, "BIRTH", way="text", rule="from:15,30"))


def test_dates_are_shifted(bench):
    assert "shift" in treat.view(bench, form(bench, "VISIT"))["kinds"]
    treat.add(bench, form(bench, "VISIT", kind="shift", days="90"))
    seen = treat.effect(bench, form(bench, "VISIT"))
    assert seen["altered"] == seen["present"] == 200
    assert "mean" not in [name for name, *_ in seen["rows"]]
    with pytest.raises(RefusedError, match="name them together"):
        treat.add(bench, form(bench, "REGION", kind="shift", days="90"))
