"""Frames, mappings and arguments of the functions that take them."""

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import riskcore
from riskcore import Reading, Recoding, assess, estimate_uniques, protect, tabulate

DATA = {
    "k": ["a", "a", "b", "c"],
    "j": [1, 1, 2, 2],
    "w": [10.0, 20.0, 30.0, 40.0],
    "h": [7, 7, 8, 9],
}
FRAME = pd.DataFrame(DATA)
NAN, INF = math.nan, math.inf


class Odd:
    """An object that nothing knows."""

    def __repr__(self):
        return "Odd()"


# Arguments of assess, and the phrase of the error: what was given, or its name

ARGUMENTS = {
    "keys None": ({"keys": None}, "keys"),
    "keys number": ({"keys": 5}, "keys"),
    "keys text": ({"keys": "k"}, "write ['k']"),
    "keys bytes": ({"keys": b"k"}, "keys"),
    "keys empty": ({"keys": []}, "keys is empty"),
    "keys empty mapping": ({"keys": {}}, "keys is empty"),
    "keys of nothing": ({"keys": iter(())}, "keys is empty"),
    "keys twice": ({"keys": ["k", "k"]}, "more than once: 'k'"),
    "keys unknown": ({"keys": ["z"]}, "no column 'z'; the columns are 'k', 'j', 'w'"),
    "keys of other case": ({"keys": ["K"]}, "did you mean 'k'?"),
    "keys with None": ({"keys": [None]}, "no column None"),
    "keys with nan": ({"keys": [NAN]}, "no column nan"),
    "keys with empty text": ({"keys": [""]}, "no column ''"),
    "keys with lists": ({"keys": [["k"]]}, "keys"),
    "keys with a dict": ({"keys": [{}]}, "keys"),
    "keys with a column": ({"keys": [FRAME.k]}, "keys"),
    "keys is a column": ({"keys": FRAME.k}, "more than once: 'a'"),
    "keys with an array": ({"keys": [np.arange(4)]}, "keys"),
    "keys bool": ({"keys": True}, "keys"),
    "keys with commas": ({"keys": ["k,j"]}, "no column 'k,j'"),
    "weight empty": ({"weight": ""}, "no column ''"),
    "weight unknown": ({"weight": "W"}, "did you mean 'w'?"),
    "weight number": ({"weight": 1}, "no column 1"),
    "weight True": ({"weight": True}, "no column True"),
    "weight nan": ({"weight": NAN}, "no column nan"),
    "weight column": ({"weight": FRAME.w}, "weight"),
    "weight array": ({"weight": np.ones(4)}, "weight"),
    "weight list": ({"weight": ["w"]}, "weight"),
    "weight polars": ({"weight": pl.Series([1.0])}, "weight"),
    "weight is a key": ({"weight": "k"}, "both a key and the weight"),
    "weight text": ({"weight": "t"}, "weight 't'"),
    "household empty": ({"household": ""}, "no column ''"),
    "household unknown": ({"household": "H"}, "did you mean 'h'?"),
    "household column": ({"household": FRAME.h}, "household"),
    "household array": ({"household": np.ones(4)}, "household"),
    "household list": ({"household": ["h", "no"]}, "'no'"),
    "household is a key": ({"household": "k"}, "both a key and the household"),
    "household is the weight": ({"weight": "w", "household": "w"}, "'w' is both"),
    "missing None": ({"missing": None}, "missing=None"),
    "missing empty": ({"missing": ""}, "missing=''"),
    "missing unknown": ({"missing": "drop"}, "'wildcard', 'argus', 'category'"),
    "missing case": ({"missing": "Refuse"}, "missing='Refuse'"),
    "missing list": ({"missing": ["refuse"]}, "missing=['refuse']"),
    "missing array": ({"missing": np.array(["refuse", "x"])}, "missing="),
    "alpha None": ({"missing": "wildcard", "alpha": None}, "alpha=None"),
    "alpha text": ({"missing": "wildcard", "alpha": "0.5"}, "alpha='0.5'"),
    "alpha nan": ({"missing": "wildcard", "alpha": NAN}, "alpha=nan"),
    "alpha inf": ({"missing": "wildcard", "alpha": INF}, "alpha=inf"),
    "alpha negative": ({"missing": "wildcard", "alpha": -1}, "alpha=-1"),
    "alpha two": ({"missing": "wildcard", "alpha": 2}, "alpha=2"),
    "alpha complex": ({"missing": "wildcard", "alpha": 1j}, "alpha=1j"),
    "alpha array": ({"missing": "wildcard", "alpha": np.ones(2)}, "alpha="),
    "alpha True": ({"missing": "wildcard", "alpha": True}, "alpha=True"),
    "alpha without wildcard": (
        {"alpha": 0.5, "missing": "argus"},
        "needs missing='wildcard'",
    ),
    "method None": ({"method": None}, "method=None"),
    "method empty": ({"method": ""}, "method=''"),
    "method unknown": ({"method": "Exact"}, "'exact', 'series7' or 'franconi'"),
    "method list": ({"method": ["exact"]}, "method=['exact']"),
    "method array": ({"method": np.ones(2)}, "method="),
    "reading in memory": ({"reading": Reading()}, "the data are in memory"),
    "reading mapping": ({"reading": {}}, "riskcore.Reading"),
    "reading text": ({"reading": "utf-8"}, "reading='utf-8'"),
}  # fmt: skip


@pytest.mark.parametrize("case", ARGUMENTS)
@pytest.mark.parametrize("backend", ["dict", "polars"])
def test_argument(case, backend, raises):
    data = {**DATA, "t": ["x"] * 4}
    data = data if backend == "dict" else pl.DataFrame(data)
    changed, phrase = ARGUMENTS[case]
    raises(lambda: assess(data, **{"keys": ["k", "j"], **changed}), phrase)


# Objects that are not data

DATASETS = {
    "None": (None, "NoneType"),
    "number": (5, "int"),
    "list": ([1, 2], "list"),
    "list of dicts": ([{"k": 1}], "list"),
    "array": (np.ones((2, 2)), "ndarray"),
    "series": (pd.Series([1]), "Series"),
    "generator": ((i for i in range(3)), "generator"),
        "empty mapping": ({}, "no records"),
    "empty columns": ({"k": []}, "no records"),
    "empty pandas": (pd.DataFrame({"k": []}), "no records"),
    "empty polars": (pl.DataFrame({"k": []}), "no records"),
    "empty pyarrow": (pa.table({"k": pa.array([], pa.string())}), "no records"),
    "pandas without columns": (pd.DataFrame(index=range(3)), "no records"),
    "columns share a name": (pd.DataFrame([[1, 2]], columns=["k", "k"]),
                             "share a name"),
    "pyarrow shares a name": (pa.table([[1], [2]], names=["k", "k"]), "share a name"),
    "MultiIndex": (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_product(
        [["k"], ["x", "y"]])), "no column 'k'"),
    "unequal": ({"k": [1, 2], "w": [1]}, "columns differ in length"),
    "unequal arrays": ({"k": np.ones(3), "w": [1]}, "columns differ in length"),
    "column number": ({"k": 5}, "column 'k'"),
    "column None": ({"k": None}, "column 'k' is a NoneType"),
    "column text": ({"k": "abc"}, "column 'k' is a str"),
    "column bytes": ({"k": b"abc"}, "column 'k' is a bytes"),
    "column set": ({"k": {1, 2}}, "column 'k' is a set"),
    "column dict": ({"k": {1: 2}}, "column 'k' is a dict"),
    "column generator": ({"k": (i for i in range(3))}, "column 'k' is a generator"),
    "column frame": ({"k": FRAME}, "column 'k'"),
    "column of no dimension": ({"k": np.array(5)}, "column 'k' has 0 dimensions"),
    "column of two dimensions": ({"k": np.ones((2, 2))}, "column 'k' has 2 dimensions"),
    "column of lists": ({"k": [[1], [2]]}, "key 'k'"),
    "column of dicts": ({"k": [{}, {}]}, "key 'k'"),
    "column of sets": ({"k": [{1}, {2}]}, "key 'k'"),
    "column of objects": ({"k": [Odd(), Odd()]}, "key 'k'"),
    "column of complex": ({"k": np.array([1j, 2])}, "key 'k'"),
    "column of complex objects": ({"k": [1j, 2j]}, "key 'k'"),
    "column of records": ({"k": np.zeros(2, [("x", int)])}, "key 'k'"),
    "column of raw bytes": ({"k": np.zeros(2, "V4")}, "key 'k'"),
    "column of functions": ({"k": [len, max]}, "key 'k'"),
    "path absent": ("absent.csv", "absent.csv: no such file"),
    "path empty": ("", "a directory"),
    "path with NUL": ("a\0.csv", "a"),
    "path of bytes": (b"absent.csv", "bytes"),
}  # fmt: skip


@pytest.mark.parametrize("case", DATASETS)
def test_data(case, raises):
    data, phrase = DATASETS[case]
    raises(lambda: tabulate(data, ["k"]), phrase)


# Columns of weights and households: values, a phrase of the error or the sum

WEIGHTS = {
    "text": (["1", "2"], "weight 'w'"),
    "text array": (np.array(["1", "2"]), "values of type"),
    "bool": ([True, False], "a value of type bool"),
    "bool array": (np.array([True, True]), "values of type bool"),
    "complex": ([1j, 2], "a value of type complex"),
    "lists": ([[1], [2]], "a value of type list"),
    "None": ([None, 1], "1 missing in 2 records"),
    "nan": ([NAN, 1], "1 missing in 2 records"),
    "NA": ([pd.NA, 1], "1 missing in 2 records"),
    "masked": (np.ma.array([1.0, 2], mask=[1, 0]), "1 missing in 2 records"),
    "inf": ([INF, 1], "1 infinite in 2 records"),
    "-inf": ([-INF, 1], "1 infinite"),
    "zero": ([0, 0], "all 2 are zero"),
    "negative": ([-1, -2], "2 negative in 2 records"),
    "negative zero": ([-0.0, 0], "all 2 are zero"),
    "all faults": ([NAN, INF, 0, -1], "1 missing, 1 infinite, 1 negative in 4"),
    "huge integer": ([10**400, 1], "weight 'w'"),
    "sum overflows": ([1.7e308, 1.7e308], "overflows"),
    "dates": (np.array(["2020", "2021"], "M8[Y]"), "weight 'w'"),
    "large integers": ([2**53 + 1, 1], 2.0**53 + 1),
    "fractions": ([0.5, 0.25], 0.75),
    "masked but one": (np.ma.array([1.0, 2], mask=[0, 0]), 3.0),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights(case, raises):
    values, expected = WEIGHTS[case]
    data = {"k": ["a"] * len(values), "w": values}
    if isinstance(expected, float):
        cells = tabulate(data, ["k"], "w", reading=Reading(weight_scale=1))
        assert cells.population_frequency.tolist() == [expected]
    else:
        raises(lambda: tabulate(data, ["k"], "w"), "'w'", expected)


# Keys that are odd but right: values, number of cells

KEYS = {
    "mixed types": ([1, "1", 1.5, b"1"], 4),
    "equal numbers": ([1, 1.0, True, np.int8(1)], 1),
    "tuples": ([(1, 2), (1, 2), (2, 1)], 2),
    "bytes": (np.array([b"a", b"b\0", b"a"]), 2),
    "long integers": ([2**70, 2**70 + 1, 1], 3),
    "negative zero": ([0.0, -0.0], 1),
    "inf": ([INF, -INF, 0.0], 3),
    "empty text": (["", " ", ""], 2),
    "text with NUL": (["a", "a\0", "a"], 2),
    "composed letters": (["\xe9", "e\u0301"], 2),
    "range": (range(3), 3),
    "big-endian": (np.array([1, 256, 1], ">i2"), 2),
    "every second": (np.arange(6)[::2], 3),
    "read only": (np.broadcast_to(np.int64(1), 3), 1),
    "subclass of text": ([np.str_("a"), np.str_("a")], 1),
    "dates": (np.array(["2020", "2021"], "M8[Y]"), 2),
    "pandas categories": (pd.Categorical(["a", "b", "a"], ["c", "b", "a"]), 2),
    "pandas index": (pd.Index(["a", "b"]), 2),
}


@pytest.mark.parametrize("case", KEYS)
def test_odd_keys(case):
    values, cells = KEYS[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = tabulate({"k": values}, ["k"])
    assert (found.n, len(found)) == (len(values), cells)


# Names of columns that the result takes

RESULTS = ["sample_frequency", "Population_Frequency", "SAMPLING_FRACTION",
           "individual_risk", "Household_Risk"]  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_result_names_are_taken(name, raises):
    raises(lambda: assess({name: [1, 2]}, [name]), repr(name), "rename")


def test_names_that_differ_by_case_are_two_columns():
    assert len(tabulate({"k": [1, 1], "K": [1, 2]}, ["k", "K"])) == 2


# protect, beyond what it shares with assess

PROTECT = {
    "nothing": ({"threshold": None}, "nothing to protect against"),
    "threshold 0": ({"threshold": 0}, "threshold=0"),
    "threshold negative": ({"threshold": -0.1}, "threshold"),
    "threshold 2": ({"threshold": 2}, "threshold=2"),
    "threshold nan": ({"threshold": NAN}, "threshold"),
    "threshold inf": ({"threshold": INF}, "threshold=inf"),
    "threshold text": ({"threshold": "1%"}, "threshold='1%'"),
    "threshold bool": ({"threshold": True}, "threshold=True"),
    "threshold array": ({"threshold": np.ones(2)}, "threshold="),
    "threshold complex": ({"threshold": 1j}, "threshold=1j"),
    "rate 0": ({"threshold": None, "rate": 0}, "rate=0"),
    "rate nan": ({"threshold": None, "rate": NAN}, "rate=nan"),
    "rate text": ({"threshold": None, "rate": "1"}, "rate='1'"),
    "both": ({"rate": 0.1}, "not both"),
    "household threshold": ({"household_threshold": 0.1}, "household column"),
    "household rate": ({"household": "h", "household_rate": 2}, "household_rate=2"),
    "missing": ({"missing": "refuse"}, "missing='refuse'"),
    "missing unknown": ({"missing": "x"}, "missing='x'"),
    "method": ({"method": "x"}, "method='x'"),
    "suppression": ({"suppression": "x"}, "suppression='x'"),
    "suppression None": ({"suppression": None}, "suppression=None"),
    "cost": ({"cost": "cheap"}, "cost='cheap'"),
    "cost number": ({"cost": 5}, "cost=5"),
    "cost of no key": ({"cost": {"w": 1}}, "'w' is not a key"),
    "cost negative": ({"cost": {"k": -1}}, "cost of 'k'"),
    "cost nan": ({"cost": {"k": NAN}}, "cost of 'k'"),
    "cost text": ({"cost": {"k": "x"}}, "cost of 'k'"),
    "cost None": ({"cost": {"k": None}}, "cost of 'k'"),
    "household keys": ({"household_keys": ["j"]}, "household column"),
    "household keys text": ({"household": "h", "household_keys": "j"},
                            "household_keys"),
    "household keys number": ({"household": "h", "household_keys": 5},
                              "household_keys"),
    "household keys, no key": ({"household": "h", "household_keys": ["w"]}, "'w'"),
    "related to no key": ({"related": {"w": ["k"]}}, "'w' is not a key"),
    "related to nothing": ({"related": {"k": ["z"]}}, "'z'"),
    "related to the weight": ({"weight": "w", "related": {"k": ["w"]}}, "the weight"),
    "related text": ({"related": {"k": "j"}}, "related"),
    "related list": ({"related": ["k"]}, "related"),
    "recodings list": ({"recodings": ["k"]}, "recodings"),
    "recodings number": ({"recodings": {"k": 5}}, "recodings"),
    "recodings None": ({"recodings": {"k": None}}, "recodings"),
    "recodings absent": ({"recodings": {"k": "absent.grc"}}, "absent.grc"),
    "recodings of nothing": ({"recodings": {"z": Recoding.truncation(1)}}, "'z'"),
    "recodings of the weight": ({"weight": "w", "recodings":
                                 {"w": Recoding.truncation(1)}}, "'w'"),
    "reading": ({"reading": Reading(decimal=",", weight_scale=1)}, "in memory"),
    "key sets": ({"keys": [["k"], ["k"]]}, "appears twice"),
    "key sets of nothing": ({"keys": [[]]}, "keys is empty"),
    "keys None": ({"keys": None}, "keys"),
    "keys text": ({"keys": "k"}, "write ['k']"),
    "keys unknown": ({"keys": ["z"]}, "'z'"),
    "weight column": ({"weight": FRAME.w}, "weight"),
}  # fmt: skip


@pytest.mark.parametrize("case", PROTECT)
def test_protect(case, raises):
    changed, phrase = PROTECT[case]
    arguments = {"keys": ["k", "j"], "threshold": 0.5, **changed}
    raises(lambda: protect(DATA, **arguments), phrase)


# Other functions of data, and what they make

RESULT = assess(DATA, ["k", "j"], "w")
CALLS = {
    "no target": (lambda: RESULT.risk_threshold(), "rate= or unsafe="),
    "two targets": (lambda: RESULT.risk_threshold(rate=0, unsafe=1),
                    "rate= or unsafe="),
    "rate nan": (lambda: RESULT.risk_threshold(rate=NAN), "rate"),
    "rate 2": (lambda: RESULT.risk_threshold(rate=2),
               "rate=2: need a fraction in [0, 1]"),
    "rate text": (lambda: RESULT.risk_threshold(rate="1%"), "rate"),
    "rate array": (lambda: RESULT.risk_threshold(rate=np.ones(2)), "rate"),
    "unsafe negative": (lambda: RESULT.risk_threshold(unsafe=-1),
                        "need 0 to 4 records"),
    "unsafe 5": (lambda: RESULT.risk_threshold(unsafe=5), "need 0 to 4 records"),
    "unsafe fraction": (lambda: RESULT.risk_threshold(unsafe=1.5), "unsafe"),
    "unsafe nan": (lambda: RESULT.risk_threshold(unsafe=NAN), "unsafe"),
    "unsafe text": (lambda: RESULT.risk_threshold(unsafe="1"), "unsafe"),
    "threshold nan": (lambda: RESULT.unsafe(NAN), "threshold"),
    "threshold negative": (lambda: RESULT.unsafe(-1), "threshold"),
    "threshold None": (lambda: RESULT.unsafe(None), "threshold"),
    "threshold text": (lambda: RESULT.unsafe("x"), "threshold"),
    "threshold array": (lambda: RESULT.unsafe(np.ones(2)), "threshold"),
    "count negative": (lambda: RESULT.riskiest(-1), "count"),
    "count text": (lambda: RESULT.riskiest("x"), "count"),
    "no households": (lambda: RESULT.household_risk, "assess(..., household=column)"),
    "no household threshold": (lambda: RESULT.household_threshold(rate=0.1),
                               "household"),
    "uniques: no population": (lambda: estimate_uniques(DATA, ["k"]), "population"),
    "uniques: population": (lambda: estimate_uniques(DATA, ["k"], population=3),
                            "population=3: below the 4 records"),
    "uniques: population nan": (lambda: estimate_uniques(DATA, ["k"], population=NAN),
                                "population"),
    "uniques: population text": (lambda: estimate_uniques(DATA, ["k"], population="9"),
                                 "population"),
    "uniques: population fraction": (
        lambda: estimate_uniques(DATA, ["k"], population=9.5), "population"),
    "uniques: cells": (lambda: estimate_uniques(DATA, ["k"], population=9, cells=1),
                       "cells=1"),
    "uniques: cells text": (
        lambda: estimate_uniques(DATA, ["k"], population=9, cells="9"), "cells"),
    "uniques: huge weights": (
        lambda: estimate_uniques({"k": ["a", "b"], "w": [1e300, 1e300]}, ["k"], "w",
                                 reading=Reading(weight_scale=1)),
        "the weights add to 2e+300 people, but the sample has 2; need at least"),
    "uniques: tiny weights": (
        lambda: estimate_uniques({"k": ["a", "b"], "w": [0.1, 0.2]}, ["k"], "w"),
        "the weights add to 0 people, but the sample has 2; need at least"),
    "uniques: too many cells": (
        lambda: estimate_uniques(DATA, ["k"], population=9, cells=2**53 + 1),
        "cells=9007199254740993: need a number of cells up to 2^53"),
    "uniques: level": (lambda: estimate_uniques(DATA, ["k"], population=9, level=1),
                       "level=1"),
    "uniques: level text": (
        lambda: estimate_uniques(DATA, ["k"], population=9, level="x"), "level"),
    "uniques: missing": (
        lambda: estimate_uniques(DATA, ["k"], population=9, missing="wildcard"),
        "missing='wildcard'"),
    "uniques: shrinkages": (
        lambda: estimate_uniques(DATA, ["k"], population=9, shrinkages=[2]),
                                 "shrinkage"),
    "recode: no mapping": (lambda: riskcore.recode(DATA, ["k"]), "recodings"),
    "recode: no Recoding": (lambda: riskcore.recode(DATA, {"k": "x"}), "x is neither"),
    "recode: unknown": (lambda: riskcore.recode(DATA, {"z": Recoding.truncation(1)}),
                        "'z'"),
    "recode: data": (lambda: riskcore.recode(5, {"k": Recoding.truncation(1)}), "data"),
    "mapping list": (lambda: Recoding.mapping([1, 2]), "codes=[1, 2]: need a mapping"),
    "mapping text": (lambda: Recoding.mapping("ab"), "codes='ab': need a mapping"),
    "truncate 0": (lambda: Recoding.truncation(0), "drop=0"),
    "truncate text": (lambda: Recoding.truncation("1"), "drop='1'"),
    "truncate nan": (lambda: Recoding.truncation(NAN), "drop=nan"),
    "breaks fall": (lambda: Recoding.intervals([2, 1]), "breaks must increase"),
    "breaks nan": (lambda: Recoding.intervals([NAN]), "nan: a code"),
    "breaks text": (lambda: Recoding.intervals(["a"]), "need numbers, dates"),
    "breaks None": (lambda: Recoding.intervals(None), "breaks"),
    "breaks number": (lambda: Recoding.intervals(5), "breaks"),
    "breaks closed": (lambda: Recoding.intervals([1], closed="x"), "closed='x'"),
    "reading encoding": (lambda: Reading(encoding="martian"), "encoding='martian'"),
    "reading rot13": (lambda: Reading(encoding="rot13"), "encoding='rot13'"),
    "reading encoding None": (lambda: Reading(encoding=None), "encoding=None"),
    "reading delimiter": (lambda: Reading(delimiter=",,"), "delimiter=',,'"),
    "reading delimiter number": (lambda: Reading(delimiter=5), "delimiter=5"),
    "reading decimal": (lambda: Reading(decimal="x"), "decimal='x'"),
    "reading decimal None": (lambda: Reading(decimal=None), "decimal=None"),
    "reading codes text": (lambda: Reading(missing_codes="NA"), "write ['NA']"),
    "reading codes number": (lambda: Reading(missing_codes=9), "missing_codes"),
    "reading codes numbers": (lambda: Reading(missing_codes=[9]), "write '9'"),
    "reading codes None": (lambda: Reading(missing_codes=None), "missing_codes"),
    "reading codes of a column": (lambda: Reading(missing_codes={"a": 9}),
                                  "missing_codes"),
    "reading codes of a number": (lambda: Reading(missing_codes={1: ["9"]}), "1"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_call(case, raises):
    call, phrase = CALLS[case]
    raises(call, phrase)
