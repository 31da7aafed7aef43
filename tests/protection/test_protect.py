"""Protecting a file: what is blanked, what is verified, and what is said of it."""

import json
import math
import re
import stat
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore import Recoding, assess, protect
from riskcore.assessment.cell_risk import PopulationBelowSample
from riskcore.protection.protect import HouseholdKeyDiffers
from riskcore.protection.result import SuppressedValueShows
from riskcore.protection.settings.settings import Settings
from tests import thin
from tests.accepted import ANY_LEAK
from tests.fits import risks_of

KEYS = ["a", "b", "c"]

# Members of households share a, and many tests leave their column in the data.
pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows"
)


def survey(n=300, seed=1, missing=0.0):
    """Make a small file with households whose members share a."""
    random = np.random.default_rng(seed)
    household = np.sort(random.integers(0, n // 2, n))
    shared = random.integers(0, 6, household.max() + 1)[household]
    columns = {
        "a": [str(v) for v in shared],
        "b": [str(v) for v in random.integers(0, 4, n)],
        "c": [str(v) for v in random.geometric(0.4, n)],
    }
    for column in columns.values():
        for i in np.flatnonzero(random.random(n) < missing):
            column[i] = None
    weight = np.round(random.uniform(5, 60, n), 2)
    order = random.permutation(n)
    data = {name: [column[i] for i in order] for name, column in columns.items()}
    return {**data, "w": weight[order], "hh": household[order]}


def protected(data=None, keys=KEYS, **options):
    """Protect a survey, unless options say otherwise below a risk of 0.03."""
    data = survey() if data is None else data
    defaults = {"threshold": 0.03, "population": "weights", **ANY_LEAK}
    return protect(data, keys, "w", **defaults | options)


@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_safe_by_all_pairs(seed, missing):
    data = survey(120, seed, missing)
    result = protected(data)
    assert sum(result.suppressed.values()) > 0
    assert result.goals_met
    _, _, risk = risks_of(data, KEYS, result.masks, data["w"])
    assert risk.max() < 0.03
    assert result.protected.individual_risk == pytest.approx(risk, rel=1e-13)


def test_nothing_changes_but_what_is_blanked():
    data = survey(200, missing=0.05)
    result = protected(data)
    for key in KEYS:
        for before, after, blanked in zip(
            data[key], result.data[key], result.masks[key], strict=True
        ):
            assert after == (None if blanked else before)
            # A value that was missing already is not counted as suppressed.
            assert not (blanked and before is None)
    assert result.suppressed == {k: int(result.masks[k].sum()) for k in KEYS}
    assert result.blanked_share == {
        key: result.suppressed[key] / sum(value is not None for value in data[key])
        for key in KEYS
    }
    assert result.data["w"] is data["w"]
    assert list(result.data) == list(data)


def test_records_that_were_safe_are_left_alone():
    result = protected()
    touched = np.logical_or.reduce(list(result.masks.values()))
    assert np.array_equal(touched, result.original.unsafe(0.03))


def test_nothing_to_do():
    result = protected(threshold=1.0)
    assert result.goals_met
    assert result.suppressed == dict.fromkeys(KEYS, 0)
    same = result.protected.individual_risk == result.original.individual_risk
    assert same.all()
    said = "Safe except for 2 accepted leaks. With the keys a x b x c, no rec"
    assert result.verdict.startswith(said)


def test_the_rate_gives_the_threshold_of_the_recoded_file():
    data = survey()
    data["c"] = [int(v) for v in data["c"]]
    top = Recoding.top_bottom(top=3)
    result = protect(data, KEYS, "w", rate=0.02, recodings={"c": top})
    expected = result.recoded.risk_threshold(rate=0.02)
    assert result.sets[0].aim.threshold == expected
    assert result.original.risk_threshold(rate=0.02) != expected
    assert result.protected.reidentification_rate < 0.02
    assert max(v for v in result.data["c"] if v is not None) == 3
    assert list(result.sets[0].stages) == ["original", "recoded", "protected"]


def test_a_rate_that_is_met_as_it_is_is_a_goal():
    data = {"a": [0, 1] * 50, "w": [50.0] * 100}
    found = protect(data, ["a"], "w", rate=0.02).to_dict()
    (goal,) = found["goals"]
    assert (goal["rule"], goal["asked"], goal["passed"]) == ("max_rate", 0.02, True)
    assert (
        goal["found"] == found["sets"][0]["risk"]["protected"]["reidentification_rate"]
    )


def test_blanks_stand_for_any_value_where_missing_is_a_category():
    data = {"key": ["R", "L", *"BBBB"]}
    result = protect(data, ["key"], k=3, missing="category")
    assert result.goals_met
    assert result.data["key"] == [None, None, *"BBBB"]
    survey_ = survey(120, missing=0.05)
    result = protected(survey_, threshold=0.05, missing="category")
    _, _, risk = risks_of(survey_, KEYS, result.masks, survey_["w"], "category")
    assert result.goals_met
    assert risk.max() < 0.05
    assert result.protected.individual_risk == pytest.approx(risk, rel=1e-13)


def test_what_cannot_be_made_safe():
    cost = {"a": 1, "b": math.inf, "c": math.inf}
    result = protected(threshold=0.01, cost=cost)
    assert not result.goals_met
    assert result.suppressed["b"] == result.suppressed["c"] == 0
    assert f"{result.unsafe.sum()} because no key is left to blank" in result.verdict
    few = {"a": ["1", "2", "1"], "b": ["1", "3", "2"]}
    hopeless = protect(few, ["a", "b"], threshold=0.3)
    assert not hopeless.goals_met
    assert "3 of 3 records" in hopeless.verdict
    assert "3 because no key is left" in hopeless.verdict
    assert "not safe" in repr(hopeless)


@thin.examples(40)
@given(seed=st.integers(0, 10**6))
def test_households_are_safe_and_consistent(seed):
    data = survey(60, seed)
    result = protected(
        data,
        household="hh",
        threshold=None,
        household_threshold=0.08,
        household_keys=["a"],
    )
    after = result.protected
    assert result.goals_met
    assert after.household_risk.max() < 0.08
    blanked = {}
    for value, household in zip(result.data["a"], data["hh"], strict=True):
        blanked.setdefault(household, set()).add(value is None)
    assert all(len(states) == 1 for states in blanked.values())


def test_members_are_unsafe_in_unsafe_households():
    risks = assess(survey(), KEYS, "w", "hh")
    size = risks.households.size[risks.households.inverse]
    above = risks.individual_risk >= 0.08 / size
    inside = above & risks.unsafe_households(0.08)
    household = {"household": "hh", "household_threshold": 0.08}
    never = dict.fromkeys(KEYS, math.inf)
    result = protected(threshold=None, **household, cost=never)
    assert np.array_equal(result.unsafe, inside)
    assert inside.sum() < above.sum()


def test_the_household_pays_for_its_key():
    # Two members, both rare by a and by b alone: a is blanked once for both.
    data = {
        "a": ["1"] * 15 + ["9", "9"] + ["1"] * 15,
        "b": ["1"] * 15 + ["8", "7"] + ["1"] * 15,
        "w": [20.0] * 32,
        "hh": [*range(15), 99, 99, *range(15, 30)],
    }
    how = {"household": "hh", "threshold": 0.02, "household_keys": ["a"]}
    result = protected(data, ["a", "b"], **how, cost={"a": 10, "b": 30})
    assert result.suppressed == {"a": 2, "b": 2}
    rare = {**data, "b": ["1"] * 32}
    cheap = protected(rare, ["a", "b"], **how, cost={"a": 10, "b": 15})
    assert cheap.suppressed == {"a": 2, "b": 0}


def test_what_is_blanked_for_one_member_is_free_for_another():
    # The first record is safe without h alone. The second would be without k, which is
    # cheaper; but its h goes with that of the first.
    rows = [("x", 1, 1, 100), ("x", 2, 2, 100), ("x", 3, 2, 101), ("x", 3, 2, 101)]
    rows += [("y", value, value, hh) for value in (1, 2) for hh in range(3)]
    data = {name: [row[i] for row in rows] for i, name in enumerate(("h", "k", "g"))}
    data |= {"w": [1.0] * len(rows), "hh": [row[3] for row in rows]}
    household = {"household": "hh", "household_keys": ["h"]}
    cost = {"h": 5, "k": 1, "g": math.inf}
    result = protected(data, ["h", "k", "g"], threshold=0.6, cost=cost, **household)
    assert result.suppressed == {"h": 2, "k": 0, "g": 0}


def test_several_sets_of_keys():
    sets = [["a", "b"], ["b", "c"]]
    result = protected(keys=sets, threshold=0.02)
    assert result.goals_met
    assert [one.keys for one in result.sets] == [("a", "b"), ("b", "c")]
    for keys in sets:
        assert assess(result.data, keys, "w", missing="wildcard").max_risk < 0.02
    with pytest.raises(ValueError, match="2 sets of keys"):
        _ = result.protected
    assert result.verdict.count("With the keys ") == 2
    # What is blanked for one set is free for the other.
    alone = [protected(keys=[keys], threshold=0.02) for keys in sets]
    assert result.suppressed["b"] <= sum(one.suppressed["b"] for one in alone)


def test_related_columns_go_too():
    data = {**survey(), "town": [f"town {i}" for i in range(300)]}
    result = protected(data, related={"a": ["town"]}, cost="equal")
    assert result.suppressed["town"] == result.suppressed["a"] > 0
    assert [v is None for v in result.data["town"]] == result.masks["a"].tolist()


@pytest.mark.parametrize("suppression", ["exact", "argus"])
@pytest.mark.parametrize("related", [{"a": ["b"]}, {"a": ["c"], "c": ["b"]}])
def test_no_key_takes_along_a_key_that_may_not_be_blanked(suppression, related):
    # b would go with a, directly or by c.
    cost = {"a": 1, "b": math.inf, "c": 50}
    result = protected(suppression=suppression, cost=cost, related=related)
    assert result.suppressed["a"] == result.suppressed["b"] == 0
    assert (result.suppressed["c"] > 0) == ("c" not in related)
    assert result.goals_met == ("c" not in related)
    assert result.goals_met or "because no key is left to blank" in result.verdict


def test_costs():
    free = protected(cost={"a": 0, "b": 100, "c": 100})
    dear = protected(cost={"a": 100, "b": 1, "c": 1})
    assert free.suppressed["a"] > dear.suppressed["a"]
    assert protected(cost="entropy").goals_met


@thin.examples(25, thorough=60)
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_the_order_of_the_keys_decides_nothing(data, seed):
    rng = np.random.default_rng(seed)
    n = data.draw(st.integers(10, 60))
    missing = data.draw(st.sampled_from([0.0, 0.1]))
    # Several keys of equal entropy, or of equal content except for their names.
    file = {
        key: [None if rng.random() < missing else str(v) for v in rng.integers(0, k, n)]
        for key, k in zip("abcd", rng.choice([2, 2, 3, 6], 4), strict=True)
    }
    if data.draw(st.booleans()):
        file["d"] = list(file["a"])
    file |= {"w": np.round(rng.uniform(1, 40, n), 1), "hh": np.arange(n) // 3}
    of_households = data.draw(st.booleans())
    settings = {
        "threshold": data.draw(st.sampled_from([0.02, 0.05, 0.3])),
        "missing": data.draw(st.sampled_from(["wildcard", "argus", "category"])),
        "suppression": data.draw(st.sampled_from(["exact", "argus"])),
        **({"household": "hh", "household_threshold": 0.1} if of_households else {}),
    }
    shared = ["a", "b"] if of_households and data.draw(st.booleans()) else []

    def blanked(sets):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            keys = data.draw(st.permutations(shared))
            result = protect(file, sets, "w", household_keys=keys, **settings)
        assert result.settings.cost == "fewest"
        return {key: result.masks[key].tolist() for key in sorted(result.masks)}

    several = data.draw(st.booleans())
    sets = [["a", "b", "c"], ["b", "c", "d"]] if several else [list("abcd")]
    mixed = [list(data.draw(st.permutations(keys))) for keys in sets]
    assert blanked(sets) == blanked(data.draw(st.permutations(mixed)))


def test_costs_that_are_given_leave_ties_to_the_order_of_the_keys():
    # A binary key and one of many values would do equally well for most records.
    rng = np.random.default_rng(2)
    data = {"many": rng.integers(0, 40, 400), "two": rng.integers(0, 2, 400)}
    data["b"] = rng.integers(0, 3, 400)
    keys = ["many", "two", "b"]

    def suppressed(keys, **cost):
        return protect(data, keys, threshold=0.3, **cost).suppressed

    for cost in ("equal", dict.fromkeys(keys, 50.0)):
        assert suppressed(keys, cost=cost) != suppressed(keys[::-1], cost=cost)
    default, few = suppressed(keys), suppressed(keys, cost="equal")
    assert default == suppressed(keys[::-1], cost="fewest")
    assert sum(default.values()) == sum(few.values())
    assert default["two"] >= few["two"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_come_back_as_they_are(make):
    data = {name: np.asarray(v).tolist() for name, v in survey().items()}
    expected = protected(data)
    frame = make(data)
    result = protected(frame)
    assert type(result.data) is type(frame)
    assert result.suppressed == expected.suppressed
    assert type(result.protected.records) is type(frame)
    assert result.protected.max_risk == expected.protected.max_risk


def test_the_population_below_the_sample_is_said_once():
    with pytest.warns(PopulationBelowSample) as caught:
        protected({**survey(), "w": [0.5] * 300}, threshold=0.2)
    assert len([w for w in caught if w.category is PopulationBelowSample]) == 1


def shown_by_housemates(result, data, key):
    """Count the suppressed values that all members who show one have."""
    after, households = result.data[key], data["hh"]
    shown = {}
    for h, v in zip(households, after, strict=True):
        if v is not None:
            shown.setdefault(h, set()).add(v)
    blanked = np.flatnonzero(result.masks[key])
    return sum(shown.get(households[i]) == {data[key][i]} for i in blanked)


@pytest.mark.parametrize("odd", [None, "9", "missing"])
def test_suppressed_values_that_housemates_show(odd):
    # One odd record must not hide that a is a key of the household.
    data = survey()
    if odd is not None:
        data["a"][5] = None if odd == "missing" else odd
    with pytest.warns(SuppressedValueShows) as caught:
        result = protected(data, household="hh", cost="equal", accept=None)
    known, count = shown_by_housemates(result, data, "a"), result.suppressed["a"]
    assert 0 < known < count
    said = [str(w.message) for w in caught if w.category is SuppressedValueShows]
    assert said == [
        f"{known} of {count} suppressed values of 'a' show in 'hh': they can be "
        "read off the records that have the same value; blank it for all members: "
        "--household-keys a; or leave it out: --drop hh; or accept this with a "
        "reason: --accept hh=REASON"
    ]
    (leak,) = (one for one in result.examination.open if one.kind == "reveals")
    assert said == [f"{leak.text}; {leak.advice}"]
    assert not result.safe
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuppressedValueShows)
        warnings.simplefilter("ignore", HouseholdKeyDiffers)
        protected(data, household="hh", household_keys=["a"], cost="equal")


@pytest.mark.parametrize("swapped", [False, True])
def test_suppressed_values_that_neighbors_show(swapped):
    data = survey()
    order = np.argsort(data["c"], kind="stable")
    if swapped:
        order[[3, -3]] = order[[-3, 3]]
    by_c = {name: np.asarray(column)[order] for name, column in data.items()}
    with pytest.warns(SuppressedValueShows, match="show in the order of") as caught:
        result = protected(by_c, cost={"c": 1}, accept=None)
    after = np.ma.filled(result.data["c"], "")
    known = 0
    for i in np.flatnonzero(result.masks["c"]):
        before, then = after[:i][after[:i] != ""], after[i:][after[i:] != ""]
        if len(before) and len(then) and before[-1] == then[0] == by_c["c"][i]:
            known += 1
    assert known > 0
    of = f"{known} of {result.suppressed['c']} suppressed values of 'c'"
    said = [str(w.message) for w in caught]
    assert (
        f"{of} show in the order of the records: they can be read off the records "
        "before and after them; shuffle the records: --shuffle; or accept this with "
        "a reason: --accept '(order)=REASON'"
    ) in said
    leaks = [one for one in result.examination.open if one.column is None]
    assert {f"{one.text}; {one.advice}" for one in leaks} <= {*said}
    assert known in [one.shown.count for one in leaks]
    again = protected(data, cost={"c": 1})
    assert [one for one in again.shown if one.key == "c"] == []


def test_a_household_key_that_differs():
    with pytest.warns(HouseholdKeyDiffers, match="key 'b' differs within .* househ"):
        protected(household="hh", household_keys=["a", "b"])


def test_what_is_said_of_it_is_plain_data():
    result = protected(
        household="hh",
        household_rate=0.05,
        household_keys=["a"],
        cost={"b": math.inf},
        recodings={"c": Recoding.intervals([1, 3])},
    )
    said = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert said == result.to_dict()
    assert Settings.from_dict(said["settings"]) == result.settings
    stages = said["sets"][0]["risk"]
    assert list(stages) == ["original", "recoded", "protected"]
    assert stages["protected"]["unsafe_records"] == 0
    assert said["verdict"] == result.verdict


@pytest.mark.parametrize(
    ("lost", "private", "public"),
    [
        (1, "1 record has", "fewer than 10 records have"),
        (2, "2 records have", "fewer than 10 records have"),
        (9, "9 records have", "fewer than 10 records have"),
        (12, "12 records have", "about 10 records have"),
    ],
)
def test_few_records_without_keys_are_not_counted_in_public(
    tmp_path, lost, private, public
):
    data = {"a": ["x"] * 90 + [f"y{i}" for i in range(lost)]}
    data["w"] = np.full(90 + lost, 20.0)
    result = protect(data, ["a"], "w", threshold=0.02)
    assert result.verdict.endswith(f"; but {private} lost all keys.")
    record = result.write(tmp_path / "safe.csv", public_record=tmp_path / "p.json")
    assert record["examined"]["verdict"] == result.verdict
    told = json.loads((tmp_path / "p.json").read_text())
    for verdict in (record["verdict"], told["verdict"]):
        said = f"; but {public} lost all keys. The intruder is taken to know these keys"
        assert said in verdict


def test_in_a_notebook():
    data = {**survey(), "other": survey()["c"]}
    one, two = protected(data), protected(data, [KEYS, ["other"]])
    shown = re.sub("(<[^>]*>)+", "|", one._repr_html_())
    stages = one.sets[0].comparison()
    assert f"||{'|'.join(stages)}|" in shown.replace("|original", "||original")
    rates = "|".join(f"{x['reidentification_rate']:.6%}" for x in stages.values())
    assert f"|re-identification rate|{rates}|" in shown
    assert "\u2192" not in shown
    unsafe = stages["original"]["unsafe_records"]
    assert f"|unsafe records|{unsafe:,}|0|" in shown
    assert "Protected, for internal use: other" in two._repr_html_()


def test_a_key_blanked_in_all_records_under_a_model_of_the_population(tmp_path):
    codes = [str(i) for i in range(20)]
    data = {"a": codes, "b": codes, "w": [i + 1.0 for i in range(20)]}
    result = protect(
        data, ["a", "b"], "w", threshold=0.2, population="latent-class", **ANY_LEAK
    )
    assert result.suppressed["a"] == 20
    record = result.write(tmp_path / "safe.csv")
    assert record["safe"]


@pytest.fixture(scope="module")
def safe():
    """Return a protected file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuppressedValueShows)
        return protected()


@pytest.mark.parametrize("name", ["safe.csv", "safe.parquet"])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"path": 3}, TypeError, "path=3: need the path of a file"),
        ({"record": True}, TypeError, "record=True: need the path of a file"),
        ({"public_record": 5}, TypeError, "public_record=5: need the path of a file"),
        ({"shuffle": 0.5}, TypeError, "shuffle=0.5: need True or False"),
        ({"shuffle": None}, TypeError, "shuffle=None: need True or False"),
        ({"shuffle": "yes"}, TypeError, "shuffle='yes': need True or False"),
        ({"drop": "a"}, TypeError, r"drop is a list .*: write \['a'\]"),
        ({"drop": list(survey())}, ValueError, "drop: no column would be left"),
    ],
)
def test_files_that_cannot_be_written(tmp_path, safe, name, options, error, message):
    with pytest.raises(error, match=message):
        safe.write(**{"path": tmp_path / name, **options})
    assert not list(tmp_path.iterdir())


def test_seeds_of_numpy(tmp_path, safe):
    safe.write(tmp_path / "safe.csv", shuffle=np.False_)
    record = safe.write(tmp_path / "other.csv", shuffle=np.True_)
    assert record["output"]["shuffled"] is True


def test_reports_of_the_file_as_written(tmp_path, safe):
    office, public = tmp_path / "a.html", tmp_path / "b.html"
    safe.write(tmp_path / "safe.csv", report=office, report_public=public)
    assert "For internal use" in office.read_text("utf-8")
    assert "For publication" in public.read_text("utf-8")
    assert stat.S_IMODE(office.stat().st_mode) == 0o600
    assert stat.S_IMODE(public.stat().st_mode) != 0o600


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": np.float32(0.5)},
        {"threshold": Fraction(1, 2)},
        {"threshold": Decimal("0.5")},
        {"threshold": np.array(0.5)},
        {"threshold": np.longdouble(0.5)},
        {"threshold": None, "rate": np.float32(0.25)},
        {"household": "hh", "household_rate": Fraction(1, 4)},
        {"cost": {"a": np.int8(3), "b": Fraction(1, 2)}},
        {"recodings": {"a": Recoding.truncation(np.int64(1))}},
        {"recodings": {"a": Recoding(drop=np.int64(1))}},
    ],
)
def test_numbers_of_other_kinds(tmp_path, change):
    data = {**survey(), "a": [f"{value}x" for value in survey()["a"]]}
    arguments = {"keys": KEYS, "weight": "w", "threshold": 0.5, **change}
    result = protect(data, **arguments)
    plain = json.loads(json.dumps(result.settings.to_dict()))
    assert Settings.from_dict(plain) == result.settings
    result.write(tmp_path / "safe.csv", allow_unsafe=True)


@pytest.mark.parametrize("name", ["safe.csv", "safe.parquet"])
def test_files_without_weights_are_read_back(tmp_path, name):
    data = {"a": list("xxyyyz"), "b": list("uuvvvw")}
    # The file is the whole population: who knows all others fills the blanks.
    accept = {"a": "a test", "b": "a test"}
    result = protect(data, ["a", "b"], threshold=0.6, accept=accept)
    assert result.suppressed == {"a": 1, "b": 1}
    assert result.write(tmp_path / name)["safe"]


def test_progress():
    lines = []
    protected(progress=lines.append)
    unsafe = assess(survey(), KEYS, "w").unsafe_count(0.03)
    assert lines[2].startswith(f"suppression for {unsafe} unsafe units")
    assert [line for line in lines if line.startswith("assess")] == [
        "assessing the original file",
        "assessing the protected file",
    ]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"threshold": None}, ValueError, "nothing to protect against"),
        ({"rate": 0.1}, ValueError, "give threshold or rate, not both"),
        ({"household_rate": 0.1}, ValueError, "needs the household column"),
        ({"missing": "refuse"}, ValueError, "missing='refuse': use 'wildcard'"),
        ({"cost": "high"}, ValueError, "cost='high'"),
        ({"cost": {"w": 1}}, ValueError, "cost: 'w' is not a key; keys are 'a', 'b'"),
        ({"cost": {"a": -1}}, ValueError, "cost of 'a': -1.0"),
        ({"household_keys": ["a"]}, ValueError, "need the household column"),
        ({"related": {"a": ["nil"]}}, KeyError, "no column 'nil'"),
        ({"related": {"a": ["w"]}}, ValueError, "'w' is the weight or the household"),
        ({"recodings": {"w": Recoding.truncation(1)}}, ValueError, "'w' is the weight"),
        ({"recodings": {"nil": Recoding.truncation(1)}}, KeyError, "no column 'nil'"),
        ({"recodings": {"a": "no.grc"}}, FileNotFoundError, "no.grc"),
        ({"keys": "abc"}, TypeError, "keys is a list"),
        ({"keys": [["a"], []]}, ValueError, "keys is empty"),
        ({"keys": [["a", "b"], ["b", "a"]]}, ValueError, "same set of keys"),
        ({"keys": ["a", "w"]}, ValueError, "'w' is both a key and the weight"),
    ],
)
def test_refusals(change, error, message):
    with pytest.raises(error, match=message):
        protected(**change)


def test_a_name_that_is_not_text():
    data = {0: ["x", "y", "x"], 1: ["x", "x", "x"]}
    result = protect(data, [0, 1], threshold=0.3)
    assert not result.goals_met
    with pytest.raises(TypeError, match="column 0: a record needs names"):
        result.to_dict()


def test_the_definition_of_l_stands_with_its_number():
    """Three equal values and another are two distinct ones, but 1.75 by entropy."""
    data = {"a": [1] * 4 + [2] * 4, "s": [5, 5, 5, 6, 5, 6, 5, 6]}
    roles = {"s": "sensitive"}
    assert protect(data, ["a"], l=2, roles=roles).suppressed == {"a": 0}
    assert protect(data, ["a"], l="entropy:2", roles=roles).suppressed == {"a": 4}
    with pytest.raises(ValueError, match="such as 'entropy:3'"):
        protect(data, ["a"], l="other:2", roles=roles)


def test_the_role_says_that_sensitive_numbers_have_an_order():
    data = {"a": [1] * 4 + [2] * 4, "s": [1, 1, 2, 2, 2, 3, 3, 9]}
    how = {"t": 0.3, "population": "weights"}
    equal = protect(data, ["a"], roles={"s": "sensitive"}, **how)
    ordered = protect(data, ["a"], roles={"s": "sensitive:ordered"}, **how)
    assert ordered.settings.with_role("sensitive") == ordered.settings.ordered == ("s",)
    assert equal.suppressed != ordered.suppressed
    assert Settings.from_dict(ordered.settings.to_dict()) == ordered.settings
    protect(data, ["a"], k=2, roles={"s": "sensitive:ordered"})  # without t: no effect


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("entropy:2e0", "entropy:2"),
        ("entropy:+2.5", "entropy:2.5"),
        ("distinct:10", "distinct:10"),
    ],
)
def test_a_record_and_rules_hold_the_number_of_l_in_plain_digits(asked, kept):
    data = {"a": [1] * 4 + [2] * 4, "s": [1, 1, 2, 2, 2, 3, 3, 9]}
    result = protect(
        data, ["a"], l=asked, roles={"s": "sensitive"}, population="weights"
    )
    assert result.settings.l == kept
    assert Settings.from_dict(result.settings.to_dict()) == result.settings


def test_related_columns_that_are_no_mapping_are_refused():
    data = {"a": [1] * 4 + [2] * 4, "s": [1, 1, 2, 2, 2, 3, 3, 9]}
    for related in (np.array(["a"]), pd.Series(["a", "s"])):
        with pytest.raises(TypeError, match="need a mapping by column"):
            protect(data, ["a"], k=2, related=related)
