"""CSV files: each gives its values, or an error that says where the fault is."""

import codecs
import gzip
import os
import tempfile
from pathlib import Path

import pytest

from riskcore import Reading
from riskcore.data.files import formats
from tests import needs

LONG = "x" * (1 << 17)  # the limit of Python's own reader
LONGER = "y" * ((1 << 20) + 3)  # beyond the block that Arrow reads
BOM = codecs.BOM_UTF8

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.data.files.formats.LineBreaksInFields"
)

# content: the values of the first column, as many as there are records
GOOD = {
    "quoted": (b'a,b\n"1",2\n', ["1"]),
    "quoted delimiter": (b'a,b\n"1,5",2\n', ["1,5"]),
    "doubled quote": (b'a,b\n"1""5",2\n', ['1"5']),
    "doubled quote at the begin": (b'a,b\n"""1",2\n', ['"1']),
    "doubled quote at the end": (b'a,b\n"1""",2\n', ['1"']),
    "only doubled quotes": (b'a,b\n"""""",2\n', ['""']),
    "one quote in quotes": (b'a,b\n"""",2\n', ['"']),
    "quoted empty": (b'a,b\n"",2\n', [""]),
    "quote within a plain field": (b'a,b\n6" tall,2\n', ['6" tall']),
    "quote at the end of a plain field": (b'a,b\n6",2\n', ['6"']),
    "quote in the last plain field": (b'a,b\n6,2"\n', ["6"]),
    "two quotes within a plain field": (b'a,b\n6"7"8,2\n', ['6"7"8']),
    "blank before a quote": (b'a,b\n "1",2\n', [' "1"']),
    "quoted line break": (b'a,b\n"1\n5",2\n', ["1\n5"]),
    "quoted CR LF": (b'a,b\r\n"1\r\n5",2\r\n', ["1\r\n5"]),
    "quoted CR": (b'a,b\n"1\r5",2\n', ["1\r5"]),
    "two quoted line breaks": (b'a,b\n"1\n\n5",2\n6,7\n', ["1\n\n5", "6"]),
    "field of 128 KiB": (f"a,b\n{LONG},2\n".encode(), [LONG]),
    "quoted field of 128 KiB": (f'a,b\n"{LONG}",2\n'.encode(), [LONG]),
    "field of 1 MiB": (f"a,b\n{LONGER},2\n".encode(), [LONGER]),
    "second field of 1 MiB": (f"a,b\n1,2\n3,{LONGER}\n4,5\n".encode(), ["1", "3", "4"]),
    "quoted field of 1 MiB": (f'a,b\n"{LONGER}",2\n3,4\n'.encode(), [LONGER, "3"]),
    "quoted breaks of 1 MiB": (b'a,b\n"' + b"\n" * 1_100_000 + b'",2\n3,4\n',
                               ["\n" * 1_100_000, "3"]),
    "no line end at the end": (b"a,b\n1,2", ["1"]),
    "no line end after quotes": (b'a,b\n1,"2"', ["1"]),
    "no line end, last field empty": (b"a,b\n1,", ["1"]),
    "CR LF": (b"a,b\r\n1,2\r\n3,4\r\n", ["1", "3"]),
    "lone CR": (b"a,b\r1,2\r3,4\r", ["1", "3"]),
    "mixed line ends": (b"a,b\n1,2\r\n3,4\r5,6\n", ["1", "3", "5"]),
    "LF CR": (b"a,b\n\r1,2\n\r3,4", ["1", "3"]),
    "CR CR LF": (b"a,b\r\r\n1,2\r\r\n", ["1"]),
    "CR LF over a border": (b"a,b\n" + b"1,2\r\n" * 250_000, ["1"] * 250_000),
    "empty lines in many columns": (b"a,b\n\n1,2\n\n\n3,4\n\n", ["1", "3"]),
    "empty lines in one column": (b"a\n\n1\n\n3\n", [None, "1", None, "3"]),
    "empty last line in one column": (b"a\n1\n\n", ["1", None]),
    "line of blanks in one column": (b"a\n1\n  \n", ["1", "  "]),
    "line of delimiters": (b"a,b\n1,2\n,\n", ["1", None]),
    "line of quotes": (b'a,b\n1,2\n"",""\n', ["1", ""]),
    "form feed in a field": (b"a,b\n1\x0c5,2\n", ["1\x0c5"]),
    "vertical tab in a field": (b"a,b\n1\x0b5,2\n", ["1\x0b5"]),
    "form feed as a field": (b"a,b\n\x0c,2\n", ["\x0c"]),
    "end of file mark in a field": (b"a,b\n1\x1a,2\n3,4\n", ["1\x1a", "3"]),
    "file separator": (b"a,b\n1\x1c5,2\n", ["1\x1c5"]),
    "U+0085": ("a,b\n1\x855,2\n".encode(), ["1\x855"]),
    "U+2028": ("a,b\n1\u20285,2\n".encode(), ["1\u20285"]),
    "U+2029": ("a,b\n1\u20295,2\n".encode(), ["1\u20295"]),
    "no-break space": ("a,b\n\xa01,2\n".encode(), ["\xa01"]),
    "BOM": (BOM + b"a,b\n1,2\n", ["1"]),
    "BOM and quoted names": (BOM + b'"a","b"\n1,2\n', ["1"]),
    "BOM within": (b"a,b\n1," + BOM + b"2\n", ["1"]),
    "two BOMs": (BOM + BOM + b"a,b\n1,2\n", ["1"]),
    "names in quotes": (b'"a","b"\n1,2\n', ["1"]),
    "name with a quote": (b'a""b,c\n1,2\n', ["1"]),
    "name with a line break": (b'"a\nb",c\n1,2\n', ["1"]),
    "one blank name": (b",b\n1,2\n", ["1"]),
    "name of a blank": (b" ,b\n1,2\n", ["1"]),
    "names differ by case": (b"a,A\n1,2\n", ["1"]),
    "names differ by blanks": (b"a,a \n1,2\n", ["1"]),
    "names are numbers": (b"1,2\n1,2\n", ["1"]),
    "huge name": (b"a" * 100_000 + b",b\n1,2\n", ["1"]),
    "1000 columns": (b",".join(b"c%d" % i for i in range(1000)) + b"\n" + b"1," * 999
                     + b"2\n", ["1"]),
    "semicolons": (b"a;b\n1,5;2\n", ["1,5"]),
    "tabs": (b"a\tb\n1,5\t2\n", ["1,5"]),
    "bars": (b"a|b\n1,5|2\n", ["1,5"]),
    "commas in quoted names": (b'"a,,,";b\n1;2\n', ["1"]),
    "leading zeros": (b"a,b\n01,2\n1,2\n", ["01", "1"]),
    "leading blanks": (b"a,b\n 1,2\n1 ,2\n", [" 1", "1 "]),
    "long numbers": (b"a,b\n12345678901234567890,2\n", ["12345678901234567890"]),
    "words for missing": (b"a,b\nNA,2\nnull,2\nNaN,2\n", ["NA", "null", "NaN"]),
    "astral letters": ("a,b\n\U0001f600,2\n".encode(), ["\U0001f600"]),
    "NUL text": (b"a,b\n\\0,2\n", ["\\0"]),
    "backslash and quote": (b'a,b\n1\\",2\n', ['1\\"']),
    "single quotes": (b"a,b\n'1,2'\n", ["'1"]),
    "comment": (b"a,b\n#1,2\n", ["#1"]),
    "formula": (b"a,b\n=1+1,2\n", ["=1+1"]),
}  # fmt: skip

# content: a phrase of the error
BAD = {
    "empty": (b"", "the file is empty"),
    "only a mark": (BOM, "the file is empty"),
    "only a line end": (b"\n", "the first line must name the columns"),
    "only CR LF": (b"\r\n", "the first line must name the columns"),
    "empty first line": (b"\na,b\n1,2\n", "the first line must name the columns"),
    "blank first line": (b"   \na,b\n1,2\n", "the first line must name the columns"),
    "only a header": (b"a,b\n", "a header, but no records"),
    "only a header without line end": (b"a,b", "no records, only one line"),
    "header and empty lines": (b"a,b\n\n\n", "a header, but no records"),
    "only delimiters in the header": (b",,\n1,2,3\n", "column names given twice"),
    "name twice": (b"a,b,a\n1,2,3\n", "column names given twice: a"),
    "two blank names": (b"a,,\n1,2,3\n", "column names given twice"),
    "name twice, once quoted": (b'a,"a"\n1,2\n', "column names given twice: a"),
    "open quote in the header": (b'"a,b\n1,2\n', "line 1"),
    "text after a quoted name": (b'"a"x,b\n1,2\n', "line 1"),
    "header of quotes": (b'"""\n1\n', "line 1"),
    "short row": (b"a,b\n1,2\n3\n", "1 row does not have 2 fields"),
    "long row": (b"a,b\n1,2\n3,4,5\n", "line 3, has 3"),
    "trailing delimiters": (b"a,b\n1,2,\n3,4,\n", "2 rows do not have 2 fields"),
    "trailing delimiter in the header": (b"a,b,\n1,2\n", "does not have 3 fields"),
    "blanks in many columns": (b"a,b\n1,2\n  \n3,4\n", "line 3, has 1"),
    "tab line in many columns": (b"a,b\n1,2\n\t\n", "line 3, has 1"),
    "text after quotes": (b'a,b\n"1"x,2\n', "text after a closing quote in line 2"),
    "blank after quotes": (b'a,b\n"1" ,2\n', "text after a closing quote in line 2"),
    "quote after quotes": (b'a,b\n"1"x"2",2\n', "text after a closing quote in line 2"),
    "last field, text after": (b'a,b\n1,"2"x\n', "text after a closing quote"),
    "three quotes": (b'a,b\n""",2\n3,4\n', "the quote opened in line 2 is not closed"),
    "one quote": (b'a,b\n",2\n3,4\n', "the quote opened in line 2 is not closed"),
    "open quote": (b'a,b\n"1,2\n3,4\n', "the quote opened in line 2 is not closed"),
    "open quote in the last field": (b'a,b\n1,"2\n3,4\n', "line 2 is not closed"),
    "open quote in the last line": (b'a,b\n1,2\n3,"4', "line 3 is not closed"),
    "open quote at the end": (b'a,b\n1,2\n3,"', "line 3 is not closed"),
    "open quote, then long": (b'a,b\n"' + b"1,2\n" * 300_000, "line 2 is not closed"),
    "two stray quotes": (b'a,b,c\n"1,2,3\n4,5,6\n7,8,9"\n', "line 2, has 1"),
    "two stray quotes, one later": (b'a,b,c\n1,2,"3\n4,5,6\n7,8,"9"\n', "line 4"),
    "NUL in a field": (b"a,b\n1\0,2\n", "1 zero bytes, the first at byte offset 5"),
    "NUL in quotes": (b'a,b\n"1\0",2\n', "1 zero bytes"),
    "NUL line": (b"a,b\n1,2\n\0\n", "1 zero bytes"),
    "NUL in the header": (b"a\0,b\n1,2\n", "zero bytes in the first line"),
    "all NUL": (b"\0" * 100, "zero bytes in the first line"),
    "NUL padding": (b"a,b\n1,2\n" + b"\0" * 512, "512 zero bytes"),
    "UTF-16 with a mark": ("a,b\n1,2\n".encode("utf-16"), "give --encoding utf-16"),
    "UTF-16 big": (codecs.BOM_UTF16_BE + "a,b\n1,2\n".encode("utf-16-be"), "utf-16"),
    "UTF-32": ("a,b\n1,2\n".encode("utf-32"), "give --encoding utf-32"),
    "UTF-32 big": (codecs.BOM_UTF32_BE + "a,b\n1,2\n".encode("utf-32-be"), "utf-32"),
    "UTF-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), "zero bytes"),
    "UTF-16, names in quotes": ('"a","b"\n"1",2\n'.encode("utf-16-le"), "UTF-16 or"),
    "UTF-32 without a mark": ("a,b\n1,2\n".encode("utf-32-le"), "zero bytes"),
    "half a mark": (BOM[:2] + b"a,b\n1,2\n", "not utf-8 at byte offset 0"),
    "cp1252 in a field": ("a,b\nä,2\n".encode("cp1252"), "not utf-8 at byte offset 4"),
    "cp1252 in the header": ("ä,b\n1,2\n".encode("cp1252"), "byte offset 0"),
    "letter cut in a field": (b"a,b\n\xe2\x82,2\n", "not utf-8 at byte offset 4"),
    "surrogate": (b"a,b\n\xed\xa0\x80,2\n", "not utf-8 at byte offset 4"),
    "overlong slash": (b"a,b\n\xc0\xaf,2\n", "not utf-8 at byte offset 4"),
    "beyond Unicode": (b"a,b\n\xf5\x80\x80\x80,2\n", "not utf-8 at byte offset 4"),
    "gzip without .gz": (gzip.compress(b"a,b\n1,2\n"), "not a text file"),
    "Parquet named CSV": (b"PAR1\x15\x04\x15\x10\nPAR1", ""),
    "Excel named CSV": (b"PK\x03\x04\x14\0\x06\0\x08\0\n1\n", "zero bytes"),
    "huge first line": (b"x" * ((1 << 24) + 10) + b"\n1\n", "more than 16,777,216"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::riskcore.data.files.csv.LinesWithoutValues")
@pytest.mark.filterwarnings("ignore::riskcore.data.files.reading.LastLineOpen")
@pytest.mark.parametrize("case", GOOD)
def test_every_record_and_value_arrives(case, folder, summary):
    content, values = GOOD[case]
    (folder / "s.csv").write_bytes(content)
    first = formats.columns_of("s.csv").names[0]
    table = formats.read("s.csv", [first])
    assert table.column(0).to_pylist() == values
    roles = ["--missing", "category", "--top", "0"]
    assert summary("s.csv", "--keys", first, *roles)["records"] == len(values)


@pytest.mark.parametrize("case", BAD)
def test_file_is_refused(case, folder, refused):
    content, phrase = BAD[case]
    (folder / "s.csv").write_bytes(content)
    refused("assess", "s.csv", "--keys", "a", phrases=["s.csv", phrase])


@pytest.mark.parametrize("where", range(9))
@pytest.mark.parametrize("quotes", ['"', '""', '"""', '""""', '"x"'])
def test_quotes_at_every_place(where, quotes, folder, run):
    """Four records, or an error that names a line: never fewer without a word."""
    lines = "11,22,3\n"
    row = lines[:where] + quotes + lines[where:]
    (folder / "s.csv").write_text("a,b,c\n1,1,1\n" + row + "2,2,2\n3,3,3\n")
    status, out, err = run("assess", "s.csv", "--keys", "b", "--missing", "category")
    if status == 0:
        assert "records                      4" in out
    else:
        assert (status, out) == (2, "")
        assert "line" in err
        assert err.count("\n") == 1
    assert "Traceback" not in err


# Text of other columns than the keys is not decoded, unless the file is read whole.
UNREAD = {
    "cp1252 in another field": ("a,b\n1,ä\n".encode("cp1252"), "byte offset 6"),
    "letter cut at the end": ("a,b\n1,é".encode()[:-1], "byte offset 6"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_other_columns_count_when_they_are_written(case, folder, refused, summary):
    content, phrase = UNREAD[case]
    (folder / "s.csv").write_bytes(content)
    assert summary("s.csv", "--keys", "a")["records"] == 1
    whole = ["assess", "s.csv", "--keys", "a", "--output", "o.csv"]
    refused(*whole, phrases=["not utf-8 at", phrase])


# Packed files

PACKED = gzip.compress(b"a,b\n" + b"".join(b"%d,2\n" % i for i in range(5000)))
GZIP = {
    "cut": (PACKED[:-200], "cut off"),
    "cut in the checksum": (PACKED[:-6], "cut off"),
    "cut in the header": (PACKED[:5], "cut off"),
    "only a header": (PACKED[:10], "cut off"),
    "corrupted": (PACKED[:900] + b"\0\1\2\3" + PACKED[904:], "not a gzip file"),
    "wrong checksum": (PACKED[:-8] + b"abcd" + PACKED[-4:], "not a gzip file"),
    "wrong length": (PACKED[:-4] + b"abcd", "not a gzip file"),
    "trailing rubbish": (PACKED + b"rubbish", "not a gzip file"),
    "packed twice": (gzip.compress(PACKED), ""),
    "plain text": (b"a,b\n1,2\n", "not a gzip file"),
    "empty": (b"", "the file is empty"),
    "packed nothing": (gzip.compress(b""), "the file is empty"),
    "packed header": (gzip.compress(b"a,b\n"), "no records"),
    "packed open quote": (gzip.compress(b'a,b\n"1,2\n'), "not closed"),
}


@pytest.mark.parametrize("case", GZIP)
def test_packed_file_is_refused(case, folder, refused):
    content, phrase = GZIP[case]
    (folder / "s.csv.gz").write_bytes(content)
    refused("assess", "s.csv.gz", "--keys", "a", phrases=["s.csv.gz", phrase])


def test_packed_in_two_parts_or_padded_is_read(folder, summary):
    for content in (
        gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"),
        gzip.compress(b"a,b\n1,2\n3,4\n") + b"\0" * 100,
    ):
        (folder / "s.csv.gz").write_bytes(content)
        assert summary("s.csv.gz", "--keys", "a")["records"] == 2


# Options of reading: options, content, a phrase of the error or the number of records

READING = {
    "unknown encoding": (["--encoding", "utf-9"], b"a\n1\n", ["utf-9"]),
    "empty encoding": (["--encoding", ""], b"a\n1\n", ["encoding"]),
    "encoding of no text": (["--encoding", "rot13"], b"a\n1\n", ["rot13"]),
    "encoding of no text, hex": (["--encoding", "hex"], b"a\n1\n", ["hex"]),
    "encoding of no text, gzip": (["--encoding", "zlib"], b"a\n1\n", ["zlib"]),
    "encoding with NUL": (["--encoding", "utf\0"], b"a\n1\n", ["encoding"]),
    "encoding with escapes": (["--encoding", "\x1b[2J"], b"a\n1\n", ["encoding"]),
    "idna": (["--encoding", "idna"], b"a\n1\n", ["idna"]),
    "utf-16 but is utf-8": (["--encoding", "utf-16"], b"a,b\n1,2\n", ["utf-16"]),
    "utf-32 but is utf-8": (["--encoding", "utf-32"], b"a,b\n1,2\n", ["utf-32"]),
    "ascii but is not": (["--encoding", "ascii"], "a\né\n".encode(), ["not ascii"]),
    "cp1252 undefined byte": (["--encoding", "cp1252"], b"a\n\x81\n", ["offset 2"]),
    "utf-16, odd": (["--encoding", "utf-16"], "a\n1\n".encode("utf-16")[:-1],
                    ["utf-16"]),
    "utf-16, half a pair": (["--encoding", "utf-16"],
                            b"\xff\xfe" + "a\n1\n".encode("utf-16-le") + b"\0\xd8",
                            ["utf-16"]),
    "utf-7 rubbish": (["--encoding", "utf-7"], b"a\n+x\xff\n", ["utf-7"]),
    "delimiter of two letters": (["--delimiter", ";;"], b"a;;b\n1;;2\n", ["';;'"]),
    "empty delimiter": (["--delimiter", ""], b"a;b\n1;2\n", ["''"]),
    "quote as delimiter": (["--delimiter", '"'], b"a;b\n1;2\n", ["not a quote"]),
    "line end as delimiter": (["--delimiter", "\n"], b"a;b\n1;2\n", ["line end"]),
    "CR as delimiter": (["--delimiter", "\r"], b"a;b\n1;2\n", ["line end"]),
    "NUL as delimiter": (["--delimiter", "\0"], b"a;b\n1;2\n", ["ASCII"]),
    "letter é as delimiter": (["--delimiter", "é"], b"a;b\n1;2\n", ["ASCII"]),
    "name of another delimiter": (["--delimiter", "bar"], b"a;b\n1;2\n", ["ASCII"]),
    "wrong delimiter": (["--delimiter", ";"], b"a,b\n1,2\n", ["no column 'a'", "a,b"]),
    "delimiter in names only": (["--delimiter", ";"], b"a;b\n1,2\n", ["2 fields"]),
    "decimal of two letters": (["--decimal", ",,"], b"a\n1\n", ["',,'"]),
    "decimal apostrophe": (["--decimal", "'"], b"a\n1\n", ["--decimal"]),
    "codes of no column": (["--na", "z=9"], b"a,b\n1,2\n",
                           ["s.csv: missing codes: no column 'z'"]),
    "codes of a column of other case": (["--na", "A=9"], b"a,b\n1,2\n",
                                        ["did you mean 'a'"]),
    "metadata of a CSV": (["--metadata", "no.rda"], b"a,b\n1,2\n", ["no.rda"]),
    "cp1252": (["--encoding", "cp1252"], "a\nä\n".encode("cp1252"), 1),
    "utf-16": (["--encoding", "utf-16"], "a\n1\n2\n".encode("utf-16"), 2),
    "utf-16 without a mark": (["--encoding", "utf-16-le"],
                              "a\n1\n".encode("utf-16-le"), 1),
    "utf-32": (["--encoding", "utf-32"], "a\n1\n2\n".encode("utf-32"), 2),
    "utf-8-sig without a mark": (["--encoding", "utf-8-sig"], b"a\n1\n", 1),
    "UTF8 spelled otherwise": (["--encoding", "U8"], b"a\n1\n", 1),
    "delimiter blank": (["--delimiter", " "], b"a b\n1 2\n", 1),
    "delimiter letter": (["--delimiter", "x"], b"axb\n1x2\n", 1),
    "delimiter tab": (["--delimiter", "\t"], b"a\tb\n1\t2\n", 1),
}  # fmt: skip


@pytest.mark.parametrize("case", READING)
def test_options_of_reading(case, folder, refused, summary):
    options, content, expected = READING[case]
    (folder / "s.csv").write_bytes(content)
    command = ["s.csv", "--keys", "a", *options]
    if isinstance(expected, int):
        assert summary(*command)["records"] == expected
    else:
        refused("assess", *command, phrases=expected)


# Weights: the field, options, a phrase of the error or the value

WEIGHTS = {
    "empty": ("", [], "1 missing in 2 records"),
    "blanks": ("  ", [], "w is not a number in 1 record"),
    "quoted empty": ('""', [], "w is not a number in 1 record, first in record 2: ''"),
    "letters": ("abc", [], "first in record 2: 'abc'"),
    "nan": ("nan", [], "'nan'"),
    "NaN": ("NaN", [], "'NaN'"),
    "NA": ("NA", [], "'NA'"),
    "null": ("null", [], "'null'"),
    "inf": ("inf", [], "'inf'"),
    "-inf": ("-inf", [], "'-inf'"),
    "Infinity": ("Infinity", [], "'Infinity'"),
    "negative": ("-1", [], "1 negative in 2 records"),
    "negative zero": ("-0", [], 0.0),
    "zero": ("0", [], 0.0),
    "zero point": ("0.000", [], 0.0),
    "too large": ("1e400", [], "w"),
    "too small": ("1e-400", [], 0.0),
    "underscore": ("1_000", [], "'1_000'"),
    "Arabic digit": ("٣", [], "'٣'"),
    "full-width digit": ("\uff13", [], "'\uff13'"),
    "superscript": ("²", [], "'²'"),
    "hexadecimal": ("0x10", [], "'0x10'"),
    "fraction": ("1/2", [], "'1/2'"),
    "percent": ("50%", [], "'50%'"),
    "currency": ("$5", [], "'$5'"),
    "two points": ("1.2.3", [], "'1.2.3'"),
    "point alone": (".", [], "'.'"),
    "sign alone": ("-", [], "'-'"),
    "two signs": ("--5", [], "'--5'"),
    "exponent alone": ("1e", [], "'1e'"),
    "Fortran exponent": ("1d5", [], "'1d5'"),
    "blank within": ("1 000", [], "'1 000'"),
    "decimal comma": ('"2,5"', [], "'2,5'; the decimal mark may be a comma (--decimal"),
    "thousands comma": ('"1,000.5"', [], "'1,000.5'; write it without marks between"),
    "apostrophe": ("1'000", [], "1'000\"; write it without marks between thousands"),
    "blank of thousands": ("10 000", [], "'10 000'; write it without marks between"),
    "no-break space of thousands": ("10\xa0000", [], "write it without marks between"),
    "narrow space of thousands": ("1\u202f000", [], "write it without marks between"),
    "thousands point": ("1.000,5", ["--delimiter", ";", "--decimal", ","], 1000.5),
    "point for comma": ("2.5", ["--delimiter", ";", "--decimal", ","],
                        "'2.5'; the decimal mark may be a point (--decimal '.')"),
    "two commas": ("2,5,1", ["--delimiter", ";", "--decimal", ","], "'2,5,1'"),
    "true": ("TRUE", [], "'TRUE'"),
    "date": ("2020-01-01", [], "'2020-01-01'"),
    "escape": ("\x1b[2J", [], "\\x1b[2J"),
    "missing code": ("99", ["--na", "w=99"], "1 missing in 2 records"),
    "missing code of all": ("99", ["--na", "99"], "1 missing in 2 records"),
    "blanks around": (" 5 ", [], 5.0),
    "no-break space around": ("\xa05\xa0", [], 5.0),
    "sign": ("+5", [], 5.0),
    "leading zeros": ("005", [], 5.0),
    "point in front": (".5", [], 0.5),
    "point behind": ("5.", [], 5.0),
    "exponent": ("5E+0", [], 5.0),
    "quoted": ('"5"', [], 5.0),
    "comma": ("2,5", ["--delimiter", ";", "--decimal", ","], 2.5),
    "many digits": ("0.1000000000000000055511151231257827", [], 0.1),
    "integer beyond 2^53": ("9007199254740993", [], 9007199254740992.0),
    "integer beyond 2^64": ("36893488147419103232", [], 2.0**65),
    "smallest": ("5e-324", [], 5e-324),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*F < f")
@pytest.mark.parametrize("case", WEIGHTS)
def test_weight(case, folder, refused):
    field, options, expected = WEIGHTS[case]
    mark = options[1] if options[:1] == ["--delimiter"] else ","
    text = f"a{mark}w\n1{mark}1\n2{mark}{field}\n"
    (folder / "s.csv").write_text(text)
    if isinstance(expected, float):
        decimal = "," if "--decimal" in options else "."
        reading = Reading(delimiter=mark, decimal=decimal)
        table = formats.read("s.csv", ["w"], numeric=["w"], reading=reading)
        assert table["w"].to_pylist() == [1.0, expected]
    else:
        roles = ["--keys", "a", "--weight", "w"]
        refused("assess", "s.csv", *roles, *options, phrases=["w", expected])


# Missing codes: of keys, weights and households

CODES = {
    "of a key": (["--keys", "a", "--na", "a=1"], "missing key values: 'a' in 2 of 3"),
    "of all columns": (["--keys", "a", "--na", "1"], "'a' in 2 of 3"),
    "of the weight": (["--keys", "a", "--weight", "w", "--na", "w=5"], "1 missing"),
    "of the household": (["--keys", "a", "--household", "h", "--na", "h=7"],
                         "household 'h': missing in 2 of 3 records"),
    "empty": (["--keys", "h", "--na", "h="], 3),
    "of a quoted code": (["--keys", "q", "--na", "q=9"], "'q' in 1 of 3"),
    "of all, quoted": (["--keys", "q", "--na", "9"], 3),
    "with an =": (["--keys", "e", "--na", "==x"], "'e' in 1 of 3"),
    "blank": (["--keys", "a", "--na", " "], 3),
    "of a number written otherwise": (["--keys", "a", "--na", "a=1.0"], 3),
    "of text": (["--keys", "a", "--na", "a=abc"], 3),
}  # fmt: skip


@pytest.mark.parametrize("case", CODES)
def test_missing_codes(case, folder, refused, run):
    options, expected = CODES[case]
    text = 'a,w,h,q,e\n1,5,7,"9",=x\n1,6,7,8,y\n2,7,8,8,z\n'
    (folder / "s.csv").write_text(text)
    if isinstance(expected, int):
        status, out, err = run("assess", "s.csv", *options)
        assert status == 0
        assert f"records                      {expected}\n" in out
        assert "Traceback" not in err
    else:
        options = [*options, "--missing", "refuse"]
        refused("assess", "s.csv", *options, phrases=expected)


# Paths that are not files


def make_loop(path):
    os.symlink("other.csv", path)
    os.symlink(path.name, path.with_name("other.csv"))


PLACES = {
    "absent": ("s.csv", None, "no such file"),
    "absent folder": ("no/s.csv", None, "no such file"),
    "directory": ("s.csv", os.mkdir, "a directory, not a file"),
    "pipe": ("s.csv", os.mkfifo, "a device or pipe, not a file"),
    "loop of links": ("s.csv", make_loop, "s.csv"),
    "dangling link": ("s.csv", lambda path: os.symlink("absent.csv", path),
                      "no such file"),
    "link to a device": ("s.csv", lambda path: os.symlink("/dev/zero", path),
                         "a device or pipe, not a file"),
    "null": ("/dev/null", None, "a device or pipe, not a file"),
    "no suffix": ("s", lambda path: path.write_text("a\n1\n"), "unknown kind of file"),
    "suffix of a spreadsheet": ("s.xls", lambda path: path.write_text("a\n1\n"),
                                "unknown kind of file; save it as a known"),
    "only a suffix": (".csv", lambda path: path.write_text("a\n1\n"), "unknown kind"),
    "empty name": ("", None, "a directory"),
    "folder itself": (".", None, "a directory"),
    "under a file": ("s.csv/x.csv", None, "x.csv"),
    "long name": ("x" * 300 + ".csv", None, "File name too long"),
    "NUL in the name": ("s\0.csv", None, ""),
    "escape in the name": ("\x1b[2J.csv", None, "\\x1b[2J.csv: no such file"),
    "bytes in the name": ("s\udcff.csv", None, "no such file"),
    "line end in the name": ("a\nb.csv", None, "a\\nb.csv: no such file"),
    "URL": ("https://example.org/s.csv", None, "no such file"),
    "stdin": ("-", None, "no such file"),
}  # fmt: skip


@pytest.mark.parametrize("case", PLACES)
def test_paths_that_are_not_files(case, folder, refused):
    name, make, phrase = PLACES[case]
    if make:
        make(folder / name)
    refused("assess", name, "--keys", "a", phrases=phrase)
    refused("protect", name, "--keys", "a", "--rate", "1%", "--output", "o.csv")
    refused("uniques", name, "--keys", "a", "--population", "9")


@needs.posix
def test_unreadable_file(refused, monkeypatch):
    # Not the folder of other tests: other users must come in. Root may read everything.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.csv"
        path.write_text("a\n1\n")
        path.chmod(0)
        Path(folder).chmod(0o755)
        monkeypatch.chdir(folder)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)
            refused(
                "assess", "s.csv", "--keys", "a", phrases="s.csv: Permission denied"
            )
        finally:
            os.seteuid(user)
