"""Files for other projects are current, parse by their rules, and have right values."""

import csv
import hashlib
import re
import sys
from importlib import import_module
from pathlib import Path

import mpmath
import numpy as np
import pyarrow.parquet as pq
import pytest

import riskcore

sys.path.append(str(Path(__file__).resolve().parents[1]))
gifts = import_module("bench.gifts")
tables = import_module("bench.tables")

INPUTS, OUTPUTS = (gifts.TABLES / f"{x}_d_d_d_d-d.parquet" for x in ("In", "Out"))
ERRORS, LOOSE = sorted(gifts.TABLES.glob("Err_d_d_d_d-d_*.parquet"))


def columns(path):
    return [column.to_numpy() for column in pq.read_table(path).columns]


def test_tables_are_of_the_points_of_the_bench():
    a, b, c, z = columns(INPUTS)
    assert (a == 1).all()
    assert (b == 1).all()
    assert np.array_equal([c, z], gifts.points())


def test_tables_say_what_xsref_asks_for():
    """Columns, types, checksums and metadata, as xsref's own tests compare them."""
    files = (INPUTS, OUTPUTS, ERRORS, LOOSE)
    known = {path: pq.read_schema(path) for path in files}
    for schema in known.values():
        about = schema.metadata
        assert (about[b"in"], about[b"out"], about[b"function"]) == (
            b"dddd",
            b"d",
            b"hyp2f1",
        )
    assert known[INPUTS].names == ["in0", "in1", "in2", "in3"]
    assert known[OUTPUTS].names == ["out0", "fallback"]
    assert known[ERRORS].names == known[LOOSE].names == ["err0"]
    checksum = {x: hashlib.sha256(x.read_bytes()).hexdigest() for x in known}
    for path in (OUTPUTS, ERRORS):
        said = known[path].metadata[b"input_checksum"].decode()
        assert said == checksum[INPUTS]
    said = known[ERRORS].metadata[b"output_checksum"].decode()
    assert said == checksum[OUTPUTS]
    assert len({len(pq.read_table(path)) for path in known}) == 1


def test_values_are_the_nearest_doubles():
    """mpmath has no part in them."""
    _, _, c, z = columns(INPUTS)
    value, fallback = columns(OUTPUTS)
    assert not fallback.any()
    tried = np.flatnonzero((c < 1000) & (z < 1))[::7]
    assert len(tried) > 80
    for i in tried:
        with mpmath.workdps(60):
            right = mpmath.hyp2f1(1, 1, mpmath.mpf(c[i]), mpmath.mpf(z[i]))
        assert value[i] == float(right), (c[i], z[i])


def test_values_are_those_of_the_risk():
    """f r/p is off by two roundings, where p = 1 - z and f = c - 1 are exact."""
    _, _, c, z = columns(INPUTS)
    value, _ = columns(OUTPUTS)
    exact = (z >= 0.5) & (z < 1) & (((c - 1) + 1 == c) & (c >= 2))
    f, p = (c - 1)[exact], (1 - z)[exact]
    ours = riskcore.individual_risk(f, p) / p * f
    assert exact.sum() > 300
    assert (np.abs(ours / value[exact] - 1) < 5e-16).all()


def test_errors_are_infinite_where_nothing_finite_comes_back():
    (error,), (loose,) = columns(ERRORS), columns(LOOSE)
    assert (loose >= 4 * error).all()
    assert (loose > 0).all()
    assert np.isinf(error).any()
    assert not np.isnan(error).any()
    assert gifts.extended_error(np.nan, 1.0) == gifts.extended_error(np.inf, 1.0)
    assert gifts.extended_error(1.5, 1.0) == 0.5


def parts():
    """Return the lines of the hard cases by what they are near to."""
    found = {}
    for line in gifts.HARD.read_text().splitlines():
        if line.startswith("# hard to round to nearest"):
            near = found.setdefault("midpoint", [])
        elif line.startswith("# hard to round up or down"):
            near = found.setdefault("double", [])
        elif not line.startswith("#"):
            near.append(line)
    return found


def test_hard_cases_are_those_that_are_known():
    with gifts.DATA.open() as file:
        rows = list(csv.DictReader(line for line in file if line[0] != "#"))
    for near, lines in parts().items():
        known = {f"{row['f']},{row['p']}" for row in rows if row["near"] == near}
        written = [line.partition(" ")[0] for line in lines]
        assert len(written) == len(set(written))
        assert set(written) == known
        pairs = [tuple(map(float.fromhex, one.split(","))) for one in written]
        assert pairs == sorted(pairs)
    assert len(parts()) == 2


def test_hard_cases_parse_as_lines_of_core_math():
    number = r"0x[01]\.[0-9a-f]{13}p[+-]\d+"
    for line in (*parts()["midpoint"], *parts()["double"]):
        assert re.fullmatch(rf"{number},{number} # \d+", line)


@pytest.mark.parametrize(
    ("f", "p", "same"), [(1.0, 1 - 2.0**-53, 54), (2.0, 2.0**-980, 916)]
)
def test_identical_bits_are_counted(f, p, same):
    """By the closed forms of f = 1 and 2, and the distance to a midpoint or double."""
    with mpmath.workprec(4000):
        odds = mpmath.mpf(p) / (1 - mpmath.mpf(p))
        r = -odds * mpmath.log(p)
        if f == 2:
            r = odds * (1 - r)
        ulp = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(r, 2)) - 52)
        rest = 2 * (r / ulp) % 1  # after the round bit
        zeros = -mpmath.floor(mpmath.log(min(rest, 1 - rest), 2)) - 1
    assert gifts.identical_bits(f, p) == same == zeros


def test_every_report_has_a_program():
    assert sorted(gifts.reports()) == sorted(tables.GIFTS)
    assert {tool for tool, _ in gifts.reports().values()} == set(gifts.RUNNERS)
    for name in tables.GIFTS:
        assert re.fullmatch(r"```text\n(?:.+\n)+```\n", shown(name)), name


def shown(name):
    """Return what the page shows below a program."""
    page = gifts.PAGE.read_text()
    return page.partition(f"<!-- {name} -->\n")[2].partition("<!-- /")[0]


def test_right_values_on_the_page_are_right():
    """Arb and our risk say so; the programs take mpmath, and a series in R."""
    number = r"([-\d.e]+)"
    gauss = rf"^{number} {number} \S+ right: {number}$"
    for name, near in (("gift_scipy_1", False), ("gift_scipy_2", True)):
        rows = re.findall(gauss, shown(name), re.MULTILINE)
        assert len(rows) == 4
        for c, z, right in (map(float, row) for row in rows):
            value = gifts.gauss(c, 1 - z if near else z)
            assert right == pytest.approx(value, rel=2e-15)
    risks = {
        "gift_argus_1": (rf"^{number} {number} \S+ right: {number} ", 6, 1e-14),
        "gift_sdcmicro_1": (
            rf"^f = {number} p = {number}: \S+ right: {number}",
            4,
            1e-6,
        ),
        "gift_sdcmicro_2": (rf"^{number} {number} : \S+ right: {number}", 4, 1e-6),
    }
    for name, (pattern, count, rel) in risks.items():
        rows = re.findall(pattern, shown(name), re.MULTILINE)
        assert len(rows) == count, name
        for f, p, right in (map(float, row) for row in rows):
            assert right == pytest.approx(riskcore.individual_risk(f, p), rel=rel)
