"""Numbers that may be codes: named by `describe`, refused by treatments."""

import warnings

import numpy as np
import pytest

import riskcore
from riskcore.data.files.labels import Labels
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.profile import profile
from tests.accepted import ANY_LEAK

RNG = np.random.default_rng(1)
INCOME = np.round(np.exp(RNG.normal(9.5, 0.8, 1000)))
COUNT = RNG.poisson(4, 1000)
SCALE = RNG.integers(1, 6, 1000)
LOSSES = np.where(RNG.random(1000) < 0.1, -INCOME / 3, INCOME).round()
HOURS = RNG.normal(38, 10, 1000).round().clip(0, 80)
AGES = RNG.integers(0, 96, 1000)
RENTS = RNG.normal(70, 25, 2000).round().clip(5) * 10


def among(numbers, *codes):
    """Return numbers with ten of each code."""
    mixed = np.array(numbers, float)
    for place, code in enumerate(codes):
        mixed[10 * place : 10 * place + 10] = code
    return mixed


def named(numbers, labels=None):
    """Return the codes that are named, in ascending order."""
    values = {"X": {str(code): "a label" for code in labels or ()}}
    column = profile({"X": numbers}, ["X"], labels=Labels(values=values))[0]
    return sorted(float(code.text) for code in column.codes)


@pytest.mark.parametrize(
    ("numbers", "codes", "labels"),
    [
        (INCOME, [999998], []),
        (INCOME, [999997, 999999], []),
        (INCOME, [-444, -333], []),
        (INCOME, [-8, -2, -1], []),
        (INCOME + 3000, [-2, -1], [-2, -1]),
        (INCOME, [-99, 9999999], []),
        (COUNT, [98, 99], []),
        (COUNT, [999], []),
        (COUNT, [-2147483648], []),
        (COUNT, [32767], []),
        (COUNT, [998, 999], [998, 999]),
        (COUNT, [9990], [9990]),
        (COUNT % 4, [9], [9]),
        (SCALE, [9], [1, 2, 3, 4, 5, 9]),
        (RNG.integers(0, 180, 1000), [996, 997, 998, 999], []),
        (RNG.normal(15, 5, 1000).round(1), [-9999, -8888], []),
        (RNG.normal(25, 4, 1000).round(1), [99.9], []),
        (np.append(INCOME, [400000, 650000, 3e6]), [999998], []),
        (np.append(INCOME, 3e6), [99999], [99999]),
        (COUNT, [-9, -8, -2, -1], []),
        (SCALE, [-1], [-1, 1, 2, 3, 4, 5]),
        (LOSSES, [-2, -1], []),
        (LOSSES, [-9, -8], []),
        (LOSSES, [-99], []),
        (LOSSES, [-1], []),
        (HOURS, [-1], []),
        (HOURS, [-9, -8, -7, -2, -1], []),
        (HOURS, [97, 98, 99], []),
        (HOURS, [99], []),
        (AGES, [-1], []),
        (AGES, [97, 98, 99] * 6, []),
        (AGES.clip(18, 85), [98, 99], []),
        (INCOME, [9999999999999], []),
        (INCOME, [888888888888888], []),
        (COUNT, [65535], []),
        (COUNT % 2 + 1, [8, 9], []),
        (COUNT % 2, [9], []),
        (RNG.normal(15, 5, 1000).round(1), [9.969209968386869e36], []),
        (RNG.normal(15, 5, 1000).round(1), [-1e30], []),
        (INCOME, [-(3.4028234663852886 * 10**38)], []),
        (INCOME, [1.7976931348623157e308], []),
    ],
)
@pytest.mark.parametrize("text", [False, True])
def test_codes_are_named(numbers, codes, labels, text):
    numbers = among(numbers, *codes)
    if text and not labels:
        numbers = [f"{number}" for number in numbers]
    assert named(numbers, labels) == pytest.approx(sorted({*codes}), rel=1e-12)


@pytest.mark.parametrize(
    ("numbers", "labels"),
    [
        (np.minimum(RNG.integers(0, 104, 2000), 99), []),
        (np.append(RNG.integers(18, 85, 300), [88, 99]), []),
        (np.append(INCOME, [500000] * 4), []),
        (np.minimum(INCOME, 40000), []),
        (np.minimum(3 * INCOME, 99999), []),
        (np.minimum(RNG.integers(0, 96, 1000), 97), [97]),
        (np.minimum(COUNT, 10), [0, 10]),
        (np.where(COUNT > 4, INCOME + 3000, 0), [0]),
        (np.append(SCALE, 9), []),
        (RNG.integers(-5, 35, 500), []),
        (RNG.normal(0, 50000, 500).round(), []),
        (RNG.integers(1920, 2020, 500), []),
        (np.round(RNG.pareto(1, 5000) * 1000), []),
        (RNG.choice([9.99, 19.99, 99.99, 199.99, 499.99], 500), []),
        (SCALE, [1, 2, 3, 4, 5]),
        (SCALE - 3, [-2, -1, 0, 1, 2]),
        (SCALE + 4, [5, 6, 7, 8, 9]),
        ([-9, -5, -1, 0, 2, 5, 12], []),
        (RNG.integers(1, 400, 500), range(1, 390)),
        (RNG.integers(0, 11, 500), [0, 10]),
        (RNG.integers(88, 100, 500), []),
        (among(RNG.choice([0.99, 4.99, 9.99, 14.95, 59.99], 1000), 99.99), []),
        (among(RNG.choice([49, 99, 149, 199, 299, 399, 599], 500), 999), []),
        (among(RENTS, 444, 555, 888), []),
        (np.append(RENTS, [666] * 130), []),  # taxes of Boston
        (np.append(COUNT, 444), []),
        (np.append(INCOME, [1e6] * 5), []),
        (np.append(INCOME, [100000] * 30), []),
        (RNG.normal(8, 6, 1000).round(), []),
        (RNG.normal(12, 5, 1000).round().clip(-3), []),
        (np.round(RNG.normal(0, 300, 1000)) * 10, []),
        (AGES, []),
        (HOURS, []),
        (RNG.integers(0, 101, 1000), []),
    ],
)
def test_ordinary_amounts_are_left_alone(numbers, labels):
    assert named(numbers, labels) == []


@pytest.mark.parametrize("code", [99.9, -99.9, 999998])
@pytest.mark.parametrize("holder", ["f4", "f4 in f8"])
def test_codes_of_32_bits_are_named_as_written(code, holder):
    numbers = among(RNG.normal(15, 5, 1000).round(1), code).astype("f4")
    numbers = numbers.astype(holder[-2:])
    assert named(numbers) == [code]


@pytest.mark.parametrize(
    "rule", ["top:1%", "bottom:1%", "round:10", "noise:10%", "swap:5%"]
)
def test_a_treatment_stops_at_codes_and_names_them(rule):
    data = {"SEX": np.arange(1000) % 2, "INCOME": among(INCOME, 999998)}

    def protect(rule):
        return riskcore.protect(
            data, ["SEX"], threshold=1, treat={"INCOME": rule}, **ANY_LEAK
        )

    with pytest.raises(
        ValueError, match=r"999998 \(10 .*--na INCOME=999998 .*:numbers"
    ):
        protect(rule)
    treated = protect(f"{rule}:numbers").data["INCOME"]
    assert np.nanmax(treated) > 9e5 or rule == "top:1%"


def test_a_recoding_by_quantiles_stops_at_codes():
    data = {"INCOME": among(INCOME, 999998)}
    for rule in ("99%", "1%"):
        side = {"99%": "top", "1%": "bottom"}[rule]
        recoding = riskcore.Recoding.top_bottom(**{side: rule})
        with pytest.raises(ValueError, match=r"999998 .* give the bound itself"):
            riskcore.recode(data, {"INCOME": recoding})


@pytest.mark.parametrize(
    ("rule", "doubted"),
    [
        ("from:0,1000,5000", True),
        ("top:60000", True),
        ("round:1000", True),
        ("map:1=2,*=3", True),
        ("bottom:500", False),
        ("from:1000,999998=a,b,unknown", False),
        ("map:999998=0,*=0", False),
    ],
)
@pytest.mark.parametrize("text", [False, True])
def test_a_recoding_that_counts_codes_as_amounts_is_doubted(rule, doubted, text):
    amounts = among(INCOME, 999998)
    data = {"INCOME": [f"{x:.0f}" for x in amounts] if text else amounts}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        riskcore.recode(data, {"INCOME": rule})
    said = [str(one.message) for one in caught]
    assert any("--na INCOME=999998" in one for one in said) == doubted


def test_a_key_with_a_code_is_doubted():
    with pytest.warns(DoubtfulCodes, match=r"99999 \(10 records\)"):
        riskcore.assess({"RELIGION": among(SCALE, 99999)}, ["RELIGION"])


def test_describe_names_codes_with_their_labels_also_beside_a_role():
    data = {"INCOME": among(INCOME, 999998)}
    found = riskcore.describe(data, roles={"INCOME": "numeric"})
    assert "given; may be codes: 999998 (10 records)" in found._repr_html_()
    assert found.to_dict()["columns"][0]["may_be_codes"][0]["records"] == 10
