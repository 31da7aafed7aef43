"""SUDA: scores, DIS and contributions of small files, by their definitions."""

import json
import math
import random
import re
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore.assessment import minimal_uniques
from riskcore.assessment.suda import score_of_sizes, suda

# Four keys and three values at most: records 3 to 6 are sample unique.
SURVEY = {
    "sex": ["f", "f", "f", "m", "m", "m", "f", "f"],
    "age": [30, 30, 30, 30, 40, 40, 50, 50],
    "job": ["a", "a", "b", "a", "a", "b", "b", "b"],
    "region": [1, 1, 1, 1, 1, 1, 2, 2],
}
KEYS = list(SURVEY)


def minimal_sets(rows, max_size):
    """Return the minimal sets of keys of each row, by the definition."""
    found = []
    for row in rows:
        sets = []
        for size in range(1, max_size + 1):
            for keys in combinations(range(len(row)), size):
                alike = sum(all(row[k] == o[k] for k in keys) for o in rows)
                if alike == 1 and not any(set(s) <= set(keys) for s in sets):
                    sets.append(keys)
        found.append(sets)
    return found


def paths(m, k, M):
    """Count the ways to add keys to a set of k, one by one, until it has M."""
    return 1 if k == M else (m - k) * paths(m, k + 1, M)


def score(sets, m, M):
    return float(sum(paths(m, len(keys), M) for keys in sets))


@pytest.mark.parametrize("max_size", [1, 2, 3, 4])
def test_scores_of_the_survey(max_size):
    rows = list(zip(*SURVEY.values(), strict=True))
    sets = minimal_sets(rows, max_size)
    found = suda(SURVEY, KEYS, max_size)
    expected = [score(each, 4, max_size) for each in sets]
    assert found.records["suda_score"].tolist() == expected
    assert found.records["minimal_uniques"].tolist() == list(map(len, sets))
    named = [[tuple(KEYS[k] for k in keys) for keys in each] for each in sets]
    assert [found.sets_of(r) for r in range(len(rows))] == named
    least = [min(map(len, each), default=0) for each in sets]
    assert found.records["smallest_unique"].tolist() == least


def test_elliot_scores_of_six_keys():
    # (m-k)!/(m-M)!: of six keys and sets of at most three.
    assert score_of_sizes(6, 3) == [20.0, 4.0, 1.0]
    assert score_of_sizes(8, 8) == [math.factorial(8 - k) for k in range(1, 9)]


files = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.sampled_from(["a", "b", None])] * width), min_size=1, max_size=12
    )
)


@given(files, st.integers(1, 5))
def test_any_small_file(rows, max_size):
    m = len(rows[0])
    M = min(m, max_size)
    data = {f"k{j}": list(column) for j, column in enumerate(zip(*rows, strict=True))}
    found = suda(data, list(data), max_size, fraction=0.25, missing="category")
    sets = minimal_sets(rows, M)
    scores = np.array([score(each, m, M) for each in sets])
    assert found.records["suda_score"].tolist() == scores.tolist()
    uniques = sum(rows.count(row) == 1 for row in rows)
    pairs = sum(rows.count(row) == 2 for row in rows)
    assert (found.uniques, found.pairs) == (uniques, pairs)
    if uniques or pairs:
        dis = uniques * 0.25 / (uniques * 0.25 + pairs * 0.75)
        assert found.dis == pytest.approx(dis, rel=1e-15)
    if scores.any():
        scaled = found.records["dis_suda_score"]
        assert scaled.sum() / uniques == pytest.approx(found.dis, rel=1e-14)
        assert scaled == pytest.approx(scores * (scaled.sum() / scores.sum()))
        total = scores.sum()
        for j, share in enumerate(found.contributions()["share"]):
            by_hand = sum(
                score([keys], m, M) for each in sets for keys in each if j in keys
            )
            assert share == pytest.approx(by_hand / total, rel=1e-14)
        table = found.value_contributions()
        for key, value, records, part in zip(
            table["key"], table["value"], table["records"], table["score"], strict=True
        ):
            j = int(key[1:])
            having = [each for row, each in zip(rows, sets, strict=True)
                      if row[j] == value]  # fmt: skip
            assert records == len(having)
            assert part == sum(
                score([keys], m, M) for each in having for keys in each if j in keys
            )
    json.dumps(found.summary(), allow_nan=False)
    assert found.text()


def test_dis_of_skinner_and_elliot():
    # 4 sample uniques, 4 records in pairs: 4p/(4p + 4(1-p)) = p.
    found = suda(SURVEY, KEYS, fraction=0.1)
    assert (found.uniques, found.pairs) == (4, 4)
    assert found.dis == pytest.approx(0.1, rel=1e-15)
    assert math.isnan(suda(SURVEY, KEYS).dis)
    assert "dis_suda_score" not in suda(SURVEY, KEYS).records


def test_the_fraction_follows_from_weights():
    data = {**SURVEY, "w": [2.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 6.0]}
    found = suda(data, KEYS, weight="w")
    assert found.fraction == 0.25
    # 4 sample uniques; the weights of the pairs are 4, each for 3 others.
    assert found.dis == 4 / (4 + 4 * 3)
    with pytest.raises(ValueError, match="not both"):
        suda(data, KEYS, weight="w", fraction=0.1)
    with pytest.raises(ValueError, match="8 records add to 8"):
        suda({**SURVEY, "w": [1.0] * 8}, KEYS, weight="w")


def test_each_step_is_said():
    said = []
    suda({**SURVEY, "same": [1] * 8}, [*KEYS, "same"], progress=said.append)
    assert said == [
        "counting cells", "trying sets of keys",
        *(f"trying 15 sets of keys, {done / 15:.1%} done" for done in range(1, 16)),
    ]  # fmt: skip


@pytest.mark.parametrize("keys", [30, 60])
@pytest.mark.parametrize("max_size", [None, 25])
def test_what_would_take_hours_is_refused_with_what_does_not(keys, max_size):
    draw = np.random.default_rng(keys)
    data = {f"k{key}": draw.integers(0, 3, 40) for key in range(keys)}
    with pytest.raises(ValueError, match=rf"{keys} keys have .* sets of up to") as said:
        minimal_uniques.minimal_uniques(
            *_codes(data), keys if max_size is None else max_size
        )
    fits = int(re.search(r"max_size=(\d+),", str(said.value))[1])
    assert 2 <= fits < 25
    suda(data, list(data), 2)
    with pytest.raises(ValueError, match=f"max_size={fits}"):
        suda(data, list(data), max_size)


def _codes(data):
    columns = np.unique(np.array(list(data.values())), axis=1).astype(np.uint8)
    frequency = np.ones(columns.shape[1], np.int64)
    return list(columns), [3] * len(columns), frequency


@pytest.mark.parametrize("max_size", [3, 8])
def test_the_estimate_is_near_what_is_done(monkeypatch, max_size):
    draw = np.random.default_rng(1)
    data = {f"k{key}": draw.integers(0, 3, 400) for key in range(10)}
    columns, levels, frequency = _codes(data)
    search = minimal_uniques.Search(columns, levels, frequency, max_size)
    estimate, _ = map(np.mean, zip(*(
        search._path(random.Random(seed), max_size) for seed in range(300)
    ), strict=True))  # fmt: skip
    looks = []

    def split(*arguments):
        looks.append(int(arguments[3][arguments[4]]) + minimal_uniques.LOOKS_OF_SET)
        real(*arguments)

    real = minimal_uniques.split_groups
    monkeypatch.setattr(minimal_uniques, "split_groups", split)
    said = []
    search.run(lambda done, whole: said.append((done, whole)))
    assert 0.8 < estimate / sum(looks) < 1.25
    assert said == sorted(said)
    sets = sum(math.comb(10, size) for size in range(1, max_size + 1))
    assert said[-1] == (sets, sets)


def test_data_that_an_engine_counts():
    lazy = suda(pl.LazyFrame(SURVEY), KEYS, fraction=0.1)
    assert lazy.summary() == suda(SURVEY, KEYS, fraction=0.1).summary()
    assert lazy.riskiest(3) == suda(SURVEY, KEYS, fraction=0.1).riskiest(3)
    with pytest.raises(TypeError):
        lazy.records  # noqa: B018


def test_no_uniques():
    data = {"a": [1, 1, 2, 2], "b": [1, 1, 1, 1]}
    found = suda(data, ["a", "b"], fraction=0.1)
    assert found.records["suda_score"].tolist() == [0.0] * 4
    assert found.records["dis_suda_score"].tolist() == [0.0] * 4
    assert np.isnan(found.contributions()["share"]).all()
    assert found.riskiest() == []
    assert found.summary()["contributions"][0] == {
        "key": "a", "score": 0.0, "share": None,
    }  # fmt: skip
    assert "-" in found.text()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_files(frame, tmp_path):
    found = suda(frame(SURVEY), KEYS)
    assert isinstance(found.records, frame)
    scores = found.records["suda_score"].to_numpy()
    assert scores.tolist() == suda(SURVEY, KEYS).records["suda_score"].tolist()
    path = tmp_path / "survey.csv"
    pd.DataFrame(SURVEY).to_csv(path, index=False)
    again = riskcore.suda(path, KEYS)
    assert np.asarray(again.records["suda_score"]).tolist() == scores.tolist()
    with pytest.raises(TypeError, match="in memory"):
        suda(SURVEY, KEYS, reading=riskcore.Reading())


def test_riskiest_and_text():
    found = suda(SURVEY, KEYS, fraction=0.1)
    rows = found.riskiest(2)
    assert len(rows) == 2
    assert rows[0]["suda_score"] == found.score.max() == 4.0
    records = list(zip(*SURVEY.values(), strict=True))
    for row in rows:
        record = records.index(tuple(row[key] for key in KEYS))
        assert row["sets"] == found.sets_of(record)
        assert row["dis_suda_score"] == found.records["dis_suda_score"][record]
    said = found.text("a title")
    assert said.startswith("a title\n")
    assert "sample uniques                 4" in said
    assert repr(found).startswith("<SpecialUniques: ")


def test_sizes_add_up():
    summary = suda(SURVEY, KEYS, 2).summary()
    assert [one["size"] for one in summary["sizes"]] == [1, 2]
    assert (
        sum(one["minimal_uniques"] for one in summary["sizes"])
        == (summary["minimal_uniques"])
    )
    assert (
        sum(one["records"] for one in summary["sizes"])
        == (summary["records_with_minimal_uniques"])
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "wildcard"}, "not defined where missing matches any value"),
        ({"missing": "argus"}, "not defined where missing matches any value"),
        ({"missing": "other"}, "missing='other': use 'refuse' or 'category'"),
        ({"max_size": 0}, "max_size=0: need a whole number from 1"),
        ({"fraction": 0.0}, "fraction=0.0: need a number in"),
        ({"fraction": 1}, "fraction=1: need a number in"),
    ],
)
def test_refused(options, message):
    with pytest.raises(ValueError, match=message):
        suda(SURVEY, KEYS, **options)


def test_refused_data():
    with pytest.raises(ValueError, match="missing key values: 'a' in 1"):
        suda({"a": [1, None]}, ["a"])
    many = {f"k{j}": [1, 2] for j in range(65)}
    with pytest.raises(ValueError, match="65 keys: give at most 64"):
        suda(many, list(many), 1)
    with pytest.raises(ValueError, match="'Suda_Score' has the name of a result"):
        suda({"a": [1, 2], "Suda_Score": [1, 2]}, ["a"]).records  # noqa: B018
    with pytest.raises(ValueError, match="'suda_score' has the name of a result"):
        suda({"suda_score": [1, 2]}, ["suda_score"])


def test_the_order_of_records_and_keys_does_not_matter():
    rng = np.random.default_rng(5)
    data = {f"k{j}": rng.integers(0, 4 + 3 * j, 400) for j in range(5)}
    order = rng.permutation(400)
    there = suda(data, list(data)).records["suda_score"]
    shuffled = {key: column[order] for key, column in data.items()}
    back = suda(shuffled, list(data)[::-1]).records["suda_score"]
    assert back.tolist() == there[order].tolist()
    assert there.any()
