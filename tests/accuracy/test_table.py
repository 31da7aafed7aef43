"""Error tables: their errors, what they refuse, how they are drawn and written."""

import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import riskcore
from riskcore import accuracy
from riskcore.accuracy import names, reference
from riskcore.core import published_forms as forms
from riskcore.data.files import formats

ERRORS = ["value", "exact", "relative_error", "ulp_error"]
COLUMNS = ["sample_frequency", "sampling_fraction", "form", *ERRORS]
FOUND = [
    *("form", "points", "largest_relative_error", *COLUMNS[:2]),
    *("largest_ulp_error", "share_correctly_rounded", "share_not_finite"),
]


def fraction(x):
    sign, mantissa, exponent, _ = x._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


# The errors


def assert_errors(table, exact):
    """Compare the errors with those of exact rational arithmetic."""
    for i, r in enumerate(map(fraction, exact)):
        value = Fraction(float(table["value"][i]))
        assert table["exact"][i] == float(r)
        ulp = Fraction(math.ulp(float(r)))
        if float(r) > r and math.frexp(float(r))[0] == 0.5:
            ulp /= 2  # r lies below the power of two that it rounds to
        found = table["relative_error"][i], table["ulp_error"][i]
        wanted = (value - r) / r, (value - r) / ulp
        assert found == tuple(pytest.approx(float(x), rel=1e-14) for x in wanted)


def test_errors_agree_with_arb(method, cells, exact):
    f, p = cells(40, method)
    table = accuracy.error_table(["franconi", "individual_risk"], f, p, paired=True)
    values = [exact("individual_risk", *point) for point in zip(f, p, strict=True)]
    assert_errors(table, 2 * values)


def test_subnormal_risks_are_counted_in_their_spacing(enclosed):
    f, p = np.array([3.0, 7.0, 40.5, 2.0]), np.array([5e-324, 1e-322, 3e-321, 1e-309])
    values = [enclosed("individual_risk", *point) for point in zip(f, p, strict=True)]
    table = accuracy.error_table({"none": lambda f, p: 0 * f}, f, p, paired=True)
    assert_errors(table, values)
    assert table["relative_error"].tolist() == [-1.0] * 4


def test_ulp_is_that_of_the_exact_value():
    # r(1/2, p) rounds to 2 from below, where the doubles are half as far apart.
    p = 1 - 2.0**-53
    table = accuracy.error_table({"two": lambda f, p: 1 / f}, 0.5, p)
    assert table["exact"] == [2.0]
    gap = 2 - fraction(reference.individual_risk(0.5, p))
    assert table["ulp_error"] == pytest.approx(float(gap * 2**52), rel=1e-12)


def test_kernel_is_within_its_contract():
    p = accuracy.grid(1e-9, 1 - 1e-9, 40, "logit")
    table = accuracy.error_table("individual_risk", [0.3, 1, 2, 7, 20, 50, 2e3], p)
    assert np.abs(table["ulp_error"]).max() < 4
    assert accuracy.summary(table)["share_not_finite"] == [0.0]


@pytest.mark.parametrize(
    ("name", "f", "percent"),
    [("series7", 4, -0.606), ("series7", 10, -0.0041), ("franconi", 3, 4.03)],
)
def test_known_errors(name, f, percent):
    p = accuracy.grid(1e-9, 0.999, 300, "logit")
    found = accuracy.summary(accuracy.error_table(name, f, p))
    assert 100 * found["largest_relative_error"][0] == pytest.approx(percent, rel=0.01)


def test_not_finite_values_are_told():
    table = accuracy.error_table(["binomial_sum", "closed_form"], [10, 2.5], 1e-40)
    value, relative = table["value"], table["relative_error"]
    assert not np.isfinite(value).any()
    assert np.array_equal(value, relative, equal_nan=True)
    assert np.array_equal(value, table["ulp_error"], equal_nan=True)
    found = accuracy.summary(table)
    assert found["share_not_finite"].tolist() == [1.0, 1.0]
    assert np.isnan(found["largest_relative_error"]).all()
    assert np.isnan(found["sample_frequency"]).all()


def test_infinite_values():
    signs = {"inf": lambda f, p: f / 0, "-inf": lambda f, p: -f / 0}
    table = accuracy.error_table(signs, 1, 0.5)
    for name in ("value", "ulp_error"):
        assert table[name].tolist() == [math.inf, -math.inf]


def test_summary_finds_the_largest_of_the_finite():
    values = {0.25: math.nan, 0.5: 0.1, 0.75: 9.0}

    def mine(f, p):
        return np.array([values[x] for x in p.tolist()])

    found = accuracy.summary(accuracy.error_table(mine, 1, list(values)))
    r = float(riskcore.individual_risk(1, 0.75))
    assert list(found) == FOUND
    assert found["form"] == ["mine"]
    assert found["points"] == [3]
    assert found["largest_relative_error"] == pytest.approx(9 / r - 1)
    assert (found["sample_frequency"], found["sampling_fraction"]) == ([1.0], [0.75])
    assert found["share_not_finite"] == pytest.approx(1 / 3)
    assert found["share_correctly_rounded"] == [0.0]


# Points and forms


def test_every_frequency_meets_every_fraction():
    table = accuracy.error_table(["franconi", "series7"], [5, 1, 5], [0.5, 0.1])
    assert list(table) == COLUMNS
    assert table["form"].tolist() == ["franconi"] * 4 + ["series7"] * 4
    assert table["sample_frequency"].tolist() == [1, 1, 5, 5] * 2
    assert table["sampling_fraction"].tolist() == [0.1, 0.5] * 4
    assert np.array_equal(table["exact"][:4], table["exact"][4:])


def test_pairs_stay_as_they_are():
    table = accuracy.error_table("franconi", [5, 1, 5], [0.5, 0.1, 0.5], paired=True)
    assert table["sample_frequency"].tolist() == [5, 1, 5]
    assert table["sampling_fraction"].tolist() == [0.5, 0.1, 0.5]


F, P = np.array([2.0, 4.0, 9.0]), np.array([0.1, 0.5, 0.9])


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("truncated:7", lambda f, p: forms.truncated(f, p, 7)),
        ("truncated:0", lambda f, p: p / f),
        ("adaptive:1e-6", lambda f, p: forms.adaptive(f, p, 1e-6)),
        ("adaptive:1e-3:sufficient", lambda f, p: forms.adaptive(f, p, 1e-3)),
        ("adaptive:.1:published", lambda f, p: forms.adaptive(f, p, 0.1, "published")),
        ("individual_risk", riskcore.individual_risk),
        *((name, getattr(forms, name)) for name in names.PUBLISHED),
    ],
)
def test_names(name, form):
    table = accuracy.error_table(name, F, P)
    expected = form(table["sample_frequency"], table["sampling_fraction"])
    assert np.array_equal(table["value"], expected, equal_nan=True)
    assert set(table["form"]) == {name}


def test_every_known_name_works():
    names = [name.replace("J", "3").replace("EPS", "0.01") for name in accuracy.FORMS]
    found = accuracy.summary(accuracy.error_table(names, 2, [0.2, 0.4]))
    assert found["form"].tolist() == names
    assert np.abs(found["largest_relative_error"]).max() < 0.3


def test_scipy():
    table = accuracy.error_table("scipy", [3, 200], [0.001, 0.5])
    assert np.isfinite(table["value"]).tolist() == [True, True, False, True]
    assert np.abs(table["relative_error"][[0, 1, 3]]).max() < 1e-13


def test_functions_and_their_names():
    def low(f, p):
        return p / f

    table = accuracy.error_table([low, forms.series7], 4, 0.5)
    assert table["form"].tolist() == ["low", "series7"]
    named = accuracy.error_table({"a": low, "b": "series7"}, 4, 0.5)
    assert named["form"].tolist() == ["a", "b"]
    assert np.array_equal(named["value"], table["value"])


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ("seris7", ["unknown form 'seris7'; did you mean series7", *accuracy.FORMS]),
        ("", ["unknown form ''", *accuracy.FORMS]),
        ("sufficient_order", ["unknown form"]),
        ("truncated", ["need truncated:J"]),
        ("truncated:1:2", ["need truncated:J"]),
        ("truncated:-1", ["'-1' is not a whole number from 0 to 10000000"]),
        ("truncated:1.5", ["'1.5' is not a whole number"]),
        ("truncated:10000001", ["not a whole number from 0 to 10000000"]),
        ("adaptive", ["need adaptive:EPS, adaptive:EPS:published"]),
        ("adaptive:x", ["'x' is not a number between 0 and 1"]),
        ("adaptive:1", ["'1' is not a number between 0 and 1"]),
        ("adaptive:nan", ["'nan' is not a number between 0 and 1"]),
        ("adaptive:0.1:best", ["'sufficient' or 'published', not 'best'"]),
        ("series7:3", ["series7 takes no argument"]),
        (["franconi", "franconi"], ["forms given twice: franconi"]),
        ([lambda f, p: f, lambda f, p: p], ["given twice: <lambda>; a mapping"]),
        ([], ["forms is empty"]),
    ],
)
def test_refused_forms(names, parts):
    with pytest.raises(ValueError, match=re.escape(parts[0])) as error:
        accuracy.error_table(names, 2, 0.5)
    for part in parts:
        assert part in str(error.value)


def test_a_function_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"form 'mean' returned \(\) values"):
        accuracy.error_table({"mean": lambda f, p: np.mean(p)}, 1, [0.1, 0.5])


def test_progress():
    seen = []
    accuracy.error_table(
        "franconi", 4, np.linspace(0.5, 1, 150), progress=lambda *at: seen.append(at)
    )
    assert seen == [(0, 150), (64, 150), (128, 150)]


# Frames


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
)
def test_frames(backend, kind):
    names, p = ["binomial_sum", "series7"], [1e-40, 0.5]
    table = accuracy.error_table(names, [4, 10], p, backend=backend)
    plain = accuracy.error_table(names, [4, 10], p)
    assert isinstance(table, kind)
    for name in COLUMNS:
        column = np.asarray(table[name])
        assert np.array_equal(column, plain[name], equal_nan=name != "form")
    found = accuracy.summary(table)
    assert isinstance(found, kind)
    assert accuracy.plain(found) == accuracy.plain(accuracy.summary(plain))


def test_an_unknown_backend_is_refused_before_the_work():
    with pytest.raises(ValueError, match="backend"):
        accuracy.error_table(lambda f, p: pytest.fail("late"), 1, 0.5, backend="excel")


def test_summary_of_a_table_without_errors():
    with pytest.raises(KeyError, match="form"):
        accuracy.summary({"value": [1.0]})


# Grids


@pytest.mark.parametrize(
    ("start", "stop", "scale"),
    [
        (0.001, 0.9, "log"),
        (5e-324, 1.0, "log"),
        (5e-324, 1 - 2**-53, "logit"),
        (0.1, 0.7, "linear"),
        (1, 1e6, "whole"),
    ],
)
def test_grids(start, stop, scale):
    numbers = accuracy.grid(start, stop, 40, scale)
    assert (numbers[0], numbers[-1]) == (start, stop)
    assert (np.diff(numbers) > 0).all()
    assert len(numbers) == (40 if scale != "whole" else len(set(numbers)))


# Text


def test_fractions_near_one_are_told_apart():
    p = [0.9999, 1 - 1e-8, 1 - 2**-53, 1]
    _, *lines = accuracy.plain(accuracy.error_table("franconi", 1, p)).splitlines()
    shown = [line.split()[1] for line in lines]
    assert shown == ["0.9999", "1-1e-08", "1-1.11e-16", "1"]


def test_names_cannot_break_a_table():
    table = accuracy.error_table({"a|b": "franconi"}, 1, 0.5)
    assert r"| a\|b |" in accuracy.markdown(table)
    assert "  a|b  " in accuracy.plain(table)


# Pictures


@pytest.fixture
def map_table():
    p = accuracy.grid(1e-4, 0.9999, 12, "logit")
    return accuracy.error_table(["binomial_sum", "series7"], [*range(1, 10), 400], p)


def test_heat_map(map_table):
    figure = accuracy.plot(map_table)
    first, second, scale = figure.axes
    assert [axes.get_title() for axes in (first, second)] == ["binomial_sum", "series7"]
    assert (first.get_xscale(), first.get_yscale()) == ("logit", "log")
    assert first.get_xlabel() == "sampling fraction p"
    assert first.get_ylabel() == "sample frequency f"
    assert scale.get_ylabel() == "|relative error|"
    assert [text.get_text() for text in figure.legends[0].texts] == ["not finite"]
    (cells,) = first.collections
    drawn = cells.get_array()
    assert drawn.shape == (10, 12)
    chosen = map_table["form"] == "binomial_sum"
    expected = map_table["relative_error"][chosen].reshape(10, 12)
    assert np.array_equal(drawn.mask, ~np.isfinite(expected))
    assert drawn.mask[-1].any()
    assert np.array_equal(drawn.compressed(), np.abs(expected[~drawn.mask]))


def test_a_map_of_finite_values_has_no_hatching(map_table):
    chosen = map_table["form"] == "series7"
    table = {name: values[chosen] for name, values in map_table.items()}
    assert accuracy.plot(table).legends == []


def test_maps_far_out(tmp_path):
    p = accuracy.grid(1e-250, 1 - 2**-53, 12, "logit")
    table = accuracy.error_table("series7", [*range(1, 9), 1e100], p)
    accuracy.write(tmp_path / "map.png", table)


def test_refused_pictures():
    n = np.arange(1, 10)
    pairs = accuracy.error_table("franconi", n, 1 / n, paired=True)
    with pytest.raises(ValueError, match="there are 9 of 9 x 9"):
        accuracy.plot(pairs)
    with pytest.raises(ValueError, match="there are 4 of 1 x 4"):
        accuracy.plot(accuracy.error_table("franconi", 1, [0.1, 0.2, 0.3, 0.4]))


def test_without_matplotlib(monkeypatch, map_table, tmp_path):
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        accuracy.plot(map_table)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        accuracy.check_writable(tmp_path / "errors.png")


def test_import_is_light(python):
    loaded = set(python("import sys, riskcore.accuracy; print(*sys.modules)").split())
    assert loaded.isdisjoint({"numba", "matplotlib", "scipy", "pandas", "pyarrow"})


# Files


@pytest.mark.parametrize("name", ["e.csv", "e.tsv", "e.csv.gz", "e.parquet"])
def test_tables_are_written_to_the_last_bit(tmp_path, name):
    table = accuracy.error_table(
        ["binomial_sum", "series7"], [3, 10], [1e-40, 0.3], backend="polars"
    )
    path = accuracy.write(tmp_path / name, table)
    written = formats.read(path)
    assert written.column_names == COLUMNS
    assert written["form"].to_pylist() == table["form"].to_list()
    for column in set(COLUMNS) - {"form"}:
        texts = written[column].to_pylist()  # of Parquet, numbers
        got = [math.nan if text is None else float(text) for text in texts]
        assert np.array_equal(got, table[column].to_numpy(), equal_nan=True)


def test_markdown_file(tmp_path):
    table = accuracy.error_table("franconi", [3, 4], 0.5)
    text = accuracy.write(tmp_path / "e.md", table).read_text()
    assert text.startswith("| form | points |")
    assert text.endswith(f"\n\n{accuracy.markdown(table)}\n")


PDF = pytest.param("pdf", b"%PDF", marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), PDF]
)
def test_picture_files(tmp_path, map_table, suffix, start):
    path = accuracy.write(tmp_path / f"e.{suffix}", map_table)
    assert path.read_bytes().startswith(start)


def test_files_are_replaced_only_if_told(tmp_path):
    table = accuracy.error_table("franconi", 3, 0.5)
    path = tmp_path / "e.md"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"e\.md: already exists"):
        accuracy.write(path, table)
    assert path.read_text() == "mine"
    accuracy.write(path, table, overwrite=True)
    assert path.read_text().startswith("| form")


def test_a_failed_write_leaves_nothing(tmp_path, map_table):
    with pytest.raises(ValueError, match=r"e\.xls: can write \.csv"):
        accuracy.write(tmp_path / "e.xls", map_table)
    with pytest.raises(FileNotFoundError, match="no such directory"):
        accuracy.write(tmp_path / "no" / "e.png", map_table)
    n = np.arange(1, 12)
    pairs = accuracy.error_table("franconi", n, 1 / n, paired=True)
    with pytest.raises(ValueError, match="a heat map needs"):
        accuracy.write(tmp_path / "e.png", pairs)
    assert list(tmp_path.iterdir()) == []
