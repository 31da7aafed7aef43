"""What `Protected.compare` knows: which record is which, and how it was recoded."""

import json

import numpy as np
import pandas
import polars
import pytest

import riskcore
from riskcore import Recoding
from tests.accepted import ANY_LEAK

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows",
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked",
)
GROUPS = {"age": Recoding.intervals([30, 60], closed="left")}


def survey(n=300):
    rng = np.random.default_rng(1)
    return {
        "sex": rng.choice(list("fm"), n),
        "age": rng.integers(15, 90, n),
        "region": rng.choice(list("abcdefg"), n),
        "w": rng.integers(5, 50, n) * 1.0,
        "income": rng.lognormal(7, 1, n).round(),
    }


KEYS = ["sex", "age", "region"]


def protected(data, **options):
    # By the weights, at which the goal needs blanks.
    goal = {"threshold": 0.02, "population": "weights", "recodings": GROUPS, **ANY_LEAK}
    return riskcore.protect(data, KEYS, "w", **goal, **options)


@pytest.fixture
def path(tmp_path):
    """Return the path of a file that holds the survey."""
    path = tmp_path / "survey.csv"
    pandas.DataFrame(survey()).to_csv(path, index=False)
    return path


def figures(found):
    return json.dumps(found.to_dict())


def test_it_is_the_comparison_of_the_two_files():
    result = protected(survey())
    assert sum(result.suppressed.values()) > 0
    found = result.compare(columns=["income"], strata=["region"])
    assert found.aligned
    assert {one.key: one.suppressed for one in found.keys} == result.suppressed
    assert all(one.changed == 0 for one in found.keys)
    data, safe = ({**one, "id": np.arange(300)} for one in (survey(), result.data))
    how = {"columns": ["income"], "strata": ["region"], "id": "id"}
    outside = riskcore.compare(data, safe, KEYS, "w", recodings=GROUPS, **how)
    assert figures(found) == figures(outside)


def test_information_is_lost_by_recoding_and_by_blanks():
    age = protected(survey()).compare().key("age")
    # A blank loses the group, too; what a group hides is lost in any case.
    least = age.original.entropy - age.recoded.entropy
    assert least <= age.information_lost <= age.original.entropy
    assert 0 < age.share_lost < 1
    only = riskcore.protect(survey(), ["age"], threshold=1.0, recodings=GROUPS)
    one = only.compare().key("age")
    lost = one.original.entropy - one.safe.entropy
    assert one.information_lost == pytest.approx(lost, rel=1e-12)


def test_of_a_file(path):
    how = {"columns": ["income"], "strata": ["region"]}
    text, here = (protected(data).compare(**how) for data in (path, survey()))
    assert figures(text) == figures(here)


def test_of_a_written_file(path):
    result, safe = protected(path), path.with_name("safe.csv")
    result.write(safe, shuffle=True)
    found = riskcore.compare(path, safe, KEYS, "w", recodings=GROUPS).to_dict()
    known = result.compare().to_dict()
    assert found["propensity"] == known["propensity"]
    assert found["pairs"] == known["pairs"]
    assert not found["aligned"]


def test_of_data_on_an_engine():
    frame = polars.DataFrame(survey())
    lazy = protected(frame.lazy())
    here = protected(frame).compare(strata=["region"])
    assert figures(lazy.compare(strata=["region"])) == figures(here)
    with pytest.raises(TypeError, match="columns: single records"):
        lazy.compare(columns=["income"])
    with pytest.raises(ValueError, match="neither a key nor related"):
        lazy.compare(strata=["income"])


def test_missing_keys_before():
    data = pandas.DataFrame(survey())
    data.loc[:9, "region"] = None
    result = protected(data)
    region = result.compare().key("region")
    assert region.original.missing == 10
    assert region.suppressed == result.suppressed["region"]


def test_a_recoded_column_of_numbers(path):
    top = {"income": Recoding.top_bottom(top=3000)}
    of_file, here = (
        riskcore.protect(data, ["sex"], "w", threshold=0.1, recodings=top)
        for data in (path, survey())
    )
    with pytest.raises(ValueError, match="'income' is recoded"):
        of_file.compare(columns=["income"])
    (income,) = here.compare(columns=["income"]).numbers
    assert income.after.quantiles[-1] == 3000


def test_of_a_pass_over_households():
    data = survey()
    data["hh"] = np.arange(300) // 2
    data["region"] = np.repeat(data["region"][::2], 2)
    data["w"] = np.repeat(data["w"][::2], 2)
    result = riskcore.protect(
        data, ["region"], "w", "hh", level="household", k=25, missing="wildcard"
    )
    found = result.compare().key("region")
    blank = np.ma.getmaskarray(result.data["region"])
    assert blank.any()
    assert found.suppressed == blank.sum()
    # Both members of each household, and nobody else.
    assert np.array_equal(blank[::2], blank[1::2])
