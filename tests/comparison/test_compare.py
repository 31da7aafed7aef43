import json
import math

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore import Recoding, compare

CODES = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from([1, 2, 3, None]),
        st.integers(1, 9),
    ),
    min_size=1,
    max_size=30,
)


def file_of(rows):
    a, b, w = (list(column) for column in zip(*rows, strict=True))
    return {"a": a, "b": b, "w": np.array(w, float)}


def original():
    return {
        "age": [15, 16, 31, 32, 33, 34],
        "sex": list("ffmmff"),
        "w": np.array([1.0, 1, 2, 2, 2, 2]),
        "income": np.array([10.0, 20, 30, 40, 50, np.nan]),
    }


def safe():
    return {**original(), "sex": ["f", None, "m", "m", "f", None]}


def test_figures_by_hand():
    found = compare(original(), safe(), ["sex", "age"], "w")
    sex = found.key("sex")
    assert (sex.original.categories, sex.safe.categories) == (2, 2)
    assert (sex.original.smallest_records, sex.safe.smallest_records) == (2, 2)
    assert (sex.original.smallest_weight, sex.safe.smallest_weight) == (4.0, 3.0)
    assert (sex.original.missing, sex.safe.missing, sex.suppressed) == (0, 2, 2)
    assert sex.safe.missing_share == 0.3
    # f 6, m 4 of 10; then f 3, m 4, missing 3.
    H = 0.6 * math.log2(1 / 0.6) + 0.4 * math.log2(1 / 0.4)
    assert sex.original.entropy == pytest.approx(H, rel=1e-14)
    assert sex.total_variation == pytest.approx(0.3, rel=1e-14)
    assert sex.total_variation_of_values == pytest.approx(4 / 7 - 0.4, rel=1e-14)
    assert [row.category for row in sex.table] == ["f", "m", None]
    assert [row.records_after for row in sex.table] == [2, 2, 2]
    assert found.key("age").total_variation == 0.0
    (pair,) = found.pairs
    assert pair.keys == ("sex", "age")
    assert pair.total_variation == pytest.approx(0.3, rel=1e-14)
    assert pair.cramers_v_before == pytest.approx(1.0)
    assert found.mean_total_variation == pair.total_variation
    assert found.newly_missing == 2


@given(CODES)
def test_a_file_is_equal_to_itself(rows):
    data = file_of(rows)
    found = compare(data, data, ["a", "b"], "w", interactions=True)
    for key in found.keys:
        assert (key.total_variation, key.suppressed) == (0.0, 0)
        assert key.original == key.safe
    assert found.pairs[0].total_variation == 0.0
    assert found.pairs[0].cramers_v_before == found.pairs[0].cramers_v_after
    assert (found.propensity.pmse, found.propensity.told_apart) == (0.0, 0)
    assert found.mean_total_variation == 0.0


@given(CODES, CODES, st.randoms(use_true_random=False))
def test_the_order_of_records_changes_no_bit(rows, others, random):
    mixed, mixed_others = rows[:], others[:]
    random.shuffle(mixed)
    random.shuffle(mixed_others)
    one = compare(file_of(rows), file_of(others), ["a", "b"], "w")
    two = compare(file_of(mixed), file_of(mixed_others), ["a", "b"], "w")
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())


@given(CODES, CODES)
def test_distances_are_symmetric_and_bounded(rows, others):
    one = compare(file_of(rows), file_of(others), ["a", "b"], "w")
    two = compare(file_of(others), file_of(rows), ["a", "b"], "w")
    for key, back in zip(one.keys, two.keys, strict=True):
        if key.reason or back.reason:  # a category that one file alone has
            continue
        assert key.total_variation == back.total_variation
        assert 0 <= key.total_variation <= 1


@given(CODES)
def test_weights_are_records_written_out(rows):
    safe_rows = [(None if i % 3 == 0 else a, b, w) for i, (a, b, w) in enumerate(rows)]
    one = compare(file_of(rows), file_of(safe_rows), ["a", "b"], "w")
    each = [[row for row in file for _ in range(row[2])] for file in (rows, safe_rows)]
    two = compare(*map(file_of, each), ["a", "b"])
    for key, other in zip(one.keys, two.keys, strict=True):
        assert key.total_variation == pytest.approx(other.total_variation, abs=1e-15)
        assert key.original.entropy == pytest.approx(other.original.entropy, abs=1e-12)
        assert key.safe.missing_share == pytest.approx(other.safe.missing_share)


def test_recodings_map_the_original():
    groups = {"age": Recoding.intervals([30], closed="left")}
    made = riskcore.recode(original(), groups)
    made["age"][0] = None
    found = compare(original(), made, ["age"], "w", recodings=groups).key("age")
    assert (found.original.categories, found.recoded.categories) == (6, 2)
    assert found.safe.categories == 2
    assert found.suppressed == 1
    assert found.total_variation == pytest.approx(0.1, rel=1e-14)
    assert found.before == found.recoded


def test_without_the_recoding_nothing_is_said_of_distances():
    made = riskcore.recode(original(), {"age": Recoding.intervals([30])})
    found = compare(original(), made, ["age", "sex"], "w")
    age = found.key("age")
    assert (age.total_variation, age.table) == (None, ())
    assert "text only in the safe file" in age.reason
    assert "give its recoding" in age.reason
    assert (age.original.categories, age.safe.categories) == (6, 2)
    assert found.pairs[0].total_variation is None
    # (2 x 4 - 0 x 4)^2/(2 x 8 x 6 x 4), of weights.
    assert found.pairs[0].cramers_v_after == pytest.approx(math.sqrt(1 / 6))
    assert found.mean_total_variation is None
    assert "without 'age'" in found.propensity.reason
    assert found.propensity.pmse == 0.0
    alone = compare(original(), made, ["age"], "w").propensity
    assert (alone.converged, alone.pmse) == (False, None)


def test_codes_of_one_value_are_one_category_whatever_holds_them():
    data = original()
    whole = {"age": data["age"]}
    with_missing = pandas.DataFrame({"age": [*map(float, data["age"][:-1]), np.nan]})
    found = compare(whole, with_missing, ["age"]).key("age")
    assert found.reason == ""
    assert found.suppressed == 1
    assert found.total_variation == pytest.approx(1 / 6)


def test_columns_of_numbers():
    other = original()
    other["income"] = np.array([10.0, 20, 30, 40, np.nan, 60])
    other["age"] = original()["age"]
    names = ["income", "age"]
    found = compare(original(), other, ["sex"], "w", columns=names)
    income = found.numbers[0]
    assert (income.before.records, income.before.missing) == (5, 1)
    assert income.before.mean == pytest.approx((10 + 20 + 60 + 80 + 100) / 8)
    assert income.after.mean == pytest.approx((10 + 20 + 60 + 80 + 120) / 8)
    assert income.before.quantiles == (10, 20, 30, 40, 50)
    (both,) = found.correlations
    assert both.columns == ("income", "age")
    x, y = (original()[name][:5] for name in names)
    covariance = np.cov(x, y, aweights=[1, 1, 2, 2, 2])
    expected = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    assert both.before == pytest.approx(expected)


def test_suppressions_by_stratum():
    found = compare(original(), safe(), ["sex"], "w", strata=["age"])
    assert [one.stratum for one in found.strata] == [(a,) for a in original()["age"]]
    assert [one.suppressed("sex") for one in found.strata] == [0, 1, 0, 0, 0, 1]
    assert [one.rate("sex") for one in found.strata] == [0, 1.0, 0, 0, 0, 1.0]
    assert sum(one.records_before for one in found.strata) == 6
    both = compare(original(), safe(), ["age"], strata=["sex", "w"])
    # Nobody knows to which strata the records with a missing one belong.
    assert {one.stratum: one.records_after for one in both.strata} == {
        ("f", 1.0): 1, ("f", 2.0): 1, ("m", 2.0): 2, (None, 1.0): 1, (None, 2.0): 1,
    }  # fmt: skip


def test_only_ids_tell_which_record_is_which():
    ids = {"id": list("abcdef")}
    order = [3, 1, 5, 0, 2, 4]
    one = {**original(), **ids}
    two = {**safe(), **ids}
    two["sex"][0] = "m"
    shuffled = {name: [column[i] for i in order] for name, column in two.items()}
    plain = compare(one, shuffled, ["sex", "age"], "w")
    assert not plain.aligned
    assert plain.key("sex").changed is plain.key("sex").information_lost is None
    found = compare(one, shuffled, ["sex", "age"], "w", id="id", strata=["income"])
    assert found.aligned
    assert found.key("sex").changed == 1
    assert found.key("age").changed == 0
    assert found.key("age").information_lost == 0.0
    # Of weight 10: m stands for 1 f and 4 m, a blank for 3 f, f for f.
    H = (1 / 5) * math.log2(5) + (4 / 5) * math.log2(5 / 4)
    assert found.key("sex").information_lost == pytest.approx(0.5 * H, rel=1e-14)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda ids: [*ids[:-1], ids[0]], "have the id of another record"),
        (lambda ids: [*ids[:-1], None], "missing in 1 of 6"),
        (lambda ids: [*ids[:-1], "z"], "the ids of the files differ"),
    ],
)
def test_ids_that_are_not_the_same_are_refused(change, said):
    one, two = {**original(), "id": [*"abcdef"]}, safe()
    two["id"] = change(one["id"])
    with pytest.raises(ValueError, match=said):
        compare(one, two, ["sex"], id="id")


def test_other_numbers_of_records():
    fewer = {name: column[:4] for name, column in safe().items()}
    found = compare(original(), fewer, ["sex"], "w")
    assert (found.records_before, found.records_after) == (6, 4)
    assert found.key("sex").suppressed is found.newly_missing is None
    assert found.key("sex").safe.missing == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"columns": ["sex"]}, "is a key"),
        ({"columns": ["w"], "weight": "w"}, "is a key, a stratum, the weight"),
        ({"strata": ["age", "age"]}, "appears twice"),
        ({"strata": ["w"], "weight": "w"}, "is the weight"),
        ({"id": "sex"}, "id: 'sex' is a key"),
    ],
)
def test_columns_with_two_parts_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        compare(original(), safe(), ["sex"], **options)


def test_columns_that_cannot_be_compared_are_refused():
    with pytest.raises(KeyError, match="incom"):
        compare(original(), safe(), ["sex"], columns=["incom"])
    with pytest.raises(TypeError, match="'sex': a value of type str"):
        compare(original(), safe(), ["age"], columns=["sex"])
    wild = {**safe(), "income": np.full(6, 1e200)}
    with pytest.raises(ValueError, match=r"'income': beyond 1e\+150 in 6"):
        compare(original(), wild, ["sex"], columns=["income"])
    other = {**safe(), "age": list("abcdef")}
    with pytest.raises(ValueError, match="strata: 'age'"):
        compare(original(), other, ["sex"], strata=["age"])


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, dict])
def test_frames_and_files_give_the_same(make, tmp_path):
    frames = [make(one) for one in (original(), safe())]
    found = compare(*frames, ["sex"], "w", columns=["income"], strata=["age"])
    paths = [tmp_path / "original.csv", tmp_path / "safe.csv"]
    for path, one in zip(paths, (original(), safe()), strict=True):
        pandas.DataFrame(one).to_csv(path, index=False)
    text = compare(*paths, ["sex"], "w", columns=["income"], strata=["age"]).to_dict()
    plain = found.to_dict()
    for row in plain["strata"]["rows"]:
        row["stratum"] = [str(value) for value in row["stratum"]]
    assert json.dumps(plain) == json.dumps(text)


def test_data_on_an_engine():
    frames = [polars.DataFrame(one).lazy() for one in (original(), safe())]
    found = compare(*frames, ["sex", "age"], "w", strata=["sex"])
    here = compare(original(), safe(), ["sex", "age"], "w", strata=["sex"])
    assert json.dumps(found.to_dict()) == json.dumps(here.to_dict())
    with pytest.raises(TypeError, match="columns: single records are needed"):
        compare(*frames, ["sex"], columns=["income"])


def test_what_is_said_of_it():
    found = compare(original(), safe(), ["sex", "age"], "w")
    start = "<Comparison: 6 records before and 6 after, 2 keys, 2"
    assert repr(found).startswith(start)
    assert "total variation of sex" in found._repr_html_()
    with pytest.raises(KeyError, match="'income' is not a key"):
        found.key("income")
    assert found.most_changed(5) == found.pairs


def test_labelled_files_are_compared_by_their_codes(tmp_path):
    import pyreadstat

    paths = [tmp_path / "original.sav", tmp_path / "safe.sav"]
    labels = {"sex": {1: "male", 2: "female"}}
    for path, second in zip(paths, (1, np.nan), strict=True):
        frame = pandas.DataFrame({"sex": [1.0, second, 2, 2]})
        pyreadstat.write_sav(frame, path, variable_value_labels=labels)
    (sex,) = compare(*paths, ["sex"]).keys
    assert (sex.suppressed, sex.total_variation) == (1, 0.25)
    assert [row.category for row in sex.table] == ["1 (male)", "2 (female)", None]
