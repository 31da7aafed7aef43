"""Numbers printed in the practice guide of Benschop, Machingauta and Welch."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import riskcore

sys.path.append(str(Path(__file__).resolve().parents[1]))
guide = import_module("bench.guide")
peer = import_module("bench._sdcmicro")


@pytest.fixture(scope="module")
def result():
    return riskcore.assess(guide.TEN, guide.KEYS, "weight")


def test_frequencies_and_risks_of_ten_records(result):
    # Listings code42 and code43.
    cells = result.cells
    f, F = (
        column[cells.inverse]
        for column in (cells.sample_frequency, cells.population_frequency)
    )
    assert f.tolist() == [2, 2, 1, 2, 1, 2, 1, 1, 2, 2]
    assert F.tolist() == [360, 360, 215, 152, 186, 152, 180, 215, 262, 262]
    printed = [
        0.005424520, 0.005424520, 0.025096439, 0.012563425, 0.028247279, 0.012563425,
        0.029010932, 0.025096439, 0.007403834, 0.007403834,
    ]  # fmt: skip
    assert result.individual_risk == pytest.approx(printed, abs=6e-10, rel=0)


def test_the_file_of_ten_records(result):
    # Listings code44, code411, code412 and code413.
    assert [result.below(k).records for k in (2, 3)] == [4, 10]
    assert result.reidentification_rate == pytest.approx(0.01582, abs=5e-6)
    assert result.expected_reidentifications == pytest.approx(0.1582, abs=5e-5)
    assert result.unsafe_count(0.05) == 0


def test_diversity_and_special_uniques_of_ten_records():
    # Listing code46, table tab45.
    diverse = riskcore.diversity(guide.TEN, guide.KEYS, "health").records
    assert list(diverse["health_distinct_l"]) == [1, 1, 1, 2, 1, 2, 1, 1, 2, 2]
    special = riskcore.suda(guide.TEN, guide.KEYS).records
    assert list(special["suda_score"]) == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert list(special["minimal_uniques"])[4] == 4


def test_missing_keys_and_households():
    # Table tab42, and the section on household risk.
    cells = riskcore.tabulate(
        {"sex": list("mmm"), "education": ["complete", "incomplete", None]},
        ["sex", "education"],
        missing="wildcard",
    )
    assert cells.sample_frequency[cells.inverse].tolist() == [2, 2, 3]
    home = riskcore.household_risk([0.02, 0.03, 0.03], [1, 1, 1])
    assert home == pytest.approx(np.full(3, 0.078), abs=5e-4)


def test_the_fewest_values_of_seven_records():
    # Table tab54: sex or education of the first.
    safe = riskcore.protect(guide.SEVEN, list(guide.SEVEN), k=2)
    assert sum(safe.suppressed.values()) == 1
    assert safe.suppressed["region"] == 0


def test_the_riskiest_household_of_the_first_case_study():
    # Step 6a: 5.5 %; appendix C: f = 1, F = 80.05.
    assert float(riskcore.individual_risk(1, 1 / 80.05)) == pytest.approx(
        0.055, abs=5e-4
    )


@pytest.mark.parametrize("name", guide.RECODED)
def test_counts_after_recoding(name):
    # Listing code943.
    before, mapping, after = guide.RECODED[name]
    codes = np.repeat([str(code) for code in before], list(before.values()))
    rule = riskcore.Recoding.mapping(mapping)
    found = np.unique(
        riskcore.recode({name: codes}, {name: rule})[name], return_counts=True
    )
    assert dict(zip(*(one.tolist() for one in found), strict=True)) == after


def test_sdcmicro_is_left_out_where_it_is_not(monkeypatch):
    monkeypatch.delenv(peer.VARIABLE, raising=False)
    assert peer.VARIABLE in peer.lacking()
    monkeypatch.setenv(peer.VARIABLE, "somewhere")
    monkeypatch.setattr(peer.shutil, "which", lambda name: None)
    assert "R is not installed" in peer.lacking()
