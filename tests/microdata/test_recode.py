"""Global recoding: rules, columns of every holder, recode files of mu-Argus."""

import datetime
import decimal
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore import assess
from riskcore.microdata import argus
from riskcore.microdata.cells import tabulate
from riskcore.microdata.recode import (
    DoubtfulRules,
    Recoding,
    Rule,
    read_recoding,
    recode,
)

DEMO = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "demodata"
needs_demo = pytest.mark.skipif(
    not (DEMO / "Demodata.asc").exists(), reason="mu-Argus demo files not present"
)
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
TO_MISSING = Recoding.mapping({"a": None, "b": "1"})


def values(column):
    """Return any column as a list, None where missing."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            column = getattr(column, method)()
    return [None if value is None or value != value else value for value in column]


def recoded(data, name, recoding):
    return values(recode(data, {name: recoding})[name])


def grc(folder, text, variable=None):
    path = folder / "V.grc"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_recoding(path, variable)


# Kinds of recoding


def test_mapping_keeps_others_and_missing():
    recoding = Recoding.mapping({"a": "x", "b": "x"})
    assert recoded({"v": ["a", "b", "c", None]}, "v", recoding) == ["x", "x", "c", None]


def test_mapping_to_and_from_missing():
    data = {"v": ["a", "b", None]}
    assert recoded(data, "v", TO_MISSING) == [None, "1", None]
    both = Recoding.mapping({None: "9", "a": None})
    assert recoded(data, "v", both) == [None, "b", "9"]


def test_others_may_be_made_missing_or_refused():
    codes = {"a": "x"}
    data = {"v": ["a", "b", "c"]}
    missing = Recoding.mapping(codes, others="missing")
    assert recoded(data, "v", missing) == ["x", None, None]
    with pytest.raises(ValueError, match=r"variable 'v': no rule for 'b', 'c'$"):
        recode(data, {"v": Recoding.mapping(codes, others="refuse")})


@pytest.mark.parametrize(
    ("closed", "expected"),
    [("right", ["<= 1", "<= 1", "(1, 2]", "> 2"]), ("left", ["< 1", "[1, 2)", ">= 2"])],
)
def test_intervals_name_themselves(closed, expected):
    recoding = Recoding.intervals([1, 2], closed=closed)
    codes = [0.5, 1, 1.5, 2.5] if closed == "right" else [0.5, 1, 2]
    assert list(recoding.apply(codes).codes) == expected


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


def test_truncation_is_of_text():
    cut = Recoding.truncation(2)
    assert recoded({"v": ["0361", "0389", None]}, "v", cut) == ["03", "03", None]
    with pytest.raises(ValueError, match=r"variable 'v': .* leaves nothing of '36'"):
        recode({"v": ["361", "36"]}, {"v": cut})
    with pytest.raises(TypeError, match="needs codes that are text, not 361"):
        recode({"v": [361]}, {"v": cut})


# Rules


def test_numbers_are_read_from_text_and_text_is_not_from_numbers():
    data = {"v": ["07", " 8", "1e1", "10.5"]}
    recoding = Recoding.intervals([8, 10], ["1", "2", "3"])
    assert recoded(data, "v", recoding) == ["1", "1", "2", "3"]
    with pytest.raises(ValueError, match=r"variable 'v': .*code 'x' is none"):
        recode({"v": ["7", "x"]}, {"v": recoding})
    with pytest.raises(TypeError, match=r"variable 'v': .*text, but .* numbers, as 7"):
        recode({"v": [7]}, {"v": Recoding.mapping({"7": "1"})})


def test_text_is_compared_as_text():
    with pytest.warns(DoubtfulRules, match="1 rules fit no code: '1' -> 'x'$"):
        assert recoded({"v": ["01"]}, "v", Recoding.mapping({"1": "x"})) == ["01"]


def test_several_rules_and_none():
    last = Recoding((Rule("x", 1, 5), Rule("y", 3, None), Rule("z", 9, 9)))
    done = last.apply([1, 3, 7])
    assert done.codes == ("x", "y", "y")
    assert done.overlapping == (3,)
    assert done.unused == (last.rules[2],)
    with pytest.warns(DoubtfulRules, match=r"variable 'v': 1 rules .* -> 'z'; 1 codes"):
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
        (lambda: Rule("x", None, None), ValueError, "for no code"),
        (lambda: Rule("x", 1, "2"), TypeError, "text and a number"),
        (lambda: Rule("x", 1, 1, "(]"), ValueError, "no code lies in"),
        (lambda: Rule("x", 1, 2, "]["), ValueError, "bounds"),
        (lambda: Rule("x", 1, float("inf")), ValueError, "is finite"),
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
    assert str(RECODINGS[0]).splitlines() == [
        "'a' -> None",
        "'b' -> 'é'",
        "missing -> '9'",
        "others: missing",
    ]
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
    assert {name: type(column) for name, column in result.items()} == {
        name: type(column) for name, column in data.items()
    }
    assert result["p"].index.tolist() == [7]
    assert result["k"] is data["k"]


def test_whole_numbers_too_large_for_their_type():
    column = pd.array([1, 2, None], "Int8")
    labels = Recoding.intervals([1], [1, 1000])
    for data in (pd.DataFrame({"v": column}), {"v": np.array([1, 2], np.int8)}):
        assert recoded(data, "v", labels)[:2] == [1, 1000]


def test_decimal_numbers_are_compared_as_such():
    data = {"v": [decimal.Decimal("0.1"), decimal.Decimal("0.2")]}
    assert recoded(data, "v", Recoding.top_bottom(top=0.1)) == [0.1, 0.1]


def test_numbers_stored_as_floats_print_as_whole():
    labels = Recoding.mapping({9: "none"})
    assert recoded({"v": np.array([1.0, 9.0, 2.5])}, "v", labels) == [
        "1",
        "none",
        "2.5",
    ]


@pytest.mark.parametrize(
    ("data", "recodings", "error", "message"),
    [
        ({"age": [1]}, {"Age": RECODINGS[1]}, KeyError, "did you mean 'age'"),
        ({"v": [1]}, {"v": {1: 2}}, TypeError, "variable 'v': .* no Recoding"),
        ({"v": []}, {"v": RECODINGS[1]}, ValueError, "no records"),
        ({"v": [1, "a"]}, {"v": RECODINGS[1]}, TypeError, "'v': some codes are text"),
        (
            {"v": np.array(["2020-01-01"], "M8[ns]")},
            {"v": RECODINGS[1]},
            TypeError,
            "variable 'v': codes of type datetime64",
        ),
        ({"v": [datetime.date(2020, 1, 1)]}, {"v": RECODINGS[1]}, TypeError, "date"),
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


# Recode files


def test_every_item_of_a_recode_file(tmp_path):
    recoding = grc(tmp_path, '1: 1, 3 - 5 ,"a-b"\n"x, y": -0,\t90-\n1:7\n\n// 2: 8\n')
    assert [(r.to, r.low, r.high, r.line) for r in recoding.rules] == [
        ("1", "1", "1", 1),
        ("1", "3", "5", 1),
        ("1", "a-b", "a-b", 1),
        ("x, y", None, "0", 2),
        ("x, y", "90", None, 2),
        ("1", "7", "7", 3),
    ]
    done = recoding.apply(["0", "1", "2", "4", "5", "7", "8", "89", "90", "a-b"])
    assert done.codes == ("x, y", "1", "2", "1", "1", "1", "8", "89", "x, y", "x, y")
    # "a-b" comes after "90": three characters after two.
    assert done.overlapping == ("a-b",)


def test_codes_are_compared_with_blanks_before_them(tmp_path):
    recoding = grc(tmp_path, "1: 2-10\n2: 11-19\n3: 1a-\n")
    codes = ["1", "2", " 9", "10", "11", "1a", "1b", "9z"]
    assert recoding.apply(codes).codes == ("1", "1", "1", "1", "2", "3", "3", "3")
    numbers = recode({"v": [1, 9, 10, 12]}, {"v": grc(tmp_path, "1: 2-10\n3:11-\n")})
    assert numbers["v"] == ["1", "1", "1", "3"]


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("<MISSING> 98 99", ("98", "99")),
        ("<missing> 98, 99", ("98", "99")),
        ("<Missing>8,9", ("8", "9")),
        ("<MISSING> 98,", ("98",)),
        ('<MISSING> "9 8"', ("9 8",)),
        ("<MISSING>", ()),
        ("", ()),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_missing_codes(tmp_path, line, missing, line_end):
    recoding = grc(tmp_path, f"1:1-9{line_end}{line}{line_end}")
    assert recoding.missing_codes == missing


def test_codelist_and_source(tmp_path):
    recoding = grc(tmp_path, '\ufeff1:1\n<codelist>  "my list.cdl"')
    assert (recoding.codelist, recoding.source) == ("my list.cdl", "V.grc")
    assert Recoding.from_dict(json.loads(json.dumps(recoding.to_dict()))) == recoding
    assert read_recoding(tmp_path / "v.GRC").rules == recoding.rules


def test_windows_text(tmp_path):
    assert grc(tmp_path, "é: 1".encode("cp1252")).rules[0].to == "é"


def test_missing_stays_missing_and_rules_may_lead_there(tmp_path):
    recoding = grc(tmp_path, "1: 1-7\n9: 8\n<MISSING> 9\n")
    column = np.ma.MaskedArray(["3", "8", "99"], [False, False, True])
    result = recode({"v": column}, {"v": recoding})["v"]
    assert result.tolist() == ["1", None, None]


def test_a_valid_code_must_not_turn_into_a_missing_one(tmp_path):
    recoding = grc(tmp_path, "1: 1-7\n<MISSING> 8 9\n")
    with pytest.raises(ValueError, match="variable 'v': '8': without a rule, but"):
        recode({"v": ["1", "8"]}, {"v": recoding})


def test_rules_in_doubt_are_counted(tmp_path):
    recoding = grc(tmp_path, "1: 1-3\n2: 3-5\n3: 6\n4: 70-80\n")
    message = (
        r"variable 'v', V.grc: 2 rules fit no code: line 3: '6' -> '3', "
        r"line 4: \['70', '80'\] -> '4'; 1 codes have several rules, "
        r"of which the last is taken: '3'$"
    )
    with pytest.warns(DoubtfulRules, match=message):
        assert recode({"v": ["1", "3", "9"]}, {"v": recoding})["v"] == ["1", "2", "9"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1: 1\n1; 2", "line 2: a line is 'new: code, .*: '1; 2'"),
        ("1", "line 1: a line is"),
        (": 1", "line 1: a line is"),
        ("1 2: 3", "line 1: a line is"),
        ("1:", "line 1: a code is lacking"),
        ("1: 2,,3", "line 1: a code is lacking"),
        ("1: 2,", "line 1: a code is lacking"),
        ("1: -", "line 1: a hyphen without a code"),
        ("1: 1-2-3", "line 1: two hyphens"),
        ("1: 2: 3", "line 1: two colons"),
        ("1: 2 3", "line 1: a comma is lacking"),
        ('1: "2', "line 1: a quote is not closed"),
        ('1: " "', "line 1: an empty code"),
        ("1: 9-10\n2: 10-9", "line 2: '10' comes after '9'"),
        ("1: 1b-1a", "line 1: '1b' comes after '1a'"),
        ("1: 1\n<TRUNCABLE>", "line 2: a tag that recode files do not have"),
        ("1: 1\n<MISSING> 7 8 9", "line 2: more than two missing codes"),
        ("1: 1\n<MISSING> 7\n<missing> 8", "line 3: the tag stands twice"),
        ("1: 1\n<CODELIST>", "line 2: no file is named"),
        ("// nothing\n", "no rules"),
        ("", "no rules"),
    ],
)
def test_bad_recode_files_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"V\.grc.*{message}"):
        grc(tmp_path, text)


def test_no_recode_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_recoding(tmp_path / "V.grc")


def test_the_metadata_of_the_variable_are_respected(tmp_path):
    age = argus.Variable("AGE", 0, 2, missing=("98", "99"))
    with pytest.raises(
        ValueError, match=r"line 2: a code of 3 .*, AGE has 2: '2: 7-10"
    ):
        grc(tmp_path, "1: 1\n2: 7-100", age)
    for rule in ("99", "61-99", "98-"):
        with pytest.raises(ValueError, match="line 1: a missing code of AGE would"):
            grc(tmp_path, f"1: {rule}", age)
    # By no <MISSING> the codes of before are kept, by one both become it.
    assert grc(tmp_path, "99: 98,99", age).rules[0].to is None
    assert grc(tmp_path, "9: 98,99\n<MISSING> 9", age).rules[1].to is None


# The demo files of mu-Argus


@needs_demo
@pytest.mark.parametrize(
    ("file", "name", "categories"),
    [
        ("Age.grc", "AGE", 6),
        ("Age3.grc", "AGE", 3),
        ("Etnigr.grc", "ETNI", 3),
        ("Marstat.grc", "MARSTAT", 2),
        ("Regioc.grc", "REGION", 21),
        ("Region.grc", "REGION", 18),
    ],
)
def test_every_demo_file(file, name, categories):
    metadata = argus.read_metadata(DEMO / "Demodata.rda")
    variable = next(v for v in metadata.variables if v.name == name)
    data = argus.read_data(DEMO / "Demodata.asc", metadata, [name])
    result = recode(data, {name: read_recoding(DEMO / file, variable)})[name]
    assert len(np.unique(result.compressed())) == categories
    assert np.array_equal(result.mask, data[name].mask)


@needs_demo
@pytest.mark.parametrize(
    ("method", "rate", "unsafe"),
    [("exact", "0.1248512", 397), ("series7", "0.1248256", 393)],
)
def test_demodata_recoded_as_in_2004(method, rate, unsafe):
    # CASC (2004) 1.2-D3, section 7: 0.125 %, less than 400 unsafe at 0.00125.
    data = argus.read_data(DEMO / "Demodata.asc")
    files = {"REGION": "Region.grc", "AGE": "Age.grc"}
    recodings = {name: read_recoding(DEMO / file) for name, file in files.items()}
    keys = ["REGION", "SEX", "AGE", "MARSTAT"]
    result = assess(recode(data, recodings), keys, "WEIGHT", method=method)
    assert len(result.cells) == 499
    assert f"{100 * result.reidentification_rate:.7f}" == rate
    assert result.unsafe_count(0.00125) == unsafe
    assert (result.individual_risk >= 0.00125).sum() == unsafe
