"""Reading CSV: see also `tests/bad_inputs/test_csv.py`."""

import gzip
import re

import pyarrow as pa
import pytest

import riskcore
from riskcore.data.files import formats
from riskcore.data.files.reading import Reading
from tests.data.files.conftest import written

CSV = 'sex,age,w\n1,"01",1.5\n2,,2\n'


def test_csv_is_text_except_for_numeric_columns(tmp_path):
    table = formats.read(written(tmp_path, CSV), numeric=["w"])
    assert table.to_pydict() == {
        "sex": ["1", "2"],
        "age": ["01", None],
        "w": [1.5, 2.0],
    }
    assert table.schema.field("w").type == pa.float64()


def test_only_columns_asked_for_in_their_order(tmp_path):
    path = written(tmp_path, CSV)
    assert formats.read(path, ["w", "sex", "w"]).column_names == ["w", "sex"]
    assert formats.read(path, ["sex"], numeric=["w"]).column_names == ["sex"]
    for bad in ({"columns": ["Age"]}, {"columns": ["sex"], "numeric": ["Age"]}):
        with pytest.raises(KeyError, match="no column 'Age'; did you mean 'age'"):
            formats.read(path, **bad)
    with pytest.raises(KeyError, match="no column 'u', 'v', 'x', 'y', 'z'; the col"):
        formats.read(path, ["sex"], numeric={"z", "v", "x", "y", "u"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "a;b,c\n1;2\n"),
        ("a.csv", "a;b,c;d;e,f\n1;2;3;4\n"),
        ("a.tsv", "a,b\tc,d,e\n1\t2\n"),
        ("a.txt", "a\tb\n1\t2\n"),
        ("a.TXT", "a|b\r\n1|2\r\n"),
        ("a.csv", 'a;"b,c,d,e"\n1;2\n'),
        ("a.csv", "\ufeffa,b\n1,2\n"),
        ("a.csv", "a\n1\n"),
    ],
)
def test_delimiter_is_found_in_the_first_line(tmp_path, name, text):
    path = written(tmp_path, text, name)
    delimiter = {"a;": ";", "a,b\t": "\t", "a\t": "\t", "a|": "|"}
    expected = next(
        (d for start, d in delimiter.items() if text.startswith(start)), ","
    )
    if text == "a;b,c\n1;2\n":  # a tie: the comma comes first
        with pytest.raises(ValueError, match="does not have 2 fields"):
            formats.read(path)
        expected = ";"
        table = formats.read(path, reading=Reading(delimiter=";"))
    else:
        table = formats.read(path)
    header = text.splitlines()[0].removeprefix("\ufeff").replace('"', "")
    assert table.column_names == header.split(expected)
    header = formats.columns_of(path, Reading(delimiter=expected))
    assert table.column_names == list(header.names)
    assert [column[0].as_py() for column in table.columns] == (
        text.splitlines()[1].split(expected)
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("first", "mark"),
    [
        ("sep=;", ";"),
        ('"SEP=;";;', ";"),
        ("Sep=~", "~"),
        ("sep=\t", "\t"),
        ("sep=,", ","),
    ],
)
def test_a_first_line_that_states_the_delimiter(tmp_path, first, mark, encoding):
    text = f"{first}\r\na{mark}b\r\n1{mark}é\r\n2{mark}3\r\n"
    path = written(tmp_path, text.encode(encoding), "a.csv")
    how = {} if encoding == "utf-8" else {"encoding": encoding}
    assert formats.read(path, reading=Reading(**how)).to_pydict() == {
        "a": ["1", "2"],
        "b": ["é", "3"],
    }
    like = formats.format_of(path, Reading(**how))
    safe = formats.write(tmp_path / "b.csv", {"a": ["1"], "b": ["é"]}, like=like)
    assert formats.read(safe, reading=Reading(**how)).to_pydict()["b"] == ["é"]
    path = written(tmp_path, f"{text}4\r\n".encode(encoding), "a.csv")
    with pytest.raises(ValueError, match="first row 3, line 5, has 1"):
        formats.read(path, reading=Reading(**how))


@pytest.mark.parametrize("text", ["sep=a\n1\n", "sep,a\n1,2\n", "a,b\nsep=,\n"])
def test_what_states_no_delimiter(tmp_path, text):
    assert formats.read(written(tmp_path, text)).num_rows == 1


def test_quotes_newlines_and_missing_values(tmp_path):
    path = written(tmp_path, '"x ""y""","b\nc"\n"1\r\n2",""\nNA,\n"NA",3\n\n')
    with pytest.warns(formats.LineBreaksInFields, match="1 quoted fields .* 1 lines"):
        table, intake = formats.opened(path).read()
    assert table.to_pydict() == {
        'x "y"': ["1\r\n2", "NA", "NA"],
        "b\nc": ["", None, "3"],
    }
    assert (
        str(intake)
        == "7 lines: a header of 2 lines, 3 records, 1 empty, 1 within 1 field"
    )
    with pytest.warns(formats.LineBreaksInFields):
        table = formats.read(path, reading=Reading(missing_codes=["NA"]))
    assert table.column(0).to_pylist() == ["1\r\n2", None, "NA"]


def test_encodings(tmp_path):
    path = written(tmp_path, "région,b\n1,é\n".encode("cp1252"))
    with pytest.raises(ValueError, match=r"not utf-8 at byte offset 1; give its enc"):
        formats.columns_of(path)
    assert formats.read(path, reading=Reading("cp1252")).to_pydict() == {
        "région": ["1"],
        "b": ["é"],
    }
    for encoding in ("utf-8-sig", "utf-16"):
        path = written(tmp_path, CSV.encode(encoding))
        table = formats.read(path, reading=Reading(encoding))
        assert table.to_pydict()["age"] == ["01", None]
    late = b"a,b\n" + b"1,2\n" * 600_000 + b"1,\xe9\n"
    for name, content in (("b.csv", late), ("b.csv.gz", gzip.compress(late))):
        with pytest.raises(ValueError, match=f"byte offset {late.index(0xE9)};"):
            formats.read(written(tmp_path, content, name))
    # A letter across the border of two parts of the file does not shift the offset.
    border = b"a,b\n" + b"1,2\n" * (2**18 - 2) + "1,xé\n".encode() + b"1,\xff\n"
    with pytest.raises(ValueError, match=f"byte offset {border.index(0xFF)};"):
        formats.read(written(tmp_path, border))
    with pytest.raises(ValueError, match="encoding='martian' is unknown; use utf-8"):
        Reading("martian")


@pytest.mark.parametrize(
    ("encoding", "word"),
    [
        ("cp932", "処理区分"),
        ("gbk", "地区"),
        ("cp950", "地區"),
        ("cp949", "지역이름"),
        ("cp1251", "Область"),
        ("cp1253", "Περιοχή"),
        ("cp1250", "Łódź"),
        ("cp1252", "Köln"),
        ("cp1254", "Muğla"),
        ("cp1256", "القاهرة"),
    ],
)
@pytest.mark.parametrize("records", [1, 600_000])
def test_likely_encodings_are_named(tmp_path, encoding, word, records):
    path = written(tmp_path, ("a,b\n" * records + f"1,{word}\n").encode(encoding))
    hint = f"encoding='{encoding}' reads '{word}'"
    with pytest.raises(ValueError, match=hint) as refusal:
        formats.read(path)
    assert ("cp1252" in str(refusal.value)) == (encoding in ("cp1252", "cp1254"))
    with pytest.raises(ValueError, match="encoding='utf-8' reads 'é'"):
        formats.read(written(tmp_path, "a,b\n1,é\n"), reading=Reading("ascii"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n1,2,3\n\n4\n", r"2 rows .* 2 fields .* row 2, line 3, has 3"),
        ('a,b\n"1\n2",2\n1\n', "1 row .* row 2, line 4, has 1"),
    ],
)
def test_bad_text_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        formats.read(written(tmp_path, text))


def test_text_that_is_not_a_number_is_refused(tmp_path):
    path = written(tmp_path, "w,v\n1,1\nx,1\nx,1\n")
    message = "w is not a number in 2 records, first in record 2: 'x'"
    with pytest.raises(ValueError, match=message):
        formats.read(path, numeric=["w"])


def test_a_decimal_comma_is_suspected(tmp_path):
    path = written(tmp_path, 'k;w\n1;"1,5"\n2;2\n')
    with pytest.raises(ValueError, match=r"'1,5'; the decimal mark may be a comma"):
        riskcore.assess(path, ["k"], "w")
    result = riskcore.assess(path, ["k"], "w", reading=Reading(decimal=","))
    assert result.cells.population_frequency.tolist() == [1.5, 2.0]
    path = written(tmp_path, 'k,w\n1,"1,050"\n2,900\n')
    message = r"without marks between thousands, or if the comma .* decimal=','"
    with pytest.raises(ValueError, match=message):
        riskcore.assess(path, ["k"], "w")


@pytest.mark.parametrize(
    ("texts", "read"),
    [
        (["1.050", "1.050,5", "900", "-2,5"], [1050, 1050.5, 900, -2.5]),
        (["1 050,5", "1\u00a0050", "+12\u202f345\u202f678"], [1050.5, 1050, 12345678]),
        (["1.050", "1050"], "'1050'; others have '.' between thousands: write all"),
        (["2.050,5", "2 050"], "'2 050'; others have '.' between thousands"),
        (["1 050,5", "n a"], "'n a'; if it stands for a missing value"),
        (["1.050", "0.950"], "'0.950'; the decimal mark may be a point"),
        (["1.05", "2"], "'1.05'; the decimal mark may be a point"),
    ],
)
def test_marks_of_thousands_beside_a_decimal_comma(tmp_path, texts, read):
    path = written(tmp_path, "k;w\n" + "".join(f"1;{text}\n" for text in texts))
    reading = Reading(decimal=",")
    if isinstance(read, list):
        table = formats.read(path, numeric=["w"], reading=reading)
        assert table.column("w").to_pylist() == read
        return
    with pytest.raises(ValueError, match=re.escape(read)):
        formats.read(path, numeric=["w"], reading=reading)


def test_amounts_with_marks_of_thousands_are_described_and_treated(tmp_path):
    pay = [1050 + 37 * i for i in range(60)]
    marked = [f"{x:,}".replace(",", ".") for x in pay]
    text = "".join(f"{i % 3};{x}\n" for i, x in enumerate(marked))
    path = written(tmp_path, "k;pay\n" + text + "1;999.999\n" * 9)
    reading = Reading(decimal=",")
    (_, column) = riskcore.describe(path, reading=reading).columns
    assert (column.profile.smallest, column.profile.largest) == (1050, 999999)
    how = {"k": 2, "treat": {"pay": "top:5n"}, "reading": reading}
    with pytest.raises(ValueError, match=r"999\.999"):
        riskcore.protect(path, ["k"], **how)
    codes = Reading(decimal=",", missing_codes={"pay": ["999.999"]})
    safe = riskcore.protect(path, ["k"], **how | {"reading": codes})
    top = [str(min(x, pay[-6])) for x in pay]
    assert safe.data["pay"].to_pylist()[:60] == top


def test_missing_codes_of_a_column_and_of_all(tmp_path):
    path = written(tmp_path, 'mar,age,w\n9,9,1\n1,NA,"2,5"\n"NA",99,3\n,"9",4\n')
    reading = Reading(
        decimal=",", missing_codes={"": ["NA"], "mar": "9", "age": ["99"]}
    )
    table = formats.read(path, numeric=["w"], reading=reading)
    assert table.to_pydict() == {
        "mar": [None, "1", "NA", None],
        "age": ["9", None, None, "9"],
        "w": [1.0, 2.5, 3.0, 4.0],
    }


def test_codes_that_do_not_occur_are_warned_of(tmp_path):
    path = written(tmp_path, "mar,w\n1,1\n2,2\n")
    with pytest.warns(
        formats.DoubtfulCodes, match="missing codes of mar, '9', do not occ"
    ):
        formats.read(path, reading=Reading(missing_codes={"mar": ["9"]}))
    with pytest.raises(KeyError, match="no column 'MARR'"):
        formats.read(path, reading=Reading(missing_codes={"MARR": ["9"]}))


@pytest.mark.parametrize(
    ("code", "written_as"),
    [
        ("999998", "999998.0"),
        ("999998.0", "999998"),
        ("999998", "999,998"),
        ("999998", "999.998,0"),
        ("99.9", "99,9"),
    ],
)
def test_a_code_that_is_written_otherwise_is_named(tmp_path, code, written_as):
    path = written(tmp_path, f"a;w\n{written_as};1\n12;2\n")
    reading = Reading(missing_codes={"a": [code]})
    said = f"a has '{written_as}', but codes '{code}': name each code as it stands"
    with pytest.warns(formats.DoubtfulCodes, match=re.escape(said)):
        formats.read(path, reading=reading)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-16-le", "utf-32-be", "gb18030", "utf-16"]
)
def test_one_mark_is_not_part_of_a_name(tmp_path, encoding, packed):
    path = tmp_path / f"a.csv{packed}"
    opener = gzip.open if packed else open
    for marks in ("", "\ufeff"):
        text = f"{marks}sex,age\nf,é\n"
        with opener(path, "wb") as file:
            file.write(text.encode(encoding))
        found = formats.read(path, reading=Reading(encoding))
        assert found.to_pydict() == {"sex": ["f"], "age": ["é"]}
        assert formats.columns_of(path, Reading(encoding)).names == ("sex", "age")


def test_a_mark_before_a_quoted_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeff"sex, coded",age\nf,1\n'.encode())
    found, intake = formats.opened(path).read(["sex, coded"])
    assert found.to_pydict() == {"sex, coded": ["f"]}
    assert intake.records == 1


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_an_empty_list_of_columns_reads_none(tmp_path, name):
    path = formats.write(tmp_path / name, {"sex": ["1", "2"], "age": ["3", "4"]})
    table, intake = formats.opened(path).read([])
    assert (table.column_names, table.num_rows, intake.records) == ([], 2, 2)


def test_lines_of_delimiters_alone_are_named(tmp_path):
    path = written(tmp_path, "a,b,c\n,,\n1,,\n,,\n\n,,\n")
    with pytest.warns(formats.LinesWithoutValues, match="with 2 lines without"):
        riskcore.assess(path, ["a", "b"])


@pytest.mark.parametrize(
    "text", ["a\n1\n\n2\n", "a,b\n1,\n,2\n", "a,b\n1,2\n,\n3,4\n\n"]
)
def test_records_with_a_value_are_not_doubted(tmp_path, recwarn, text):
    riskcore.assess(written(tmp_path, text), ["a"])
    assert formats.LinesWithoutValues not in [each.category for each in recwarn]


@pytest.mark.parametrize(
    ("values", "decimal", "refused"),
    [
        ("749 1.682 2.000", ".", True),
        ("749 1,682 2,000", ",", True),
        ("749 1,682 2000", ",", False),
        ("749 1.682 3.5", ".", False),
        ("749 801.682 2.000", ".", False),
        ("1.749 1.682 2.000", ".", False),
    ],
)
def test_marks_of_thousands_are_not_those_of_decimals(
    tmp_path, values, decimal, refused
):
    path = written(tmp_path, "a;w\n" + "".join(f"1;{x}\n" for x in values.split()))
    reading = Reading(delimiter=";", decimal=decimal)
    if refused:
        with pytest.raises(ValueError, match=r"beside 749, .* thousands"):
            riskcore.assess(path, ["a"], "w", reading=reading)
    else:
        riskcore.assess(path, ["a"], "w", reading=reading)
