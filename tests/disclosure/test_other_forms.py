"""Columns that are another form of altered numbers find the people of these."""

import numpy as np
import pytest

import riskcore
from riskcore.disclosure.number_links import KnownNumbers, number_links, other_form

N = 1_500
KEYS = ["sex", "age", "area"]


def survey(seed=1):
    """Return three keys and an income."""
    rng = np.random.default_rng(seed)
    data = {
        name: rng.integers(0, k, N) for name, k in zip(KEYS, (2, 4, 5), strict=True)
    }
    return data | {"income": rng.lognormal(10, 0.7, N).round()}, rng


def swapped(data, *names, role="harmless", **options):
    """Return a protected file in which some numbers were exchanged."""
    others = [name for name in data if name not in (*KEYS, *names)]
    roles = dict.fromkeys(names, "numeric") | dict.fromkeys(others, role)
    return riskcore.protect(
        data, KEYS, k=3, sampling_fraction=0.05, roles=roles, secret="1" * 64,
        treat=dict.fromkeys(names, "swap:90%"), **options,
    )  # fmt: skip


FORMS = {
    "thousands": lambda x, rng: np.round(x / 1000, 1),
    "logarithm": lambda x, rng: np.round(np.log(x), 3),
    "tax": lambda x, rng: np.round(np.maximum(x - 9_000, 0) * 0.25),
    "net": lambda x, rng: np.round(0.7 * x - 0.1 * np.maximum(x - 20_000, 0)),
    "noisy": lambda x, rng: np.round(x * rng.normal(1, 0.01, len(x))),
    "distance": lambda x, rng: np.round(np.abs(x - 20_000) / 100),
}


@pytest.mark.parametrize("role", ["sensitive", "harmless"])
@pytest.mark.parametrize("form", FORMS)
def test_another_form_of_an_exchanged_number_is_a_leak(form, role):
    data, rng = survey()
    data[form] = FORMS[form](data["income"], rng)
    result = swapped(data, "income", role=role)
    (leak,) = result.examination.open
    assert (leak.kind, leak.column) == ("numbers", form)
    assert f"{form} (computed from income)" in leak.text
    assert result.state != "safe"
    found = max(one.beyond_chance for one in result.examination.number_links)
    assert found > 0.3 * N
    assert (
        swapped({k: one for k, one in data.items() if k != form}, "income").state
        == "safe"
    )


def test_a_sum_of_exchanged_numbers_is_a_leak():
    data, rng = survey()
    parts = {name: rng.lognormal(8, 0.8, N).round() for name in "abc"}
    total = sum(parts.values())
    total[7] = 1e9  # one wrong value does not hide the others
    (leak,) = swapped(
        {name: data[name] for name in KEYS} | parts | {"total": total}, *"abc"
    ).examination.open
    assert leak.column == "total"
    assert "(computed from a, b, c)" in leak.text


def test_a_correlated_column_is_no_other_form():
    data, rng = survey()
    z = np.log(data["income"])
    for share in (0.5, 0.9, 0.96):
        noise = rng.normal(0, z.std() * np.sqrt(1 / share - 1), N)
        data[f"like_{share}"] = np.exp(z + noise).round()
    data["worked"] = np.where(rng.random(N) < 0.9, 0, rng.integers(1, 60, N))
    data["income"][data["worked"] == 0] = 0.0  # zeros that go with zeros
    for order in (np.arange(N), np.argsort(data["like_0.9"])):
        sorted_ = {name: one[order] for name, one in data.items()}
        links = swapped(sorted_, "income").examination.number_links
        assert links
        assert not any("computed" in str(one) for one in links)


def links_of(numbers, other, own=None, **more):
    key = survey()[0]["area"]
    given = KnownNumbers(
        {"area": (key, key)}, numbers, {}, own,
        others_as_numbers={"other": (other, other)}, **more,
    )  # fmt: skip
    return [one for one in number_links(given) if "computed" in str(one.known[0])]


@pytest.mark.parametrize("own", [None, np.arange(N)])
def test_numbers_that_the_file_lacks_count(own):
    data, _ = survey()
    income = data["income"]
    found = links_of({}, np.round(income / 100), own, absent={"income": income})
    assert max(one.right for one in found) > 0.5 * N
    assert any(one.leaks for one in found)


def test_numbers_that_were_not_altered_link_by_themselves():
    data, rng = survey()
    income, rent = data["income"], rng.lognormal(6, 1, N)
    other, pair = np.round(income / 100), (rent, rng.permutation(rent))
    assert not links_of({"income": (income, income), "rent": pair}, other, np.arange(N))


def test_missing_values_and_few_records():
    data, rng = survey()
    x, gone = data["income"].copy(), rng.random(N) < 0.2
    x[gone] = np.nan
    y = np.round(np.log(data["income"]), 3)
    y[rng.random(N) < 0.2] = np.nan
    of, values = other_form(y, [rng.random(N), x], [0, 1])
    assert of == (1,)
    assert np.isnan(values[gone]).all()
    assert np.nanquantile(np.abs(values - y), 0.9) < 0.01
    many = [rng.random(25) for _ in range(24)]
    assert other_form(y[:25], many, range(24)) is None
    assert other_form(np.full(N, np.nan), [x], [0]) is None


@pytest.mark.parametrize("record_by", ["id", None])
def test_an_audit_sees_the_same(record_by):
    data, rng = survey()
    data |= {"id": np.arange(N), "thousands": np.round(data["income"] / 1000, 1)}
    made = data | {"income": rng.permutation(data["income"])}
    found = riskcore.audit(
        data, made, KEYS, numeric=["income"], target=["thousands"], record_by=record_by
    )
    leaks = {one.known for one in found.number_links if one.leaks}
    assert {*map(str, *leaks)} == {"thousands (computed from income)"}


def test_check_beside_the_original_sees_the_same(tmp_path, run):
    data, _ = survey()
    data["income"] = data["income"].astype(int)
    data["thousands"] = [f"{x:.1f}".replace(".", ",") for x in data["income"] / 1000]
    file, safe = tmp_path / "survey.csv", tmp_path / "safe.csv"
    rows = zip(*data.values(), strict=True)
    lines = [";".join(map(str, row)) for row in [tuple(data), *rows]]
    file.write_text("\n".join(lines) + "\n")
    options = (
        f"--keys {' '.join(KEYS)} --k 3 --sampling-fraction 5% --decimal , --quiet"
    )
    options += " --role income=numeric thousands=harmless --treat income=swap:90%"
    status, out, error = run(
        f"protect {file} {options} --output {safe} --accept thousands=why"
    )
    assert status == 0, error
    record = f"{safe}.private.json"
    status, out, error = run(
        f"check {safe} --original {file} --record {record} --quiet"
    )
    assert "safe except for 1 accepted leak" in out, error
