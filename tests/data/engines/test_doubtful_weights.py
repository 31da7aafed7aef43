"""Weights of another scale, zero weights, and codes among weights."""

import duckdb
import numpy as np
import polars
import pytest

import riskcore

N = 600
RNG = np.random.default_rng(1)
DATA = {"sex": RNG.integers(1, 3, N), "age": RNG.integers(2, 9, N)}
W = RNG.gamma(4, 90, N) + 20
MEAN_1 = W / W.mean()
PART = np.arange(N) % 4 == 0


def assess(w, scale=None, holder=polars.DataFrame):
    reading = None if scale is None else riskcore.Reading(weight_scale=scale)
    return riskcore.assess(
        holder({**DATA, "w": w}),
        ["sex", "age"],
        "w",
        population="weights",
        reading=reading,
    )


SCALED = {
    "thirteen decimals": np.round(W * 5e11),
    "three decimals": np.round(W * 15e3),
    "DHS": np.round(MEAN_1 * 1e6),
    "DHS, a region": np.round(MEAN_1[:300] * 0.93e6).repeat(2),
    "DHS, self-weighting": np.full(N, 1_000_000),
    "mean 1, four decimals": np.round(MEAN_1 * 1e4),
    "multiples of 100": np.round(W) * 100,
    "a part times 10^4": np.where(PART, np.round(W * 1e4), np.round(W)),
    "a part times 10^3": np.where(PART, W * 1e3, W),
    "a constant part": np.where(PART, 346e4, 346),
    "a code": np.where(PART, 9999, np.round(W)),
    "a code far away": np.where(np.arange(N) == 7, 99999999, W),
}


def duckdb_relation(data):
    """Return data as a relation of duckdb."""
    return duckdb.connect().from_arrow(polars.DataFrame(data).to_arrow())


@pytest.mark.parametrize("case", SCALED)
@pytest.mark.parametrize("times", [1, 500])
def test_scaled_weights_are_refused_until_confirmed(case, times):
    w = np.tile(SCALED[case], times)
    data = {"sex": np.tile(DATA["sex"], times), "w": w}
    said = set()
    for holder in (polars.DataFrame, polars.LazyFrame, duckdb_relation):
        with pytest.raises(ValueError, match="--weight-scale 1 ") as refused:
            riskcore.tabulate(holder(data), ["sex"], "w")
        said.add(str(refused.value))
    assert len(said) == 1
    assert assess(SCALED[case], 1).weights.records == N


CALIBRATED = np.round(MEAN_1 * 100).astype(int)
CALIBRATED[:100] += (100 * N - CALIBRATED.sum()) // 100
CALIBRATED[0] += 100 * N - CALIBRATED.sum()
ORDINARY = {
    "people": W, "whole": np.round(W), "1 in 100": np.full(N, 100),
    "1 in 1000": np.full(N, 1000.0), "a round total": MEAN_1 * 1000, "a poll": MEAN_1,
    "a census": np.ones(N, int), "strata": np.where(PART, 1500, 2500),
    "a census beside a sample": np.where(PART, 1, 1000),
    "a large country": np.full(N, 1.45e9 / N) + W / 1e3,
    "nearly all of a stratum": np.where(PART, 1 + W / W.max() * 0.3, 1500),
    "twelve strata": (np.arange(N) % 12 + 1) * 100,
    "twelve strata, rounded": np.round(W, -2) + 100,
    "up to 999": np.minimum(np.round(W), 999), "1 in 10,000": np.full(N, 10_000),
    "whole, of the mean 100": CALIBRATED,
    "whole, of the mean 1000": CALIBRATED * 10 + np.where(PART, 3, -1),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDINARY)
@pytest.mark.filterwarnings(
    "ignore::riskcore.assessment.cell_risk.PopulationBelowSample"
)
def test_ordinary_weights_are_taken(case):
    for holder in (polars.DataFrame, polars.LazyFrame):
        assert assess(ORDINARY[case], holder=holder).weights.records == N


def test_a_mean_of_one_with_two_decimals_is_remarked():
    for case in ("whole, of the mean 100", "whole, of the mean 1000"):
        assert "a record stands for 1" in assess(ORDINARY[case]).summary()
    assert "decimals" not in assess(ORDINARY["1 in 100"]).summary()


def test_an_engine_names_negative_codes():
    w = np.where(np.arange(300_000) % 3 == 0, -9.0, 100.0)
    with pytest.raises(ValueError, match="-9: codes, not weights"):
        riskcore.tabulate(polars.LazyFrame({"k": w, "w": w}), ["k"], "w")


@pytest.mark.filterwarnings(
    "ignore::riskcore.assessment.cell_risk.PopulationBelowSample"
)
def test_a_scale_gives_the_bits_of_scaled_weights():
    stored = np.round(MEAN_1 * 1e6)
    found, known = assess(stored, 1e-6), assess(stored * 1e-6)
    held = assess(stored, 1e-6, polars.LazyFrame)
    for other in (known, held):
        assert np.array_equal(
            np.sort(other.cells.population_frequency),
            np.sort(found.cells.population_frequency),
        )
    assert found.records["w"].to_list() == stored.tolist()


@pytest.mark.filterwarnings(
    "ignore::riskcore.assessment.cell_risk.PopulationBelowSample"
)
@pytest.mark.parametrize("holder", [polars.DataFrame, polars.LazyFrame])
def test_records_without_a_weight_count_in_f(holder):
    data = holder({"a": [1, 1, 2, 2, 3], "w": [0.0, 50.0, 0.0, 0.0, 20.0]})
    found = riskcore.assess(data, ["a"], "w")
    cells = found.cells
    assert cells.sample_frequency.tolist() == [2, 2, 1]
    assert cells.population_frequency.tolist() == [50, 0, 20]
    assert cells.sampling_fraction.tolist() == [0.04, 1.0, 0.05]
    risks = {row["a"]: row["individual_risk"] for row in found.riskiest(3)}
    assert risks[2] == 0.5
    assert 0 < risks[1] < risks[3] < 0.5
    assert found.weights.zero == 3


def test_all_zero_and_negative_weights():
    with pytest.raises(ValueError, match="all 600 are zero"):
        assess(np.zeros(N))
    with pytest.raises(ValueError, match=r"150 negative .* -0\.5: codes, not weights"):
        assess(np.where(PART, -0.5, W), 1)


def test_a_file_is_protected_and_compared_with_zero_weights():
    w = np.where(PART, 0, np.round(W, 2))
    made = riskcore.protect({**DATA, "w": w}, ["sex", "age"], "w", k=60)
    assert made.sets[0].protected.k_anonymity >= 60
    found = riskcore.compare(
        {**DATA, "w": w}, made.data, ["sex", "age"], "w", tables=["sex x age"]
    )
    assert 0 <= found.key("age").total_variation <= 1


@pytest.mark.parametrize("rule", ["microaggregate:4", "top:3%=mean"])
def test_a_mean_is_also_of_records_without_a_weight(rule):
    income = np.sort(W) + 1 / 3
    w = np.where(np.arange(N) % 4 == 0, W, 0)
    made = riskcore.protect(
        {**DATA, "income": income, "w": w},
        ["sex"],
        "w",
        k=2,
        treat={"income": rule},
    )
    after = np.asarray(made.data["income"])
    assert not np.isin(after[after != income], income).any()
    assert (after != income).sum() >= 5


def test_a_large_file_of_waves_that_alternate_is_refused():
    w = np.random.default_rng(1).lognormal(0, 0.3, 300_000)
    w[1::2] *= 1_000
    with pytest.raises(ValueError, match="another scale"):
        riskcore.assess({"k": np.arange(len(w)) % 50, "w": w}, ["k"], "w")
