"""Two releases by the commands: what both files tell together, and by construction."""

from pathlib import Path

import numpy as np
import pytest

from riskcore import check, protect
from riskcore.data.files import formats
from tests.accepted import ANY_LEAK

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.showing.SuppressedValueShows"
)
KEYS = ["a", "b", "c"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(3)
    data = {
        k: [str(v) for v in np.minimum(random.geometric(0.3, 300), 7)] for k in KEYS
    }
    data["x"] = [str(v) for v in random.permutation(300)]
    formats.write("survey.csv", data)


def released(given, path, **how):
    protect(given, KEYS, **{**ANY_LEAK, **how}).write(path, shuffle=True)
    return f"{path}.private.json"


def test_a_file_made_from_the_released_one_adds_nothing():
    released("survey.csv", "research.csv", k=2)
    record = released("research.csv", "public.csv", k=5, recodings={"c": "map:1=x,2=x"})
    found = check(
        "public.csv", record=record, original="research.csv", earlier="research.csv"
    )
    (together,) = found.together
    assert together.derived
    assert together.adds == 0.0
    assert "was made from the earlier release" in found.text()


def test_another_protection_of_the_survey_gives_blanks_back(run, figures):
    """The coarser file is joined by the number, and tells keys blanked in the other."""
    released("survey.csv", "research.csv", k=3, cost={"a": 1.0, "b": 50, "c": 50})
    record = released(
        "survey.csv",
        "public.csv",
        k=3,
        cost={"a": 50, "b": 1, "c": 50},
        recodings={"c": "map:1=x,2=x"},
    )
    line = f"check public.csv --record {record} --original survey.csv"
    found = figures(f"{line} --with research.csv", status=0)
    assert found["earlier"] == "research.csv"
    (together,) = found["together"]
    assert "c before recoding" in together["keys"]
    assert not together["derived"]
    assert together["joined"] > 250
    assert together["adds"] > 2.0
    alone = max(together["joined_by_earlier"], together["joined_by_later"])
    assert together["joined_together"] > alone
    out = run(f"{line} --with research.csv")[1]
    assert out.splitlines()[0].endswith(
        "public.csv, original survey.csv, earlier research.csv"
    )
    assert "by both together" in out


def test_audit_joins_an_earlier_release(run, figures):
    released("survey.csv", "research.csv", k=3, cost={"a": 1.0, "b": 50, "c": 50})
    released("survey.csv", "other.csv", k=3, cost={"a": 50, "b": 1, "c": 50})
    line = "audit survey.csv other.csv --keys a b c --with research.csv"
    found = figures(line)
    assert (found["released"], found["earlier"]) == ("other.csv", "research.csv")
    assert found["together"]["adds"] > 2.0
    status, out, _ = run(line)
    assert status == 0
    assert "With the earlier release" in out
    assert Path("research.csv").exists()
