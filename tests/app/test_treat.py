"""The page of treatments: rules from forms, and figures before and after."""

import numpy as np
import pandas
import pytest

from riskcore.app import workbench
from riskcore.app.pages import treat
from riskcore.app.pages.treat_words import FIELDS, kinds_of
from riskcore.app.session import RefusedError
from riskcore.protection.records import treated as records
from riskcore.protection.suppression import key_sets
from riskcore.protection.treatments.rules import KINDS, Treatment
from tests.app import workbenches
from tests.app.workbenches import column_form as form

ROLES = workbenches.ROLES | {"INCOME": "numeric", "PERSON": None}


@pytest.fixture
def bench(opened):
    return opened(roles=ROLES)


def add(bench, column, numbers="en", **fields):
    treat.add(bench, form(bench, column, numbers, **fields))
    return dict(bench.table("treat"))


def test_every_kind_of_treatment_has_a_form():
    _ = Treatment.of("x", "round:1")
    assert set(FIELDS) == set(KINDS)
    offered = {
        kind
        for role in ("weight", "numeric", "key")
        for numeric in (True, False)
        for kind in kinds_of(role, numeric)
    }
    assert offered == set(KINDS)


@pytest.mark.parametrize(
    ("column", "fields", "rule"),
    [
        (
            "INCOME",
            {"kind": "top", "bound": "1,5 %", "becomes": "mean"},
            "top:1.5%=mean",
        ),
        ("INCOME", {"kind": "top", "bound": "5n", "becomes": "limit"}, "top:5n"),
        ("INCOME", {"kind": "bottom", "bound": "1.000", "value": "0"}, "bottom:1000=0"),
        (
            "INCOME",
            {"kind": "round", "base": "0,5", "unbiased": "1"},
            "round:0.5:unbiased",
        ),
        ("INCOME", {"kind": "round", "base": "1", "digits": "2"}, "round:2digits"),
        (
            "INCOME",
            {"kind": "bands", "breaks": "0; 1.000,5; 9.000"},
            "bands:0,1000.5,9000",
        ),
        ("INCOME", {"kind": "swap", "share": "5%"}, "swap:5%"),
        ("CITIZENSHIP", {"kind": "pram", "keep": "0,8"}, "pram:0.8"),
        ("REGION", {"kind": "swap-areas", "share": "5%"}, "swap-areas:5%"),
        ("WEIGHT", {"kind": "share-weights", "classes": "9"}, "share-weights:9"),
    ],
)
def test_forms_say_rules(bench, column, fields, rule):
    assert add(bench, column, "de", **fields) == {column: rule}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_groups_and_columns_together(bench):
    region = str(bench.names.index("SEX"))
    found = add(bench, "INCOME", kind="microaggregate", k="3", within=region)
    assert found == {"INCOME": "microaggregate:3:within=SEX"}
    size = str(bench.names.index("HHSIZE"))
    with pytest.raises(RefusedError, match="treatments of its own"):
        add(bench, "INCOME", kind="noise", share="10%", **{"with": size})
    treat.edit(bench, form(bench, "INCOME", at="0", do="remove"))
    found = add(bench, "INCOME", kind="noise", share="10%", **{"with": size})
    assert found == {"HHSIZE+INCOME": "noise:10%:correlated"}
    shown = treat.view(bench, form(bench, "HHSIZE"))
    assert shown["joint"]
    assert shown["random"]
    seen = treat.effect(bench, form(bench, "HHSIZE"))
    assert [other for other, *_ in seen["correlations"]] == ["INCOME"]


def test_rules_are_added_moved_changed_and_removed(bench):
    add(bench, "INCOME", kind="round", base="100")
    assert add(bench, "INCOME", kind="top", bound="5%") == {
        "INCOME": ["round:100", "top:5%"]
    }
    treat.edit(bench, form(bench, "INCOME", at="1", do="up"))
    assert bench.table("treat")["INCOME"] == ["top:5%", "round:100"]
    treat.edit(bench, form(bench, "INCOME", at="0", do="save", rule="top:2%"))
    assert bench.table("treat")["INCOME"] == ["top:2%", "round:100"]
    shown = treat.view(bench, form(bench, "INCOME"))["rules"]
    assert shown[1]["words"] == "rounded to multiples of 100"
    treat.edit(bench, form(bench, "INCOME", at="0", do="remove"))
    treat.edit(bench, form(bench, "INCOME", at="0", do="remove"))
    assert "INCOME" not in bench.table("treat")
    with pytest.raises(RefusedError, match="no such treatment"):
        treat.edit(bench, form(bench, "INCOME", at="0", do="remove"))


def test_the_effect_is_that_of_the_report(bench):
    add(bench, "INCOME", kind="top", bound="10%")
    seen = treat.effect(bench, form(bench, "INCOME"))
    told = bench.prepared().treated.effects()["columns"]["INCOME"]
    rows = {name: pair for name, *pair in seen["rows"]}
    assert seen["altered"] == bench.prepared().treated.altered("INCOME").sum()
    for at, stage in enumerate(("before", "after")):
        mean, variance = told[stage]["mean"], told[stage]["variance"]
        assert rows["mean"][at] == pytest.approx(mean, rel=1e-12)
        assert rows["sd"][at] ** 2 == pytest.approx(variance, rel=1e-12)
        middle = told[stage]["quantiles"][len(told[stage]["quantiles"]) // 2]
        assert rows["median"][at] == middle
    assert seen["unsafe"] is None
    x, y = (
        getattr(bench.prepared().treated, one)["INCOME"] for one in ("before", "after")
    )
    centered = np.cov(x, y, aweights=bench.prepared().treated.weights)
    expected = centered[0, 1] / np.sqrt(centered[0, 0] * centered[1, 1])
    assert seen["correlation"] == pytest.approx(expected, rel=1e-9)


def test_the_effect_on_weights_and_categories(bench):
    before = bench.tried().unsafe
    add(bench, "WEIGHT", kind="share-weights", classes="4")
    seen = treat.effect(bench, form(bench, "WEIGHT"))
    rows = {name: pair for name, *pair in seen["rows"]}
    assert rows["distinct"][1] == 4
    old, new = (
        getattr(bench.prepared().treated, one)["WEIGHT"] for one in ("before", "after")
    )
    for at, one in enumerate((old, new)):
        kish = len(one) * (one**2).sum() / one.sum() ** 2
        assert rows["design_effect"][at] == pytest.approx(kish, rel=1e-12)
    assert [one[1] for one in seen["unsafe"]] == before
    assert [one[2] for one in seen["unsafe"]] == bench.tried().unsafe
    add(bench, "CITIZENSHIP", kind="pram", keep="0.5")
    seen = treat.effect(bench, form(bench, "CITIZENSHIP"))
    assert seen["kind"] == "categories"
    assert sum(before for *_, before, _ in seen["bars"]) == seen["present"]
    assert sum(after for *_, after in seen["bars"]) == seen["present"]
    assert treat.view(bench, form(bench, "CITIZENSHIP"))["alters"]


@pytest.mark.parametrize(
    ("column", "fields", "words"),
    [
        ("INCOME", {"kind": "top", "bound": "0%"}, "need a share above 0 %"),
        ("INCOME", {"kind": "swap", "share": "many"}, "'many' is not a number"),
        ("INCOME", {"kind": "microaggregate", "k": "1"}, "at least"),
        ("INCOME", {"kind": "melt"}, "'melt' is not a treatment"),
        ("WEIGHT", {"kind": "rake", "path": "none.csv"}, "No such file"),
        ("HOUSEHOLD", {"kind": "round", "base": "2"}, "cannot be treated"),
    ],
)
def test_bad_treatments_change_nothing(bench, column, fields, words):
    before = bench.history.current
    with pytest.raises((RefusedError, ValueError), match=words):
        treat.add(bench, form(bench, column, **fields))
    assert bench.history.current is before
    assert treat.effect(bench, form(bench, "INCOME")) == {"kind": "none"}


def test_names_that_a_rule_would_read_as_several_are_refused(tmp_path, opened):
    path = tmp_path / "survey.csv"
    path.write_text("K,A,B,A+B,C:D\n" + "1,2,3,4,5\n2,5,4,3,2\n" * 4)
    bench = opened(path)
    numbers = dict.fromkeys(["A", "B", "A+B"], "numeric")
    bench.set_roles({"K": "key", "C:D": "harmless", **numbers}, "roles")
    place = {name: str(at) for at, name in enumerate(bench.names)}
    for column, fields in [
        ("A+B", {"kind": "microaggregate", "k": "3", "with": place["A"]}),
        ("A", {"kind": "swap", "share": "5%", "within": place["A+B"]}),
        ("A", {"kind": "swap", "share": "5%", "within": place["C:D"]}),
    ]:
        with pytest.raises(RefusedError, match="rename the column"):
            add(bench, column, **fields)
    assert add(bench, "A+B", kind="round", base="2") == {"A+B": "round:2"}


def test_an_old_page_changes_no_other_treatment(bench):
    for base in ("10", "100"):
        add(bench, "INCOME", kind="round", base=base)
    fields = {"at": "0", "was": "round:10", "do": "remove"}
    treat.edit(bench, form(bench, "INCOME", **fields))
    with pytest.raises(RefusedError, match="load the page again"):
        treat.edit(bench, form(bench, "INCOME", **fields))
    assert bench.table("treat") == {"INCOME": "round:100"}


def test_a_number_treated_touches_nothing_else(bench, monkeypatch):
    before = bench.prepared().recoded
    add(bench, "INCOME", kind="noise", share="10%")
    treat.effect(bench, form(bench, "INCOME"))

    def refuse(*args, **kwargs):
        pytest.fail("what is known already was computed again")

    for module, name in (
        (workbench, "code_column"),
        (records, "column_like"),
        (key_sets, "assess_coded"),
    ):
        monkeypatch.setattr(module, name, refuse)
    for rule in ("noise:20%", "round:100", "top:5%", "swap:5%"):
        treat.edit(bench, form(bench, "INCOME", at="0", do="save", rule=rule))
        assert treat.effect(bench, form(bench, "INCOME"))["altered"]
        assert bench.prepared().recoded is before


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        ("INCOME", "noise:20%"),
        ("INCOME", "swap:5%:within=AGE"),
        ("WEIGHT", "round-weights:5"),
        ("SEX", "pram:0.8:within=AGE"),
        ("REGION", "round:2digits"),
    ],
)
def test_the_treated_file_is_that_of_the_rules(bench, column, rule):
    bench.change("recoding", recodings={"AGE": "from:30,60"}, safe={"k": 3})
    bench.change("treatment", treat={column: rule})
    _ = bench.tried()
    rules = bench.release
    found = bench.protect(bench.rules_of(rules), lambda words: None)
    alone = rules.protect(rules.source(), secret=found.secret)
    assert found.data.equals(alone.data)
    assert found.treated.told == alone.treated.told
    pairs = zip(found.sets, alone.sets, strict=True)
    for one, other in pairs:
        assert one.comparison() == other.comparison()
        assert one.recoded.data.equals(other.recoded.data)


def test_missing_values_are_left_out_of_the_figures(tmp_path, opened):
    draw = np.random.default_rng(4)
    x = np.round(draw.lognormal(3, 1, 200), 1)
    x[::7] = np.nan
    path = tmp_path / "gaps.csv"
    pandas.DataFrame({"SEX": draw.integers(0, 2, 200), "X": x}).to_csv(
        path, index=False
    )
    bench = opened(path)
    bench.set_roles({"SEX": "key", "X": "numeric"}, "roles")
    add(bench, "X", kind="round", base="5")
    seen = treat.effect(bench, form(bench, "X"))
    rows = {name: pair for name, *pair in seen["rows"]}
    for at, one in enumerate((x, np.round(x / 5) * 5)):
        one = one[~np.isnan(one)]
        assert rows["distinct"][at] == len(np.unique(one))
        assert rows["sum"][at] == pytest.approx(one.sum(), rel=1e-12)
        assert rows["sd"][at] == pytest.approx(one.std(), rel=1e-12)
        assert rows["median"][at] == np.sort(one)[(len(one) - 1) // 2]
    assert seen["present"] == np.count_nonzero(~np.isnan(x))
    expected = np.corrcoef(x[~np.isnan(x)], one)[0, 1]
    assert seen["correlation"] == pytest.approx(expected, rel=1e-9)
