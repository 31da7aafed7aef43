"""Global recoding: rules, and columns of every holder."""

import datetime
import decimal
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.data.cells import tabulate
from riskcore.data.recode import DoubtfulRules, Recoding, Rule, with_bounds
from riskcore.data.recode_table import recode
from riskcore.data.tails import nearest_multiple

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
TO_MISSING = Recoding.mapping({"a": None, "b": "1"})


def values(column):
    """Return any column as a list, None where missing."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            column = getattr(column, method)()
    return [None if pd.isna(value) else value for value in column]


def recoded(data, name, recoding):
    return values(recode(data, {name: recoding})[name])


# Kinds of recoding


@pytest.mark.parametrize(
    ("codes", "others", "expected"),
    [
        ({"a": "x", "b": "x"}, "keep", ["x", "x", "c", None]),
        ({"a": None, "b": "1"}, "keep", [None, "1", "c", None]),
        ({None: "9", "a": None}, "keep", [None, "b", "c", "9"]),
        ({"a": "x"}, "missing", ["x", None, None, None]),
    ],
)
def test_mappings(codes, others, expected):
    data = {"v": ["a", "b", "c", None]}
    assert recoded(data, "v", Recoding.mapping(codes, others=others)) == expected


def test_others_may_be_refused():
    with pytest.raises(ValueError, match=r"variable 'v': no rule for 'b', 'c'$"):
        recode({"v": [*"abc"]}, {"v": Recoding.mapping({"a": "x"}, others="refuse")})


@pytest.mark.parametrize(
    ("closed", "expected"),
    [("right", ("<= 1", "<= 1", "(1, 2]", "> 2")),
     ("left", ("< 1", "[1, 2)", ">= 2", ">= 2"))],
)  # fmt: skip
def test_intervals_name_themselves(closed, expected):
    recoding = Recoding.intervals([1, 2], closed=closed)
    assert recoding.apply([0.5, 1, 2, 2.5]).codes == expected


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=8, unique=True),
    st.sets(st.integers(-60, 60), min_size=1),
    st.sampled_from(["right", "left"]),
)
def test_intervals_are_those_of_a_search(breaks, codes, closed):
    breaks.sort()
    labels = list(range(len(breaks) + 1))
    side = "left" if closed == "right" else "right"
    expected = np.searchsorted(breaks, list(codes), side).tolist()
    recoding = Recoding.intervals(breaks, labels, closed=closed)
    assert list(recoding.apply(codes).codes) == expected
    assert list(recoding.apply(map(str, codes)).codes) == expected


def test_top_and_bottom():
    both = Recoding.top_bottom(bottom=15, top=85)
    assert both.apply([3, 15, 16, 84, 85, 99]).codes == (15, 15, 16, 84, 85, 85)
    top = Recoding.top_bottom(top=85, top_label="85+")
    assert recoded({"v": [84, 85, 99]}, "v", top) == ["84", "85+", "85+"]


@pytest.mark.parametrize("codes", [[101, 102], [101.0, None]])
def test_truncation_of_numbers_says_what_to_do(codes):
    with pytest.raises(TypeError, match=r"not 101.*leading zeros; give ranges of code"):
        recode({"v": codes}, {"v": Recoding.truncation(2)})


def test_truncation_is_of_text():
    cut = Recoding.truncation(2)
    assert recoded({"v": ["0361", "0389", None]}, "v", cut) == ["03", "03", None]
    with pytest.raises(ValueError, match=r"variable 'v': .* leaves nothing of '36'"):
        recode({"v": ["361", "36"]}, {"v": cut})
    with pytest.raises(TypeError, match="needs codes that are text, not 361"):
        recode({"v": [361]}, {"v": cut})


# Quantiles of the data


def brute_force(values, side, share):
    """Return the bound of the definition: at most the share of the tail is beyond."""
    tail = 1 - share if side == "top" else share
    fits = [
        bound
        for bound in set(values)
        if sum(v > bound if side == "top" else v < bound for v in values)
        <= tail * len(values)
    ]
    return min(fits) if side == "top" else max(fits)


@given(
    st.lists(st.integers(-6, 6), min_size=1, max_size=60),
    st.sampled_from(["top", "bottom"]),
    st.integers(1, 49),
)
def test_quantiles_leave_no_more_than_their_tail_beyond(numbers, side, percent):
    share = Fraction(100 - percent if side == "top" else percent, 100)
    bound = brute_force(numbers, side, share)
    recoding = Recoding.top_bottom(**{side: f"{float(100 * share):g}%"})
    expected = [(min if side == "top" else max)(v, bound) for v in numbers]
    assert recoded({"v": numbers}, "v", recoding) == expected
    texts = [str(v) for v in numbers]
    assert recoded({"v": texts}, "v", recoding) == [str(v) for v in expected]


def test_a_quantile_becomes_a_rule_with_its_words():
    data = {"v": ["1", "2", "10", None, "9.5", "1000"]}
    both = Recoding.top_bottom(bottom="25%", top="75%", top_label="many")
    rules = with_bounds(data, {"v": both})["v"]
    assert rules.words == "bottom:25%,top:75%=many"
    assert rules.rules == (Rule(2, None, 2), Rule("many", 10, None))
    assert not rules.tails
    expected = ["2", "2", "many", None, "9.5", "many"]
    assert recoded(data, "v", both) == recoded(data, "v", rules) == expected
    for one in (both, rules):
        assert Recoding.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert "top:75%=many" in str(rules)
    assert with_bounds(data, {"v": rules})["v"] is rules
    with pytest.raises(ValueError, match="top:75%=many: a quantile of data"):
        both.apply(["1"])


def test_quantiles_of_data_on_an_engine_count_records():
    values = [1] * 90 + [5] * 9 + [100]
    recoding = {"v": Recoding.top_bottom(top="95%")}
    for data in ({"v": values}, pl.DataFrame({"v": values}).lazy()):
        assert with_bounds(data, recoding)["v"].rules == (Rule(5, 5, None),)


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"top": "1%"}, ValueError, "top:1%: .* largest 99% of the values write top:9"),
        ({"bottom": "99%"}, ValueError, "for the smallest 1% .* write bottom:1%"),
        ({"top": "50%"}, ValueError, "top:50%"),
        ({"top": "100%"}, ValueError, "'100%': need a quantile above 0%"),
        ({"top": "nan%"}, ValueError, "'nan%': need a quantile"),
        ({"top": "many"}, TypeError, "'many': need numbers, dates such"),
        ({"top": "1e-999999999%"}, ValueError, "need a quantile"),
        ({"bottom": "0.0%"}, ValueError, "0.0%: need a quantile above 0%"),
        ({"top": "99%", "bottom": 3}, TypeError, "bottom=3: give two quantiles or two"),
    ],
)
def test_quantiles_that_are_refused(how, error, message):
    with pytest.raises(error, match=message):
        Recoding.top_bottom(**how)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([None, None], ValueError, "variable 'v': top:99%: all values are missing"),
        (["1", "x"], ValueError, "variable 'v': .*code 'x' is not a number"),
        ([datetime.time(20, 1)], TypeError, "variable 'v'"),
    ],
)
def test_columns_without_quantiles(values, error, message):
    recoding = {"v": Recoding.top_bottom(top="99%")}
    for act in (recode, with_bounds):
        with pytest.raises(error, match=message):
            act({"v": values}, recoding)
    with pytest.raises(ValueError, match="bottom=1 must be below top=1"):
        recode({"v": [1, 1]}, {"v": Recoding.top_bottom(bottom="1%", top="99%")})


# Rounding


@given(
    st.one_of(st.integers(-(10**20), 10**20), st.decimals(-(10**6), 10**6, places=3)),
    st.sampled_from([1, 7, 1000, 0.5, 0.1, 2.5]),
)
def test_multiples_are_the_nearest_and_even_at_ties(value, base):
    found = nearest_multiple(value, base)
    unit = Fraction(repr(base))
    exact = Fraction(value) / unit
    times = Fraction(repr(found)) / unit
    if abs(value) < 10**15:
        assert times.denominator == 1
        assert abs(times - exact) <= Fraction(1, 2)
        if abs(times - exact) == Fraction(1, 2):
            assert times % 2 == 0
    assert nearest_multiple(str_number(value), base) == found


def str_number(value):
    """Return a number as code that a file would give: whole or by its digits."""
    return int(value) if value == int(value) else value


@pytest.mark.parametrize(
    ("values", "base", "expected"),
    [
        (["1499", "1500", "2500", None], 1000, ["1000", "2000", "2000", None]),
        ([1499, -1501, 0], 1000, [1000, -2000, 0]),
        (["0.25", "0.35", "1e2"], 0.1, ["0.2", "0.4", "100"]),
        ([0.15, 0.45], 0.3, [0.0, 0.6]),
        ([decimal.Decimal("2.50")], 5, [decimal.Decimal(0)]),
    ],
)
def test_rounding(values, base, expected):
    assert recoded({"v": values}, "v", Recoding.rounding(base)) == expected


@pytest.mark.parametrize(
    ("base", "error"),
    [(0, ValueError), (-5, ValueError), ("10", TypeError), (float("nan"), ValueError)],
)
def test_bases_that_are_refused(base, error):
    with pytest.raises(error):
        Recoding.rounding(base)
    with pytest.raises(ValueError, match="do not go together"):
        Recoding(base=5, drop=1)


# Rules


def test_numbers_are_read_from_text_and_text_is_not_from_numbers():
    data = {"v": ["07", " 8", "1e1", "10.5"]}
    recoding = Recoding.intervals([8, 10], ["1", "2", "3"])
    assert recoded(data, "v", recoding) == ["1", "1", "2", "3"]
    with pytest.raises(ValueError, match=r"variable 'v': .*code 'x' is not a number"):
        recode({"v": ["7", "x"]}, {"v": recoding})
    with pytest.raises(
        TypeError,
        match=r"variable 'v': .*the rules are for text, but code 7 is a number",
    ):
        recode({"v": [7]}, {"v": Recoding.mapping({"7": "1"})})


def test_text_is_compared_as_text():
    with pytest.warns(DoubtfulRules, match="1 rule fits no code: '1' -> 'x'$"):
        assert recoded({"v": ["01"]}, "v", Recoding.mapping({"1": "x"})) == ["01"]


def test_several_rules_and_none():
    last = Recoding((Rule("x", 1, 5), Rule("y", 3, None), Rule("z", 9, 9)))
    done = last.apply([1, 3, 7])
    assert done.codes == ("x", "y", "y")
    assert done.overlapping == (3,)
    assert done.unused == (last.rules[2],)
    message = r"variable 'v': 1 rule .* -> 'z'; 1 code has"
    with pytest.warns(DoubtfulRules, match=message):
        recode({"v": [1, 3, 7]}, {"v": last})
    assert Recoding.intervals([5]).apply([1]).unused == ()  # may be empty


def test_a_warning_points_to_its_caller_and_is_short():
    mapping = Recoding.mapping({str(i): "x" for i in range(20)})
    with pytest.warns(DoubtfulRules, match="20 rules .* and 15 more$") as caught:
        recode({"v": ["a"]}, {"v": mapping})
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Rule("x", None, None), ValueError, "fits no code"),
        (lambda: Rule("x", 1, "2"), TypeError, "give two texts or two numbers"),
        (lambda: Rule("x", 1, 1, "(]"), ValueError, "no code lies in"),
        (lambda: Rule("x", 1, 2, "]["), ValueError, "bounds"),
        (lambda: Rule("x", 1, float("inf")), ValueError, "must be finite"),
        (lambda: Rule([1], 1, 2), TypeError, "text or a number"),
        (lambda: Recoding((Rule("x", 2, 1),)), ValueError, "2 comes after 1"),
        (lambda: Recoding((Rule("x", "9", "10"),)), ValueError, "'9' comes after"),
        (lambda: Recoding(), ValueError, "without rules"),
        (lambda: Recoding.mapping({}), ValueError, "without rules"),
        (lambda: Recoding.mapping({"a": "b"}, others="x"), ValueError, "others='x'"),
        (lambda: Recoding((Rule("x", 1, 1),), drop=1), ValueError, "not go together"),
        (lambda: Recoding.truncation(0), ValueError, "drop=0"),
        (lambda: Recoding.intervals([]), ValueError, "must increase"),
        (lambda: Recoding.intervals([1, 1]), ValueError, "must increase"),
        (lambda: Recoding.intervals(["1"]), TypeError, "numbers"),
        (lambda: Recoding.intervals([1], ["x"]), ValueError, "1 breaks need 2 labels"),
        (lambda: Recoding.intervals([1], closed="both"), ValueError, "closed='both'"),
        (lambda: Recoding.top_bottom(), ValueError, "bottom=, top= or both"),
        (lambda: Recoding.top_bottom(top="9"), TypeError, "numbers"),
        (lambda: Recoding.top_bottom(bottom=2, top=2), ValueError, "must be below"),
        (lambda: Recoding.from_dict({"rulez": []}), ValueError, "rulez"),
    ],
)
def test_what_is_no_rule_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


codes = st.one_of(st.text(max_size=3), st.integers(-99, 99), st.floats(-9, 9))
RECODINGS = [
    Recoding.mapping({"a": None, None: "9", "b": "é"}, others="missing"),
    Recoding.intervals([1, 2.5], [1, 2, 3], closed="left"),
    Recoding.top_bottom(bottom=np.int64(1), top=np.float64(2.5)),
    Recoding.truncation(2),
]


@pytest.mark.parametrize("recoding", RECODINGS)
def test_json_gives_the_same_back(recoding):
    assert Recoding.from_dict(json.loads(json.dumps(recoding.to_dict()))) == recoding


@given(st.dictionaries(codes, st.none() | codes, min_size=1))
def test_json_gives_any_mapping_back(mapping):
    recoding = Recoding.mapping(mapping)
    again = Recoding.from_dict(json.loads(json.dumps(recoding.to_dict())))
    assert again == recoding
    assert str(again) == str(recoding)


def test_printed():
    lines = "'a' -> None", "'b' -> 'é'", "missing -> '9'", "others: missing"
    assert str(RECODINGS[0]) == "\n".join(lines)
    assert str(RECODINGS[1]).splitlines()[1] == "[1, 2.5) -> 2"
    assert str(RECODINGS[3]) == "without the last 2 characters"


# Columns


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_stays_one_with_its_columns_in_order(frame):
    data = frame({"b": [1, 2], "v": ["a", "b"], "c": [0.5, 1.5]})
    result = recode(data, {"v": Recoding.mapping({"a": "z"})})
    assert type(result) is type(data)
    names = result.column_names if frame is pa.table else list(result.columns)
    assert names == ["b", "v", "c"]
    assert values(result["v"]) == ["z", "b"]
    assert values(result["b"]) == [1, 2]
    assert values(data["v"]) == ["a", "b"]  # the original is untouched


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    ("column", "recoding", "expected"),
    [
        (["a", "b", None, "c"], TO_MISSING, [None, "1", None, "c"]),
        ([1, 2, 3, 4], Recoding.intervals([2], [7, 8]), [7, 7, 8, 8]),
        ([1, 2, None, 4], Recoding.intervals([2], ["x", "y"]), ["x", "x", None, "y"]),
        ([1, 2, None, 4], Recoding.top_bottom(top=3), [1, 2, None, 3]),
        ([1, 2, 9, 4], Recoding.mapping({9: None}), [1, 2, None, 4]),
        ([0.5, 2.5, None, 4.0], Recoding.top_bottom(top=3), [0.5, 2.5, None, 3.0]),
        ([True, False, None, True], Recoding.mapping({True: False}), [0, 0, None, 0]),
        (["1", "2", None, "9"], Recoding.intervals([2], [7, 8]), ["7", "7", None, "8"]),
        (["a", "a", "a", None], Recoding.mapping({"a": None}), [None] * 4),
        ([None] * 4, Recoding.mapping({None: "x"}), ["x"] * 4),
    ],
)
def test_columns_of_every_frame(frame, column, recoding, expected):
    result = recode(frame({"v": column}), {"v": recoding})
    assert values(result["v"]) == expected
    assert recoded({"v": column}, "v", recoding) == expected


def test_pandas_keeps_index_and_types():
    frame = pd.DataFrame(
        {
            "text": pd.array(["a", "b", None], "string"),
            "whole": pd.array([1, 2, None], "Int64"),
            "kind": pd.Categorical(["a", "b", None]),
        },
        index=[5, 3, 5],
    )
    change = Recoding.mapping({"a": "b"})
    limit = Recoding.top_bottom(top=1)
    result = recode(frame, {"text": change, "whole": limit, "kind": change})
    assert result.index.tolist() == [5, 3, 5]
    assert result.dtypes["text"] == frame.dtypes["text"]
    assert result.dtypes["whole"] == frame.dtypes["whole"]
    assert result["kind"].tolist()[:2] == ["b", "b"]
    assert result.isna().sum().tolist() == [1, 1, 1]


def test_arrays_keep_their_types():
    text = np.array(["a", "b"])
    masked = np.ma.MaskedArray(text, [False, True])
    small = np.array([1, 200], np.uint8)
    floats = np.array([1.0, np.nan])
    change = Recoding.mapping({"a": "long"})
    limit = Recoding.top_bottom(top=1)
    data = {"t": text, "m": masked, "s": small, "f": floats, "u": small}
    recodings = {"t": change, "m": change, "s": limit, "f": limit}
    result = recode(data, {**recodings, "u": Recoding.intervals([1], [1, 1000])})
    assert result["t"].dtype.kind == "U"
    assert result["t"].tolist() == ["long", "b"]
    assert isinstance(result["m"], np.ma.MaskedArray)
    assert result["m"].tolist() == ["long", None]
    assert result["s"].dtype == np.uint8
    assert result["f"].dtype == np.float64
    assert values(result["f"]) == [1.0, None]
    assert result["u"].tolist() == [1, 1000]
    gone = recode(data, {"s": Recoding.mapping({1: None, 200: None})})["s"]
    assert gone.tolist() == [None, None]


def test_a_mapping_keeps_what_holds_its_columns():
    data = {"p": pd.Series(["a"], [7]), "l": pl.Series(["a"]), "t": ("a",), "k": [1]}
    result = recode(data, dict.fromkeys("plt", Recoding.mapping({"a": "z"})))
    assert [*map(type, result.values())] == [*map(type, data.values())]
    assert [*result] == [*data]
    assert result["p"].index.tolist() == [7]
    assert result["k"] is data["k"]


def test_whole_numbers_too_large_for_their_type():
    column = pd.array([1, 2, None], "Int8")
    labels = Recoding.intervals([1], [1, 1000])
    for data in (pd.DataFrame({"v": column}), {"v": np.array([1, 2], np.int8)}):
        assert recoded(data, "v", labels)[:2] == [1, 1000]


def test_decimal_numbers_are_compared_as_such():
    data = {"v": [decimal.Decimal("0.1"), decimal.Decimal("0.2")]}
    tenth = decimal.Decimal("0.1")
    assert recoded(data, "v", Recoding.top_bottom(top=0.1)) == [tenth, tenth]
    large = {"v": [decimal.Decimal(2**53), decimal.Decimal(2**53 + 1)]}
    found = recoded(large, "v", Recoding.mapping({2**53: 1}))
    assert found == [1, decimal.Decimal(2**53 + 1)]


EVERY_HOLDER = [
    lambda values, kind: {"v": list(values)},
    lambda values, kind: {"v": np.array(values, kind)},
    lambda values, kind: pd.DataFrame({"v": np.array(values, kind)}),
    lambda values, kind: pd.DataFrame({"v": pd.array(values, nullable(kind))}),
    lambda values, kind: pd.DataFrame({"v": values}, dtype=f"{kind}[pyarrow]"),
    lambda values, kind: pl.DataFrame({"v": np.array(values, kind)}),
    lambda values, kind: pa.table({"v": np.array(values, kind)}),
]


PLAIN_PANDAS = EVERY_HOLDER[2]


def nullable(kind):
    return kind.replace("uint", "UInt").replace("int", "Int")


@pytest.mark.parametrize("hold", EVERY_HOLDER)
@pytest.mark.parametrize(
    ("kind", "large"),
    [("int64", 2**53 + 1), ("uint64", 2**64 - 1), ("int64", -(2**63))],
)
def test_codes_that_no_rule_fits_stay_to_the_last_digit(hold, kind, large):
    data = hold([large, 1, 5], kind)
    assert recoded(data, "v", Recoding.mapping({1: 2})) == [large, 2, 5]
    gone = Recoding.mapping({1: None})
    if hold is PLAIN_PANDAS and float(large) != large:  # no integers beside missing
        with pytest.raises(ValueError, match=f"variable 'v': {large} .* no double"):
            recode(data, {"v": gone})
    else:
        assert recoded(data, "v", gone) == [large, None, 5]


@pytest.mark.parametrize("hold", EVERY_HOLDER)
def test_codes_that_would_be_rounded_are_refused(hold):
    halves = Recoding.mapping({1: 0.5})
    assert recoded(hold([2**53, 1], "int64"), "v", halves) == [2**53, 0.5]
    with pytest.raises(ValueError, match=f"variable 'v': {2**53 + 1} .* no double"):
        recode(hold([2**53 + 1, 1], "int64"), {"v": halves})


def test_integers_that_no_type_holds_together_are_refused():
    recoding = Recoding.mapping({1: -1})
    for hold in (lambda v: {"v": np.array(v)}, lambda v: pa.table({"v": np.array(v)})):
        with pytest.raises(ValueError, match="variable 'v': no integer type"):
            recode(hold(np.array([2**64 - 1, 1], np.uint64)), {"v": recoding})


@pytest.mark.parametrize(
    "hold",
    [
        list,
        pl.Series,
        lambda values: pa.chunked_array([values]),
        lambda values: np.array(values, object),
        lambda values: pd.Series(values, dtype=object),
        lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.decimal128(30, 2))),
    ],
)
def test_decimal_numbers_stay_decimal(hold):
    texts = ["12345678901234567890.12", "12345678901234567890.13", "1", "2.5"]
    *numbers, half = map(decimal.Decimal, texts)
    found = recoded({"v": hold(numbers)}, "v", Recoding.mapping({1: 2.5}))
    assert found == [*numbers[:2], half]


@pytest.mark.parametrize("frame", [pl.DataFrame, pa.table])
def test_small_integers_stay_small(frame):
    column = pa.array([1, 2, None], pa.int8())
    data = frame({"v": pl.from_arrow(column) if frame is pl.DataFrame else column})
    same = recode(data, {"v": Recoding.top_bottom(top=1)})
    assert same.schema == data.schema
    assert recoded(data, "v", Recoding.mapping({2: 1000})) == [1, 1000, None]


def test_numbers_stored_as_floats_print_as_whole():
    found = recode({"v": np.array([1.0, 9, 2.5])}, {"v": Recoding.mapping({9: "x"})})
    assert found["v"].tolist() == ["1", "x", "2.5"]


@pytest.mark.parametrize(
    ("data", "recodings", "error", "message"),
    [
        ({"age": [1]}, {"Age": RECODINGS[1]}, KeyError, "did you mean 'age'"),
        ({"v": [1]}, {"v": {1: 2}}, TypeError, "recodings of 'v': .* neither a Recod"),
        ({"v": []}, {"v": RECODINGS[1]}, ValueError, "no records"),
        ({"v": [1, "a"]}, {"v": RECODINGS[1]}, TypeError, "'v': some codes are text"),
        (
            {"v": np.zeros(1, "M8[ns]")},
            {"v": RECODINGS[1]},
            ValueError,
            "code '1970-01-01' is not a number; dates need",
        ),
        ({"v": [datetime.time(20, 1)]}, {"v": RECODINGS[1]}, TypeError, "type time"),
        ("survey.csv", {"v": RECODINGS[1]}, TypeError, "not str"),
    ],
)
def test_what_cannot_be_recoded_is_refused(data, recodings, error, message):
    with pytest.raises(error, match=message):
        recode(data, recodings)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1))
def test_recoding_merges_cells_and_loses_no_record(records):
    data = {"a": [a for a, _ in records], "b": [b for _, b in records]}
    before = tabulate(data, ["a", "b"])
    after = tabulate(recode(data, {"a": Recoding.intervals([2, 6])}), ["a", "b"])
    assert after.n == before.n == after.sample_frequency.sum()
    assert len(after) <= len(before)
    same_before = before.inverse[:, None] == before.inverse
    same_after = after.inverse[:, None] == after.inverse
    assert (same_after | ~same_before).all()
