"""Published figures: mu-Argus's demonstration files, CASC (2004), section 7."""

import json

import numpy as np
import pytest

from riskcore import assess, individual_risk_from_frequencies, protect
from riskcore.core import published_forms as forms
from tests import needs

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]

pytestmark = needs.demodata

FILE = needs.DEMODATA / "Demodata.asc"
# Printed, and the digits that an independent computation adds to them.
RATE = pytest.approx(0.019563754, abs=5e-10)
RATE_OF_SERIES = pytest.approx(0.019563555, abs=5e-10)
THRESHOLD = pytest.approx(0.0012519035, abs=5e-11)


FIGURES = {
    "records": 4000,
    "cells": 3450,
    "reidentification_rate": RATE,
    "expected_reidentifications": pytest.approx(78.255, abs=5e-4),
    "max_risk": pytest.approx(0.042298383, abs=5e-10),
    "unsafe_records": [{"threshold": 0.00125, "records": 3968}],
    "population": pytest.approx(1010466.10, abs=5e-3),
}


@pytest.fixture
def assessed(run):
    """Run ``riskcore assess`` on a file; return what it prints."""

    def command(name, options):
        line = "--keys REGION SEX AGE MARSTAT"
        status, out, err = run(f"assess {needs.DEMODATA / name} {line} {options}")
        assert (status, err) == (0, "")
        return out

    return command


def suppressed(**options):
    """Protect the recoded file by the threshold of the report."""
    how = {"threshold": 0.00125, "recodings": RECODINGS, "population": "weights"}
    return protect(FILE, KEYS, **how | options)


@pytest.mark.parametrize("name", ["Demodata.asc", "Demofree.asc"])
def test_from_python(name):
    result = assess(needs.DEMODATA / name, KEYS)
    assert (result.cells.n, len(result.cells)) == (4000, 3450)
    assert (result.cells.sample_frequency == 1).sum() == 3014
    assert result.reidentification_rate == RATE
    assert result.expected_reidentifications == pytest.approx(78.255, abs=5e-4)
    assert result.max_risk == pytest.approx(0.042298383, abs=5e-10)
    assert result.unsafe(0.00125).sum() == result.unsafe_count(0.00125) == 3968
    assert result.risk_threshold(rate=0.00125) == THRESHOLD
    # Any threshold in (0.0011942283, 0.0014064757] makes 3968 records unsafe.
    assert result.risk_threshold(unsafe=3968) == pytest.approx(0.0014064757, abs=5e-11)
    assert result.unsafe_count(result.risk_threshold(unsafe=3968)) == 3968


def test_the_two_formats_give_the_same_bits():
    fixed, free = (
        assess(needs.DEMODATA / f"{name}.asc", KEYS)
        for name in ("Demodata", "Demofree")
    )
    assert fixed.individual_risk.tobytes() == free.individual_risk.tobytes()


def test_formula_of_mu_argus():
    result = assess(FILE, KEYS, method="series7")
    assert result.reidentification_rate == RATE_OF_SERIES
    assert result.expected_reidentifications == pytest.approx(78.254, abs=5e-4)
    assert result.unsafe_count(0.00125) == 3968
    assert result.risk_threshold(rate=0.00125) == pytest.approx(0.00125192, abs=5e-9)


def test_formula_of_sdcmicro_is_above():
    exact = assess(FILE, KEYS)
    upper = assess(FILE, KEYS, method="franconi")
    assert 1e-6 < upper.reidentification_rate / exact.reidentification_rate - 1 < 0.01


@pytest.mark.parametrize("name", ["Demodata.asc", "Demofree.asc"])
def test_from_the_command(assessed, name):
    options = "--json --threshold 0.00125 --rate 0.125% --unsafe 3968"
    found = json.loads(assessed(name, options))
    assert {one: found[one] for one in FIGURES} == FIGURES
    assert found["for_rate"]["threshold"] == THRESHOLD
    assert found["for_unsafe"]["records"] == 3968


RECODINGS = {"REGION": needs.DEMODATA / "Region.grc", "AGE": needs.DEMODATA / "Age.grc"}
# Suppressed values by method of the risk and costs, those of series7 as printed.
SUPPRESSED = {
    ("series7", "equal"): (375, 0, 11, 7),
    ("series7", "entropy"): (0, 146, 0, 247),
    ("exact", "equal"): (379, 0, 11, 7),
}


@pytest.mark.parametrize("suppression", ["exact", "argus"])
@pytest.mark.parametrize(("method", "cost"), SUPPRESSED)
def test_suppression(method, cost, suppression):
    result = suppressed(method=method, cost=cost, suppression=suppression)
    assert tuple(result.suppressed.values()) == SUPPRESSED[method, cost]
    assert result.goals_met


@pytest.mark.parametrize("rule", ["wildcard", "category"])
@pytest.mark.parametrize("method", ["series7", "exact"])
def test_after_suppression(method, rule):
    result = suppressed(method=method, cost="equal", missing=rule)
    codes = np.stack(
        [np.unique(result.recoded.data[key], return_inverse=True)[1] for key in KEYS]
    )
    weights = np.array(result.recoded.data["WEIGHT"], float)
    lost = np.stack([result.masks[key] for key in KEYS])
    risk = np.zeros(len(weights))
    for kind in np.unique(lost, axis=1).T:
        at = np.all(lost == kind[:, None], axis=0)
        _, cell = np.unique(codes[~kind], axis=1, return_inverse=True)
        f, F = np.bincount(cell.ravel()) * 1.0, np.bincount(cell.ravel(), weights)
        each = individual_risk_from_frequencies(f, F)
        if method == "series7":
            each = forms.series7(f, f / F)
        risk[at] = each[cell.ravel()[at]]
    assert result.protected.individual_risk == pytest.approx(risk, rel=1e-12)
    assert result.protected.reidentification_rate == pytest.approx(risk.mean())
    assert risk.max() < 0.00125
    assert result.goals_met


@pytest.mark.parametrize(
    ("method", "rate", "unsafe", "capped"),
    [
        ("exact", 0.001248512, 397, 0.00043093),
        ("series7", 0.001248256, 393, 0.00043080),
    ],
)
def test_before_and_after_recoding(method, rate, unsafe, capped):
    result = suppressed(method=method, cost=dict.fromkeys(KEYS, np.inf))
    before, after = (
        result.sets[0].comparison()[stage] for stage in ("original", "recoded")
    )
    assert (before["cells"], after["cells"]) == (3450, 499)
    assert (before["unsafe_records"], after["unsafe_records"]) == (3968, unsafe)
    assert (before["sample_uniques"], after["sample_uniques"]) == (3014, 114)
    assert after["reidentification_rate"] == pytest.approx(rate, abs=5e-10)
    assert after["capped_rate"] == pytest.approx(capped, abs=5e-9)
    assert before["max_risk"] == after["max_risk"]
    assert not result.goals_met


def test_the_safe_file_of_mu_argus(figures, tmp_path):
    target = tmp_path / "safe.saf"
    options = "--threshold 0.00125 --method series7 --recode"
    recodings = [f"{name}={path}" for name, path in RECODINGS.items()]
    roles = "--keys REGION SEX AGE MARSTAT"
    roles += " --role '*=harmless:a test' --accept '*=a test'"
    line = f"protect {FILE} {roles} --output {target} {options}"
    record = figures(line, *recodings)
    assert record["suppressed"] == dict(zip(KEYS, (375, 0, 11, 7), strict=True))
    again = assess(target, KEYS, method="series7", missing="wildcard")
    assert (again.cells.n, again.unsafe_count(0.00125)) == (4000, 0)
    assert again.reidentification_rate == pytest.approx(0.00027218, abs=5e-9)
