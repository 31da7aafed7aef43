"""Treated columns of a file, also with one row for each household."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import riskcore
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records, code_column
from riskcore.data.files import formats


def survey(n=60, seed=5):
    """Return persons in households with a region, an income and own earnings."""
    draw = np.random.default_rng(seed)
    household = np.repeat(np.arange(n), draw.integers(1, 5, n))
    region = draw.integers(0, 2, n)[household]
    return {
        "HH": household,
        "REGION": region,
        "INCOME": draw.permutation(n)[household] * 10.0,
        "EARNED": draw.permutation(len(household)) * 1.0,
    }


def protected(frame, treat, level="household"):
    """Return the protected columns of a survey."""
    return riskcore.protect(
        frame, ["REGION"], household="HH", level=level, k=2, treat=treat
    ).data


def once(frame, name):
    """Return a column with one element for each household, which must agree in it."""
    _, first, of = np.unique(frame["HH"], return_index=True, return_inverse=True)
    column = np.asarray(frame[name])
    assert (column == column[first][of]).all()
    return column[first]


@pytest.mark.parametrize("level", ["household", "record"])
@pytest.mark.parametrize("rule", ["swap:50%", "swap:50%:within=REGION"])
def test_values_of_households_are_exchanged_between_households(rule, level):
    frame = survey()
    safe = protected(frame, {"INCOME": rule}, level)
    before, after = once(frame, "INCOME"), once(safe, "INCOME")
    assert (before != after).mean() > 0.5
    assert (np.sort(before) == np.sort(after)).all()


@pytest.mark.parametrize("level", ["household", "record"])
def test_tails_and_bands_count_households(level):
    frame = survey()
    households = len(once(frame, "INCOME"))
    for rule in ("top:3n", f"top:{300 / households:.6f}%", "top:3n=mean"):
        safe = protected(frame, {"INCOME": rule}, level)
        changed = once(safe, "INCOME") != once(frame, "INCOME")
        assert 2 <= changed.sum() <= 3
    odd = {
        **frame,
        "INCOME": np.where(np.arange(len(frame["HH"])) == 0, 1, frame["INCOME"]),
    }
    top = once(frame, "INCOME").max()
    for rule in (f"top:{top - 10}=mean", f"bands:0,{top}=mean"):
        with pytest.raises(ValueError, match="fewer than 3 values"):
            protected(frame, {"INCOME": rule}, level)
        # One household does not agree: values are of persons, means of households.
        with pytest.raises(ValueError, match="fewer than 3 households"):
            protected(odd, {"INCOME": rule}, level)


def test_groups_count_households_and_values_of_persons_are_treated_by_person():
    frame = survey()
    safe = protected(frame, {"INCOME": "microaggregate:5", "EARNED": "swap:20%"})
    _, size = np.unique(once(safe, "INCOME"), return_counts=True)
    assert size.min() >= 5
    assert sorted(safe["EARNED"]) == sorted(frame["EARNED"])
    assert (safe["EARNED"] != frame["EARNED"]).mean() > 0.5


def test_strata_that_differ_within_households_are_of_persons():
    frame = survey()
    frame["SEX"] = np.arange(len(frame["HH"])) % 2
    safe = protected(frame, {"INCOME": "swap:50%:within=SEX"})
    for sex in (0, 1):
        mine = frame["SEX"] == sex
        assert sorted(safe["INCOME"][mine]) == sorted(frame["INCOME"][mine])


KINDS = {
    "arrays": dict,
    "lists": lambda data: {name: one.tolist() for name, one in data.items()},
    "pandas": pandas.DataFrame,
    "categories": lambda data: pandas.DataFrame(data).astype({"AGE": "category"}),
    "polars": polars.DataFrame,
    "arrow": pyarrow.table,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("column", "rule"),
    [("AGE", "pram:0.5"), ("YEARS", "noise:40%"), ("YEARS", "round:10")],
)
def test_codes_of_treated_keys_are_those_of_their_columns(kind, column, rule):
    draw = np.random.default_rng(2)
    years = draw.integers(0, 99, 300)
    age = np.array([f"{one:03}" if one % 7 else None for one in years], object)
    frame = KINDS[kind]({"AGE": age, "YEARS": years, "SEX": draw.integers(0, 2, 300)})
    keys = [column, "SEX"]
    result = riskcore.protect(
        frame,
        keys,
        k=2,
        treat={column: rule},
        accept={"*": "test"},
        roles={"*": "harmless:test"},
    )
    found = result.treated.recoded(CodedRecords.of(frame, keys)).columns[column]
    made = code_column(Records.of({column: result.treated.columns[column]}), column)
    assert found.codes.tolist() == made.codes.tolist()
    assert found.codes.dtype == made.codes.dtype
    assert found.labels.tolist() == made.labels.tolist()
    assert found.missing == made.missing
    # The risks are those of the treated file, and so are the data beside them.
    assessed = riskcore.assess(result.sets[0].recoded.data, keys)
    assert assessed.individual_risk.tolist() == (
        result.sets[0].recoded.individual_risk.tolist()
    )


def test_text_is_treated_as_text(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("AGE;SEX\n" + "".join(f"{i % 40},5;{i % 2}\n" for i in range(400)))
    result = riskcore.protect(
        path,
        ["AGE", "SEX"],
        k=2,
        treat={"AGE": "bands:10,20.7,30"},
        reading=riskcore.Reading(decimal=","),
        accept={"*": "test"},
        roles={"*": "harmless:test"},
    )
    for data in (result.data, result.sets[0].recoded.data):
        assert {*data["AGE"].to_pylist()} == {"10", "15,3", "25,3", "30"}


@pytest.mark.parametrize("suffix", ["csv", "dta", "sav", "parquet"])
@pytest.mark.parametrize("order", [1, -1])
def test_rules_for_numbers_and_for_categories_follow_each_other(
    tmp_path, suffix, order
):
    pay = np.random.default_rng(3).integers(0, 100_000, 400)
    data = {"SEX": np.arange(400) % 2, "PAY": pay}
    path = formats.write(tmp_path / f"survey.{suffix}", data)
    treat = {"PAY": ["bands:20000,60000", "pram:0.7"][::order]}
    result = riskcore.protect(path, ["SEX"], k=2, treat=treat)
    after = result.treated.after["PAY"]
    assert {*after} == {20_000, 40_000, 60_000}
    kept = np.mean(after == np.select([pay < 20_000, pay < 60_000], [2e4, 4e4], 6e4))
    assert 0.3 < kept < 0.95
