"""Recode files of mu-Argus."""

import json

import numpy as np
import pytest

from riskcore import assess
from riskcore.data.argus_recode_file import read_recoding
from riskcore.data.files import formats
from riskcore.data.files.argus.metadata import Variable, read_metadata
from riskcore.data.recode import DoubtfulRules, Recoding
from riskcore.data.recode_table import recode
from tests import needs


def grc(folder, text, variable=None):
    path = folder / "V.grc"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_recoding(path, variable)


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
    assert numbers["v"] == [1, 1, 1, 3]


@pytest.mark.parametrize(
    ("text", "codes", "new"),
    [
        ("1: 0-9.5\n2: 9.6-99\n3:100-", ["2.25", "9.50", "12.5", "100"], "1123"),
        ("1: 0-9.5\n2: 9.6-99\n3:100-", [2.25, 9.5, 12.5, 118.3], "1123"),
        ("1: 0-9\n2: 10-99", ["2.25", "8.5", "12.50", "3"], "1121"),
        ("1: 0-9\n2: 10-99\n3: 9.5", ["2.25", "9.50", "10"], "132"),
        ('1: "-10" - "-5"\n2: "-4"-9\n3: 10-', [-10, -5, 0, 100], "1123"),
    ],
)
def test_numbers_with_decimals_or_signs_compare_as_numbers(tmp_path, text, codes, new):
    data = {"v": codes}
    assert [*map(float, recode(data, {"v": grc(tmp_path, text)})["v"])] == [
        *map(float, new)
    ]


@pytest.mark.parametrize(
    ("text", "codes", "told"),
    [
        ("1: 0-9\n2: 10-99", ["2.25", "9.50"], r"line 1: .*line 2: .*'9.50' lies"),
        ("1: -0\n2: 1-", [0.5, 1.0], r"line 1: .*line 2: .*0.5 lies"),
        ("1: 0-9\n2: 1a-2a", ["1.5", "3"], "line 2: .*'1a' is not a number"),
        ("1: 0-9", ["1,5", "3"], "'1,5' is not a number; write it with a point"),
    ],
)
def test_ranges_that_do_not_suit_decimals_are_refused(tmp_path, text, codes, told):
    with pytest.raises(ValueError, match=told):
        recode({"v": codes}, {"v": grc(tmp_path, text)})


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
    with pytest.raises(
        ValueError, match="variable 'v': no rule for '8', a missing code"
    ):
        recode({"v": ["1", "8"]}, {"v": recoding})


def test_rules_in_doubt_are_counted(tmp_path):
    recoding = grc(tmp_path, "1: 1-3\n2: 3-5\n3: 6\n4: 70-80\n")
    message = (
        r"variable 'v', V.grc: 2 rules fit no code: line 3: '6' -> '3', "
        r"line 4: \['70', '80'\] -> '4'; 1 code has several rules, "
        r"the last is taken: '3'$"
    )
    with pytest.warns(DoubtfulRules, match=message):
        assert recode({"v": ["1", "3", "9"]}, {"v": recoding})["v"] == ["1", "2", "9"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1: 1\n1; 2", "line 2: a line is 'new: code, "),
        ("1", "line 1: a line is"),
        (": 1", "line 1: a line is"),
        ("1 2: 3", "line 1: a line is"),
        ("1:", "line 1: a code is missing"),
        ("1: 2,,3", "line 1: a code is missing"),
        ("1: 2,", "line 1: a code is missing"),
        ("1: -", "line 1: a hyphen without a code"),
        ("1: 1-2-3", "line 1: two hyphens"),
        ("1: 2: 3", "line 1: two colons"),
        ("1: 2 3", "line 1: a comma is missing"),
        ('1: "2', "line 1: a quote is not closed"),
        ('1: " "', "line 1: an empty code"),
        ("1: 9-10\n2: 10-9", "line 2: a range runs backwards"),
        ("1: 1b-1a", "line 1: a range runs backwards"),
        ("1: 10-9.5", "line 1: a range runs backwards"),
        ("1: 1\n<TRUNCABLE>", "line 2: recode files have no such tag"),
        ("1: 1\n<MISSING> 7 8 9", "line 2: more than two missing codes"),
        ("1: 1\n<MISSING> 7\n<missing> 8", "line 3: the tag appears twice"),
        ("1: 1\n<CODELIST>", "line 2: the name of the file is missing"),
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
    age = Variable("AGE", 0, 2, missing=("98", "99"))
    with pytest.raises(ValueError, match=r"line 2: a code of 3 .*, AGE has 2$"):
        grc(tmp_path, "1: 1\n2: 7-100", age)
    for rule in ("99", "61-99", "98-"):
        with pytest.raises(ValueError, match="line 1: a missing code of AGE would"):
            grc(tmp_path, f"1: {rule}", age)
    # By no <MISSING> the codes of before are kept, by one both become it.
    assert grc(tmp_path, "99: 98,99", age).rules[0].to is None
    assert grc(tmp_path, "9: 98,99\n<MISSING> 9", age).rules[1].to is None


# The demo files of mu-Argus


@needs.demodata
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
    metadata = read_metadata(needs.DEMODATA / "Demodata.rda")
    variable = next(v for v in metadata.variables if v.name == name)
    data = formats.read(needs.DEMODATA / "Demodata.asc", [name])
    result = recode(data, {name: read_recoding(needs.DEMODATA / file, variable)})[name]
    assert len(np.unique(result.compressed())) == categories
    assert np.array_equal(result.mask, data[name].mask)


@needs.demodata
@pytest.mark.parametrize(
    ("method", "rate", "unsafe"),
    [("exact", "0.1248512", 397), ("series7", "0.1248256", 393)],
)
def test_demodata_recoded_as_in_2004(method, rate, unsafe):
    # CASC (2004) 1.2-D3, section 7: 0.125 %, less than 400 unsafe at 0.00125.
    data = formats.read(needs.DEMODATA / "Demodata.asc")
    files = {"REGION": "Region.grc", "AGE": "Age.grc"}
    recodings = {
        name: read_recoding(needs.DEMODATA / file) for name, file in files.items()
    }
    keys = ["REGION", "SEX", "AGE", "MARSTAT"]
    result = assess(recode(data, recodings), keys, "WEIGHT", method=method)
    assert len(result.cells) == 499
    assert f"{100 * result.reidentification_rate:.7f}" == rate
    assert result.unsafe_count(0.00125) == unsafe
    assert (result.individual_risk >= 0.00125).sum() == unsafe
