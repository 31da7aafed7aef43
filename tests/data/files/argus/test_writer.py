"""Safe files of mu-Argus: what is written, and that it reads back."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.data.argus_recode_file import read_recoding
from riskcore.data.files import formats
from riskcore.data.files.argus import reader, writer
from riskcore.data.files.argus.metadata import (
    Metadata,
    Variable,
    metadata_of,
    read_metadata,
)
from riskcore.data.recode import Recoding
from riskcore.data.recode_table import recode
from tests import needs

RDA = """\
// not all of the record
REGION 1 3 999 998
  <RECODABLE>
  <CODELIST> "Region.cdl"
  <IDLEVEL> 1
  <SUPPRESSWEIGHT> 50
  <TRUNCABLE>
SEX 4 1
  <RECODABLE>
  <RELATED> REGION
HH 5 2
  <HOUSE_ID>
INCOME 9 5 "9 9"
  <NUMERIC>
  <DECIMALS> 2
  <HOUSEHOLD>
W 14 6
  <NUMERIC>
  <WEIGHT>
"""
RECORDS = [
    "  11 1??  1.5118.30",
    "02 2 2?? 2.50 18.3 ",
    "999103??9 9  100.00",
    "9982 4??     100.00",
    "   1 5??1e3  100.00",
    "0101 6??  0.0100.00",
]
# Without the two characters that are not declared.
DECLARED = [record[:6] + record[8:] for record in RECORDS]


def survey(folder, records=RECORDS, metadata=RDA, line_end="\n", encoding="utf-8"):
    """Write a data file with its metadata and return its format."""
    for name, lines in (("a.asc", records), ("a.rda", metadata.splitlines())):
        text = "".join(line + line_end for line in lines)
        (folder / name).write_bytes(text.encode(encoding))
    (folder / "Region.cdl").write_text("1,one\n")
    return formats.format_of(folder / "a.asc")


def safe(folder, like, columns, **options):
    """Write a safe file and return its lines."""
    path = formats.write(folder / "safe.asc", columns, like=like, **options)
    return path.read_text().splitlines()


def texts(path):
    """Return all columns of a file as lists of text, None where missing."""
    return {name: c.tolist() for name, c in formats.read(path, text=True).items()}


def blanked(column, *positions):
    column = column.copy()
    column[list(positions)] = np.ma.masked
    return column


# Fixed format


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [1 << 22, 30])
def test_unchanged_text_is_written_as_in_the_source(
    tmp_path, monkeypatch, line_end, block
):
    monkeypatch.setattr(reader, "_BLOCK", block)
    like = survey(tmp_path, line_end=line_end)
    columns = formats.read(like.path, text=True)
    path = formats.write(tmp_path / "safe.asc", columns, like=like)
    expected = "".join(record + line_end for record in DECLARED)
    assert path.read_bytes().decode() == expected
    assert path.with_suffix(".rds").read_bytes().count(line_end.encode()) == 16


def test_the_metadata_of_a_safe_file(tmp_path):
    like = survey(tmp_path)
    columns = formats.read(like.path, text=True)
    columns["SEX"] = blanked(columns["SEX"], 0)
    safe(tmp_path, like, columns)
    assert (tmp_path / "safe.rds").read_text() == (
        """\
REGION 1 3 999 998
  <RECODABLE>
  <TRUNCABLE>
  <CODELIST> "Region.cdl"
SEX 4 1 9
  <RECODABLE>
  <RELATED> REGION
HH 5 2
  <HOUSE_ID>
INCOME 7 5 "9 9"
  <NUMERIC>
  <DECIMALS> 2
  <HOUSEHOLD>
W 12 6
  <NUMERIC>
  <WEIGHT>
"""
    )


def test_blanked_values_get_a_missing_code(tmp_path):
    like = survey(tmp_path)
    columns = formats.read(like.path, text=True)
    for name in ("REGION", "SEX", "INCOME"):
        columns[name] = blanked(columns[name], 1, 2, 3, 4)
    lines = safe(tmp_path, like, columns)
    # REGION: first code, own first, own second, own blank.
    assert [line[:3] for line in lines] == ["  1", "999", "999", "998", "   ", "010"]
    assert [line[3] for line in lines] == ["1", "9", "9", "9", "9", "1"]
    income = [line[6:11] for line in lines]
    assert income == ["  1.5", "  9 9", "9 9  ", "     ", "  9 9", "  0.0"]
    again = texts(tmp_path / "safe.asc")
    assert again == {name: column.tolist() for name, column in columns.items()}


@pytest.mark.parametrize(
    ("values", "width", "code"),
    [
        (["1", "2", None], 1, "9"),
        (["9", "2", None], 1, "X"),
        (["9", "X", None], 2, "99"),
        (["9", "X", "1"], 1, None),
        (["99", "X", None], 2, "XX"),
    ],
)
def test_a_missing_code_is_made_if_there_is_none(tmp_path, values, width, code):
    like = survey(tmp_path, ["1", "2", "3"], "V 1 1\n")
    safe(tmp_path, like, {"V": values})
    (variable,) = read_metadata(tmp_path / "safe.rds").variables
    assert (variable.width, variable.missing) == (width, (code,) if code else ())
    assert texts(tmp_path / "safe.asc") == {"V": values}


def test_blank_fields_need_no_missing_code(tmp_path):
    like = survey(tmp_path, ["1", " ", "3"], "V 1 1\n")
    assert safe(tmp_path, like, {"V": ["1", None, "3"]}) == ["1", " ", "3"]
    (variable,) = read_metadata(tmp_path / "safe.rds").variables
    assert variable.missing == ()


@pytest.mark.parametrize(
    ("given", "expected", "missing"),
    [
        # new codes; of the source: valid, valid, 99, 98, blank, now missing
        ((), [" 1", " 2", "99", "98", "  ", "99"], ("99", "98")),
        (("8",), ["1", "2", "8", "8", "8", "8"], ("8",)),
        (("8", "9"), ["1", "2", "8", "9", "8", "8"], ("8", "9")),
        (("888",), ["  1", "  2", "888", "888", "888", "888"], ("888",)),
    ],
)
def test_missing_codes_of_recoded_variables(tmp_path, given, expected, missing):
    like = survey(tmp_path, ["01", "20", "99", "98", "  ", "03"], "V 1 2 99 98\n")
    recoding = Recoding.mapping({"01": "1", "20": "2", "03": None})
    recoding = Recoding(recoding.rules, missing_codes=given)
    columns = recode(formats.read(like.path, text=True), {"V": recoding})
    assert safe(tmp_path, like, columns, recodings={"V": recoding}) == expected
    (variable,) = read_metadata(tmp_path / "safe.rds").variables
    assert (variable.width, variable.missing) == (len(expected[0]), missing)
    assert texts(tmp_path / "safe.asc")["V"] == ["1", "2", None, None, None, None]


def test_missing_that_becomes_a_code(tmp_path):
    like = survey(tmp_path, ["1", "9", "2"], "V 1 1 9\n")
    recoding = Recoding.mapping({None: "7"})
    columns = recode(formats.read(like.path, text=True), {"V": recoding})
    assert safe(tmp_path, like, columns, recodings={"V": recoding}) == ["1", "7", "2"]


def test_codelists_of_recoded_variables(tmp_path):
    like = survey(tmp_path)
    columns = formats.read(like.path, text=True)
    rules = Recoding.mapping({"1": "2"}).rules
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "New.cdl").write_text("2,two\n")
    (tmp_path / "out").mkdir()
    for name, expected in (
        ("lists\\new.CDL", '"new.CDL"'),
        ("none/Other.cdl", '"Other.cdl"'),
        (None, None),
    ):
        recodings = {"REGION": Recoding(rules, codelist=name)}
        path = tmp_path / "out" / "safe.saf"
        formats.write(path, columns, like=like, recodings=recodings, overwrite=True)
        lines = path.with_suffix(".rds").read_text().splitlines()
        found = [line.split()[1] for line in lines if "CODELIST" in line]
        assert found == [expected] * (expected is not None)


def test_the_metadata_name_no_folder(tmp_path):
    # The file is published, and the folder of its source may show whose it is.
    inside = tmp_path / "client-Smith"
    inside.mkdir()
    (inside / "Region.cdl").write_text("1,north\n")
    (inside / "far").mkdir()
    (inside / "far" / "Sex.cdl").write_text("1,male\n")
    (inside / "s.asc").write_text("11\n")
    (inside / "s.rda").write_text(
        "REGION 1 1\n <CODELIST> Region.cdl\nSEX 2 1\n <CODELIST> far\\Sex.cdl\n"
    )
    like = formats.format_of(inside / "s.asc")
    columns = formats.read(like.path, text=True)
    for folder in (tmp_path, inside / "far"):
        path = formats.write(folder / "safe.saf", columns, like=like)
        lines = path.with_suffix(".rds").read_text().splitlines()
        named = [line.strip() for line in lines if "CODELIST" in line]
        assert named == ['<CODELIST> "Region.cdl"', '<CODELIST> "Sex.cdl"']


def test_variables_are_dropped_in_the_order_of_declaration(tmp_path):
    like = survey(tmp_path)
    columns = formats.read(like.path, ["W", "SEX"], text=True)
    assert list(columns) == ["W", "SEX"]
    lines = safe(tmp_path, like, columns)
    assert lines == [record[3] + record[13:] for record in RECORDS]
    sex, weight = read_metadata(tmp_path / "safe.rds").variables
    assert (sex.name, sex.start, weight.name, weight.start) == ("SEX", 0, "W", 1)
    assert sex.related is None


def test_replaced_text_widens_its_variable(tmp_path):
    like = survey(tmp_path)
    columns = formats.read(like.path, text=True)
    columns["HH"] = np.array([1, 20, 3000, 4, 5, 6])
    lines = safe(tmp_path, like, columns)
    assert [line[4:8] for line in lines] == [f"{v:4}" for v in columns["HH"]]
    assert texts(tmp_path / "safe.asc")["HH"] == ["1", "20", "3000", "4", "5", "6"]
    columns["HH"] = ["7", "2", "3", None, "5", "6"]
    lines = safe(tmp_path, like, columns, overwrite=True)
    assert [line[4:6] for line in lines] == [" 7", " 2", " 3", "99", " 5", " 6"]


def test_records_that_lost_trailing_blanks(tmp_path):
    like = survey(tmp_path, ["12", "1", "1"], "A 1 1\nB 2 1 9\n")
    columns = formats.read(like.path, text=True)
    assert safe(tmp_path, like, columns) == ["12", "1 ", "1 "]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_the_encoding_of_the_source(tmp_path, encoding):
    like = survey(tmp_path, ["é1", "ü2"], "Né 1 1\nB 2 1\n", encoding=encoding)
    columns = formats.read(like.path, text=True)
    columns["B"] = ["€", "Ã"]
    path = formats.write(tmp_path / "safe.asc", columns, like=like)
    assert path.read_bytes() == "é€\nüÃ\n".encode(encoding)
    assert path.with_suffix(".rds").read_bytes().startswith("Né".encode(encoding))
    assert texts(path) == {"Né": ["é", "ü"], "B": ["€", "Ã"]}


def test_text_that_the_encoding_lacks_is_refused(tmp_path):
    like = survey(tmp_path, ["é1", "ü2"], "A 1 1\nB 2 1\n", encoding="cp1252")
    columns = formats.read(like.path, text=True)
    with pytest.raises(ValueError, match="B: 2 values have no cp1252 form, first 'ł'"):
        safe(tmp_path, like, {**columns, "B": ["ł", "ń"]})
    # The first character beyond ASCII is a control character, not the euro sign.
    with pytest.raises(ValueError, match="B: 1 values have no cp1252 form"):
        safe(tmp_path, like, {**columns, "B": ["\x80", "2"]})
    # Two bytes of Windows-1252 that are one letter of UTF-8.
    with pytest.raises(ValueError, match="would be read as UTF-8"):
        safe(tmp_path, like, {"A": ["Ã©", "Ã©"]})
    assert not list(tmp_path.glob("*safe*"))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (["", "2", "3"], ValueError, "V: 1 values are empty, first ''"),
        ([" 1", "2 ", "3"], ValueError, "V: 2 values have blanks around.* first ' 1'"),
        (["1\n", "2", "3"], ValueError, "V: 1 values have a line break"),
        (["1\0a", "2", "3"], ValueError, "V: 1 values have a line break"),
        (["8", "8", "3"], ValueError, "V: 2 values are a missing code, first '8'"),
        (["1", "8", "3"], ValueError, "V: 1 values are a missing code, first '8'"),
        ([1.0, 2.0, 3.0], TypeError, "V: neither text nor whole numbers, but float64"),
        ([b"1", b"2", b"3"], TypeError, "V: neither text nor whole numbers"),
        ([1.5, "2", None], TypeError, "V: neither text nor whole numbers"),
        (["1", "2"], ValueError, r"a\.asc: does not have the 2 records"),
        (["1", "2", "3", "4"], ValueError, r"a\.asc: does not have the 4 records"),
    ],
)
@pytest.mark.parametrize("metadata", ["V 1 1 8\n", '<SEPARATOR> ","\nV 1 8\n'])
def test_what_would_not_read_back_is_refused(
    tmp_path, metadata, values, error, message
):
    like = survey(tmp_path, ["1", "8", "3"], metadata)
    if error is TypeError and values[0] == 1.5:
        values = np.array(values, object)
    with pytest.raises(error, match=message):
        safe(tmp_path, like, {"V": values})
    assert not list(tmp_path.glob("*safe*"))


def test_columns_that_do_not_fit_the_source_are_refused(tmp_path):
    like = survey(tmp_path)
    columns = formats.read(like.path, text=True)
    with pytest.raises(KeyError, match="no column 'Sex'; did you mean 'SEX'"):
        safe(tmp_path, like, {"Sex": columns["SEX"]})
    with pytest.raises(ValueError, match="no columns to write"):
        safe(tmp_path, like, {})
    with pytest.raises(ValueError, match=r"of different length: .*'SEX': 5"):
        safe(tmp_path, like, {**columns, "SEX": columns["SEX"][:5]})
    codes = Recoding(Recoding.mapping({"1": "2"}).rules, missing_codes=("7", "8", "9"))
    with pytest.raises(ValueError, match="SEX: more than two missing codes"):
        safe(tmp_path, like, columns, recodings={"SEX": codes})


codes = st.text("01289X aé;\"',", max_size=3).map(lambda code: code.strip(" "))
ENDS = st.sampled_from(["\n", "\r\n"])
MISSING = ("", "9", "99")


def drawn(data, source):
    """Draw what becomes of a column: the same, blanked here and there, or recoded."""
    kind = data.draw(st.sampled_from(["same", "blanked", "replaced", "recoded"]))
    column = source.copy()
    if kind == "blanked":
        column[data.draw(st.lists(st.integers(0, len(source) - 1)))] = np.ma.masked
    if kind in ("replaced", "recoded"):
        taken = MISSING if kind == "replaced" else ("", "X")
        free = codes.filter(lambda code: code not in taken)
        size = len(source)
        column = data.draw(st.lists(st.none() | free, min_size=size, max_size=size))
    recoding = Recoding(missing="?", missing_codes=("X",))
    return column, recoding if kind == "recoded" else None


def check_round_trip(like, data):
    """Write a file with drawn changes and read it again."""
    source = formats.read(like.path, text=True)
    columns, recodings = {}, {}
    for name, column in source.items():
        columns[name], recoding = drawn(data, column)
        if recoding:
            recodings[name] = recoding
    path = formats.write(
        like.path.with_name("b.saf"), columns, like=like, recodings=recodings
    )
    expected = {
        name: column.tolist() if isinstance(column, np.ndarray) else column
        for name, column in columns.items()
    }
    assert texts(path) == expected


@settings(deadline=None)
@given(
    st.lists(st.tuples(codes, codes), min_size=1, max_size=20),
    ENDS,
    st.sampled_from("<>"),
    st.integers(10, 60),
    st.data(),
)
def test_fixed_format_reads_back(tmp_path_factory, rows, line_end, align, block, data):
    records = [f"{a:{align}4}?{b:>3}" for a, b in rows]
    metadata = "A 1 4 99 9\n <RECODABLE>\nB 6 3\n"
    like = survey(tmp_path_factory.mktemp("fixed"), records, metadata, line_end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_BLOCK", block)
        check_round_trip(like, data)


# Free format


@settings(deadline=None)
@given(
    st.lists(st.tuples(codes, codes, codes), min_size=1, max_size=20),
    ENDS,
    st.sampled_from(",; |\t"),
    st.booleans(),
    st.data(),
)
def test_free_format_reads_back(
    tmp_path_factory, rows, line_end, separator, names, data
):
    lines = [[f'"{v}"' for v in ("C d", "A", "B")]] * names
    lines += [['"' + v.replace('"', '""') + '"' for v in row] for row in rows]
    metadata = f'<SEPARATOR> "{separator}"\n' + "<NAMESINFRONT>\n" * names
    metadata += 'A 4 99 9\nB 3\n"C d" 3\n'
    folder = tmp_path_factory.mktemp("free")
    like = survey(folder, map(separator.join, lines), metadata, line_end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_BLOCK", 90)
        check_round_trip(like, data)


def test_free_format_is_written_as_in_the_source(tmp_path):
    metadata = '<SEPARATOR> ","\n<NAMESINFRONT>\nA 3 9\nB 3\n"x y" 2\n'
    records = ["B,x y,?,A", "1, 2,u,  3", " 4 ,,u,9", '"a,b","""",u,1']
    like = survey(tmp_path, records, metadata, "\r\n")
    columns = formats.read(like.path, text=True)
    columns["x y"] = blanked(columns["x y"], 0)
    path = formats.write(tmp_path / "safe.asc", columns, like=like)
    assert path.read_bytes() == (
        b"A,B,x y\r\n  3,1,99\r\n9, 4 ,\r\n" + b'1,"a,b",""""\r\n'
    )
    assert path.with_suffix(".rds").read_text().splitlines() == [
        '<SEPARATOR> ","',
        "<NAMESINFRONT>",
        "A 3 9",
        "B 3",
        '"x y" 2 99',
    ]


def test_a_last_empty_record_of_one_variable_is_kept(tmp_path):
    like = survey(tmp_path, ["1,2", ",3"], '<SEPARATOR> ","\nA 1\nB 1\n')
    columns = formats.read(like.path, ["A"], text=True)
    assert safe(tmp_path, like, columns) == ["1", '""']
    assert texts(tmp_path / "safe.asc") == {"A": ["1", None]}


# Metadata

letters = st.characters(max_codepoint=255, exclude_categories=["Cc", "Zs"])
words = st.text(letters, min_size=1)


@settings(deadline=None)
@given(st.lists(words))
def test_names_and_codes_of_metadata_read_back(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("rds") / "a.rds"
    variables = tuple(
        Variable(name, 0, 1, missing=(name,))
        for name in dict.fromkeys(names)
        if '"' not in name
    )
    if not variables:
        return
    file = io.BytesIO()
    metadata = Metadata(path.with_suffix(".rda"), variables)
    writer.write_metadata(file, metadata)
    path.write_bytes(file.getvalue())
    read = read_metadata(path).variables
    assert [v.name for v in read] == [v.name for v in variables]
    assert [v.missing for v in read] == [v.missing for v in variables]


def test_names_that_no_token_can_hold_are_refused(tmp_path):
    metadata = Metadata(tmp_path / "a", (Variable('a "b', 0, 1),))
    with pytest.raises(ValueError, match="cannot be written in metadata"):
        writer.write_metadata(io.BytesIO(), metadata)


# The demonstration files of mu-Argus


@needs.demodata
@pytest.mark.parametrize("name", ["Demodata", "Demofree"])
def test_demo_files_come_back(tmp_path, name):
    like = formats.format_of(needs.DEMODATA / f"{name}.asc")
    columns = formats.read(like.path, text=True)
    path = formats.write(tmp_path / "safe.asc", columns, like=like)
    source = like.path.read_bytes().decode().split("\r\n")
    if name == "Demodata":
        spans = [slice(v.start, v.start + v.width) for v in like.metadata.variables]
        source = ["".join(record[span] for span in spans) for record in source]
    assert path.read_bytes().decode().split("\r\n") == source
    again = formats.read(path)
    for key, column in formats.read(like.path).items():
        np.testing.assert_array_equal(np.ma.filled(column), np.ma.filled(again[key]))
    names = [
        [v.codelist and v.codelist.name for v in metadata.variables]
        for metadata in (metadata_of(path), like.metadata)
    ]
    assert names[0] == names[1]


@needs.demodata
def test_recoded_demo_file(tmp_path):
    like = formats.format_of(needs.DEMODATA / "Demodata.asc")
    variables = {v.name: v for v in like.metadata.variables}
    recodings = {
        name: read_recoding(needs.DEMODATA / f"{name.title()}.grc", variables[name])
        for name in ("REGION", "AGE", "MARSTAT")
    }
    columns = recode(formats.read(like.path, text=True), recodings)
    columns["AGE"] = blanked(columns["AGE"], 0, 1)
    path = formats.write(tmp_path / "a.saf", columns, like=like, recodings=recodings)
    region, sex, age, marstat, *_ = metadata_of(path).variables
    assert [(v.start, v.width) for v in (region, sex, age, marstat)] == [
        (0, 2),
        (2, 1),
        (3, 1),
        (4, 1),
    ]
    assert (region.missing, age.missing, marstat.missing) == (
        ("98", "99"),
        ("8", "9"),
        ("9",),
    )
    assert age.codelist == tmp_path / "Age.cdl"
    assert path.read_bytes()[:5] == b" 4183"
    assert texts(path) == {name: column.tolist() for name, column in columns.items()}
