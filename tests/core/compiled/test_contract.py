"""Contracts, worst points, docstrings and tables of accuracy agree with each other."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from mpmath import mpf, workprec

import riskcore
from riskcore import intruder
from riskcore.accuracy import reference
from riskcore.core.risk import bounds, household, individual, posterior, prior
from riskcore.core.special.gamma import functions
from riskcore.intruder import acquaintances, keys, risk, subpopulations, uniques

accuracy = import_module("bench.accuracy")
worst = import_module("bench.worst")
ERROR_AT = {
    "individual": (individual, accuracy.error_at),
    "posterior": (posterior, import_module("bench.posterior").error_at),
    "prior": (prior, import_module("bench.prior").error_at),
    "functions": (functions, import_module("bench.models_accuracy").error_at),
    **{
        module.__name__: (module, import_module("bench.intruder").error_at)
        for module in (acquaintances, keys, risk, subpopulations, uniques)
    },
}

ROOT = Path(__file__).parents[3]
CONTRACTS = {
    contract.function: (contract, error_at)
    for module, error_at in ERROR_AT.values()
    for contract in module.CONTRACTS
}
POINTS = worst.read()
KNOWN = worst.worst_first(POINTS)
contracts = pytest.mark.parametrize("name", CONTRACTS)


def promised(label):
    """Return the largest error that a function promises at such points, in ulp."""
    name, _, apart = label.partition(", ")
    if apart and label not in CONTRACTS:
        return accuracy.promised(name)
    return CONTRACTS[label if label in CONTRACTS else name][0].ulps


def ident(point):
    return f"{point.function} {' '.join(x.hex() for x in point.arguments)}"


# --- the points --------------------------------------------------------------------


@pytest.mark.parametrize("point", POINTS, ids=ident)
def test_errors_at_the_worst_points(point):
    # A better implementation lowers them; bench/README.md tells how to record that.
    name = point.function
    if name not in CONTRACTS:
        name = name.partition(", ")[0]
    error = CONTRACTS[name][1](name, point.arguments)
    assert error <= point.error + 0.0051
    assert point.error <= promised(point.function)


def test_points_are_written_as_they_are_read(tmp_path, monkeypatch):
    assert POINTS
    written = tmp_path / "points.csv"
    monkeypatch.setattr(worst, "DATA", written)
    worst.write(POINTS)
    assert worst.read() == POINTS
    assert written.read_text() == (ROOT / "bench" / "worst_points.csv").read_text()


def test_a_worse_point_takes_the_place_of_another(tmp_path, monkeypatch):
    points = [worst.Worst("f", (float(k),), k / 8, "here") for k in range(1, 6)]
    monkeypatch.setattr(worst, "DATA", tmp_path / "points.csv")
    worst.write(points)
    assert [point.error for point in worst.read()] == [0.625, 0.5, 0.375]
    # All are measured again, and those of the sample join them.
    sample = [worst.Worst("f", (9.0,), 0.75, "sample")]
    found = worst.measured_again(["f"], lambda name, at: at[0] / 16, sample)
    assert found["f"] == sample[0]
    assert [point.error for point in worst.read()] == [0.75, 0.3125, 0.25]
    worst.measured_again(["f"], lambda name, at: 0.0, keep=False)
    assert worst.read()[0].error == 0.75


@pytest.mark.parametrize(
    ("error", "text"),
    [(0.8701, "0.88"), (0.87, "0.87"), (0.87004, "0.87"), (0, "0.00")],
)
def test_errors_are_rounded_up(error, text):
    assert worst.rounded_up(error) == text


# --- the contracts -----------------------------------------------------------------


@contracts
def test_a_contract_has_the_worst_point_known(name):
    contract, _ = CONTRACTS[name]
    point = KNOWN[name][0]
    assert f"{contract.worst:.2f}" == worst.rounded_up(point.error)
    assert tuple(map(float.fromhex, contract.witness)) == point.arguments
    assert contract.worst <= contract.ulps


@contracts
def test_the_witness_has_the_error_stated(name):
    contract, error_at = CONTRACTS[name]
    error = error_at(name, tuple(map(float.fromhex, contract.witness)))
    assert abs(error - contract.worst) < 0.0151


@pytest.mark.parametrize("contract", individual.CONTRACTS, ids=lambda one: one.function)
def test_the_witness_has_the_error_stated_by_mpmath(contract):
    arguments = [float.fromhex(number) for number in contract.witness]
    computed = float(getattr(riskcore, contract.function)(*arguments))
    with workprec(300):
        exact = getattr(reference, contract.function)(*arguments)
        error = abs(mpf(computed) - exact) / mpf(float(np.spacing(abs(computed))))
    assert abs(float(error) - contract.worst) < 0.0151


def docstring(name):
    for module, _ in ERROR_AT.values():
        kernel = getattr(module, "UFUNCS", {}).get(name)
        if kernel is not None:
            return getattr(kernel, "doc", "") or kernel.__doc__
    return getattr(intruder, name).__doc__


@pytest.mark.parametrize("name", sorted({one.partition(", ")[0] for one in CONTRACTS}))
def test_the_docstring_has_the_largest_error(name):
    # Of a function with several forms the largest of all.
    ever = max(
        contract.worst
        for label, (contract, _) in CONTRACTS.items()
        if label.partition(", ")[0] == name
    )
    stated = re.findall(
        r"largest\s+(?:error\s+)?found\s+(?:is\s+)?([\d.]+)\s+ulp",
        docstring(name),
        re.IGNORECASE,
    )
    assert stated == [f"{ever:.2f}"]


def test_what_is_proved_is_correctly_rounded_or_encloses():
    (rounded,), (enclosed,) = household.CONTRACTS, bounds.CONTRACTS
    assert (rounded.shown, enclosed.shown) == ("proved", "proved")
    assert rounded.ulps == 0.5
    assert "Correctly rounded" in household.household_risk.__doc__
    at = [float.fromhex(number) for number in enclosed.witness]
    low, high = riskcore.individual_risk_bounds(*at)
    assert (high - low) / np.spacing(low) == enclosed.worst


# --- the tables --------------------------------------------------------------------


def rows_of(text, first):
    """Return the cells of a table's rows by function, from the row of titles on."""
    lines = text[text.index(first) :].partition("\n\n")[0].splitlines()
    titles, _, *rows = [[x.strip() for x in line.split("|")[1:-1]] for line in lines]
    found = {row[0]: dict(zip(titles, row, strict=True)) for row in rows}
    assert found
    return found


def between(path, name):
    text = (ROOT / path).read_text()
    return text.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]


TABLES = {
    "bench/README.md, accuracy": ("bench/README.md", "accuracy", accuracy.LABELS),
    "bench/README.md, posterior": (
        "bench/README.md",
        "posterior",
        [contract.function for contract in posterior.CONTRACTS],
    ),
    "bench/README.md, prior": (
        "bench/README.md",
        "prior",
        [contract.function for contract in prior.CONTRACTS],
    ),
    "bench/README.md, intruder": (
        "bench/README.md",
        "intruder",
        list(import_module("bench.intruder").CASES),
    ),
    "bench/README.md, models": (
        "bench/README.md",
        "models_accuracy",
        [contract.function for contract in functions.CONTRACTS],
    ),
}


@pytest.mark.parametrize("place", TABLES)
def test_no_table_has_a_maximum_below_a_known_error(place):
    path, name, labels = TABLES[place]
    rows = rows_of(between(path, name), "| function |")
    assert list(rows) == list(labels)
    for label, row in rows.items():
        ever = row["worst ever found, ulp"]
        assert ever == worst.rounded_up(KNOWN[label][0].error)
        assert float(row["worst of the sample, ulp"]) <= float(ever)
        assert row.get("contract", "holds").endswith("holds")


def test_the_page_of_all_regions_has_the_same_summary():
    page = (ROOT / "bench" / "accuracy.md").read_text()
    summary = rows_of(between("bench/README.md", "accuracy"), "| function |")
    assert rows_of(page, "| function |") == summary
    largest = rows_of(page.partition("\n## individual_risk\n")[2], "| region |")
    known = KNOWN["individual_risk"][0].error
    assert all(
        float(row["largest error, ulp"]) <= known + 0.01 for row in largest.values()
    )


def test_the_readme_tells_the_largest_error_ever_found():
    text = " ".join((ROOT / "README.md").read_text().split())
    found = re.search(r"largest error ever found is ([\d.]+) units in the last", text)
    assert found[1] == worst.rounded_up(KNOWN["individual_risk"][0].error)
    assert "to the last bit" not in text


def test_the_page_of_the_sweep_has_no_larger_error_than_the_points_known():
    summary = between("bench/README.md", "sweep")
    found = max(
        float(row["largest error, ulp"])
        for row in rows_of(summary, "| points |").values()
    )
    assert found <= KNOWN["individual_risk"][0].error + 0.0005
