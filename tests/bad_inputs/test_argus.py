"""Invalid files of mu-Argus: metadata, records, codelists and recode files."""

import pytest

GOOD = "SEX 1 1 9\n <RECODABLE>\nAGE 2 2\n <RECODABLE>\nW 4 3\n <WEIGHT>\n"
DATA = "130100\n240 20\n130 15\n"
FREE = '<SEPARATOR> ","\nSEX 1 9\nAGE 2\nW 3\n <WEIGHT>\n'
NAMED = '<NAMESINFRONT>\n<SEPARATOR> ","\nSEX 1\nAGE 2\nW 3\n <WEIGHT>\n'

# metadata, data: a phrase of the error, or the number of records
CASES = {
    "good": (GOOD, DATA, 3),
    "no metadata": (None, DATA, "no metadata s.rda next to it"),
    "empty metadata": ("", DATA, "s.rda"),
    "blank metadata": ("\n \n", DATA, "declares no variable"),
    "comments alone": ("// nothing\n", DATA, "s.rda"),
    "tags alone": ("<RECODABLE>\n", DATA, "declares no variable"),
    "no start": ("SEX\n", DATA, "line 1: start position must be a whole number"),
    "no width": ("SEX 1\n", DATA, "line 1: width must be a whole number"),
    "free, undeclared": ("SEX 1\n", "SEX\n1\n", 'add <SEPARATOR> "," above'),
    "free, with names undeclared": (FREE, "sex,age,W\n1,30,100\n",
                                    "add the line <NAMESINFRONT> to s.rda"),
    "free, empty": (FREE, "", "the file is empty"),
    "start 0": ("SEX 0 1\n", DATA, "at least 1: 'SEX 0 1'"),
    "start negative": ("SEX -1 1\n", DATA, "start position"),
    "start fraction": ("SEX 1.5 1\n", DATA, "start position"),
    "start word": ("SEX one 1\n", DATA, "start position"),
    "start huge": ("SEX 9999999999 1\n", DATA, "start position"),
    "width 0": ("SEX 1 0\n", DATA, "width must be a whole number of at least 1"),
    "width huge": ("SEX 1 99999999\n", DATA, "SEX"),
    "width Arabic": ("SEX 1 \u0661\n", DATA, "width"),
    "three missing codes": ("SEX 1 1 7 8 9\n", DATA, "more than two missing codes"),
    "no name": ('"" 1 1\n', DATA, "a variable needs a name"),
    "name twice": ("SEX 1 1\nSEX 2 1\n", DATA, "declares a name twice"),
    "two weights": ("SEX 1 1\n <WEIGHT>\nW 4 3\n <WEIGHT>\n", DATA, "two weights"),
    "two households": ("SEX 1 1\n <HOUSE_ID>\nA 2 1\n <HOUSE_ID>\n", DATA,
                       "two household numbers"),
    "names in front, fixed": ("<NAMESINFRONT>\nSEX 1 1\n", DATA, "no <SEPARATOR>"),
    "separator of two letters": ('<SEPARATOR> ";;"\nSEX 1\n', DATA, "one character"),
    "separator absent": ("<SEPARATOR>\nSEX 1\n", DATA, "one character"),
    "separator quote": ('<SEPARATOR> """\nSEX 1\n', DATA, "one character"),
    "SPSS": ("<SPSS>\nSEX 1 1\n", DATA, "SPSS"),
    "related to nobody": (GOOD + " <RELATED> NO\n", DATA, "does not declare"),
    "related without name": (GOOD + " <RELATED>\n", DATA, "<RELATED> needs a name"),
    "codelist without name": (GOOD + " <CODELIST>\n", DATA, "<CODELIST> needs a name"),
    "decimals word": (GOOD + " <DECIMALS> x\n", DATA, "<DECIMALS> must be a whole"),
    "priority negative": (GOOD + " <SUPPRESSWEIGHT> -1\n", DATA, "whole number"),
    "metadata with NUL": (GOOD + "\0", DATA, "zero byte"),
    "metadata with escapes": ("SEX \x1b[2J 1\n", DATA, "\\x1b[2J"),
    "metadata in UTF-16": (GOOD.encode("utf-16"), DATA, "s.rda"),
    "metadata is data": (DATA, DATA, "s.rda, line 1"),
    "unknown tag": (GOOD + " <COLOUR> blue\n", DATA, 3),
    "overlapping columns": ("SEX 1 2\n <RECODABLE>\nAGE 2 2\nW 4 3\n <WEIGHT>\n",
                            DATA, 3),
    "empty data": (GOOD, "", "the file is empty"),
    "line end alone": (GOOD, "\n", "no records"),
    "empty lines alone": (GOOD, "\n\n\n", "no records"),
    "short record": (GOOD, "130100\n2\n130 15\n", "1 missing in 3 records"),
    "record without its weight": (GOOD, "130100\n240\n", "1 missing in 2 records"),
    "empty line": (GOOD, "130100\n\n130 15\n", None),
    "lone CR": (GOOD, "130100\r240 20\r", 2),
    "CR within": (GOOD, "130100\n24\r020\n", "s.asc"),
    "CR LF": (GOOD, "130100\r\n240 20\r\n", 2),
    "no line end": (GOOD, "130100\n240 20", 2),
    "tab": (GOOD, "130100\n240\t20\n", "s.asc"),
    "NUL": (GOOD, "130100\n24\00020\n", "s.asc"),
    "form feed": (GOOD, "130100\n240\x0c20\n", "s.asc"),
    "end of file mark": (GOOD, "130100\n240 20\n\x1a", 2),
    "end of file mark within": (GOOD, "130100\n\x1a240 20\n", "line 2"),
    "U+2028": (GOOD, "130100\n2\u202840 20\n", None),
    "UTF-16 data": (GOOD, DATA.encode("utf-16"), "s.asc"),
    "long record": (GOOD, "130100 and more\n240 20\n", 2),
    "weight word": (GOOD, "130abc\n240 20\n", "W is not a number in 1 records"),
    "weight blank": (GOOD, "130   \n240 20\n", "1 missing in 2 records"),
    "weight zero": (GOOD, "130000\n240 20\n", 2),
    "weight negative": (GOOD, "130 -5\n240 20\n", "1 negative"),
    "weight nan": (GOOD, "130nan\n240 20\n", "W"),
    "weight inf": (GOOD, "130inf\n240 20\n", "W"),
    "weight 1e5": (GOOD, "1301e5\n240 20\n", 2),
    "weight 1_0": (GOOD, "1301_0\n240 20\n", "'1_0'"),
    "weight comma": (GOOD, "1302,5\n240 20\n", "'2,5'"),
    "weight hexadecimal": (GOOD, "1300x1\n240 20\n", "'0x1'"),
    "weight Arabic": (GOOD, "130 ٣٣\n240 20\n", "W"),
    "missing code": (GOOD, "930100\n240 20\n", 2),
    "blank key": (GOOD, " 30100\n240 20\n", 2),
    "Windows-1252": (b"SEX 1 1\nW 2 3\n <WEIGHT>\n", b"\xe4100\n\xf6 20\n", 2),
    "not cp1252": ("SEX 1 1\nW 2 3\n <WEIGHT>\n", b"\x81100\n\xf6 20\n", None),
    "huge record": (GOOD, "1" * (1 << 25) + "\n", None),
    "free: good": (FREE, "1,30,100\n2,40,20\n", 2),
    "free: short": (FREE, "1,30,100\n2,40\n", "line 2"),
    "free: long": (FREE, "1,30,100\n2,40,20,5\n", "line 2"),
    "free: other separator": (FREE, "1;30;100\n2;40;20\n", "s.asc"),
    "free: too wide": (FREE, "123,30,100\n", 1),
    "free: open quote": (FREE, '1,"30,100\n2,40,20\n', "s.asc"),
    "free: weight word": (FREE, "1,30,abc\n", "'abc'"),
    "free: weight empty": (FREE, "1,30,\n", "missing in 1"),
    "free: empty line": (FREE, "1,30,100\n\n2,40,20\n", None),
    "names: other order": (NAMED, "W,SEX,AGE\n100,1,30\n", 1),
    "names: one wrong": (NAMED, "SEX,ALTER,W\n1,30,100\n", 1),
    "names: weight wrong": (NAMED, "SEX,AGE,WEIGHT\n1,30,100\n", "no column 'W'"),
    "names: twice": (NAMED, "SEX,SEX,W\n1,30,100\n", "appears twice"),
    "names: alone": (NAMED, "SEX,AGE,W\n", "no records"),
    "names: of other case": (NAMED, "sex,age,w\n1,30,100\n", "SEX"),
    "names: absent": (NAMED, "1,30,100\n2,30,50\n", "SEX"),
}  # fmt: skip


def write(folder, name, content):
    raw = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(raw)


@pytest.mark.parametrize("case", CASES)
def test_file(case, folder, refused, summary):
    metadata, data, expected = CASES[case]
    if metadata is not None:
        write(folder, "s.rda", metadata)
    write(folder, "s.asc", data)
    if isinstance(expected, int):
        found = summary("s.asc", "--keys", "SEX")
        assert found["records"] == expected
    else:
        refused("assess", "s.asc", "--keys", "SEX", phrases=expected or "s.asc")


OPTIONS = {
    "delimiter": (["--delimiter", ";"], "only a CSV has a delimiter"),
    "decimal": (["--decimal", ","], "only CSV and Excel files have a decimal mark"),
    "metadata absent": (["--metadata", "t.rda"], "t.rda"),
    "metadata is a folder": (["--metadata", "."], "."),
    "metadata is the data": (["--metadata", "s.asc"], "s.asc, line 1"),
    "unknown key": (["--weight", "WEIGHT"], "no column 'WEIGHT'"),
    "codes of no column": (["--na", "X=1"], "no column 'X'"),
    "key as weight": (["--weight", "SEX"], "both a key and the weight"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options(case, folder, refused):
    options, phrase = OPTIONS[case]
    write(folder, "s.rda", GOOD)
    write(folder, "s.asc", DATA)
    refused("assess", "s.asc", "--keys", "SEX", *options, phrases=phrase)


# Recode files of AGE, two characters wide
GRC = {
    "absent": (None, "V.grc"),
    "empty": ("", "V.grc"),
    "no rules": ("// nothing\n", "no rules"),
    "no colon": ("1 10-20\n", "line 1: a line is 'new: code, low-high, ...'"),
    "colon alone": (":\n", "line 1"),
    "nothing new": (": 10-20\n", "line 1"),
    "nothing old": ("1:\n", "line 1: a code is missing"),
    "hyphen alone": ("1: -\n", "a hyphen without a code"),
    "two hyphens": ("1: 1-2-3\n", "two hyphens"),
    "two colons": ("1: 2: 3\n", "two colons"),
    "no comma": ("1: 10 20\n", "a comma is missing"),
    "comma at the end": ("1: 10,\n", "a code is missing"),
    "backwards": ("1: 20-10\n", "line 1"),
    "too wide": ("1: 100-200\n", "a code of 3 characters, AGE has 2"),
    "open quote": ('1: "10\n', "a quote is not closed"),
    "empty quotes": ('1: ""\n', "an empty code"),
    "unknown tag": ("1: 10\n<COLOUR> x\n", "recode files have no such tag"),
    "tag twice": ("1: 10\n<MISSING> 1\n<MISSING> 2\n", "the tag appears twice"),
    "three missing": ("1: 10\n<MISSING> 1 2 3\n", "more than two missing codes"),
    "codelist unnamed": ("1: 10\n<CODELIST>\n", "the name of the file is missing"),
    "NUL": ("1: 10\0\n", "zero byte"),
    "UTF-16": ("1: 10\n".encode("utf-16"), "V.grc"),
    "escape": ("\x1b[2J\n", "V.grc, line 1"),
    "long line": ("x" * 100_000 + "\n", "line 1"),
    "leaves codes alone": ("x: 99\n", None),
}


@pytest.mark.parametrize("case", GRC)
def test_recode_file(case, folder, refused, run):
    content, phrase = GRC[case]
    write(folder, "s.rda", GOOD)
    write(folder, "s.asc", DATA)
    if content is not None:
        write(folder, "V.grc", content)
    command = ["protect", "s.asc", "--keys", "AGE", "--recode", "AGE=V.grc",
               "--threshold", "50%", "--output", "o.asc"]  # fmt: skip
    if phrase is None:
        status, _, err = run(*command)
        assert status in (0, 1, 2)
        assert "Traceback" not in err
        assert "AGE" in err
    else:
        refused(*command, phrases=["V.grc", phrase])


@pytest.mark.parametrize("is_folder", [False, True])
def test_codelists_are_not_read(is_folder, folder, run):
    write(folder, "s.rda", GOOD.replace("AGE", " <CODELIST> S.cdl\nAGE"))
    write(folder, "s.asc", DATA)
    if is_folder:
        (folder / "S.cdl").mkdir()
    status, out, _ = run("assess", "s.asc", "--keys", "SEX")
    assert (status, "records                      3" in out) == (0, True)
    command = ["protect", "s.asc", "--keys", "SEX", "--threshold", "50%"]
    accept = ["--role", "*=harmless:a test", "--accept", "*=a test"]
    status, out, err = run(*command, *accept, "--output", "o.saf")
    assert status == 0, err
    assert "3 records" in out
