"""The weights of a file: their figures, what is doubtful, and a sampling fraction."""

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import polars
import pytest

import riskcore
from riskcore.assessment.cell_risk import PopulationBelowSample
from riskcore.assessment.weight_figures import (
    WeightFigures,
    weight_remarks,
    weights_text,
)
from riskcore.data import source
from riskcore.data.coded import CodedRecords
from riskcore.data.engines.counting import Question
from riskcore.data.engines.groups import Groups
from riskcore.data.source import Source

WEIGHTS = np.array([0.5, 20.0, 30.0, 12.25, 1.0])
DATA = {
    "sex": ["f", "m", "f", "m", "f", "f"],
    "age": [31, 47, 31, 47, 52, 31],
    "hh": [1, 2, 1, 3, 3, 4],
}


def figures_of(weights):
    return WeightFigures.of(weights, math.fsum(weights))


def test_the_figures():
    found = figures_of(WEIGHTS)
    exact = [Fraction(w) for w in WEIGHTS]
    effect = 5 * sum(w * w for w in exact) / sum(exact) ** 2
    assert found.design_effect == pytest.approx(float(effect), rel=1e-15)
    assert found.total == sum(exact)
    assert (found.smallest, found.largest, found.ratio) == (0.5, 30.0, 60.0)
    assert (found.records, found.below_one) == (5, 1)
    assert found.sampling_fraction == 5 / 63.75
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    text = weights_text(found.to_dict())
    assert text == "0.5 to 30, ratio 60, design effect 1.79"


def test_equal_and_huge_weights():
    equal = figures_of(np.full(7, 0.1))
    assert equal.design_effect == 1.0
    assert weights_text(equal.to_dict()) == "0.1 each"
    assert figures_of(np.array([1e139, 2e139])).design_effect == pytest.approx(10 / 9)
    huge = figures_of(np.array([1e140, 2e140]))
    assert huge.design_effect is None
    assert weights_text(huge.to_dict()) == "1e+140 to 2e+140, ratio 2"


def test_tiny_weights():
    tiny = figures_of(np.array([1e-320, 1e-320, 1.0]))
    assert tiny.ratio == math.inf
    assert tiny.to_dict()["ratio"] is None
    assert weights_text(tiny.to_dict()) == "9.99989e-321 to 1, design effect 3"
    none = figures_of(np.array([1e-320, 2e-320]))
    assert none.design_effect is None
    assert none.to_dict()["sampling_fraction"] is None
    data = {"k": [1, 2], "w": [1e-320, 2e-320]}
    with pytest.warns(PopulationBelowSample):
        text = riskcore.assess(data, ["k"], "w", sampling_fraction=0.1).summary()
    assert "10 % as given\n" in text


@pytest.mark.parametrize(
    ("weights", "fraction", "words"),
    [
        ([2.0, 3.0], None, []),
        ([1.0, 3.0], None, []),
        ([2.0, 3.0], 0.4, []),
        ([2.0, 3.0], 0.39, []),  # within 5 %
        ([2.0, 3.0], 0.3, ["By the weights 40 % of", "sampling fraction 30 %"]),
        ([0.5, 0.9, 8.0], None, ["2 weights are below 1, the smallest 0.5: "]),
        ([0.5, 1.5], None, ["1 weight is below 1", "add up to the number of records"]),
        ([1.0, 1.0], None, ["add up to the number of records"]),
        ([2.0, 2000.0], None, ["The weights differ a lot, 2 to 2,000, ratio 1,000"]),
        ([2.0] * 99 + [200.0], None, ["design effect 25.5"]),
    ],
)
def test_what_is_doubtful(weights, fraction, words):
    found = " ".join(weight_remarks(figures_of(np.array(weights)), fraction))
    assert bool(found) == bool(words)
    for each in words:
        assert each in found


def test_no_weights():
    (sentence,) = weight_remarks(None)
    assert "the sample is taken for the population" in sentence
    assert weight_remarks(None, 0.01) == []


# Sampling fractions


@pytest.mark.parametrize(
    "more", [{}, {"missing": "wildcard"}, {"household": "hh"}, {"method": "series7"}]
)
def test_a_sampling_fraction_is_a_column_of_equal_weights(more):
    keys = ["sex", "age"]
    found = riskcore.assess(DATA, keys, sampling_fraction=0.01, **more)
    weighted = riskcore.assess({**DATA, "w": [100.0] * 6}, keys, "w", **more)
    assert (
        found.cells.population_frequency == weighted.cells.population_frequency
    ).all()
    assert (found.individual_risk == weighted.individual_risk).all()
    assert found.cells.weighted
    for name, values in found.records.items():
        assert list(values) == list(weighted.records[name])


def test_households_count_once():
    data = {"size": ["2", "2", "1"], "hh": [7, 7, 3]}
    found = riskcore.assess(
        data, ["size"], household="hh", level="household", sampling_fraction=0.25
    )
    assert found.cells.population_frequency.tolist() == [4.0, 4.0]
    assert found.summary().count("each record counts for 4 people") == 1


def test_a_lazy_frame():
    lazy = polars.LazyFrame(DATA)
    found = riskcore.assess(lazy, ["sex", "age"], sampling_fraction=0.01)
    known = riskcore.assess(DATA, ["sex", "age"], sampling_fraction=0.01)
    assert found.reidentification_rate == known.reidentification_rate
    keys = ["sex", "age", "population_frequency", "individual_risk"]
    rows = found.records.collect().select(keys).rows()
    expected = zip(*(known.records[key] for key in keys), strict=True)
    assert sorted(rows) == sorted(expected)


def test_weights_on_an_engine():
    lazy = polars.LazyFrame({**DATA, "w": [0.5, 2.0, 3.0, 4.0, 5.0, 6.5]})
    found = riskcore.assess(lazy, ["sex"], "w", sampling_fraction=0.5).weights
    assert found == WeightFigures(6, 21.0, 0.5, 6.5, 1, None)
    assert weights_text(found.to_dict()) == "0.5 to 6.5, ratio 13"
    assert "1 weight is below 1, the smallest 0.5" in weight_remarks(found)[0]


def test_files_in_batches_give_the_figures_of_memory(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    weights = rng.lognormal(3, 1, 3000)
    data = polars.DataFrame({"sex": rng.integers(0, 2, 3000), "w": weights})
    path = tmp_path / "file.parquet"
    data.write_parquet(path, row_group_size=700)
    held = Source.of(path, None).in_batches([["sex"]], "w")
    assert held is None  # small files are read
    monkeypatch.setattr(source, "IN_BATCHES", 1)
    held = Source.of(path, None).in_batches([["sex"]], "w")
    found = riskcore.assess(held, ["sex"], "w").weights
    known = riskcore.assess(data, ["sex"], "w").weights
    assert found == known
    assert found.design_effect > 2
    huge = dataclasses.replace(held.weigh(Question((), "w")), high=1e141)
    assert WeightFigures.on_engine(huge, 1e145).design_effect is None


def test_rows_that_an_engine_counted():
    codes = CodedRecords.of({"sex": ["f", "m"]}, ["sex"])
    groups = Groups(None, np.array([3, 2]), None, ())
    rows = CodedRecords(5, codes.columns, counted=groups).sampled(0.5)
    assert rows.counted.weight_sum(np.array([0, 1]), 2).tolist() == [6.0, 4.0]
    assert rows.weights.tolist() == [6.0, 4.0]


def test_weights_come_first():
    data = {**DATA, "w": [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]}
    found = riskcore.assess(data, ["sex"], "w", sampling_fraction=0.1)
    known = riskcore.assess(data, ["sex"], "w")
    assert found.max_risk == known.max_risk
    text = found.summary()
    assert "10 % as given, 22.2 % by the weights" in text
    assert "By the weights 22.2 % of the population were sampled" in text
    assert (
        CodedRecords.of(data, ["sex"], "w").sampled(0.1).weights.tolist() == data["w"]
    )


def test_the_summary_of_a_file_without_weights():
    text = riskcore.assess(DATA, ["sex"]).summary()
    assert "There are no weights: the sample is taken for the population." in text
    text = riskcore.assess(DATA, ["sex"], sampling_fraction=0.001).summary()
    assert "There are no weights" not in text
    assert "0.1 %: each record counts for 1,000 people" in text
    assert "6,000.0, the records over the sampling fraction" in text


@pytest.mark.parametrize("fraction", [0, 1.01, -1])
def test_fractions_that_are_refused(fraction):
    with pytest.raises(ValueError, match="need a share of the population in"):
        riskcore.assess(DATA, ["sex"], sampling_fraction=fraction)
