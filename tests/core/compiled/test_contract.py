"""Contracts, worst points, docstrings and tables of accuracy agree with each other."""

import math
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from flint import arb
from mpmath import mpf, workprec

import riskcore
from riskcore import intruder
from riskcore.core.risk import bounds, household, individual, posterior, prior
from riskcore.core.special.gamma import functions
from tests import reference

references = import_module("bench.references")
search = import_module("bench.search")
CONTRACTS = search.CONTRACTS

ROOT = Path(__file__).parents[3]
POINTS = search.read_worst()
KNOWN = search.worst_first(POINTS)
contracts = pytest.mark.parametrize("name", CONTRACTS)


def ident(point):
    return f"{point.function} {' '.join(x.hex() for x in point.arguments)}"


# --- the points --------------------------------------------------------------------


@pytest.mark.parametrize("point", POINTS, ids=ident)
def test_errors_at_the_worst_points(point):
    # A better implementation lowers them: `python -m bench.search` records that.
    assert search.error_at(*point[:2]) <= point.error + 0.0051
    assert point.error <= (search.promised(point.function) or math.inf)


def test_points_are_written_as_they_are_read(tmp_path, monkeypatch):
    assert POINTS
    written = tmp_path / "points.csv"
    monkeypatch.setattr(search, "DATA", written)
    search.write_worst(POINTS)
    assert search.read_worst() == POINTS
    assert written.read_text() == (ROOT / "bench" / "worst_points.csv").read_text()


def test_a_worse_point_takes_the_place_of_another(tmp_path, monkeypatch):
    points = [search.Worst("f", (float(k),), k / 8, "here") for k in range(1, 6)]
    monkeypatch.setattr(search, "DATA", tmp_path / "points.csv")
    search.write_worst(points)
    assert [point.error for point in search.read_worst()] == [0.625, 0.5, 0.375]
    # All are measured again, and those of the sample join them.
    sample = [search.Worst("f", (9.0,), 0.75, "sample")]
    found = search.measured_again(["f"], sample, lambda name, at: at[0] / 16)
    assert found["f"] == sample[0]
    assert [point.error for point in search.read_worst()] == [0.75, 0.3125, 0.25]


@pytest.mark.parametrize(
    ("error", "text"),
    [(0.8701, "0.88"), (0.87, "0.87"), (0.87004, "0.87"), (0, "0.00")],
)
def test_errors_are_rounded_up(error, text):
    assert search.rounded_up(error) == text


# --- the contracts -----------------------------------------------------------------


@contracts
def test_a_contract_has_the_worst_point_known(name):
    contract = CONTRACTS[name]
    point = KNOWN[name][0]
    assert f"{contract.worst:.2f}" == search.rounded_up(point.error)
    assert tuple(map(float.fromhex, contract.witness)) == point.arguments
    assert contract.worst <= contract.ulps


@contracts
def test_the_witness_has_the_error_stated(name):
    contract = CONTRACTS[name]
    error = search.error_at(name, tuple(map(float.fromhex, contract.witness)))
    assert abs(error - contract.worst) < 0.0151


@pytest.mark.parametrize("contract", individual.CONTRACTS, ids=lambda one: one.function)
def test_the_witness_has_the_error_stated_by_mpmath(contract):
    arguments = [float.fromhex(number) for number in contract.witness]
    computed = float(getattr(riskcore, contract.function)(*arguments))
    with workprec(300):
        exact = getattr(reference, contract.function)(*arguments)
        error = abs(mpf(computed) - exact) / mpf(float(np.spacing(abs(computed))))
    assert abs(float(error) - contract.worst) < 0.0151


@pytest.mark.parametrize("region", search.SUBJECTS["individual_risk"].regions)
def test_arb_and_mpmath_have_the_same_exact_values(region):
    names = "individual_risk", "log_individual_risk", "individual_risk_gradient"
    draw = search.SUBJECTS["individual_risk"].regions[region]
    f, p = draw(np.random.default_rng(1), 600)
    for at in zip(f[::60].tolist(), p[::60].tolist(), strict=True):
        if not (1e-30 < at[0] < 1e6 and at[1] > 1e-30):
            continue  # mpmath would take minutes
        for name in names:
            ball = search.SUBJECTS[name].exact(900, *at)
            other = references.as_ball(getattr(reference, name)(*at))
            assert abs(ball - other) <= abs(ball) * 2.0**-90


def docstring(name):
    for module in (individual, posterior, prior, functions):
        kernel = getattr(module, "UFUNCS", {}).get(name)
        if kernel is not None:
            return getattr(kernel, "doc", "") or kernel.__doc__
    return getattr(intruder, name).__doc__


@pytest.mark.parametrize("name", sorted({one.partition(", ")[0] for one in CONTRACTS}))
def test_the_docstring_has_the_largest_error(name):
    # Of a function with several forms the largest of all.
    ever = max(
        contract.worst
        for label, contract in CONTRACTS.items()
        if label.partition(", ")[0] == name
    )
    stated = re.findall(
        r"largest\s+(?:error\s+)?found\s+(?:is\s+)?([\d.]+)\s+ulp",
        docstring(name),
        re.IGNORECASE,
    )
    assert stated == [f"{ever:.2f}"]


def test_what_is_proved_is_correctly_rounded_or_encloses():
    (rounded,), (enclosed, *directed) = household.CONTRACTS, bounds.CONTRACTS
    assert {one.shown for one in (rounded, enclosed, *directed)} == {"proved"}
    assert rounded.ulps == 0.5
    assert "Correctly rounded" in household.household_risk.__doc__
    at = [float.fromhex(number) for number in enclosed.witness]
    low, high = riskcore.individual_risk_bounds(*at)
    assert (high - low) / np.spacing(low) == enclosed.worst
    assert len(directed) == 2
    for contract in directed:
        at = [float.fromhex(number) for number in contract.witness]
        found = arb(float(getattr(riskcore, contract.function)(*at)))
        exact = references.exact_risk(*at, 400)
        unit = arb(float(np.spacing(float(exact.mid()))))
        # Just below what is promised.
        error = abs(found - exact) / unit
        assert contract.worst - 0.005 < error < contract.worst


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


@pytest.mark.parametrize("group", search.GROUPS)
def test_no_table_has_a_maximum_below_a_known_error(group):
    rows = rows_of(between("bench/results/benches.md", group), "| function |")
    assert list(rows) == search.GROUPS[group]
    for label, row in rows.items():
        ever = row["worst ever found, ulp"]
        assert ever == search.rounded_up(KNOWN[label][0].error)
        assert float(row["worst of the sample, ulp"]) <= float(ever)
        assert row["contract"].endswith(("holds", "none"))


@pytest.mark.parametrize("group", search.GROUPS)
def test_the_page_of_all_regions_has_no_error_above_the_summary(group):
    page = between("bench/accuracy.md", f"{group}_regions")
    sections = dict(part.split("\n", 1) for part in page.split("\n### ")[1:])
    assert list(sections) == search.GROUPS[group]
    for label, text in sections.items():
        rows = rows_of(text, "| region |")
        assert list(rows) == list(search.SUBJECTS[label].regions)
        largest = max(float(row["largest error, ulp"]) for row in rows.values())
        assert largest <= KNOWN[label][0].error + 0.01


def test_the_readme_tells_the_largest_error_ever_found():
    text = " ".join((ROOT / "README.md").read_text().split())
    found = re.search(r"largest error ever found is ([\d.]+) units in the last", text)
    assert found[1] == search.rounded_up(KNOWN["individual_risk"][0].error)
    assert "to the last bit" not in text
